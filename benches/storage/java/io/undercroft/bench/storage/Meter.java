package io.undercroft.bench.storage;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

import com.sun.management.OperatingSystemMXBean;

/** What passes between its making and {@link #tell}: time, CPU and memory of this process, and what the proxy has seen. */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final AtomicLong PEAK_KIB = new AtomicLong();

    /** Bytes that a caller got or gave. */
    final AtomicLong bytes = new AtomicLong();
    private final Queue<Long> nanos = new ConcurrentLinkedQueue<>();
    private final Queue<String> errors = new ConcurrentLinkedQueue<>();
    private final String scenario;
    private final String proxy;
    private final Map<String, Long> before;
    private final long anonymousKib;
    private final long cpu;
    private final long wall;

    Meter(String scenario, String proxy) throws IOException, InterruptedException {
        this.scenario = scenario;
        this.proxy = proxy;
        before = seen();
        System.gc();
        anonymousKib = anonymousKib();
        PEAK_KIB.set(anonymousKib);
        cpu = SYSTEM.getProcessCpuTime();
        wall = System.nanoTime();
    }

    /** Looks at the process's memory every 20 ms: heap and native, without the mapped segments. */
    static void watchMemory() {
        Thread watch = new Thread(() -> {
            while (true) {
                try {
                    PEAK_KIB.accumulateAndGet(anonymousKib(), Math::max);
                    Thread.sleep(20);
                } catch (IOException | InterruptedException ended) {
                    return;
                }
            }
        }, "memory");
        watch.setDaemon(true);
        watch.start();
    }

    private static long anonymousKib() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("RssAnon:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        throw new IOException("no RssAnon in /proc/self/status");
    }

    private Map<String, Long> seen() throws IOException, InterruptedException {
        Map<String, Long> counts = new LinkedHashMap<>();
        String answer = CLIENT.send(HttpRequest.newBuilder(URI.create(proxy + "/stats")).build(), HttpResponse.BodyHandlers.ofString()).body();
        for (String line : answer.split("\n")) {
            String[] pair = line.split(" ");
            counts.put(pair[0], Long.parseLong(pair[1]));
        }
        return counts;
    }

    void took(long sinceNanos) {
        nanos.add(System.nanoTime() - sinceNanos);
    }

    void failed(Throwable error) {
        StringBuilder chain = new StringBuilder();
        for (Throwable at = error; at != null; at = at.getCause()) {
            chain.append(chain.length() == 0 ? "" : " <- ").append(at);
        }
        errors.add(chain.toString());
    }

    /** Prints a line of JSON. Says whether all went well. */
    boolean tell(String label) throws IOException, InterruptedException {
        double seconds = (System.nanoTime() - wall) / 1e9;
        double cpuSeconds = (SYSTEM.getProcessCpuTime() - cpu) / 1e9;
        double mebibytes = bytes.get() / 1_048_576.0;
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("scenario", label + scenario);
        all.put("bytes", bytes.get());
        all.put("wall_s", rounded(seconds));
        all.put("cpu_s", rounded(cpuSeconds));
        all.put("mib_s", rounded(mebibytes / seconds));
        all.put("cpu_s_per_gib", rounded(cpuSeconds / mebibytes * 1024));
        all.put("memory_rise_mib", rounded((PEAK_KIB.get() - anonymousKib) / 1024.0));
        all.put("memory_mib", rounded(PEAK_KIB.get() / 1024.0));
        long[] sorted = nanos.stream().mapToLong(Long::longValue).sorted().toArray();
        if (sorted.length > 0) {
            all.put("calls", sorted.length);
            all.put("p50_ms", rounded(sorted[sorted.length / 2] / 1e6));
            all.put("p99_ms", rounded(sorted[Math.min(sorted.length - 1, (int) (sorted.length * 0.99))] / 1e6));
            all.put("max_ms", rounded(sorted[sorted.length - 1] / 1e6));
        }
        seen().forEach((name, count) -> {
            long rise = name.equals("in_flight_max") ? count : count - before.getOrDefault(name, 0L);
            if (rise != 0) {
                all.put("s3_" + name, rise);
            }
        });
        if (!errors.isEmpty()) {
            all.put("errors", errors.size());
            all.put("first_error", errors.peek());
        }
        StringBuilder json = new StringBuilder();
        all.forEach((name, value) -> json.append(json.length() == 0 ? "{" : ",").append('"').append(name).append("\":")
            .append(value instanceof Number ? value.toString() : quoted(value.toString())));
        System.out.println(json.append('}'));
        return errors.isEmpty();
    }

    private static String quoted(String text) {
        String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"");
        return '"' + String.join(" ", Arrays.asList(escaped.split("\\p{Cntrl}+"))) + '"';
    }

    private static double rounded(double value) {
        return Double.isFinite(value) ? Math.round(value * 1000) / 1000.0 : 0;
    }
}
