package io.rdmashuffle.integration.mapreduce;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.hadoop.util.VersionInfo;

/**
 * Hadoop's shuffle and ours side by side; its JSON form is what {@code bin/demo --json} promises.
 *
 * @param command that was run
 * @param hadoop its version
 * @param transport {@code rdma} when map outputs were read by RDMA, else {@code tcp}
 * @param transportReason the device in use, or why it was HTTP
 * @param queries the jobs, in the order in which they ran
 */
record DemoOutcome(
        String command,
        String hadoop,
        boolean resultsEqual,
        String transport,
        String transportReason,
        List<Comparison> queries,
        Bytes bytes,
        Map<String, Long> fallbacks) {

    /** Bytes that reducers read by RDMA and by HTTP. */
    record Bytes(long rdma, long tcp) {}

    /**
     * One job under both shuffles.
     *
     * @param sortS seconds with Hadoop's; null when an earlier run left its output
     * @param fallbacks map outputs read over HTTP for want of RDMA, by reason
     */
    record Comparison(
            String name,
            long rows,
            boolean equal,
            Double sortS,
            double rdmaS,
            Bytes bytes,
            Map<String, Long> fallbacks) {}

    /** @param whyNot why there is no RDMA, when none was used; {@code device} otherwise says by what */
    static DemoOutcome of(String command, List<Comparison> jobs, String device, String whyNot) {
        Bytes bytes = new Bytes(
                jobs.stream().mapToLong(job -> job.bytes.rdma).sum(),
                jobs.stream().mapToLong(job -> job.bytes.tcp).sum());
        Map<String, Long> fallbacks = new TreeMap<>();
        jobs.forEach(job -> job.fallbacks.forEach((reason, count) -> fallbacks.merge(reason, count, Long::sum)));
        boolean rdma = bytes.rdma > 0;
        return new DemoOutcome(
                command,
                VersionInfo.getVersion(),
                jobs.stream().allMatch(Comparison::equal),
                rdma ? "rdma" : "tcp",
                rdma ? "device " + device : whyNot,
                jobs,
                bytes,
                fallbacks);
    }

    void write(Path json) throws IOException {
        new ObjectMapper()
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .writerWithDefaultPrettyPrinter()
                .writeValue(json.toFile(), this);
    }

    /** A table, and one sentence on which transport was used and why. */
    String text() {
        String line = "%-10s %11s  %-5s %8s %8s %12s %12s  %s%n";
        StringBuilder text = new StringBuilder(
                line.formatted("job", "rows", "equal", "stock s", "ours s", "RDMA bytes", "HTTP bytes", "fallbacks"));
        for (Comparison job : queries) {
            text.append(line.formatted(
                    job.name,
                    "%,d".formatted(job.rows),
                    job.equal ? "yes" : "NO",
                    job.sortS == null ? "earlier" : "%.1f".formatted(job.sortS),
                    "%.1f".formatted(job.rdmaS),
                    "%,d".formatted(job.bytes.rdma),
                    "%,d".formatted(job.bytes.tcp),
                    counts(job.fallbacks)));
        }
        return text.append(sentence()).append('\n').toString();
    }

    String sentence() {
        return transport.equals("rdma")
                ? "Transport: RDMA, by " + transportReason + "."
                : "Transport: TCP, because " + transportReason + ".";
    }

    static String counts(Map<String, Long> fallbacks) {
        return fallbacks.entrySet().stream()
                .map(fallback -> fallback.getKey() + " " + fallback.getValue())
                .collect(Collectors.joining(", "));
    }
}
