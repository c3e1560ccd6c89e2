package io.rdmashuffle.integration;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one run of the queries under one shuffle manager gave, apart from the rows themselves.
 *
 * @param settings the settings of the application that bear on the shuffle
 * @param executors what each executor could use; empty under the sort shuffle
 */
record RunSummary(
        String sparkVersion, Map<String, String> settings, Map<String, Transport> executors, List<Query> queries) {
    /** The setting that says whether RDMA is used. */
    static final String MODE = "spark.shuffle.rdma.mode";

    private static final ObjectMapper JSON = new ObjectMapper();

    /** Whether an executor reads by RDMA, with which device, or why not. */
    record Transport(boolean rdma, String device, String reason) {}

    /**
     * One query.
     *
     * @param cpuSeconds of the driver and the processes it started, which on local-cluster are all executors
     * @param ordered whether the query asks for an order of its rows
     * @param golden how the rows compare with Spark's golden result; null when they were not compared
     */
    record Query(
            String name,
            boolean ordered,
            int rows,
            double seconds,
            double cpuSeconds,
            Traffic traffic,
            GoldenResult.Match golden) {

        /** Of several rounds of a query: medians of the times, the worst match, all else of the first. */
        static Query of(List<Query> rounds) {
            Query first = rounds.get(0);
            return new Query(
                    first.name,
                    first.ordered,
                    first.rows,
                    Median.of(rounds.stream().mapToDouble(Query::seconds)),
                    Median.of(rounds.stream().mapToDouble(Query::cpuSeconds)),
                    first.traffic,
                    first.golden == null
                            ? null
                            : rounds.stream()
                                    .map(Query::golden)
                                    .max(GoldenResult.Match::compareTo)
                                    .orElseThrow());
        }
    }

    /**
     * Shuffle blocks read from another executor.
     *
     * @param fallbacks blocks read over TCP for want of RDMA, by reason
     */
    record Traffic(long rdmaBytes, long rdmaBlocks, long tcpBytes, long tcpBlocks, Map<String, Long> fallbacks) {
        static final Traffic NONE = new Traffic(0, 0, 0, 0, Map.of());

        Traffic plus(Traffic other) {
            return combine(other, 1);
        }

        Traffic minus(Traffic other) {
            return combine(other, -1);
        }

        private Traffic combine(Traffic other, int sign) {
            Map<String, Long> reasons = new TreeMap<>(fallbacks);
            other.fallbacks.forEach((reason, blocks) -> reasons.merge(reason, sign * blocks, Long::sum));
            reasons.values().removeIf(blocks -> blocks == 0);
            return new Traffic(
                    rdmaBytes + sign * other.rdmaBytes,
                    rdmaBlocks + sign * other.rdmaBlocks,
                    tcpBytes + sign * other.tcpBytes,
                    tcpBlocks + sign * other.tcpBlocks,
                    reasons);
        }
    }

    /** The traffic of all queries, without the warm-up. */
    Traffic traffic() {
        return queries.stream().map(Query::traffic).reduce(Traffic.NONE, Traffic::plus);
    }

    void write(Path directory) throws IOException {
        JSON.writerWithDefaultPrettyPrinter().writeValue(file(directory), this);
    }

    static RunSummary read(Path directory) throws IOException {
        return JSON.readValue(file(directory), RunSummary.class);
    }

    private static File file(Path directory) {
        return directory.resolve("run.json").toFile();
    }
}
