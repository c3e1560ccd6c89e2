package io.rdmashuffle.integration;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;

/** One TPC-DS query, as Spark's own tests word it. */
record TpcdsQuery(String name, String sql) {
    /** Names in the order of the benchmark; four queries have two variants. */
    static final List<String> ALL = IntStream.rangeClosed(1, 99)
            .mapToObj(n -> "q" + n)
            .flatMap(q -> List.of("q14", "q23", "q24", "q39").contains(q) ? Stream.of(q + "a", q + "b") : Stream.of(q))
            .toList();

    private static final Pattern TOP_LEVEL_ORDER =
            Pattern.compile("(?is)(.*\\bORDER\\s+BY\\b(?<keys>.*?))(?<limit>\\bLIMIT\\s+\\d+\\s*)?$");

    static TpcdsQuery load(String name) {
        try (InputStream sql = TpcdsQuery.class.getResourceAsStream("/tpcds/" + name + ".sql")) {
            if (sql == null) {
                throw new IllegalArgumentException("no TPC-DS query is called " + name);
            }
            return new TpcdsQuery(name, new String(sql.readAllBytes(), StandardCharsets.UTF_8).strip());
        } catch (IOException e) {
            throw new IllegalStateException("cannot read query " + name, e);
        }
    }

    /** Whether the rows come in an order that the query asks for. */
    boolean ordered() {
        return topLevelOrder() != null;
    }

    /**
     * The query with every output column as a last sorting key. TPC-DS leaves ties open, so that which of the equal rows
     * come first, or at all before a LIMIT, would depend on the order in which shuffled rows arrive.
     */
    String withTotalOrder(SparkSession spark) {
        Matcher order = topLevelOrder();
        if (order == null) {
            return sql;
        }
        int columns = spark.sql(sql).schema().size();
        String tieBreakers = IntStream.rangeClosed(1, columns)
                .mapToObj(Integer::toString)
                .collect(Collectors.joining(", ", ", ", "\n"));
        return order.group(1).stripTrailing()
                + tieBreakers
                + (order.group("limit") == null ? "" : order.group("limit"));
    }

    /** An ORDER BY inside a sub-query or a window is followed by the parenthesis that closes it. */
    private Matcher topLevelOrder() {
        Matcher order = TOP_LEVEL_ORDER.matcher(sql);
        return order.matches() && depth(order.group("keys")) == 0 ? order : null;
    }

    private static long depth(String text) {
        return text.chars().map(c -> c == '(' ? 1 : c == ')' ? -1 : 0).sum();
    }

    /** Reads a list such as {@code q3,q19}, or {@code all}. */
    static List<TpcdsQuery> parse(String list) {
        Stream<String> names = list.equals("all") ? ALL.stream() : Arrays.stream(list.split(","));
        return names.map(TpcdsQuery::load).toList();
    }
}
