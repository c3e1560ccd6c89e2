package io.rdmashuffle.spark;

import java.io.InputStream;
import org.apache.spark.Aggregator;
import org.apache.spark.InterruptibleIterator;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.package$;
import org.apache.spark.io.CompressionCodec$;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.BaseShuffleHandle;
import org.apache.spark.shuffle.ShuffleReadMetricsReporter;
import org.apache.spark.shuffle.ShuffleReader;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockFetcherIterator;
import org.apache.spark.util.CompletionIterator;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Function1;
import scala.Option;
import scala.Product2;
import scala.Tuple2;
import scala.collection.IterableOnce;
import scala.collection.Iterator;
import scala.runtime.BoxedUnit;

/**
 * Reads one reduce task's records: Spark's own fetch iterator with our client in it, then decompression, deserialization,
 * aggregation and ordering as Spark's BlockStoreShuffleReader does, which takes its client from the block manager and so cannot be
 * given ours. On the task thread.
 */
final class RdmaShuffleReader<K, V, C> implements ShuffleReader<K, C> {

    private final ShuffleDependency<K, V, C> dependency;
    private final BlocksToRead blocks;
    private final TaskContext context;
    private final ShuffleReadMetricsReporter metrics;
    private final BlockStoreClient client;
    private final SparkConf conf = SparkEnv.get().conf();

    RdmaShuffleReader(
            BaseShuffleHandle<K, V, C> handle,
            BlocksToRead blocks,
            TaskContext context,
            ShuffleReadMetricsReporter metrics,
            BlockStoreClient client) {
        this.dependency = handle.dependency();
        this.blocks = blocks;
        this.context = context;
        this.metrics = metrics;
        this.client = client;
    }

    @Override
    public Iterator<Product2<K, C>> read() {
        Iterator<Product2<K, C>> result = combined(interruptible(records()));
        // an aggregator or sorter may have consumed the interruptible iterator below it
        return result instanceof InterruptibleIterator ? result : interruptible(result);
    }

    private Iterator<Tuple2<BlockId, InputStream>> streams() {
        SerializerManager serializers = SparkEnv.get().serializerManager();
        package$ settings = package$.MODULE$;
        return new ShuffleBlockFetcherIterator(
                        context,
                        client,
                        SparkEnv.get().blockManager(),
                        SparkEnv.get().mapOutputTracker(),
                        blocks.byAddress(),
                        serializers::wrapStream,
                        longSetting(settings.REDUCER_MAX_SIZE_IN_FLIGHT()) * 1024 * 1024,
                        intSetting(settings.REDUCER_MAX_REQS_IN_FLIGHT()),
                        intSetting(settings.REDUCER_MAX_BLOCKS_IN_FLIGHT_PER_ADDRESS()),
                        longSetting(settings.MAX_REMOTE_BLOCK_SIZE_FETCH_TO_MEM()),
                        intSetting(settings.SHUFFLE_MAX_ATTEMPTS_ON_NETTY_OOM()),
                        booleanSetting(settings.SHUFFLE_DETECT_CORRUPT()),
                        booleanSetting(settings.SHUFFLE_DETECT_CORRUPT_MEMORY()),
                        booleanSetting(settings.SHUFFLE_CHECKSUM_ENABLED()),
                        conf.get(settings.SHUFFLE_CHECKSUM_ALGORITHM()),
                        metrics,
                        fetchesInBatch(),
                        ShuffleBlockFetcherIterator.$lessinit$greater$default$18())
                .toCompletionIterator();
    }

    private Iterator<Object> records() {
        SerializerInstance serializer = dependency.serializer().newInstance();
        Iterator<Object> records = dependency.serializer().supportsRelocationOfSerializedObjects()
                ? records(serializer, new ConcatenatedStreams(streams()))
                : recordsOfEach(serializer, streams());
        Iterator<Object> counted = records.map(record -> {
            metrics.incRecordsRead(1);
            return record;
        });
        return CompletionIterator.apply(counted, () -> {
            context.taskMetrics().mergeShuffleReadMetrics();
            return BoxedUnit.UNIT;
        });
    }

    @SuppressWarnings(
            "unchecked") // an Iterator is an IterableOnce, a type that Scala 2.12 does not have: no lambda may name it
    private static Iterator<Object> recordsOfEach(
            SerializerInstance serializer, Iterator<Tuple2<BlockId, InputStream>> streams) {
        Function1<Tuple2<BlockId, InputStream>, Iterator<Object>> recordsOf =
                stream -> records(serializer, stream._2());
        return streams.flatMap(
                (Function1<Tuple2<BlockId, InputStream>, IterableOnce<Object>>) (Function1<?, ?>) recordsOf);
    }

    @SuppressWarnings("unchecked") // a pair is an object
    private static Iterator<Object> records(SerializerInstance serializer, InputStream stream) {
        return (Iterator<Object>)
                (Iterator<?>) serializer.deserializeStream(stream).asKeyValueIterator();
    }

    private <T> Iterator<T> interruptible(Iterator<T> iterator) {
        return new InterruptibleIterator<>(context, iterator);
    }

    @SuppressWarnings("unchecked") // the records are what the dependency says, which only Scala's types could show
    private Iterator<Product2<K, C>> combined(Iterator<Object> records) {
        Iterator<?> any = records;
        if (dependency.keyOrdering().isDefined()) {
            ExternalSorter<K, Object, C> sorter = SparkCompat.newSorter(
                    context,
                    dependency.aggregator().isDefined() ? Option.apply(readSideAggregator()) : Option.empty(),
                    dependency.keyOrdering(),
                    dependency.serializer());
            return (Iterator<Product2<K, C>>)
                    (Iterator<?>) sorter.insertAllAndUpdateMetrics((Iterator<Product2<K, Object>>) any);
        }
        if (dependency.aggregator().isEmpty()) {
            return (Iterator<Product2<K, C>>) any;
        }
        Aggregator<K, V, C> aggregator = dependency.aggregator().get();
        Iterator<?> combined = dependency.mapSideCombine()
                ? aggregator.combineCombinersByKey((Iterator<Product2<K, C>>) any, context)
                : aggregator.combineValuesByKey((Iterator<Product2<K, V>>) any, context);
        return (Iterator<Product2<K, C>>) combined;
    }

    /** After a map-side combine the records are combiners already. */
    @SuppressWarnings("unchecked")
    private Aggregator<K, Object, C> readSideAggregator() {
        Aggregator<K, V, C> aggregator = dependency.aggregator().get();
        return dependency.mapSideCombine()
                ? new Aggregator<>(
                        combiner -> (C) combiner,
                        (left, right) -> aggregator.mergeCombiners().apply(left, (C) right),
                        aggregator.mergeCombiners())
                : (Aggregator<K, Object, C>) (Aggregator<K, ?, C>) aggregator;
    }

    /** As BlockStoreShuffleReader decides: adjacent blocks are one stream only if the formats allow it (SPARK-9853, SPARK-34790). */
    private boolean fetchesInBatch() {
        package$ settings = package$.MODULE$;
        return blocks.batch()
                && dependency.serializer().supportsRelocationOfSerializedObjects()
                && !booleanSetting(settings.SHUFFLE_USE_OLD_FETCH_PROTOCOL())
                && !booleanSetting(settings.IO_ENCRYPTION_ENABLED())
                && (!booleanSetting(settings.SHUFFLE_COMPRESS()) || codecConcatenates());
    }

    private boolean codecConcatenates() {
        return CompressionCodec$.MODULE$.supportsConcatenationOfSerializedStreams(
                CompressionCodec$.MODULE$.createCodec(conf));
    }

    private long longSetting(ConfigEntry<Object> entry) {
        return (Long) conf.get(entry);
    }

    private int intSetting(ConfigEntry<Object> entry) {
        return (Integer) conf.get(entry);
    }

    private boolean booleanSetting(ConfigEntry<Object> entry) {
        return (Boolean) conf.get(entry);
    }
}
