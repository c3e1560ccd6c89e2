package io.rdmashuffle.integration.report;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.integration.report.Chart.Role;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Makes a page of results in JSON, of a benchmark or of a demo: {@code ResultPage HTML TITLE PLOTS RESULT.json…}. The rows of all of
 * them stand together, so that several runs at other sizes make a sweep. Which plots there are is decided by the columns that the rows
 * have. PLOTS is empty or a folder, to which each plot is written as an SVG file, too.
 */
public final class ResultPage {

    /** A column of the rows and how it is drawn. */
    private record Series(String column, String name, Role role) {}

    /** Drawn of the rows that have all its columns; a line for sizes, bars else; {@code level} is null or what to compare with. */
    private record Plot(String heading, String text, String unit, boolean line, Double level, List<Series> series) {

        static Plot bars(String heading, String text, String unit, Double level, Series... series) {
            return new Plot(heading, text, unit, false, level, List.of(series));
        }

        static Plot sweep(String heading, String text, String unit, Series... series) {
            return new Plot(heading, text, unit, true, null, List.of(series));
        }
    }

    private static final double GIB = 1 << 30;
    private static final int MANY = 9;
    private static final int MOST_BARS = 24;
    private static final String RATIO_TEXT = "Below 1 ours took less. What is close to 1 differs by chance.";

    private static final List<Plot> PLOTS = List.of(
            Plot.bars(
                    "Time, ours to stock",
                    RATIO_TEXT,
                    "ratio",
                    1.0,
                    new Series("ratio", "ours / sort shuffle", Role.OURS),
                    new Series("sort_s", "", null)),
            Plot.bars(
                    "Throughput, ours to perftest",
                    "Above 1 ours read more.",
                    "ratio",
                    1.0,
                    new Series("ratio", "ours / ib_read_bw", Role.OURS),
                    new Series("perftest_MBps", "", null)),
            Plot.bars("CPU of all processes, ours to stock", RATIO_TEXT, "ratio", 1.0, ours("cpu_ratio")),
            Plot.bars("Time", "Medians.", "seconds", null, stock("sort_s"), ours("ours_s")),
            Plot.bars("Time", "", "seconds", null, stock("sort_s"), ours("rdma_s")),
            Plot.bars(
                    "The same bytes by Spark SQL, adaptive execution on",
                    "Whole jobs, map stage and reading. Adaptive execution, the default, fetches adjacent small blocks as one.",
                    "seconds",
                    null,
                    stock("sql_adaptive_s_sort"),
                    ours("sql_adaptive_s_ours")),
            Plot.bars(
                    "The same bytes by Spark SQL, adaptive execution off",
                    "",
                    "seconds",
                    null,
                    stock("sql_plain_s_sort"),
                    ours("sql_plain_s_ours")),
            Plot.bars(
                    "CPU per GiB read",
                    "What the owner’s and the reader’s processes used for each GiB of blocks, from the operating system.",
                    "CPU s / GiB",
                    null,
                    new Series("owner_cpu_s_sort_per_gib", "owner, stock", Role.BASELINE),
                    new Series("owner_cpu_s_ours_per_gib", "owner, ours", Role.OURS)),
            Plot.bars(
                    "CPU per GiB read, reader",
                    "",
                    "CPU s / GiB",
                    null,
                    stock("reader_cpu_s_sort_per_gib"),
                    ours("reader_cpu_s_ours_per_gib")),
            Plot.sweep(
                    "Throughput by block size",
                    "One connection, the same depth for both.",
                    "MB/s",
                    perftest("perftest_MBps"),
                    ours("ours_MBps")),
            Plot.sweep("Reads by block size", "", "reads/s", perftest("perftest_ops"), ours("ours_ops")),
            Plot.sweep(
                    "Median latency by block size",
                    "One READ under way at a time.",
                    "µs",
                    perftest("perftest_p50_us"),
                    ours("ours_p50_us")));

    private final List<Map<String, JsonNode>> rows = new ArrayList<>();
    private final Map<String, String> facts = new LinkedHashMap<>();

    private ResultPage(List<Path> results) throws IOException {
        ObjectMapper json = new ObjectMapper();
        for (Path file : results) {
            JsonNode result = json.readTree(file.toFile());
            JsonNode itsRows = result.has("queries") ? result.get("queries") : result.get("rows");
            for (JsonNode row : itsRows == null ? List.of(result) : itsRows) {
                rows.add(perGib(flat(row)));
            }
            flat(result).forEach((name, value) -> {
                if (!name.equals("rows") && !name.equals("queries")) {
                    facts.merge(name, text(value), (a, b) -> a.contains(b) ? a : a + "\n" + b);
                }
            });
        }
    }

    public static void main(String[] args) throws IOException {
        List<Path> results = Stream.of(args).skip(3).map(Path::of).toList();
        Page page = new ResultPage(results).page(args[1]);
        page.write(Path.of(args[0]));
        if (!args[2].isEmpty()) {
            page.writePlots(Path.of(args[2]));
        }
    }

    private Page page(String title) {
        Page page = new Page(title, "Measured by the command below; the whole result stands in the table.");
        if (Stream.of("transport", "transport_reason")
                .anyMatch(name -> facts.getOrDefault(name, "").contains("soft"))) {
            page.warning("Not a measurement of RDMA hardware: READs went through software on one machine.");
        }
        for (Plot plot : PLOTS) {
            List<Map<String, JsonNode>> drawn = rows.stream()
                    .filter(row -> plot.series.stream().allMatch(series -> isNumber(row.get(series.column))))
                    .toList();
            if (!drawn.isEmpty()) {
                page.plot(plot.heading, plot.text, charts(plot, drawn));
            }
        }
        rows.stream()
                .filter(row -> isNumber(row.get("fetch last_block_us")))
                .findFirst()
                .ifPresent(row -> timeLine(page, row));
        page.table("All figures", "", cells());
        facts.forEach(page::fact);
        return page;
    }

    private static void timeLine(Page page, Map<String, JsonNode> row) {
        List<Double> ends = Stream.of("located_us", "offsets_us", "first_block_us", "last_block_us")
                .map(step -> row.get("fetch " + step).asDouble())
                .toList();
        page.plot(
                "Time line of one fetch",
                "%s blocks, %s bytes; of all fetches the one whose time is in the middle."
                        .formatted(text(row.get("fetch blocks")), text(row.get("fetch bytes"))),
                new Chart(
                                "µs",
                                List.of(
                                        "map outputs located",
                                        "offsets known",
                                        "first block there",
                                        "last block there"))
                        .stair("step", Role.OURS, ends));
    }

    /** Bars too many for the width of a page stand in several charts of one scale. */
    private Chart[] charts(Plot plot, List<Map<String, JsonNode>> drawn) {
        if (plot.line || drawn.size() <= MOST_BARS) {
            return new Chart[] {chart(plot, drawn)};
        }
        double greatest = plot.series.stream()
                .filter(series -> series.role != null)
                .flatMap(series -> drawn.stream().map(row -> row.get(series.column)))
                .mapToDouble(JsonNode::asDouble)
                .max()
                .orElseThrow();
        return IntStream.iterate(0, from -> from < drawn.size(), from -> from + MOST_BARS)
                .mapToObj(from -> chart(plot, drawn.subList(from, Math.min(drawn.size(), from + MOST_BARS)))
                        .upTo(greatest))
                .toArray(Chart[]::new);
    }

    private Chart chart(Plot plot, List<Map<String, JsonNode>> drawn) {
        Chart chart = new Chart(plot.unit, drawn.stream().map(this::label).toList());
        for (Series series : plot.series) {
            if (series.role != null) {
                List<Double> values = drawn.stream()
                        .map(row -> row.get(series.column).asDouble())
                        .toList();
                if (plot.line) {
                    chart.line(series.name, series.role, values);
                } else {
                    chart.bars(series.name, series.role, values);
                }
            }
        }
        return plot.level == null ? chart : chart.level("equal", plot.level);
    }

    /** The cells of all rows in the columns of any; the columns one below the other when they are many and the rows few. */
    private List<Map<String, String>> cells() {
        Set<String> columns = new LinkedHashSet<>();
        rows.forEach(row -> columns.addAll(row.keySet()));
        List<Map<String, String>> cells = new ArrayList<>();
        if (columns.size() > MANY && rows.size() < MANY) {
            for (String column : columns) {
                Map<String, String> line = new LinkedHashMap<>(Map.of("", column));
                for (int run = 0; run < rows.size(); run++) {
                    line.put(
                            "%d: %s".formatted(run + 1, label(rows.get(run))),
                            text(rows.get(run).get(column)));
                }
                cells.add(line);
            }
        } else {
            for (Map<String, JsonNode> row : rows) {
                Map<String, String> line = new LinkedHashMap<>();
                columns.forEach(column -> line.put(column, text(row.get(column))));
                cells.add(line);
            }
        }
        return cells;
    }

    /** What tells the row from the others: without maps and reduces where all have the same. */
    private String label(Map<String, JsonNode> row) {
        if (row.containsKey("name")) {
            return row.get("name").asText();
        }
        if (!row.containsKey("block_bytes")) {
            return "result";
        }
        String block = text(row.get("block_bytes")) + " B";
        String variant = text(row.get("variant"));
        String of = variant.isEmpty() || variant.equals("ours") ? "" : ", " + variant;
        if (!row.containsKey("maps")
                || rows.size() > 1
                        && rows.stream().map(ResultPage::shape).distinct().count() == 1) {
            return block + of;
        }
        return shape(row) + block + of;
    }

    private static String shape(Map<String, JsonNode> row) {
        return "%s × %s × ".formatted(text(row.get("maps")), text(row.get("reduces")));
    }

    /** CPU per GiB of what a shuffle benchmark reads. */
    private static Map<String, JsonNode> perGib(Map<String, JsonNode> row) {
        if (row.containsKey("maps") && row.containsKey("block_bytes")) {
            double gib = row.get("maps").asDouble()
                    * row.get("reduces").asDouble()
                    * row.get("block_bytes").asDouble()
                    / GIB;
            for (String column :
                    List.of("owner_cpu_s_sort", "owner_cpu_s_ours", "reader_cpu_s_sort", "reader_cpu_s_ours")) {
                if (isNumber(row.get(column))) {
                    row.put(
                            column + "_per_gib",
                            new ObjectMapper().valueToTree(row.get(column).asDouble() / gib));
                }
            }
        }
        return row;
    }

    /** The fields, with those of an object in it as its own; so tables stay tables. */
    private static Map<String, JsonNode> flat(JsonNode object) {
        Map<String, JsonNode> fields = new LinkedHashMap<>();
        object.fieldNames().forEachRemaining(name -> {
            JsonNode value = object.get(name);
            if (value.isObject() && !value.isEmpty()) {
                flat(value).forEach((inner, innerValue) -> fields.put(name + " " + inner, innerValue));
            } else {
                fields.put(name, value);
            }
        });
        return fields;
    }

    private static boolean isNumber(JsonNode value) {
        return value != null && value.isNumber() && Double.isFinite(value.asDouble());
    }

    private static String text(JsonNode value) {
        if (value == null || value.isNull() || value.isEmpty() && value.isContainerNode()) {
            return "";
        }
        return value.isNumber() ? number(value.asDouble()) : value.isTextual() ? value.asText() : value.toString();
    }

    /** Three digits are all that a measurement here is good for. */
    private static String number(double value) {
        int decimals = value == Math.rint(value) ? 0 : (int) Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
        return ("%,." + Math.min(decimals, 6) + "f").formatted(value);
    }

    private static Series stock(String column) {
        return new Series(column, "stock shuffle", Role.BASELINE);
    }

    private static Series perftest(String column) {
        return new Series(column, "perftest", Role.BASELINE);
    }

    private static Series ours(String column) {
        return new Series(column, "rdma-shuffle", Role.OURS);
    }
}
