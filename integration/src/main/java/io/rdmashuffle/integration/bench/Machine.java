package io.rdmashuffle.integration.bench;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where a figure was measured, and what processes have used. Linux. */
final class Machine {

    private static final Pattern CPU_MODEL = Pattern.compile("model name\\s*: (.*)");
    private static final Pattern PEAK_RESIDENT = Pattern.compile("VmHWM:\\s*(\\d+) kB");
    private static final Pattern CPU_PRESSURE = Pattern.compile("some avg10=([0-9.]+)");
    /** Of /proc/PID/stat, counted after the command's closing parenthesis. */
    private static final int USER_TICKS = 11;

    private static final int SYSTEM_TICKS = 12;
    /** USER_HZ, the same on all architectures of Linux that Java runs on. */
    private static final double TICKS_PER_SECOND = 100;

    private Machine() {}

    /** For the head of a report. */
    static Map<String, String> description() {
        Map<String, String> description = new LinkedHashMap<>();
        description.put("cpu", find(CPU_MODEL, Path.of("/proc/cpuinfo"), "unknown"));
        description.put("cores", String.valueOf(Runtime.getRuntime().availableProcessors()));
        description.put("kernel", System.getProperty("os.version"));
        description.put("jdk", System.getProperty("java.vm.version"));
        description.put("commit", System.getProperty("rdma.shuffle.commit", "unknown"));
        description.put("date", java.time.Instant.now().toString());
        return description;
    }

    /** Share of the last ten seconds in which a process waited for a processor, in percent; 0 where the kernel does not say. */
    static double cpuPressurePercent() {
        return Double.parseDouble(find(CPU_PRESSURE, Path.of("/proc/pressure/cpu"), "0"));
    }

    /** CPU seconds of a process, user and system, all its threads. */
    static double cpuSeconds(long pid) {
        return cpuSecondsOf(Path.of("/proc/" + pid));
    }

    private static double cpuSecondsOf(Path processOrThread) {
        String stat = read(processOrThread.resolve("stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[USER_TICKS]) + Long.parseLong(fields[SYSTEM_TICKS])) / TICKS_PER_SECOND;
    }

    /** CPU seconds of those threads of a process that have a name. */
    static double cpuSeconds(long pid, String threadName) {
        double seconds = 0;
        for (File thread : new File("/proc/" + pid + "/task").listFiles()) {
            if (read(thread.toPath().resolve("comm")).trim().equals(threadName)) {
                seconds += cpuSecondsOf(thread.toPath());
            }
        }
        return seconds;
    }

    /** The most memory the process ever had in use, whatever it is: heap, buffers, mapped files. */
    static long peakResidentBytes(long pid) {
        return 1024 * Long.parseLong(find(PEAK_RESIDENT, Path.of("/proc/" + pid + "/status"), "0"));
    }

    private static String find(Pattern pattern, Path file, String otherwise) {
        if (!Files.isReadable(file)) {
            return otherwise;
        }
        Matcher matcher = pattern.matcher(read(file));
        return matcher.find() ? matcher.group(1) : otherwise;
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
