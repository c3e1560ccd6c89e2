package io.rdmashuffle.spark;

import java.io.IOException;
import org.apache.spark.scheduler.MapStatus;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.shuffle.ShuffleWriter;
import scala.Option;
import scala.Product2;
import scala.collection.Iterator;

/** Lets Spark's own writer write and commit, then publishes what it committed. Used by one map task on its thread. */
final class RdmaShuffleWriter<K, V> extends ShuffleWriter<K, V> {

    private final ShuffleWriter<K, V> writer;
    private final ExecutorSide executor;
    private final IndexShuffleBlockResolver resolver;
    private final int shuffleId;
    private final long mapId;

    RdmaShuffleWriter(
            ShuffleWriter<K, V> writer,
            ExecutorSide executor,
            IndexShuffleBlockResolver resolver,
            int shuffleId,
            long mapId) {
        this.writer = writer;
        this.executor = executor;
        this.resolver = resolver;
        this.shuffleId = shuffleId;
        this.mapId = mapId;
    }

    @Override
    public void write(Iterator<Product2<K, V>> records) throws IOException {
        writer.write(records);
    }

    /** The MapStatus goes to the driver after what is published here, and the same way: no reader looks too early. */
    @Override
    public Option<MapStatus> stop(boolean success) {
        Option<MapStatus> status = writer.stop(success);
        if (success && status.isDefined()) {
            executor.publish(
                    shuffleId, mapId, resolver.getDataFile(shuffleId, mapId).toPath(), writer.getPartitionLengths());
        }
        return status;
    }

    @Override
    public long[] getPartitionLengths() {
        return writer.getPartitionLengths();
    }
}
