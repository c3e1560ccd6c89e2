package io.rdmashuffle.integration.bench;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.length;
import static org.apache.spark.sql.functions.sum;

import io.rdmashuffle.integration.Median;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleSupplier;
import org.apache.spark.sql.SparkSession;

/**
 * About as many bytes shuffled by Spark SQL, in short rows as tables have them. With adaptive execution, its default, it fetches adjacent
 * partitions of a map output as one block, so that what a shuffle of small blocks gains is not what a query gains.
 *
 * @param rows of all partitions
 * @param cpuSeconds what all processes of the application have used
 */
record SqlShuffle(
        SparkSession spark,
        int maps,
        int reduces,
        long rows,
        int rowBytes,
        TaskTimes tasks,
        DoubleSupplier cpuSeconds) {

    private static final int WARM_UPS = 2;
    private static final int MAX_ROW_BYTES = 100; // as TeraSort's

    /**
     * One job, map stage and reading.
     *
     * @param mapTaskS median of its map tasks
     */
    record Job(double wallS, double cpuS, double mapTaskS) {}

    /** Each of them, with adaptive execution and without. */
    record Jobs(List<Job> adaptive, List<Job> plain) {}

    static SqlShuffle of(
            SparkSession spark, int maps, int reduces, int blockBytes, TaskTimes tasks, DoubleSupplier cpuSeconds) {
        int rowBytes = Math.min(blockBytes, MAX_ROW_BYTES);
        long rows = (long) maps * reduces * (blockBytes / rowBytes);
        return new SqlShuffle(spark, maps, reduces, rows, rowBytes, tasks, cpuSeconds);
    }

    /**
     * With adaptive execution and without, in turn, after two of each that do not count.
     *
     * @param times of each; 0 for none at all
     */
    Jobs measure(int times) {
        List<Job> adaptive = new ArrayList<>();
        List<Job> plain = new ArrayList<>();
        for (int i = 0; times > 0 && i < WARM_UPS + times; i++) {
            adaptive.add(job(true));
            plain.add(job(false));
        }
        return new Jobs(withoutWarmUps(adaptive), withoutWarmUps(plain));
    }

    private static List<Job> withoutWarmUps(List<Job> jobs) {
        return jobs.stream().skip(WARM_UPS).toList();
    }

    private Job job(boolean adaptive) {
        spark.conf().set("spark.sql.adaptive.enabled", adaptive);
        spark.conf().set("spark.sql.shuffle.partitions", reduces);
        tasks.takeFrom(spark.sparkContext());
        double cpuS = cpuSeconds.getAsDouble();
        long start = System.nanoTime();
        run();
        double wallS = (System.nanoTime() - start) / 1e9;
        cpuS = cpuSeconds.getAsDouble() - cpuS;
        List<Double> mapTasksS = tasks.takeFrom(spark.sparkContext()).mapTasksS();
        // the last ones are of the aggregation's own shuffle
        return new Job(wallS, cpuS, Median.of(mapTasksS.stream().limit(maps).mapToDouble(Double::doubleValue)));
    }

    private void run() {
        long bytes = spark.range(0, rows, 1, maps)
                .select(
                        col("id"),
                        expr("repeat(cast(id % 10 as string), " + rowBytes + ")")
                                .as("payload"))
                .repartition(col("id"))
                .agg(sum(length(col("payload"))))
                .head()
                .getLong(0);
        if (bytes != rows * rowBytes) {
            throw new IllegalStateException("read " + bytes + " bytes instead of " + rows * rowBytes);
        }
    }
}
