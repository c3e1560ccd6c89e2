package io.rdmashuffle.integration;

import com.samskivert.mustache.Mustache;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Compares two runs and says so: {@code DemoReport TRANSPORT SORT-RUN OUR-RUN HTML JSON [FACT=VALUE…]}. TRANSPORT is what
 * was asked for; the facts go into the report's list of what was run where. Exit code 0 only if all results are equal.
 */
public final class DemoReport {
    private static final String NO_MEASUREMENT =
            "softverbs, a software stand-in for a device used by the tests: not a measurement of RDMA";

    private final DemoResult result;
    private final boolean softverbs;

    private DemoReport(DemoResult result, boolean softverbs) {
        this.result = result;
        this.softverbs = softverbs;
    }

    public static void main(String[] args) throws IOException {
        DemoResult result = DemoResult.compare(Path.of(args[1]), Path.of(args[2]));
        var report = new DemoReport(result, args[0].equals("softverbs"));
        Files.writeString(Path.of(args[3]), report.html(Arrays.asList(args).subList(5, args.length)));
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

    private String html(List<String> facts) throws IOException {
        var charts = new Charts(result.queries());
        try (InputStream template = DemoReport.class.getResourceAsStream("report.html");
                Reader reader = new InputStreamReader(template, StandardCharsets.UTF_8)) {
            return Mustache.compiler()
                    .defaultValue("")
                    .compile(reader)
                    .execute(Map.of(
                            "result", result,
                            "transport", transport(),
                            "softverbs", softverbs,
                            "seconds", charts.seconds(),
                            "traffic", charts.traffic(),
                            "rows",
                                    result.queries().stream()
                                            .map(DemoReport::cells)
                                            .toList(),
                            "facts", facts(facts)));
        }
    }

    private static Map<String, Object> cells(DemoResult.Query query) {
        return Map.of(
                "name", query.name(),
                "rows", "%,d".formatted(query.rows()),
                "equal", query.equal(),
                "difference", Optional.ofNullable(query.difference()).orElse(""),
                "sort", "%.2f".formatted(query.sortS()),
                "ours", "%.2f".formatted(query.rdmaS()),
                "rdma", "%,d".formatted(query.bytes().rdma()),
                "tcp", "%,d".formatted(query.bytes().tcp()),
                "blocks", "%,d".formatted(query.blocks().rdma() + query.blocks().tcp()),
                "fallbacks", fallbacks(query.fallbacks()));
    }

    private List<Map<String, String>> facts(List<String> given) throws IOException {
        List<String> facts = new ArrayList<>(given);
        facts.add("Spark=" + result.sparkVersion());
        facts.add("settings="
                + result.settings().entrySet().stream().map(Object::toString).collect(Collectors.joining("\n")));
        facts.add("machine=" + machine());
        facts.add("kernel=" + System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.add("JDK=" + System.getProperty("java.vm.name") + " " + System.getProperty("java.runtime.version"));
        return facts.stream()
                .map(fact -> fact.split("=", 2))
                .map(fact -> Map.of("name", fact[0], "value", fact[1]))
                .toList();
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
