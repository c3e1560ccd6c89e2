package io.rdmashuffle.spark;

import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import org.apache.spark.storage.ShuffleIndexBlockId;
import scala.Option;

/**
 * Finds blocks for whoever reads them over TCP, and for this executor's own tasks, in offsets kept in memory and files kept open.
 * Spark's own resolver opens and reads the index file and opens the data file for every block, which for small blocks is most of
 * what serving them costs. Map outputs that a decommissioned executor hands on to this one are published. Any thread.
 */
final class CachingBlockResolver extends IndexShuffleBlockResolver {

    private final IndexShuffleBlockResolver sorts;
    private final TransportConf transport;
    private final ServedOutputs outputs;
    private final Arrivals arrivals;

    /** Publishes a map output that this executor took over. */
    interface Arrivals {
        void publish(int shuffleId, long mapId, Path dataFile, long[] partitionLengths);
    }

    /**
     * @param sorts the sort shuffle manager's own resolver, which notes for it what a decommissioned executor sends
     * @param maxBytes most bytes of offsets kept
     * @param arrivals told of each map output that a decommissioned executor sends, before the driver is
     */
    CachingBlockResolver(SparkConf conf, IndexShuffleBlockResolver sorts, long maxBytes, Arrivals arrivals) {
        super(conf);
        this.sorts = sorts;
        this.transport = SparkSettings.transport(conf);
        this.outputs = new ServedOutputs(maxBytes);
        this.arrivals = arrivals;
    }

    @Override
    public ManagedBuffer getBlockData(BlockId blockId, Option<String[]> dirs) {
        ManagedBuffer kept = null;
        if (dirs.isEmpty()) { // else the files are another executor's
            if (blockId instanceof ShuffleBlockId block) {
                kept = find(block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1);
            } else if (blockId instanceof ShuffleBlockBatchId batch) {
                kept = find(batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId());
            }
        }
        return kept != null ? kept : super.getBlockData(blockId, dirs);
    }

    @Override
    public void removeDataByMap(int shuffleId, long mapId) {
        outputs.remove(shuffleId, mapId);
        super.removeDataByMap(shuffleId, mapId);
    }

    @Override
    public StreamCallbackWithID putShuffleBlockAsStream(BlockId blockId, SerializerManager serializers) {
        StreamCallbackWithID store = sorts.putShuffleBlockAsStream(blockId, serializers);
        if (blockId instanceof ShuffleIndexBlockId index) {
            Path dataFile = getDataFile(index.shuffleId(), index.mapId()).toPath();
            return new ArrivingIndex(
                    store, lengths -> arrivals.publish(index.shuffleId(), index.mapId(), dataFile, lengths));
        }
        return store;
    }

    @Override
    public void stop() {
        outputs.close();
        super.stop();
    }

    /** Null when Spark's own way has to be gone, which then also says what is wrong. */
    private ManagedBuffer find(int shuffleId, long mapId, int start, int end) {
        ServedOutput output = outputs.find(shuffleId, mapId);
        if (output == null) {
            output = load(shuffleId, mapId);
        }
        return output != null && end <= output.partitions() ? output.segment(transport, start, end) : null;
    }

    private ServedOutput load(int shuffleId, long mapId) {
        File index = getIndexFile(shuffleId, mapId, Option.empty());
        try {
            return outputs.load(shuffleId, mapId, index, getDataFile(shuffleId, mapId));
        } catch (IOException e) {
            return null;
        }
    }
}
