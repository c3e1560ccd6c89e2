package io.rdmashuffle.integration.bench;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.length;
import static org.apache.spark.sql.functions.sum;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;

/**
 * The same number of bytes shuffled by Spark SQL. With adaptive execution, its default, it fetches adjacent partitions of a map output as one
 * block, so that what a shuffle of small blocks gains is not what a query gains.
 */
record SqlShuffle(SparkSession spark, int maps, int reduces, int rowBytes) {

    /** Of each job. */
    record Seconds(List<Double> adaptive, List<Double> plain) {}

    /**
     * Seconds of whole jobs, map stage and reading, with adaptive execution and without, in turn, after one of each that does not count.
     *
     * @param times of each; 0 for none at all
     */
    Seconds measure(int times) {
        List<Double> adaptive = new ArrayList<>();
        List<Double> plain = new ArrayList<>();
        for (int i = 0; times > 0 && i <= times; i++) {
            adaptive.add(seconds(true));
            plain.add(seconds(false));
        }
        return new Seconds(withoutFirst(adaptive), withoutFirst(plain));
    }

    private static List<Double> withoutFirst(List<Double> seconds) {
        return seconds.stream().skip(1).toList();
    }

    private double seconds(boolean adaptive) {
        spark.conf().set("spark.sql.adaptive.enabled", adaptive);
        spark.conf().set("spark.sql.shuffle.partitions", reduces);
        long start = System.nanoTime();
        run();
        return (System.nanoTime() - start) / 1e9;
    }

    private void run() {
        long rows = (long) maps * reduces;
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
