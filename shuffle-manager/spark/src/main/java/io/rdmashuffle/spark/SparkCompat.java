package io.rdmashuffle.spark;

import java.lang.reflect.Constructor;
import java.util.Arrays;
import java.util.stream.Stream;
import org.apache.spark.Aggregator;
import org.apache.spark.SparkConf;
import org.apache.spark.TaskContext;
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
