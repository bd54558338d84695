package io.undercroft.broker;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** A stand-in of a cloud's store, as one process: Azurite for Azure, fake-gcs-server for Google. */
public final class StandIn implements StoreServer {
    private static final String ACCOUNT = "devstoreaccount1";
    /** The same in every Azurite, and public. */
    private static final String ACCOUNT_KEY =
            "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    private static final String PLACE = "undercroft-demo";

    private final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    private final boolean isAzure;
    private final Path folder;
    private final int port = Place.freePorts(1)[0];
    private Process process;

    private StandIn(boolean isAzure, Path folder) {
        this.isAzure = isAzure;
        this.folder = folder;
    }

    /** Starts Azurite, with a container that may be read unsigned. */
    public static StandIn azure(Path folder) throws IOException, InterruptedException {
        StandIn store = new StandIn(true, Files.createDirectories(folder));
        store.launch(List.of(StoreServer.program("UNDERCROFT_AZURITE", "azurite"), "--skipApiVersionCheck", "--disableTelemetry", "--silent",
                "--blobHost", "127.0.0.1", "--blobPort", "" + store.port, "--location", folder.resolve("data").toString()));
        store.makeContainer();
        return store;
    }

    /** Starts fake-gcs-server, with a bucket. */
    public static StandIn gcs(Path folder) throws IOException, InterruptedException {
        StandIn store = new StandIn(false, Files.createDirectories(folder));
        store.launch(List.of(StoreServer.program("UNDERCROFT_FAKE_GCS", "fake-gcs"), "-scheme", "http", "-host", "127.0.0.1", "-backend", "memory",
                // Without its port, which would be looked for in each request: another one may be between.
                "-port", "" + store.port, "-public-host", "127.0.0.1"));
        HttpResponse<String> made = store.send(store.request("/storage/v1/b?project=demo").header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"name\": \"" + PLACE + "\"}")).build());
        if (made.statusCode() != 200) {
            throw new IOException("bucket: " + made.statusCode() + " " + made.body());
        }
        return store;
    }

    private void launch(List<String> command) throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
        Process started = process;
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        try {
            Await.until(command.get(0) + " to start", Duration.ofSeconds(90), () -> {
                if (!process.isAlive()) {
                    throw new AssertionError("it ended with exit code " + process.exitValue());
                }
                return send(request("/").build()).statusCode() < 500;
            });
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + Tail.of(log, 20), e);
        }
    }

    /** "Authorize with Shared Key", as Azure calls it. */
    private void makeContainer() throws IOException {
        String date = DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH).format(ZonedDateTime.now(ZoneOffset.UTC));
        String version = "2021-08-06";
        String text = "PUT" + "\n".repeat(12) + "x-ms-blob-public-access:container\nx-ms-date:" + date + "\nx-ms-version:" + version
                + "\n/" + ACCOUNT + "/" + ACCOUNT + "/" + PLACE + "\nrestype:container";
        String signature;
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(ACCOUNT_KEY), "HmacSHA256"));
            signature = Base64.getEncoder().encodeToString(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IOException("no HMAC", e);
        }
        HttpResponse<String> made = send(request("/" + ACCOUNT + "/" + PLACE + "?restype=container")
                .header("x-ms-date", date).header("x-ms-version", version).header("x-ms-blob-public-access", "container")
                .header("Authorization", "SharedKey " + ACCOUNT + ":" + signature).PUT(HttpRequest.BodyPublishers.noBody()).build());
        if (made.statusCode() != 201) {
            throw new IOException("container: " + made.statusCode() + " " + made.body());
        }
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public String description() {
        return isAzure ? "container " + PLACE + " of Azurite at " + endpoint() : "bucket " + PLACE + " of fake-gcs-server at " + endpoint();
    }

    @Override
    public Map<String, String> properties(String endpoint) {
        Map<String, String> p = new LinkedHashMap<>();
        if (isAzure) {
            p.put("rsm.config.storage.backend.class", "azure");
            p.put("rsm.config.storage.azure.container.name", PLACE);
            p.put("rsm.config.storage.azure.account.name", ACCOUNT);
            p.put("rsm.config.storage.azure.account.key", ACCOUNT_KEY);
            p.put("rsm.config.storage.azure.endpoint.url", endpoint + "/" + ACCOUNT);
        } else {
            p.put("rsm.config.storage.backend.class", "gcs");
            p.put("rsm.config.storage.gcs.bucket.name", PLACE);
            p.put("rsm.config.storage.gcs.endpoint.url", endpoint);
            p.put("rsm.config.storage.gcs.credentials.default", "false");
        }
        return p;
    }

    @Override
    public Map<String, Long> objects() throws IOException {
        return isAzure ? blobs() : gcsObjects();
    }

    /** What is half uploaded isn't listed: blocks that nobody commits vanish by themselves. */
    private Map<String, Long> blobs() throws IOException {
        Map<String, Long> found = new TreeMap<>();
        String marker = "";
        do {
            String page = get("/" + ACCOUNT + "/" + PLACE + "?restype=container&comp=list&maxresults=1000&marker="
                    + URLEncoder.encode(marker, StandardCharsets.UTF_8));
            Matcher m = Pattern.compile("<Blob><Name>(.*?)</Name>.*?<Content-Length>(\\d+)</Content-Length>", Pattern.DOTALL).matcher(page);
            while (m.find()) {
                found.put(m.group(1).replace("&amp;", "&"), Long.parseLong(m.group(2)));
            }
            Matcher next = Pattern.compile("<NextMarker>(.+?)</NextMarker>").matcher(page);
            marker = next.find() ? next.group(1) : "";
        } while (!marker.isEmpty());
        return found;
    }

    private Map<String, Long> gcsObjects() throws IOException {
        Map<String, Long> found = new TreeMap<>();
        String token = "";
        do {
            String page = get("/storage/v1/b/" + PLACE + "/o?maxResults=1000&pageToken=" + URLEncoder.encode(token, StandardCharsets.UTF_8));
            for (String item : page.split("\"kind\":\\s*\"storage#object\"")) {
                Matcher name = Pattern.compile("\"name\":\\s*\"(.*?)\"").matcher(item);
                Matcher size = Pattern.compile("\"size\":\\s*\"(\\d+)\"").matcher(item);
                if (name.find() && size.find()) {
                    found.put(name.group(1), Long.parseLong(size.group(1)));
                }
            }
            Matcher next = Pattern.compile("\"nextPageToken\":\\s*\"(.+?)\"").matcher(page);
            token = next.find() ? next.group(1) : "";
        } while (!token.isEmpty());
        return found;
    }

    @Override
    public Path file(String object) throws IOException {
        String path = isAzure ? "/" + ACCOUNT + "/" + PLACE + "/" + object
                : "/storage/v1/b/" + PLACE + "/o/" + URLEncoder.encode(object, StandardCharsets.UTF_8) + "?alt=media";
        try {
            HttpResponse<byte[]> r = http.send(request(path).build(), HttpResponse.BodyHandlers.ofByteArray());
            if (r.statusCode() != 200) {
                throw new IOException("GET " + path + ": " + r.statusCode());
            }
            return Files.write(folder.resolve(Path.of(object).getFileName()), r.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create(endpoint() + path)).timeout(Duration.ofSeconds(20));
    }

    private String get(String path) throws IOException {
        HttpRequest.Builder request = request(path);
        if (isAzure) {
            request.header("x-ms-version", "2021-08-06");
        }
        HttpResponse<String> r = send(request.build());
        if (r.statusCode() != 200) {
            throw new IOException("GET " + path + ": " + r.statusCode() + " " + r.body());
        }
        return r.body();
    }

    private HttpResponse<String> send(HttpRequest request) throws IOException {
        try {
            return http.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    @Override
    public void close() throws IOException {
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
}
