package io.undercroft.bench;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

import com.sun.management.OperatingSystemMXBean;

/** What passed between its making and its reading: wall time and CPU of this process. */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final long wall = System.nanoTime();
    private final long cpu = SYSTEM.getProcessCpuTime();

    double wallSeconds() {
        return (System.nanoTime() - wall) / 1e9;
    }

    double cpuSeconds() {
        return (SYSTEM.getProcessCpuTime() - cpu) / 1e9;
    }

    /** A line of the process's status, in MB: VmRSS, VmHWM. */
    static double memoryMb(String name) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(name + ":")) {
                return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
            }
        }
        throw new IOException("no " + name);
    }

    static double heapMb() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1e6;
    }

    /** A result on one line, for the table. */
    static void tell(String scenario, String manager, Object... namesAndValues) {
        Map<String, Object> all = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            all.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        StringBuilder json = new StringBuilder("{\"scenario\":\"" + scenario + "\",\"manager\":\"" + manager + "\"");
        all.forEach((name, value) -> json.append(",\"").append(name).append("\":")
            .append(value instanceof Double ? String.format(Locale.ROOT, "%.4f", value) : value.toString()));
        System.out.println(json.append('}'));
    }
}
