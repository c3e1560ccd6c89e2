package io.rdmashuffle.integration;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;

/**
 * One TPC-DS query, as Spark's own tests word it.
 *
 * @param name such as q14a; of those of version 2.7, which differ from the others, such as q14a-v2.7
 */
record TpcdsQuery(String name, String sql) {
    private static final String V2_7 = "-v2.7";

    /** Names in the order of the benchmark; four queries have two variants. */
    static final List<String> ALL = IntStream.rangeClosed(1, 99)
            .mapToObj(n -> "q" + n)
            .flatMap(q -> List.of("q14", "q23", "q24", "q39").contains(q) ? Stream.of(q + "a", q + "b") : Stream.of(q))
            .toList();

    private static final Pattern TOP_LEVEL_ORDER =
            Pattern.compile("(?is)(.*\\bORDER\\s+BY\\b(?<keys>.*?))(?<limit>\\bLIMIT\\s+\\d+\\s*)?$");

    /** Those of version 2.7 that Spark has golden results of. */
    private static final List<String> GOLDEN_OF_V2_7 = Stream.of(
                    "q5a q6 q10a q11 q12 q14 q14a q18a q20 q22 q22a q24 q27a q34 q35 q35a q36a q47 q49 q51a q57 q64 q67a q70a"
                            .split(" "),
                    "q72 q74 q75 q77a q78 q80a q86a q98".split(" "))
            .flatMap(Arrays::stream)
            .map(name -> name + V2_7)
            .toList();

    static TpcdsQuery load(String name) {
        String file = name.endsWith(V2_7) ? "/tpcds-v2.7.0/" + name.replace(V2_7, "") : "/tpcds/" + name;
        return new TpcdsQuery(
                name,
                resource(file + ".sql")
                        .orElseThrow(() -> new IllegalArgumentException("no TPC-DS query is called " + name))
                        .strip());
    }

    /** Spark's golden result at scale 1. */
    Optional<GoldenResult> golden() {
        String directory = "/tpcds-query-results/" + (name.endsWith(V2_7) ? "v2_7/" : "v1_4/");
        return resource(directory + name.replace(V2_7, "") + ".sql.out").map(GoldenResult::parse);
    }

    private static Optional<String> resource(String path) {
        try (InputStream resource = TpcdsQuery.class.getResourceAsStream(path)) {
            return resource == null
                    ? Optional.empty()
                    : Optional.of(new String(resource.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalStateException("cannot read " + path, e);
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

    /** Reads a list such as {@code q3,q19}; {@code all} in it are those of version 1.4, {@code golden} the 133 with a golden result. */
    static List<TpcdsQuery> parse(String list) {
        return Arrays.stream(list.split(",")).flatMap(TpcdsQuery::named).toList();
    }

    private static Stream<TpcdsQuery> named(String name) {
        return switch (name) {
            case "all" -> ALL.stream().map(TpcdsQuery::load);
            case "golden" ->
                Stream.concat(ALL.stream(), GOLDEN_OF_V2_7.stream())
                        .map(TpcdsQuery::load)
                        .filter(query -> query.golden().isPresent());
            default -> Stream.of(load(name));
        };
    }
}
