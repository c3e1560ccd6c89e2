package io.rdmashuffle.spark.ui;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The reports of an application put together: its executors as they were last, and the sums as they grew. Not thread-safe. */
final class ReportSummary {

    /** Sums of all executors at a moment. */
    record Moment(long timeMillis, Map<String, Long> sums) {

        long sum(String metric) {
            return sums.getOrDefault(metric, 0L);
        }
    }

    private final Map<String, ShuffleReport.Executor> executors = new TreeMap<>(ReportSummary::byNumber);
    private final List<Moment> moments = new ArrayList<>();

    static ReportSummary of(List<ShuffleReport> reports) {
        ReportSummary summary = new ReportSummary();
        reports.forEach(summary::add);
        return summary;
    }

    /** By executor id. */
    Map<String, ShuffleReport.Executor> executors() {
        return executors;
    }

    /** Oldest first. */
    List<Moment> moments() {
        return moments;
    }

    /** The sums as they were last. */
    Moment last() {
        return moments.isEmpty() ? new Moment(0, Map.of()) : moments.get(moments.size() - 1);
    }

    /** For programs. */
    Map<String, Object> toMap() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("executors", executors);
        map.put("moments", moments);
        return map;
    }

    private void add(ShuffleReport report) {
        executors.putAll(report.executors());
        Map<String, Long> sums = new TreeMap<>();
        executors
                .values()
                .forEach(executor -> executor.figures().forEach((name, value) -> sums.merge(name, value, Long::sum)));
        sums.keySet().removeIf(name -> name.startsWith("readLatency")); // quantiles have no sum
        moments.add(new Moment(report.timeMillis(), sums));
    }

    /** Executors have numbers, the driver and local mode have names. */
    private static int byNumber(String a, String b) {
        return a.length() != b.length() ? Integer.compare(a.length(), b.length()) : a.compareTo(b);
    }
}
