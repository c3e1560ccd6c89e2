package io.rdmashuffle.integration;

import io.rdmashuffle.integration.bench.AlternatingShuffleManager;
import io.trino.tpcds.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Spark job that runs TPC-DS queries under the shuffle manager it is submitted with, or under both by turns with
 * {@link AlternatingShuffleManager}: {@code QueryJob DATA QUERIES OUT WARM-UPS ROUNDS GOLDEN}. WARM-UPS are queries as well, or {@code none}: they load classes and warm the compilers, so that what is
 * measured does not pay for it. All queries run in turn, ROUNDS times. Leaves every row of each query and a {@link RunSummary} in OUT.
 * With GOLDEN, which is {@code yes} or {@code no}, the queries run as they are worded, and are compared with Spark's golden results,
 * which hold at scale 1.
 */
public final class QueryJob {
    private static final Pattern SETTINGS_THAT_MATTER =
            Pattern.compile("spark\\.(shuffle|executor\\.(cores|memory)|sql\\.(?!warehouse))");

    private final SparkSession spark;
    private final Path out;
    private final String manager;
    private final boolean golden;
    private final ShuffleAccount account;

    private QueryJob(SparkSession spark, String manager, ShuffleAccount account, Path out, boolean golden)
            throws IOException {
        this.spark = spark;
        this.manager = manager;
        this.account = account;
        this.out = Files.createDirectories(out);
        this.golden = golden;
    }

    public static void main(String[] args) throws IOException {
        try (SparkSession spark = SparkSession.builder().appName("TPC-DS").getOrCreate()) {
            TpcdsSchema.tables().forEach(table -> open(spark, table, args[0]));
            List<TpcdsQuery> queries = TpcdsQuery.parse(args[1]);
            Path out = Path.of(args[2]);
            List<TpcdsQuery> warmUps = args[3].equals("none") ? List.of() : TpcdsQuery.parse(args[3]);
            int rounds = Integer.parseInt(args[4]);
            boolean golden = args[5].equals("yes");
            if (!golden) { // at small scales q90 divides by a count of 0, which ANSI has fail
                spark.conf().set("spark.sql.ansi.enabled", false);
            }
            String manager = spark.conf().get("spark.shuffle.manager", "sort");
            if (manager.equals(AlternatingShuffleManager.class.getName())) {
                alternate(spark, queries, out, warmUps, rounds, golden);
            } else {
                QueryJob job = new QueryJob(
                        spark, manager.equals("sort") ? "sort" : "rdma", account(spark, manager), out, golden);
                job.round("warm-up ", warmUps);
                job.run(queries, rounds);
            }
        }
    }

    private static ShuffleAccount account(SparkSession spark, String manager) {
        // switched off, ours is the sort shuffle and keeps no account
        boolean rdma = !manager.equals("sort")
                && !spark.conf().get(RunSummary.MODE, "auto").equals("off");
        return rdma ? new RdmaShuffleAccount() : new SortShuffleAccount(spark.sparkContext());
    }

    /** Each round once with each shuffle over TCP, in the order A B B A, each left like a run of its own: OUT/sort-I and OUT/ours-I. */
    private static void alternate(
            SparkSession spark,
            List<TpcdsQuery> queries,
            Path out,
            List<TpcdsQuery> warmUps,
            int rounds,
            boolean golden)
            throws IOException {
        ShuffleAccount account = new SortShuffleAccount(spark.sparkContext());
        for (int round = 0; round <= rounds; round++) {
            for (String shuffle : round % 2 == 0 ? List.of("ours", "sort") : List.of("sort", "ours")) {
                AlternatingShuffleManager.choose(spark.sparkContext(), shuffle);
                QueryJob job = new QueryJob(spark, shuffle, account, out.resolve(shuffle + "-" + round), golden);
                if (round == 0) {
                    job.round("warm-up ", warmUps);
                } else {
                    job.run(queries, 1);
                }
            }
        }
    }

    private static void open(SparkSession spark, Table table, String data) {
        String name = TpcdsSchema.name(table);
        spark.sql("CREATE TABLE %s (%s) USING parquet LOCATION '%s/%s'"
                .formatted(name, TpcdsSchema.ddl(table), data, name));
    }

    private void run(List<TpcdsQuery> queries, int rounds) throws IOException {
        List<List<RunSummary.Query>> done = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            done.add(round(rounds == 1 ? "" : "round " + (round + 1) + " ", queries));
        }
        List<RunSummary.Query> medians = IntStream.range(0, queries.size())
                .mapToObj(query -> RunSummary.Query.of(
                        done.stream().map(round -> round.get(query)).toList()))
                .toList();
        new RunSummary(spark.version(), settings(), account.executors(), medians).write(out);
    }

    private List<RunSummary.Query> round(String title, List<TpcdsQuery> queries) throws IOException {
        List<RunSummary.Query> done = new ArrayList<>();
        for (TpcdsQuery query : queries) {
            RunSummary.Query last = run(query);
            done.add(last);
            System.out.printf(
                    "[%d/%d] %s%s %s %.1f s%s%n",
                    done.size(),
                    queries.size(),
                    title,
                    query.name(),
                    manager,
                    last.seconds(),
                    last.golden() == null ? "" : ", golden result: " + last.golden());
        }
        return done;
    }

    private RunSummary.Query run(TpcdsQuery query) throws IOException {
        String sql = golden ? query.sql() : query.withTotalOrder(spark);
        RunSummary.Traffic before = account.total();
        double cpuBefore = cpuSeconds();
        long start = System.nanoTime();
        List<Row> rows = spark.sql(sql).collectAsList();
        double seconds = (System.nanoTime() - start) / 1e9;
        double cpuSeconds = cpuSeconds() - cpuBefore;
        RunSummary.Traffic traffic = account.total().minus(before);
        ResultRows.write(ResultRows.file(out, query.name()), rows);
        GoldenResult.Match match =
                golden ? query.golden().map(result -> result.compare(rows)).orElse(null) : null;
        return new RunSummary.Query(query.name(), query.ordered(), rows.size(), seconds, cpuSeconds, traffic, match);
    }

    private static double cpuSeconds() {
        ProcessHandle self = ProcessHandle.current();
        return Stream.concat(Stream.of(self), self.descendants())
                .flatMap(process -> process.info().totalCpuDuration().stream())
                .mapToDouble(duration -> duration.toNanos() / 1e9)
                .sum();
    }

    private Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>();
        for (Tuple2<String, String> setting : spark.sparkContext().getConf().getAll()) {
            if (SETTINGS_THAT_MATTER.matcher(setting._1).lookingAt()) {
                settings.put(setting._1, setting._2);
            }
        }
        return settings;
    }
}
