package io.rdmashuffle.integration;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Row;

/**
 * The rows of a query as text, one JSON array per line. Floating-point values are JSON numbers, because their last digits
 * depend on the order of addition; everything else is text or null and must be the same to the letter.
 */
final class ResultRows {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ObjectReader ROW = JSON.readerForListOf(Object.class);

    private ResultRows() {}

    static Path file(Path directory, String query) {
        return directory.resolve(query + ".jsonl");
    }

    static void write(Path file, List<Row> rows) throws IOException {
        try (BufferedWriter out = Files.newBufferedWriter(file)) {
            for (Row row : rows) {
                out.write(JSON.writeValueAsString(values(row)));
                out.newLine();
            }
        }
    }

    static List<List<Object>> read(Path file) throws IOException {
        List<List<Object>> rows = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            rows.add(ROW.readValue(line));
        }
        return rows;
    }

    private static List<Object> values(Row row) {
        List<Object> values = new ArrayList<>(row.size());
        for (int i = 0; i < row.size(); i++) {
            values.add(canonical(row.get(i)));
        }
        return values;
    }

    private static Object canonical(Object value) {
        if (value == null || value instanceof Double) {
            return value;
        }
        return value instanceof BigDecimal decimal ? decimal.toPlainString() : value.toString();
    }
}
