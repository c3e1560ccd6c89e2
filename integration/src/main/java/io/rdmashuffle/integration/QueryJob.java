package io.rdmashuffle.integration;

import io.trino.tpcds.Table;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;

/**
 * Spark job that runs TPC-DS queries under the shuffle manager it is submitted with: {@code QueryJob DATA QUERIES OUT
 * WARM-UP GOLDEN}, the last two {@code yes} or {@code no}. Leaves every row of each query and a {@link RunSummary} in OUT.
 * With GOLDEN the queries run as they are worded, and are compared with Spark's golden results, which hold at scale 1.
 */
public final class QueryJob {
    /** Loads classes and warms the compilers, so that the first query measured does not pay for it. */
    private static final String WARM_UP = "q3";

    private static final Pattern SETTINGS_THAT_MATTER =
            Pattern.compile("spark\\.(shuffle|executor\\.(cores|memory)|sql\\.(?!warehouse))");

    private final SparkSession spark;
    private final Path out;
    private final String manager;
    private final boolean golden;
    private final ShuffleAccount account;

    private QueryJob(SparkSession spark, Path out, boolean golden) {
        this.spark = spark;
        this.out = out;
        this.golden = golden;
        this.manager = spark.conf().get("spark.shuffle.manager", "sort");
        // switched off, ours is the sort shuffle and keeps no account
        boolean rdma = !manager.equals("sort")
                && !spark.conf().get(RunSummary.MODE, "auto").equals("off");
        this.account = rdma ? new RdmaShuffleAccount() : new SortShuffleAccount(spark.sparkContext());
    }

    public static void main(String[] args) throws IOException {
        try (SparkSession spark = SparkSession.builder().appName("TPC-DS").getOrCreate()) {
            TpcdsSchema.tables().forEach(table -> open(spark, table, args[0]));
            if (args[3].equals("yes")) {
                spark.sql(TpcdsQuery.load(WARM_UP).sql()).collectAsList();
            }
            new QueryJob(spark, Files.createDirectories(Path.of(args[2])), args[4].equals("yes"))
                    .run(TpcdsQuery.parse(args[1]));
        }
    }

    private static void open(SparkSession spark, Table table, String data) {
        String name = TpcdsSchema.name(table);
        spark.sql("CREATE TABLE %s (%s) USING parquet LOCATION '%s/%s'"
                .formatted(name, TpcdsSchema.ddl(table), data, name));
    }

    private void run(List<TpcdsQuery> queries) throws IOException {
        List<RunSummary.Query> done = new ArrayList<>();
        for (TpcdsQuery query : queries) {
            done.add(run(query));
            RunSummary.Query last = done.get(done.size() - 1);
            System.out.printf(
                    "[%d/%d] %s %s %.1f s%s%n",
                    done.size(),
                    queries.size(),
                    query.name(),
                    manager.equals("sort") ? "sort" : "rdma",
                    last.seconds(),
                    last.golden() == null ? "" : ", golden result: " + last.golden());
        }
        new RunSummary(spark.version(), settings(), account.executors(), done).write(out);
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
