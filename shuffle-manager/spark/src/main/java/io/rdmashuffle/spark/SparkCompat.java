package io.rdmashuffle.spark;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.Aggregator;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
import org.apache.spark.network.client.TransportClient;
import org.apache.spark.network.client.TransportClientFactory;
import org.apache.spark.network.shuffle.BlockStoreClient;
import org.apache.spark.serializer.Serializer;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.util.collection.ExternalSorter;
import scala.Option;
import scala.math.Ordering;

/** What differs between the Spark versions that the one jar supports, looked up once. */
final class SparkCompat {

    /** Five parameters up to Spark 4.0; 4.1 added the row checksums. */
    private static final Constructor<?> SORTER = ExternalSorter.class.getConstructors()[0];

    private SparkCompat() {}

    /** The constructor with which ours is compiled; Spark 3.5 has another, which wants the manager's own table. */
    static boolean canExtendResolver() {
        return Stream.of(IndexShuffleBlockResolver.class.getConstructors())
                .anyMatch(constructor ->
                        Arrays.equals(constructor.getParameterTypes(), new Class<?>[] {SparkConf.class}));
    }

    /**
     * A connection of Spark's own client, hence with Spark's authentication and encryption; the client keeps its connections to its
     * subclasses.
     *
     * @throws IOException when there is no connection now
     */
    static TransportClient connect(BlockStoreClient client, String host, int port) throws IOException {
        try {
            Field factory = BlockStoreClient.class.getDeclaredField("clientFactory");
            factory.setAccessible(true);
            return ((TransportClientFactory) factory.get(client)).createClient(host, port);
        } catch (ReflectiveOperationException e) {
            throw new IOException("this version of Spark has a client that rdma-shuffle does not know", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while connecting", e);
        }
    }

    @SuppressWarnings("unchecked")
    static <K, V, C> ExternalSorter<K, V, C> newSorter(
            TaskContext context,
            Option<Aggregator<K, V, C>> aggregator,
            Option<Ordering<K>> ordering,
            Serializer serializer) {
        Object[] arguments = new Object[SORTER.getParameterCount()];
        arguments[0] = context;
        arguments[1] = aggregator;
        arguments[2] = Option.empty();
        arguments[3] = ordering;
        arguments[4] = serializer;
        try {
            if (arguments.length > 5) {
                arguments[5] = ExternalSorter.class
                        .getMethod("$lessinit$greater$default$6")
                        .invoke(null);
            }
            return (ExternalSorter<K, V, C>) SORTER.newInstance(arguments);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "this version of Spark has an ExternalSorter that rdma-shuffle does not know", e);
        }
    }
}
