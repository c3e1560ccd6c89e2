package io.rdmashuffle.integration;

import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.HiveResult;
import org.apache.spark.sql.types.StructField;
import scala.Tuple2;

/** The rows of a query as Spark's TPCDSQueryTestSuite has written them down, as lines of text. */
record GoldenResult(List<String> lines) {

    /** How a result compares. */
    enum Match {
        EXACT,
        /** The query leaves the order of some rows open. */
        SAME_ROWS,
        DIFFERENT
    }

    private static final String OUTPUT = "-- !query output\n";
    /** Names of brands end in numbers that Spark takes for expression ids. */
    private static final Pattern EXPRESSION_ID = Pattern.compile("#\\d+");

    static GoldenResult parse(String file) {
        return new GoldenResult(
                file.substring(file.indexOf(OUTPUT) + OUTPUT.length()).lines().toList());
    }

    Match compare(List<Row> rows) {
        List<String> expected = trimmed(lines);
        List<String> actual = trimmed(rows.stream().map(GoldenResult::text).toList());
        if (actual.equals(expected)) {
            return Match.EXACT;
        }
        return sorted(actual).equals(sorted(expected)) ? Match.SAME_ROWS : Match.DIFFERENT;
    }

    /** Spark's file has no blanks at its end; there they may be those of a CHAR column. */
    private static List<String> trimmed(List<String> lines) {
        return lines.stream()
                .map(String::stripTrailing)
                .filter(line -> !line.isEmpty())
                .toList();
    }

    private static List<String> sorted(List<String> lines) {
        return lines.stream().sorted().toList();
    }

    private static String text(Row row) {
        StructField[] fields = row.schema().fields();
        String[] cells = new String[fields.length];
        for (int i = 0; i < cells.length; i++) {
            cells[i] = HiveResult.toHiveString(
                    new Tuple2<>(row.get(i), fields[i].dataType()),
                    false,
                    HiveResult.getTimeFormatters(),
                    HiveResult.getBinaryFormatter());
        }
        return EXPRESSION_ID.matcher(String.join("\t", Arrays.asList(cells))).replaceAll("#x");
    }
}
