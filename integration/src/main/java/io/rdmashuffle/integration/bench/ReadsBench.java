package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.verbs.Rdma;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Our READs from Java against perftest's in C, on the same devices, at the same sizes and depth, in turn: {@code ReadsBench [--device D]
 * [--sizes N,…] [--depth N] [--rounds N] [--seconds N] [--processor N] [--owner ADDRESS --reader ADDRESS] [--command C] [--json FILE]}.
 * Exit code 3 when there is no RDMA.
 */
public final class ReadsBench {

    /** So many that the compiler of the JVM has come to its end. */
    private static final int WARM_UP_READS = 20_000;

    private static final int PROBE_READS = 200;
    private static final int WRONG_USAGE = 2;
    private static final int NO_RDMA = 3;

    private final List<Integer> sizes;
    private final int depth;
    private final int rounds;
    private final int seconds;
    private final String processor;
    private final InetAddress ownerAddress;
    private final InetAddress readerAddress;

    private ReadsBench(Options options) throws IOException {
        sizes = Arrays.stream(options.text("sizes", "64,4096,65536,1048576").split(","))
                .map(Integer::valueOf)
                .toList();
        depth = options.number("depth", 64);
        rounds = options.number("rounds", 5);
        seconds = options.number("seconds", 2);
        processor = options.text("processor", "");
        InetAddress found = options.text("owner", "").isEmpty() ? addressOf(options.text("device", "")) : null;
        ownerAddress = found != null ? found : InetAddress.getByName(options.text("owner", ""));
        readerAddress = found != null ? found : InetAddress.getByName(options.text("reader", ""));
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        if (!Rdma.isAvailable()) {
            System.out.println("bench reads: there is nothing to measure: " + Rdma.unavailabilityCause());
            System.exit(NO_RDMA);
        }
        try {
            measure(new Options(args));
        } catch (IllegalArgumentException e) {
            System.out.println("bench reads: " + e.getMessage());
            System.exit(WRONG_USAGE);
        }
    }

    private static void measure(Options options) throws IOException, InterruptedException {
        Map<String, String> machine = Machine.description(); // before this thread sees one processor only
        Map<String, Object> result = new ReadsBench(options).run();
        result.put("command", options.text("command", ""));
        result.put("machine", machine);
        if (!options.text("json", "").isEmpty()) {
            new ObjectMapper()
                    .writerWithDefaultPrettyPrinter()
                    .writeValue(Path.of(options.text("json", "")).toFile(), result);
        }
    }

    private Map<String, Object> run() throws IOException, InterruptedException {
        if (!processor.isEmpty()) {
            stayOn(processor);
        }
        int largest = sizes.stream().mapToInt(Integer::intValue).max().orElseThrow();
        Map<String, Object> result = new LinkedHashMap<>();
        List<Map<String, Object>> rows = new ArrayList<>();
        try (JavaReads ours = new JavaReads(ownerAddress, readerAddress, depth, largest)) {
            Perftest theirs = new Perftest(ours.ownerDevice(), ownerAddress, ours.readerDevice());
            result.put("device", ours.readerDevice());
            result.put("kernel", System.getProperty("os.version"));
            result.put("depth", depth);
            result.put("rounds", rounds);
            result.put("processor", processor.isEmpty() ? "any" : processor);
            System.out.printf(
                    "%10s %12s %14s %7s %12s %12s %10s%n",
                    "bytes", "ours MB/s", "perftest MB/s", "ratio", "ours p50 us", "perftest us", "ratio");
            int smallest = sizes.stream().mapToInt(Integer::intValue).min().orElseThrow();
            ours.readsPerSecond(smallest, WARM_UP_READS);
            ours.medianMicros(smallest, WARM_UP_READS);
            for (int bytes : sizes) {
                rows.add(row(bytes, ours, theirs));
            }
        }
        result.put("rows", rows);
        return result;
    }

    /**
     * Keeps this thread, and by inheritance perftest, on one processor. Where processors handle the packets and not a NIC, nothing
     * matters more for a short READ than whether the reader's own does: its median is twice as long where another one does.
     */
    private static void stayOn(String processor) throws IOException, InterruptedException {
        String thread = Files.readSymbolicLink(Path.of("/proc/thread-self"))
                .getFileName()
                .toString(); // proc(5)
        Process taskset = new ProcessBuilder("taskset", "--cpu-list", "--pid", processor, thread)
                .redirectErrorStream(true)
                .start();
        String said = new String(taskset.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (taskset.waitFor() != 0) {
            throw new IllegalArgumentException("--processor wants the number of a processor of this machine, not '"
                    + processor + "': " + said.strip());
        }
    }

    /** Rounds in the order A B B A …; medians, and the median of the ratios of the rounds with its spread. */
    private Map<String, Object> row(int bytes, JavaReads ours, Perftest theirs)
            throws IOException, InterruptedException {
        double rate = ours.readsPerSecond(bytes, PROBE_READS);
        long reads = Math.max(depth, (long) (rate * seconds));
        int latencies = (int) Math.max(20, Math.min(2000, reads / 4));
        List<Round> done = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            boolean oursFirst = round % 2 == 0;
            double oursOps = oursFirst ? ours.readsPerSecond(bytes, reads) : 0;
            double oursMicros = oursFirst ? ours.medianMicros(bytes, latencies) : 0;
            double theirOps = theirs.readsPerSecond(bytes, depth, ours.chain(), reads);
            double theirMicros = theirs.medianMicros(bytes, latencies);
            done.add(new Round(
                    oursFirst ? oursOps : ours.readsPerSecond(bytes, reads),
                    theirOps,
                    oursFirst ? oursMicros : ours.medianMicros(bytes, latencies),
                    theirMicros));
        }
        Map<String, Object> row = Round.row(bytes, done);
        System.out.printf(
                "%10d %12.2f %14.2f %7.2f %12.1f %12.1f %10.2f%n",
                bytes,
                row.get("ours_MBps"),
                row.get("perftest_MBps"),
                row.get("ratio"),
                row.get("ours_p50_us"),
                row.get("perftest_p50_us"),
                row.get("latency_ratio"));
        return row;
    }

    /** What one round gave: READs per second, and microseconds of one READ. */
    private record Round(double oursOps, double theirOps, double oursMicros, double theirMicros) {

        private static final double MB = 1e6;

        static Map<String, Object> row(int bytes, List<Round> rounds) {
            double oursOps = median(rounds.stream().map(Round::oursOps).toList());
            double theirOps = median(rounds.stream().map(Round::theirOps).toList());
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("block_bytes", bytes);
            row.put("ours_MBps", oursOps * bytes / MB);
            row.put("perftest_MBps", theirOps * bytes / MB);
            putSpread(
                    row,
                    "ratio",
                    rounds.stream().map(round -> round.oursOps / round.theirOps).toList());
            row.put("ours_ops", oursOps);
            row.put("perftest_ops", theirOps);
            row.put("ours_p50_us", median(rounds.stream().map(Round::oursMicros).toList()));
            row.put(
                    "perftest_p50_us",
                    median(rounds.stream().map(Round::theirMicros).toList()));
            putSpread(
                    row,
                    "latency_ratio",
                    rounds.stream()
                            .map(round -> round.oursMicros / round.theirMicros)
                            .toList());
            return row;
        }

        private static void putSpread(Map<String, Object> row, String name, List<Double> ratios) {
            row.put(name, median(ratios));
            row.put(name + "_min", Collections.min(ratios));
            row.put(name + "_max", Collections.max(ratios));
        }

        private static double median(List<Double> values) {
            List<Double> sorted = values.stream().sorted().toList();
            int middle = sorted.size() / 2;
            return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
        }
    }

    /** The first address of this machine that belongs to the device, or to any if none is named. */
    private static InetAddress addressOf(String device) throws IOException {
        for (NetworkInterface network : NetworkInterface.networkInterfaces().toList()) {
            for (InetAddress address : network.inetAddresses().toList()) {
                try (VerbsEndpoint endpoint = VerbsEndpoint.open(address, 1, 16)) {
                    if (device.isEmpty() || endpoint.device().name().equals(device)) {
                        return address;
                    }
                } catch (VerbsException e) {
                    continue; // an address of no RDMA device
                }
            }
        }
        throw new IllegalArgumentException(
                device.isEmpty() ? "no address belongs to an RDMA device" : "no address belongs to a device " + device);
    }
}
