package io.rdmashuffle.integration;

import io.rdmashuffle.integration.report.Chart;
import io.rdmashuffle.integration.report.Chart.Role;
import io.rdmashuffle.integration.report.Page;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * Compares two runs and says so: {@code DemoReport TRANSPORT SORT-RUN OUR-RUN HTML JSON [FACT=VALUE…]}. TRANSPORT is what
 * was asked for; the facts go into the report's list of what was run where. Exit code 0 only if all results are equal.
 */
public final class DemoReport {
    private static final String NO_MEASUREMENT =
            "softverbs, a software stand-in for a device used by the tests: not a measurement of RDMA";

    private static final double MB = 1e6;

    private final DemoResult result;
    private final boolean softverbs;

    private DemoReport(DemoResult result, boolean softverbs) {
        this.result = result;
        this.softverbs = softverbs;
    }

    public static void main(String[] args) throws IOException {
        DemoResult result = DemoResult.compare(Path.of(args[1]), Path.of(args[2]));
        var report = new DemoReport(result, args[0].equals("softverbs"));
        report.page(Arrays.asList(args).subList(5, args.length)).write(Path.of(args[3]));
        result.write(Path.of(args[4]));
        System.out.print(report.text());
        System.exit(result.resultsEqual() ? 0 : 1);
    }

    private String text() {
        var text = new StringBuilder();
        String line = "%-6s %7s  %-5s %8s %8s %12s %12s  %s%n";
        text.append(
                line.formatted("query", "rows", "equal", "sort s", "ours s", "RDMA bytes", "TCP bytes", "fallbacks"));
        for (DemoResult.Query query : result.queries()) {
            text.append(line.formatted(
                    query.name(),
                    query.rows(),
                    query.equal() ? "yes" : "NO",
                    "%.2f".formatted(query.sortS()),
                    "%.2f".formatted(query.rdmaS()),
                    "%,d".formatted(query.bytes().rdma()),
                    "%,d".formatted(query.bytes().tcp()),
                    fallbacks(query.fallbacks())));
        }
        text.append(line.formatted(
                "total",
                result.queries().stream().mapToInt(DemoResult.Query::rows).sum(),
                result.resultsEqual() ? "yes" : "NO",
                "%.2f".formatted(result.sortS()),
                "%.2f".formatted(result.rdmaS()),
                "%,d".formatted(result.bytes().rdma()),
                "%,d".formatted(result.bytes().tcp()),
                fallbacks(result.fallbacks())));
        result.queries().stream()
                .filter(query -> !query.equal())
                .forEach(query -> text.append(query.name() + " differs at " + query.difference() + "\n"));
        return text.append(transport()).append('\n').toString();
    }

    /** Which transport was used and why, in one sentence. */
    private String transport() {
        String reason = softverbs && result.transport().equals("rdma")
                ? result.transportReason() + " (" + NO_MEASUREMENT + ")"
                : result.transportReason();
        return result.transport().equals("rdma")
                ? "Transport: RDMA, by " + reason + "."
                : "Transport: TCP, because " + reason + ".";
    }

    private Page page(List<String> facts) throws IOException {
        List<DemoResult.Query> queries = result.queries();
        Page page = new Page(
                        "rdma-shuffle: the same answers as Spark’s sort shuffle",
                        "Each TPC-DS query below ran twice on a cluster of one driver and two executors, once with Spark’s own sort shuffle and"
                                + " once with RdmaShuffleManager. Every result row was compared: rows of a query that asks for an order in that order,"
                                + " others as a set; floating-point numbers may differ in the ninth digit, all else not at all.")
                .verdict(
                        result.resultsEqual(),
                        (result.resultsEqual()
                                        ? "All " + queries.size() + " results are equal, row by row. "
                                        : "Results differ. ")
                                + transport());
        if (softverbs) {
            page.warning(
                    "Not a measurement of RDMA. The blocks went through softverbs, a software stand-in for libibverbs that the tests use"
                            + " on machines without a device. Compare the answers, not the seconds.");
        }
        List<String> names = queries.stream().map(DemoResult.Query::name).toList();
        page.plot(
                "Seconds per query",
                "One run of each query after one warm-up query: a demonstration, not a benchmark.",
                new Chart("seconds", names)
                        .bars("sort shuffle", Role.BASELINE, column(DemoResult.Query::sortS))
                        .bars("rdma-shuffle", Role.OURS, column(DemoResult.Query::rdmaS)));
        page.plot(
                "How the shuffle blocks travelled",
                "What executors read from each other under RdmaShuffleManager. Blocks that cannot go by RDMA are read over TCP by Spark’s own"
                        + " client, and the reason is counted.",
                new Chart("MB", names)
                        .stacked()
                        .bars(
                                "by RDMA",
                                Role.OURS,
                                column(query -> query.bytes().rdma() / MB))
                        .bars(
                                "over TCP",
                                Role.OURS_OVER_TCP,
                                column(query -> query.bytes().tcp() / MB)));
        page.table("All figures", "", queries.stream().map(DemoReport::cells).toList());
        addFacts(page, facts);
        return page;
    }

    private List<Double> column(ToDoubleFunction<DemoResult.Query> figure) {
        return result.queries().stream().mapToDouble(figure).boxed().toList();
    }

    private static Map<String, String> cells(DemoResult.Query query) {
        Map<String, String> cells = new LinkedHashMap<>();
        cells.put("query", query.name());
        cells.put("rows", "%,d".formatted(query.rows()));
        cells.put("equal", query.equal() ? "yes" : "NO: " + query.difference());
        cells.put("sort, s", "%.2f".formatted(query.sortS()));
        cells.put("ours, s", "%.2f".formatted(query.rdmaS()));
        cells.put("bytes by RDMA", "%,d".formatted(query.bytes().rdma()));
        cells.put("bytes over TCP", "%,d".formatted(query.bytes().tcp()));
        cells.put(
                "blocks", "%,d".formatted(query.blocks().rdma() + query.blocks().tcp()));
        cells.put("fallbacks", fallbacks(query.fallbacks()));
        return cells;
    }

    private void addFacts(Page page, List<String> given) throws IOException {
        for (String fact : given) {
            page.fact(fact.substring(0, fact.indexOf('=')), fact.substring(fact.indexOf('=') + 1));
        }
        page.fact("Spark", result.sparkVersion());
        page.fact(
                "settings",
                result.settings().entrySet().stream().map(Object::toString).collect(Collectors.joining("\n")));
        page.fact("machine", machine());
        page.fact("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        page.fact("JDK", System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
    }

    private static String machine() throws IOException {
        String processor = first("/proc/cpuinfo", "model name");
        long gib = Long.parseLong(first("/proc/meminfo", "MemTotal").replaceAll("\\D", "")) >> 20;
        return "%s, %d processors, %d GiB"
                .formatted(processor, Runtime.getRuntime().availableProcessors(), gib);
    }

    private static String first(String file, String key) throws IOException {
        try (var lines = Files.lines(Path.of(file))) {
            return lines.filter(line -> line.startsWith(key))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse("unknown");
        }
    }

    private static String fallbacks(Map<String, Long> fallbacks) {
        return fallbacks.entrySet().stream()
                .map(fallback -> fallback.getKey() + " " + fallback.getValue())
                .collect(Collectors.joining(", "));
    }
}
