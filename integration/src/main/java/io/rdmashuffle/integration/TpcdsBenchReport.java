package io.rdmashuffle.integration;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/**
 * Compares the runs of TPC-DS as a benchmark: {@code TpcdsBenchReport RUNS PAIRS JSON [NAME=VALUE…]}. RUNS has a directory sort-I and
 * ours-I for each pair I, as {@link QueryJob} leaves it; the names and values go into the result. Exit code 0 only if all results are
 * equal: to Spark's golden ones if they were compared with these, else to each other.
 */
public final class TpcdsBenchReport {

    private final Path runs;
    private final List<RunSummary> sort = new ArrayList<>();
    private final List<RunSummary> ours = new ArrayList<>();

    private TpcdsBenchReport(Path runs, int pairs) throws IOException {
        this.runs = runs;
        for (int pair = 1; pair <= pairs; pair++) {
            sort.add(RunSummary.read(runs.resolve("sort-" + pair)));
            ours.add(RunSummary.read(runs.resolve("ours-" + pair)));
        }
    }

    public static void main(String[] args) throws IOException {
        TpcdsBenchReport report = new TpcdsBenchReport(Path.of(args[0]), Integer.parseInt(args[1]));
        List<Map<String, Object>> rows = report.rows();
        boolean equal = rows.stream().allMatch(row -> Boolean.TRUE.equals(row.get("equal")));
        double mean = geometricMean(rows, "ratio");
        Map<String, Object> result = new LinkedHashMap<>();
        for (String fact : List.of(args).subList(3, args.length)) {
            result.put(fact.substring(0, fact.indexOf('=')), fact.substring(fact.indexOf('=') + 1));
        }
        result.put("settings", report.ours.get(0).settings());
        result.put("spark", report.ours.get(0).sparkVersion());
        result.put("results_equal", equal);
        result.put("geometric_mean_ratio", mean);
        result.put("geometric_mean_cpu_ratio", geometricMean(rows, "cpu_ratio"));
        result.put("pair_ratios", report.pairRatios(RunSummary.Query::seconds));
        result.put("pair_cpu_ratios", report.pairRatios(RunSummary.Query::cpuSeconds));
        for (String figure : List.of("sort_s", "ours_s", "sort_cpu_s", "ours_cpu_s")) {
            result.put("sum_" + figure, sum(rows, figure));
        }
        result.put("rows", rows);
        new ObjectMapper()
                .writerWithDefaultPrettyPrinter()
                .writeValue(Path.of(args[2]).toFile(), result);
        System.out.printf(
                "bench tpcds: %d queries, results %s, ours takes %.3f of the sort shuffle's time and %.3f of its CPU (geometric means;"
                        + " of each pair: time %s, CPU %s)%n",
                rows.size(),
                equal ? "equal" : "DIFFER",
                mean,
                geometricMean(rows, "cpu_ratio"),
                text(report.pairRatios(RunSummary.Query::seconds)),
                text(report.pairRatios(RunSummary.Query::cpuSeconds)));
        System.exit(equal ? 0 : 1);
    }

    private static double geometricMean(List<Map<String, Object>> rows, String figure) {
        return geometricMean(rows.stream().mapToDouble(row -> (double) row.get(figure)));
    }

    private static double geometricMean(DoubleStream ratios) {
        return Math.exp(ratios.map(Math::log).average().orElseThrow());
    }

    private static String text(List<Double> ratios) {
        return ratios.stream()
                .map(ratio -> String.format(Locale.ROOT, "%.2f", ratio))
                .collect(Collectors.joining(" "));
    }

    /** Of each pair of applications, the geometric mean over the queries: how far they lie apart is what the machine's noise does. */
    private List<Double> pairRatios(ToDoubleFunction<RunSummary.Query> figure) {
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < sort.size(); pair++) {
            List<RunSummary.Query> stock = sort.get(pair).queries();
            List<RunSummary.Query> own = ours.get(pair).queries();
            ratios.add(geometricMean(IntStream.range(0, stock.size())
                    .mapToDouble(i -> figure.applyAsDouble(own.get(i)) / figure.applyAsDouble(stock.get(i)))));
        }
        return ratios;
    }

    private static double sum(List<Map<String, Object>> rows, String figure) {
        return rows.stream().mapToDouble(row -> (double) row.get(figure)).sum();
    }

    private List<Map<String, Object>> rows() throws IOException {
        System.out.printf(
                "%-12s %7s %-24s %8s %8s %6s %14s%n",
                "query", "rows", "equal", "sort s", "ours s", "ratio", "shuffled bytes");
        List<Map<String, Object>> rows = new ArrayList<>();
        for (int query = 0; query < sort.get(0).queries().size(); query++) {
            rows.add(row(query));
        }
        return rows;
    }

    private Map<String, Object> row(int query) throws IOException {
        RunSummary.Query stock = sort.get(0).queries().get(query);
        RunSummary.Query own = ours.get(0).queries().get(query);
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("name", stock.name());
        row.put("rows", stock.rows());
        if (stock.golden() != null) {
            row.put("golden_sort", worst(sort, query));
            row.put("golden_ours", worst(ours, query));
            row.put("equal", isSame(worst(sort, query)) && isSame(worst(ours, query)));
        } else {
            Optional<RowDifference> difference =
                    RowDifference.first(rows("sort-1", stock), rows("ours-1", stock), stock.ordered());
            row.put("equal", difference.isEmpty());
            difference.ifPresent(found -> row.put("difference", found.toString()));
        }
        compare(row, query, "s", "ratio", RunSummary.Query::seconds);
        compare(row, query, "cpu_s", "cpu_ratio", RunSummary.Query::cpuSeconds);
        row.put("sort_bytes", stock.traffic().tcpBytes());
        row.put("sort_blocks", stock.traffic().tcpBlocks());
        row.put("rdma_bytes", own.traffic().rdmaBytes());
        row.put("tcp_bytes", own.traffic().tcpBytes());
        row.put("rdma_blocks", own.traffic().rdmaBlocks());
        row.put("fallbacks", own.traffic().fallbacks());
        System.out.printf(
                "%-12s %7d %-24s %8.2f %8.2f %6.2f %,14d%n",
                stock.name(),
                stock.rows(),
                stock.golden() == null ? row.get("equal") : row.get("golden_sort") + " " + row.get("golden_ours"),
                row.get("sort_s"),
                row.get("ours_s"),
                row.get("ratio"),
                stock.traffic().tcpBytes());
        return row;
    }

    private List<List<Object>> rows(String run, RunSummary.Query query) throws IOException {
        return ResultRows.read(ResultRows.file(runs.resolve(run), query.name()));
    }

    private static GoldenResult.Match worst(List<RunSummary> runs, int query) {
        return runs.stream()
                .map(run -> run.queries().get(query).golden())
                .max(GoldenResult.Match::compareTo)
                .orElseThrow();
    }

    private static boolean isSame(GoldenResult.Match match) {
        return match != GoldenResult.Match.DIFFERENT;
    }

    private void compare(
            Map<String, Object> row, int query, String name, String ratio, ToDoubleFunction<RunSummary.Query> figure) {
        row.put("sort_" + name, median(sort, query, figure));
        row.put("ours_" + name, median(ours, query, figure));
        row.put(ratio, median(ours, query, figure) / median(sort, query, figure));
    }

    private static double median(List<RunSummary> runs, int query, ToDoubleFunction<RunSummary.Query> figure) {
        return Median.of(runs.stream()
                .mapToDouble(run -> figure.applyAsDouble(run.queries().get(query))));
    }
}
