package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.Json;
import java.io.PrintStream;
import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** The reports of many processes of an engine, as one table. One thread. */
public final class ClusterReport {

    private static final int PROCESS = 0;
    private static final int HOST = 1;
    private static final int TRANSPORT = 2;
    private static final int CAUSE = 3; // empty when usable
    private static final int REMEDY = 4;
    private static final int JSON = 5;

    private final Map<String, String[]> rows = new TreeMap<>(
            Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder())); // 2 before 10

    /** One report as a row of texts, which any serializer can carry. */
    public static String[] row(String process, String host, Report report) {
        return new String[] {
            process,
            host,
            report.transport(),
            report.usable() ? "" : report.cause(),
            report.usable() ? "" : report.remedy(),
            report.toJson()
        };
    }

    /** Adds a row; one for the same process again changes nothing. */
    public void add(String[] row) {
        rows.putIfAbsent(row[PROCESS], row);
    }

    /** Number of processes. */
    public int size() {
        return rows.size();
    }

    /** Whether all processes can use RDMA. */
    public boolean usable() {
        return !rows.isEmpty() && rows.values().stream().allMatch(row -> row[CAUSE].isEmpty());
    }

    /** A row for each process, remedies below, a sentence at the end. */
    public void print(PrintStream out) {
        int host = Math.max(4, width(rows.values(), HOST));
        String format = "  %-4s  %-8s  %-" + host + "s  %s%n";
        out.printf(format, "", "executor", "host", "transport");
        for (String[] row : rows.values()) {
            boolean usable = row[CAUSE].isEmpty();
            out.printf(format, usable ? "ok" : "fail", row[PROCESS], row[HOST], usable ? row[TRANSPORT] : row[CAUSE]);
            if (!usable) {
                out.printf(format, "", "", "", "-> " + row[REMEDY]);
            }
        }
        long usable = rows.values().stream().filter(row -> row[CAUSE].isEmpty()).count();
        out.printf("%n%d of %d executors can use RDMA.%n", usable, rows.size());
    }

    /** For programs: {@code {"usable":bool,"executors":[{"executor","host","report":{as of one host}}]}}. */
    public String toJson() {
        return rows.values().stream()
                .map(row -> "{\"executor\":" + Json.write(row[PROCESS]) + ",\"host\":" + Json.write(row[HOST])
                        + ",\"report\":" + row[JSON] + "}")
                .collect(Collectors.joining(",", "{\"usable\":" + usable() + ",\"executors\":[", "]}"));
    }

    private static int width(Collection<String[]> rows, int column) {
        return rows.stream().mapToInt(row -> row[column].length()).max().orElse(0);
    }
}
