package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.spark.RdmaShuffle;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.ShuffledRDD;
import org.apache.spark.sql.SparkSession;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Spark job of one shuffle: all map outputs on executor 0, which only serves, all reduces on executor 1, which only reads. The map
 * stage runs once, the reading many times, as Spark skips a stage whose outputs are there: {@code ShuffleBenchJob --maps M
 * --reduces R --block-bytes B --hot-factor F --warm-ups W --reads N --sql-reads N --json FILE}. Then nothing happens for a while, to see what an
 * idle executor costs. At last Spark SQL shuffles as much, with adaptive execution and without.
 */
public final class ShuffleBenchJob {

    private static final int IDLE_SECONDS = 5;

    private final SparkSession spark;
    private final SparkContext context;
    private final TaskTimes tasks = new TaskTimes();
    private final int maps;
    private final int reduces;
    private final int blockBytes;
    private final int hotFactor;

    private ShuffleBenchJob(SparkSession spark, Options options) {
        this.spark = spark;
        context = spark.sparkContext();
        maps = options.number("maps", 500);
        reduces = options.number("reduces", 500);
        blockBytes = options.number("block-bytes", 2048);
        hotFactor = options.number("hot-factor", 1);
        context.addSparkListener(tasks);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Options options = new Options(args);
        try (SparkSession spark =
                SparkSession.builder().appName("shuffle benchmark").getOrCreate()) {
            ShuffleBenchJob job = new ShuffleBenchJob(spark, options);
            ShuffleRun run =
                    job.run(options.number("warm-ups", 2), options.number("reads", 3), options.number("sql-reads", 0));
            new ObjectMapper()
                    .writeValue(Path.of(options.text("json", "run.json")).toFile(), run);
        }
    }

    private ShuffleRun run(int warmUps, int reads, int sqlReads) throws InterruptedException {
        Map<String, Long> pids = executorPids();
        tasks.takeFrom(context);
        RDD<Tuple2<Object, Object>> shuffled = shuffled();
        long start = System.nanoTime();
        read(shuffled);
        double firstJobS = secondsSince(start);
        List<Double> mapTasksS = tasks.takeFrom(context).mapTasksS();
        for (int i = 1; i < warmUps; i++) {
            read(shuffled);
        }
        List<ShuffleRun.Reading> readings = new ArrayList<>();
        for (int i = 0; i < reads; i++) {
            tasks.takeFrom(context);
            readings.add(measured(shuffled, pids));
        }
        double busyS = executorsCpuSeconds(pids);
        Thread.sleep(IDLE_SECONDS * 1000);
        double idleS = (executorsCpuSeconds(pids) - busyS) / IDLE_SECONDS;
        long residentBytes =
                Math.max(Machine.peakResidentBytes(pids.get("0")), Machine.peakResidentBytes(pids.get("1")));
        ShuffleRun.Moved moved = moved();
        SqlShuffle.Jobs sql = SqlShuffle.of(spark, maps, reduces, blockBytes, tasks, () -> allCpuSeconds(pids))
                .measure(sqlReads);
        return new ShuffleRun(firstJobS, mapTasksS, readings, idleS, residentBytes, moved, sql);
    }

    private ShuffleRun.Reading measured(RDD<Tuple2<Object, Object>> shuffled, Map<String, Long> pids) {
        long self = ProcessHandle.current().pid();
        double ownerS = Machine.cpuSeconds(pids.get("0"));
        double readerS = Machine.cpuSeconds(pids.get("1"));
        double driverS = Machine.cpuSeconds(self);
        double standInS = standInCpuSeconds(pids);
        long start = System.nanoTime();
        read(shuffled);
        double wallS = secondsSince(start);
        ownerS = Machine.cpuSeconds(pids.get("0")) - ownerS;
        readerS = Machine.cpuSeconds(pids.get("1")) - readerS;
        driverS = Machine.cpuSeconds(self) - driverS;
        standInS = standInCpuSeconds(pids) - standInS;
        TaskTimes.Sums sums = tasks.takeFrom(context);
        return new ShuffleRun.Reading(
                wallS, ownerS, readerS, driverS, standInS, sums.reduceTaskCpuS(), sums.fetchWaitS());
    }

    /** What softverbs, where it stands in for a device, takes of the reader: a device would take nothing. */
    private static double standInCpuSeconds(Map<String, Long> pids) {
        return Machine.cpuSeconds(pids.get("1"), "softverbs");
    }

    private static double allCpuSeconds(Map<String, Long> pids) {
        return executorsCpuSeconds(pids)
                + Machine.cpuSeconds(ProcessHandle.current().pid());
    }

    private static double executorsCpuSeconds(Map<String, Long> pids) {
        return Machine.cpuSeconds(pids.get("0")) + Machine.cpuSeconds(pids.get("1"));
    }

    /** Reads everything; the sum of the lengths proves that it came. */
    private void read(RDD<Tuple2<Object, Object>> shuffled) {
        long bytes =
                shuffled.toJavaRDD().mapPartitions(ShuffleBenchJob::lengths).reduce(Long::sum);
        long expected = (long) maps * blockBytes * (reduces - 1 + hotFactor);
        if (bytes != expected) {
            throw new IllegalStateException("read " + bytes + " bytes instead of " + expected);
        }
    }

    private static Iterator<Long> lengths(Iterator<Tuple2<Object, Object>> records) {
        long bytes = 0;
        while (records.hasNext()) {
            bytes += ((byte[]) records.next()._2()).length;
        }
        return List.of(bytes).iterator();
    }

    private RDD<Tuple2<Object, Object>> shuffled() {
        ClassTag<Tuple2<Object, Object>> pair = ClassTag$.MODULE$.apply(Tuple2.class);
        ClassTag<Object> any = ClassTag$.MODULE$.Any();
        String host = SparkEnv.get().blockManager().blockManagerId().host();
        int width = reduces;
        int bytes = blockBytes;
        int hot = hotFactor;
        RDD<Tuple2<Object, Object>> mapped = JavaSparkContext.fromSparkContext(context)
                .parallelize(IntStream.range(0, maps).boxed().toList(), maps)
                .mapPartitions(ids -> records(ids.next(), width, bytes, hot))
                .rdd();
        RDD<Tuple2<Object, Object>> served = new PinnedRdd<>(mapped, host, "0", pair);
        ShuffledRDD<Object, Object, Object> shuffled =
                new ShuffledRDD<>(served, new HashPartitioner(reduces), any, any, any);
        shuffled.setSerializer(new RawSerializer());
        @SuppressWarnings({"unchecked", "rawtypes"}) // ShuffledRDD[K, V, V] is an RDD[(K, V)]
        RDD<Tuple2<Object, Object>> result = (RDD) shuffled;
        return new PinnedRdd<>(result, host, "1", pair);
    }

    /** One record for each reduce partition, of bytes that no codec makes smaller. */
    private static Iterator<Tuple2<Object, Object>> records(int map, int reduces, int bytes, int hotFactor) {
        byte[] block = new byte[bytes];
        new Random(map).nextBytes(block);
        byte[] hot = new byte[bytes * hotFactor];
        new Random(map).nextBytes(hot);
        return IntStream.range(0, reduces)
                .mapToObj(reduce -> new Tuple2<Object, Object>(reduce, reduce == 0 ? hot : block))
                .iterator();
    }

    private Map<String, Long> executorPids() {
        return JavaSparkContext.fromSparkContext(context)
                .parallelize(IntStream.range(0, 16).boxed().toList(), 16)
                .mapToPair(i -> {
                    Thread.sleep(100); // so that both executors get some
                    return new Tuple2<>(
                            SparkEnv.get().executorId(), ProcessHandle.current().pid());
                })
                .collectAsMap();
    }

    /** Of our shuffle; none of it with Spark's. */
    private ShuffleRun.Moved moved() {
        if (!context.getConf().contains("spark.shuffle.manager")) {
            return ShuffleRun.Moved.NOTHING;
        }
        var report = RdmaShuffle.report();
        var figures = report.figures();
        return new ShuffleRun.Moved(
                report.rdmaBytes(),
                report.tcpBytes(),
                report.fallbacks(),
                report.registeredBytes(),
                figures.get(Counter.REGISTRATION_NANOS) / 1e9,
                figures.get(Counter.PUBLISH_NANOS) / 1e9);
    }

    private static double secondsSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }
}
