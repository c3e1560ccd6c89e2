package io.rdmashuffle.integration;

import io.trino.tpcds.Results;
import io.trino.tpcds.Session;
import io.trino.tpcds.Table;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** Spark job that generates the TPC-DS tables at one scale factor as Parquet: {@code TpcdsData SCALE DIR}. */
public final class TpcdsData {
    /** Small row groups, so that even a small table is read by several tasks and shuffled as several map outputs. */
    private static final long ROW_GROUP_BYTES = 1 << 20;

    private static final Pattern NOT_ASCII = Pattern.compile("[^\\x00-\\x7F]");

    private final SparkSession spark;
    private final double scale;
    private final String directory;

    private TpcdsData(SparkSession spark, double scale, String directory) {
        this.spark = spark;
        this.scale = scale;
        this.directory = directory;
    }

    public static void main(String[] args) throws Exception {
        try (SparkSession spark = SparkSession.builder().appName("TPC-DS data").getOrCreate()) {
            new TpcdsData(spark, Double.parseDouble(args[0]), args[1]).generate();
        }
    }

    /** The generator seldom splits a table, so several tables are made at once, the largest first. */
    private void generate() throws Exception {
        List<Table> tables = TpcdsSchema.tables().stream()
                .sorted(Comparator.comparingLong(table -> -rows(table)))
                .toList();
        int parallelism = spark.sparkContext().defaultParallelism();
        var pool = Executors.newFixedThreadPool(parallelism);
        try {
            List<Future<?>> written = new ArrayList<>();
            for (Table table : tables) {
                written.add(pool.submit(() -> write(table, parallelism)));
            }
            for (int i = 0; i < tables.size(); i++) {
                written.get(i).get();
                System.out.printf("[%d/%d] %s%n", i + 1, tables.size(), TpcdsSchema.name(tables.get(i)));
            }
        } finally {
            pool.shutdownNow();
        }
    }

    private void write(Table table, int chunks) {
        String name = table.name();
        double factor = scale;
        JavaRDD<Row> rows = JavaSparkContext.fromSparkContext(spark.sparkContext())
                .parallelize(IntStream.rangeClosed(1, chunks).boxed().toList(), chunks)
                .flatMap(chunk -> rows(Table.valueOf(name), factor, chunks, chunk));
        spark.createDataFrame(rows, textSchema(table))
                .selectExpr(TpcdsSchema.fromText(table))
                .write()
                .option("parquet.block.size", ROW_GROUP_BYTES)
                .parquet(directory + "/" + TpcdsSchema.name(table));
    }

    /** Rows the table will have; a returns table is made with the sales it belongs to and takes a tenth of them. */
    private long rows(Table table) {
        var scaling = Session.getDefaultSession().withScale(scale).getScaling();
        return table.isChild() ? scaling.getRowCount(table.getParent()) / 10 : scaling.getRowCount(table);
    }

    private static StructType textSchema(Table table) {
        var schema = new StructType();
        for (var column : table.getColumns()) {
            schema = schema.add(TpcdsSchema.name(column), "string");
        }
        return schema;
    }

    /** Spark took dsdgen's Latin-1 for UTF-8 when it made its golden results. */
    private static String asSparkReadIt(String value) {
        return value == null ? null : NOT_ASCII.matcher(value).replaceAll("\uFFFD");
    }

    private static Iterator<Row> rows(Table table, double scale, int chunks, int chunk) {
        Session session = Session.getDefaultSession()
                .withTable(table)
                .withScale(scale)
                .withParallelism(chunks)
                .withChunkNumber(chunk);
        // a batch holds the row of the one table asked for
        return StreamSupport.stream(Results.constructResults(table, session).spliterator(), false)
                .map(batch -> RowFactory.create(
                        batch.get(0).stream().map(TpcdsData::asSparkReadIt).toArray()))
                .iterator();
    }
}
