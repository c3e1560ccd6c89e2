package io.rdmashuffle.integration;

import io.trino.tpcds.Table;
import io.trino.tpcds.column.Column;
import io.trino.tpcds.column.ColumnType;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The TPC-DS tables in Spark's terms: the names the queries use and the SQL types of the specification. */
final class TpcdsSchema {
    /** Where the generator's names are not those of the specification. */
    private static final Map<String, String> SPECIFIED_NAMES = Map.of(
            "c_last_review_date_sk", "c_last_review_date",
            "p_response_targe", "p_response_target",
            "s_tax_precentage", "s_tax_percentage");

    private TpcdsSchema() {}

    /** The 24 tables of the benchmark, without the generator's own version table. */
    static List<Table> tables() {
        return Table.getBaseTables().stream()
                .filter(table -> table != Table.DBGEN_VERSION)
                .toList();
    }

    static String name(Table table) {
        return table.getName().toLowerCase(Locale.ROOT);
    }

    /** The columns as a SQL column list. */
    static String ddl(Table table) {
        return Arrays.stream(table.getColumns())
                .map(column -> name(column) + " " + type(column))
                .collect(Collectors.joining(", "));
    }

    /** One expression per column that turns the generator's text into the column's type. */
    static String[] fromText(Table table) {
        return Arrays.stream(table.getColumns())
                .map(column -> fromText(column) + " AS " + name(column))
                .toArray(String[]::new);
    }

    static String name(Column column) {
        String name = column.getName().toLowerCase(Locale.ROOT);
        return SPECIFIED_NAMES.getOrDefault(name, name);
    }

    private static String fromText(Column column) {
        ColumnType type = column.getType();
        return switch (type.getBase()) {
            // Parquet knows no CHAR: the blanks are stored, as a database would hand them out
            case CHAR -> "rpad(" + name(column) + ", " + type.getPrecision().orElseThrow() + ", ' ')";
            case VARCHAR, TIME -> name(column);
            case INTEGER, IDENTIFIER, DATE, DECIMAL -> "CAST(" + name(column) + " AS " + type(column) + ")";
        };
    }

    private static String type(Column column) {
        ColumnType type = column.getType();
        return switch (type.getBase()) {
            case INTEGER, IDENTIFIER -> "INT";
            case DATE -> "DATE";
            case TIME -> "STRING";
            case CHAR, VARCHAR -> type.getBase() + "(" + type.getPrecision().orElseThrow() + ")";
            case DECIMAL ->
                "DECIMAL(" + type.getPrecision().orElseThrow() + ", "
                        + type.getScale().orElseThrow() + ")";
        };
    }
}
