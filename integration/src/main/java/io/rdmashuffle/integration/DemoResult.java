package io.rdmashuffle.integration;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The sort shuffle and ours side by side; its JSON form is what {@code bin/demo --json} promises.
 *
 * @param transport {@code rdma} when blocks were read by RDMA, else {@code tcp}
 * @param bytes what our manager read from other executors
 * @param fallbacks blocks our manager read over TCP for want of RDMA, by reason
 * @param settings of the run with our manager; the sort shuffle had the same but for the manager's own
 */
record DemoResult(
        boolean resultsEqual,
        String transport,
        String transportReason,
        List<Query> queries,
        Bytes bytes,
        Map<String, Long> fallbacks,
        double sortS,
        double rdmaS,
        String sparkVersion,
        Map<String, String> settings) {

    /** Bytes by RDMA and by TCP. */
    record Bytes(long rdma, long tcp) {}

    /**
     * One query under both managers.
     *
     * @param difference the first rows that differ, or null
     * @param sortBytes what the sort shuffle read from the other executor
     */
    record Query(
            String name,
            int rows,
            boolean equal,
            String difference,
            double sortS,
            double rdmaS,
            long sortBytes,
            long sortBlocks,
            Bytes bytes,
            Bytes blocks,
            Map<String, Long> fallbacks) {}

    static DemoResult compare(Path sortRun, Path ourRun) throws IOException {
        RunSummary sort = RunSummary.read(sortRun);
        RunSummary ours = RunSummary.read(ourRun);
        List<Query> queries = new ArrayList<>();
        for (int i = 0; i < sort.queries().size(); i++) {
            RunSummary.Query query = sort.queries().get(i);
            var difference = RowDifference.first(
                    ResultRows.read(ResultRows.file(sortRun, query.name())),
                    ResultRows.read(ResultRows.file(ourRun, query.name())),
                    query.ordered());
            queries.add(query(query, ours.queries().get(i), difference));
        }
        RunSummary.Traffic traffic = ours.traffic();
        return new DemoResult(
                queries.stream().allMatch(Query::equal),
                traffic.rdmaBlocks() > 0 ? "rdma" : "tcp",
                reason(ours),
                queries,
                new Bytes(traffic.rdmaBytes(), traffic.tcpBytes()),
                traffic.fallbacks(),
                queries.stream().mapToDouble(Query::sortS).sum(),
                queries.stream().mapToDouble(Query::rdmaS).sum(),
                ours.sparkVersion(),
                ours.settings());
    }

    void write(Path json) throws IOException {
        new ObjectMapper()
                .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .writerWithDefaultPrettyPrinter()
                .writeValue(json.toFile(), this);
    }

    private static Query query(RunSummary.Query sort, RunSummary.Query ours, Optional<RowDifference> difference) {
        RunSummary.Traffic traffic = ours.traffic();
        return new Query(
                sort.name(),
                sort.rows(),
                difference.isEmpty(),
                difference.map(RowDifference::toString).orElse(null),
                sort.seconds(),
                ours.seconds(),
                sort.traffic().tcpBytes(),
                sort.traffic().tcpBlocks(),
                new Bytes(traffic.rdmaBytes(), traffic.tcpBytes()),
                new Bytes(traffic.rdmaBlocks(), traffic.tcpBlocks()),
                traffic.fallbacks());
    }

    /** The devices in use, or why the blocks went over TCP. */
    private static String reason(RunSummary ours) {
        boolean rdma = ours.traffic().rdmaBlocks() > 0;
        String named = ours.executors().values().stream()
                .filter(executor -> executor.rdma() == rdma)
                .map(executor -> rdma ? "device " + executor.device() : executor.reason())
                .distinct()
                .sorted()
                .collect(Collectors.joining("; "));
        if (!named.isEmpty()) {
            return named;
        }
        return "off".equals(ours.settings().get(RunSummary.MODE))
                ? RunSummary.MODE + " is off"
                : "no block was read by RDMA; fallbacks: " + ours.traffic().fallbacks();
    }
}
