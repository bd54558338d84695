package io.undercroft.broker;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a process has used so far, as the kernel counts it.
 *
 * @param cpuSeconds user and system time of all its threads
 * @param peakRssBytes the most memory it held at once
 */
public record ProcessUse(double cpuSeconds, long peakRssBytes) {
    /** Ticks a second of /proc: USER_HZ, 100 on every Linux that Kafka runs on. */
    private static final double USER_HZ = 100.0;

    public static final ProcessUse NONE = new ProcessUse(0, 0);

    public static ProcessUse of(long pid) throws IOException {
        String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
        // The name in parentheses may hold spaces: fields are counted from behind it.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        double cpu = (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / USER_HZ;
        long peak = 0;
        for (String line : Files.readAllLines(Path.of("/proc/" + pid + "/status"))) {
            if (line.startsWith("VmHWM:")) {
                peak = Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return new ProcessUse(cpu, peak);
    }

    /** Of a process and the one that was started in its place. */
    public ProcessUse then(ProcessUse next) {
        return new ProcessUse(cpuSeconds + next.cpuSeconds, Math.max(peakRssBytes, next.peakRssBytes));
    }
}
