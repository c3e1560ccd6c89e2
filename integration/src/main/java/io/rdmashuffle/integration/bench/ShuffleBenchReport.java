package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.integration.Median;
import io.rdmashuffle.integration.bench.ShuffleRun.Reading;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Compares the runs of a shuffle benchmark: {@code ShuffleBenchReport --maps M --reduces R --block-bytes B,… --transport T --command C
 * --runs DIR --pairs N --variants V,… --json FILE}. For each size B there is DIR/B with a file sort-I.json and for each variant of ours one
 * V-I.json for each pair I, and perhaps flight recordings of executors.
 */
public final class ShuffleBenchReport {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String variant;
    private final List<ShuffleRun> sort = new ArrayList<>();
    private final List<ShuffleRun> ours = new ArrayList<>();

    public static void main(String[] args) throws IOException {
        Options options = new Options(args);
        List<Map<String, Object>> rows = new ArrayList<>();
        for (String size : options.text("block-bytes", "").split(",")) {
            rows.addAll(rowsOf(size, options));
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", options.text("command", ""));
        result.put("machine", Machine.description());
        result.put("rows", rows);
        JSON.writerWithDefaultPrettyPrinter()
                .writeValue(Path.of(options.text("json", "shuffle.json")).toFile(), result);
        for (Map<String, Object> row : rows) {
            row.forEach((name, value) -> System.out.printf("%-26s %s%n", name, value));
            System.out.println(summary(row));
        }
    }

    /** One row for each variant of ours, the first with the time line of a fetch if any was recorded. */
    private static List<Map<String, Object>> rowsOf(String blockBytes, Options options) throws IOException {
        Path runs = Path.of(options.text("runs", "."), blockBytes);
        List<Map<String, Object>> rows = new ArrayList<>();
        for (String variant : options.text("variants", "ours").split(",")) {
            rows.add(new ShuffleBenchReport(runs, variant, options.number("pairs", 1))
                    .row(options, Integer.parseInt(blockBytes)));
        }
        try (Stream<Path> files = Files.list(runs)) {
            rows.get(0)
                    .put(
                            "fetch",
                            FetchTimeLine.ofMedian(
                                    files.filter(file -> file.toString().endsWith(".jfr"))
                                            .toList()));
        }
        return rows;
    }

    private ShuffleBenchReport(Path runs, String variant, int pairs) throws IOException {
        this.variant = variant;
        for (int pair = 1; pair <= pairs; pair++) {
            sort.add(JSON.readValue(runs.resolve("sort-" + pair + ".json").toFile(), ShuffleRun.class));
            ours.add(JSON.readValue(runs.resolve(variant + "-" + pair + ".json").toFile(), ShuffleRun.class));
        }
    }

    private Map<String, Object> row(Options options, int blockBytes) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("variant", variant);
        row.put("maps", options.number("maps", 0));
        row.put("reduces", options.number("reduces", 0));
        row.put("block_bytes", blockBytes);
        row.put("hot_factor", options.number("hot-factor", 1));
        row.put("transport", options.text("transport", "auto"));
        row.put("settings_of_ours", options.text("settings", ""));
        row.put("pairs", sort.size());
        compare(row, "s", "ratio", Reading::wallS);
        compare(row, "cpu_s", "cpu_ratio", Reading::cpuS);
        compare(row, "owner_cpu_s", "owner_cpu_ratio", Reading::ownerCpuS);
        compare(row, "reader_cpu_s", "reader_cpu_ratio", Reading::readerCpuS);
        compare(row, "task_cpu_s", "task_cpu_ratio", Reading::reduceTaskCpuS);
        row.put("stand_in_cpu_s_ours", medianOfReads(ours, Reading::standInCpuS));
        row.put("fetch_wait_s_sort", medianOfReads(sort, Reading::fetchWaitS));
        row.put("fetch_wait_s_ours", medianOfReads(ours, Reading::fetchWaitS));
        if (!sort.get(0).sql().adaptive().isEmpty()) {
            sql(row, "sql_adaptive", run -> run.sql().adaptive());
            sql(row, "sql_plain", run -> run.sql().plain());
        }
        whole(row, "first_job_s", "first_job_ratio", ShuffleRun::firstJobS);
        both(row, "map_task_s", ShuffleRun::mapTaskS);
        both(row, "first_map_task_s", ShuffleRun::firstMapTaskS);
        both(row, "warm_map_task_s", ShuffleRun::warmMapTaskS);
        both(row, "idle_cpu_share", ShuffleRun::idleCpuS);
        both(row, "peak_resident_bytes", ShuffleRun::peakResidentBytes);
        row.put("registration_s", median(ours, run -> run.moved().registrationS()));
        row.put("publish_s", median(ours, run -> run.moved().publishS()));
        row.put(
                "rdma_bytes",
                ours.stream().mapToLong(run -> run.moved().rdmaBytes()).sum());
        row.put(
                "tcp_bytes",
                ours.stream().mapToLong(run -> run.moved().tcpBytes()).sum());
        row.put(
                "pinned_bytes",
                ours.stream().mapToLong(run -> run.moved().pinnedBytes()).max().orElse(0));
        row.put("fallbacks", ours.get(0).moved().fallbacks());
        return row;
    }

    private static String summary(Map<String, Object> row) {
        return String.format(
                Locale.ROOT,
                "bench shuffle: %s, %s x %s blocks of %s bytes, %s: reduce stage %.2f (%.2f to %.2f) of sort shuffle's time, CPU %.2f"
                        + " (%.2f to %.2f), %d pairs",
                row.get("variant"),
                row.get("maps"),
                row.get("reduces"),
                row.get("block_bytes"),
                row.get("transport"),
                row.get("ratio"),
                row.get("ratio_min"),
                row.get("ratio_max"),
                row.get("cpu_ratio"),
                row.get("cpu_ratio_min"),
                row.get("cpu_ratio_max"),
                row.get("pairs"));
    }

    private void sql(Map<String, Object> row, String name, Function<ShuffleRun, List<SqlShuffle.Job>> jobs) {
        whole(row, name + "_s", name + "_ratio", run -> median(jobs.apply(run), SqlShuffle.Job::wallS));
        whole(row, name + "_cpu_s", name + "_cpu_ratio", run -> median(jobs.apply(run), SqlShuffle.Job::cpuS));
        both(row, name + "_map_task_s", run -> median(jobs.apply(run), SqlShuffle.Job::mapTaskS));
    }

    /** Seconds of whole jobs, and the median of the ratios of the pairs with the least and the greatest. */
    private void whole(Map<String, Object> row, String name, String ratio, ToDoubleFunction<ShuffleRun> seconds) {
        both(row, name, seconds);
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < sort.size(); pair++) {
            ratios.add(seconds.applyAsDouble(ours.get(pair)) / seconds.applyAsDouble(sort.get(pair)));
        }
        putRatios(row, ratio, ratios);
    }

    private void both(Map<String, Object> row, String name, ToDoubleFunction<ShuffleRun> figure) {
        row.put(name + "_sort", median(sort, figure));
        row.put(name + "_ours", median(ours, figure));
    }

    /** Medians of both, and the median of the ratios of the pairs with the least and the greatest. */
    private void compare(Map<String, Object> row, String name, String ratio, ToDoubleFunction<Reading> figure) {
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < sort.size(); pair++) {
            double ofSort = medianOfReads(List.of(sort.get(pair)), figure);
            if (ofSort > 0) {
                ratios.add(medianOfReads(List.of(ours.get(pair)), figure) / ofSort);
            }
        }
        // the two times of the reduce stage are named by the contract: sort_s and ours_s
        row.put(name.equals("s") ? "sort_s" : name + "_sort", medianOfReads(sort, figure));
        row.put(name.equals("s") ? "ours_s" : name + "_ours", medianOfReads(ours, figure));
        putRatios(row, ratio, ratios);
    }

    private static void putRatios(Map<String, Object> row, String name, List<Double> ratios) {
        row.put(name, Median.of(ratios.stream().mapToDouble(Double::doubleValue)));
        row.put(name + "_min", ratios.stream().min(Double::compare).orElse(Double.NaN));
        row.put(name + "_max", ratios.stream().max(Double::compare).orElse(Double.NaN));
    }

    private static double medianOfReads(List<ShuffleRun> runs, ToDoubleFunction<Reading> figure) {
        return Median.of(runs.stream().flatMap(run -> run.reads().stream()).mapToDouble(figure));
    }

    private static <T> double median(List<T> runs, ToDoubleFunction<T> figure) {
        return Median.of(runs.stream().mapToDouble(figure));
    }
}
