package io.rdmashuffle.integration.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmashuffle.core.metrics.Gauge;
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
 * --reduces R --block-bytes B --hot-factor F --warm-ups W --reads N --json FILE}.
 */
public final class ShuffleBenchJob {

    private final SparkContext context;
    private final int maps;
    private final int reduces;
    private final int blockBytes;
    private final int hotFactor;

    private ShuffleBenchJob(SparkContext context, Options options) {
        this.context = context;
        maps = options.number("maps", 500);
        reduces = options.number("reduces", 500);
        blockBytes = options.number("block-bytes", 2048);
        hotFactor = options.number("hot-factor", 1);
    }

    public static void main(String[] args) throws IOException {
        Options options = new Options(args);
        try (SparkSession spark =
                SparkSession.builder().appName("shuffle benchmark").getOrCreate()) {
            ShuffleBenchJob job = new ShuffleBenchJob(spark.sparkContext(), options);
            ShuffleRun run = job.run(options.number("warm-ups", 2), options.number("reads", 3));
            new ObjectMapper()
                    .writeValue(Path.of(options.text("json", "run.json")).toFile(), run);
        }
    }

    private ShuffleRun run(int warmUps, int reads) {
        Map<String, Long> pids = executorPids();
        RDD<Tuple2<Object, Object>> shuffled = shuffled();
        long start = System.nanoTime();
        read(shuffled);
        double mapS = secondsSince(start);
        for (int i = 1; i < warmUps; i++) {
            read(shuffled);
        }
        List<ShuffleRun.Reading> readings = new ArrayList<>();
        for (int i = 0; i < reads; i++) {
            readings.add(measured(shuffled, pids));
        }
        return account(mapS, readings);
    }

    private ShuffleRun.Reading measured(RDD<Tuple2<Object, Object>> shuffled, Map<String, Long> pids) {
        long self = ProcessHandle.current().pid();
        double[] before = {
            Machine.cpuSeconds(pids.get("0")), Machine.cpuSeconds(pids.get("1")), Machine.cpuSeconds(self)
        };
        long start = System.nanoTime();
        read(shuffled);
        return new ShuffleRun.Reading(
                secondsSince(start),
                Machine.cpuSeconds(pids.get("0")) - before[0],
                Machine.cpuSeconds(pids.get("1")) - before[1],
                Machine.cpuSeconds(self) - before[2]);
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

    private ShuffleRun account(double mapS, List<ShuffleRun.Reading> readings) {
        String manager = context.getConf().get("spark.shuffle.manager", "sort");
        if (manager.equals("sort")
                || context.getConf().get("spark.shuffle.rdma.mode", "auto").equals("off")) {
            return new ShuffleRun(manager, mapS, readings, 0, 0, Map.of(), 0);
        }
        var report = RdmaShuffle.report();
        long registered =
                report.figures().get(Gauge.REGISTERED_BYTES) + report.figures().get(Gauge.SINK_POOL_BYTES);
        return new ShuffleRun(
                "rdma", mapS, readings, report.rdmaBytes(), report.tcpBytes(), report.fallbacks(), registered);
    }

    private static double secondsSince(long startNanos) {
        return (System.nanoTime() - startNanos) / 1e9;
    }
}
