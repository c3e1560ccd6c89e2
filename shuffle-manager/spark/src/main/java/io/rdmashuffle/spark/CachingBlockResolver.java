package io.rdmashuffle.spark;

import java.io.File;
import java.io.IOException;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.apache.spark.network.util.TransportConf;
import org.apache.spark.serializer.SerializerManager;
import org.apache.spark.shuffle.IndexShuffleBlockResolver;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;
import scala.Option;

/**
 * Finds blocks for whoever reads them over TCP, and for this executor's own tasks, in offsets kept in memory and files kept open.
 * Spark's own resolver opens and reads the index file and opens the data file for every block, which for small blocks is most of
 * what serving them costs. Any thread.
 */
final class CachingBlockResolver extends IndexShuffleBlockResolver {

    private final IndexShuffleBlockResolver sorts;
    private final TransportConf transport;
    private final ServedOutputs outputs;

    /**
     * @param sorts the sort shuffle manager's own resolver, which notes for it what a decommissioned executor sends
     * @param maxBytes most bytes of offsets kept
     */
    CachingBlockResolver(SparkConf conf, IndexShuffleBlockResolver sorts, long maxBytes) {
        super(conf);
        this.sorts = sorts;
        this.transport = SparkSettings.transport(conf);
        this.outputs = new ServedOutputs(maxBytes);
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
        return sorts.putShuffleBlockAsStream(blockId, serializers);
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
