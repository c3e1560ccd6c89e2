package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * Compares the runs of a shuffle benchmark: {@code ShuffleBenchReport --maps M --reduces R --block-bytes B --transport T --command C
 * --runs DIR --pairs N --json FILE}. DIR has a file sort-I.json and ours-I.json for each pair I.
 */
public final class ShuffleBenchReport {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final List<ShuffleRun> sort = new ArrayList<>();
    private final List<ShuffleRun> ours = new ArrayList<>();

    public static void main(String[] args) throws IOException {
        Options options = new Options(args);
        ShuffleBenchReport report = new ShuffleBenchReport();
        Path runs = Path.of(options.text("runs", "."));
        for (int pair = 1; pair <= options.number("pairs", 1); pair++) {
            report.sort.add(
                    JSON.readValue(runs.resolve("sort-" + pair + ".json").toFile(), ShuffleRun.class));
            report.ours.add(
                    JSON.readValue(runs.resolve("ours-" + pair + ".json").toFile(), ShuffleRun.class));
        }
        Map<String, Object> row = report.row(options);
        row.forEach((name, value) -> System.out.printf("%-24s %s%n", name, value));
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("command", options.text("command", ""));
        result.put("transport", options.text("transport", "auto"));
        result.put("machine", Machine.description());
        result.put("rows", List.of(row));
        JSON.writerWithDefaultPrettyPrinter()
                .writeValue(Path.of(options.text("json", "shuffle.json")).toFile(), result);
    }

    private Map<String, Object> row(Options options) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("maps", options.number("maps", 0));
        row.put("reduces", options.number("reduces", 0));
        row.put("block_bytes", options.number("block-bytes", 0));
        compare(row, "s", "ratio", ShuffleRun.Reading::wallS);
        compare(
                row,
                "cpu_s",
                "cpu_ratio",
                reading -> reading.ownerCpuS() + reading.readerCpuS() + reading.driverCpuS());
        row.put("owner_cpu_s_sort", median(sort, ShuffleRun.Reading::ownerCpuS));
        row.put("owner_cpu_s_ours", median(ours, ShuffleRun.Reading::ownerCpuS));
        row.put("reader_cpu_s_sort", median(sort, ShuffleRun.Reading::readerCpuS));
        row.put("reader_cpu_s_ours", median(ours, ShuffleRun.Reading::readerCpuS));
        row.put("first_job_s_sort", medianOf(sort.stream().map(ShuffleRun::mapS).toList()));
        row.put("first_job_s_ours", medianOf(ours.stream().map(ShuffleRun::mapS).toList()));
        row.put("rdma_bytes", ours.stream().mapToLong(ShuffleRun::rdmaBytes).sum());
        row.put("tcp_bytes", ours.stream().mapToLong(ShuffleRun::tcpBytes).sum());
        row.put(
                "registered_bytes",
                ours.stream().mapToLong(ShuffleRun::registeredBytes).max().orElse(0));
        row.put("fallbacks", ours.get(0).fallbacks());
        return row;
    }

    /** Medians of both, and the median of the ratios of the pairs with the least and the greatest. */
    private void compare(
            Map<String, Object> row, String unit, String ratio, ToDoubleFunction<ShuffleRun.Reading> figure) {
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < sort.size(); pair++) {
            ratios.add(median(List.of(ours.get(pair)), figure) / median(List.of(sort.get(pair)), figure));
        }
        row.put("sort_" + unit, median(sort, figure));
        row.put("ours_" + unit, median(ours, figure));
        row.put(ratio, medianOf(ratios));
        row.put(ratio + "_min", ratios.stream().min(Double::compare).orElseThrow());
        row.put(ratio + "_max", ratios.stream().max(Double::compare).orElseThrow());
    }

    private static double median(List<ShuffleRun> runs, ToDoubleFunction<ShuffleRun.Reading> figure) {
        return medianOf(runs.stream()
                .flatMap(run -> run.reads().stream())
                .map(figure::applyAsDouble)
                .toList());
    }

    private static double medianOf(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
