package io.rdmashuffle.spark;

import io.rdmashuffle.core.read.BlockRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.BlockId$;
import org.apache.spark.storage.ShuffleBlockBatchId;
import org.apache.spark.storage.ShuffleBlockId;

/** The blocks of one call that can be read over RDMA, as columns, and those that cannot. */
final class BlockIds {

    private final String[] readable;
    private final long[] mapIds;
    private final int[] starts;
    private final int[] ends;
    private final List<String> unsupported = new ArrayList<>();
    private int shuffleId;
    private int count;

    BlockIds(String[] blockIds) {
        readable = new String[blockIds.length];
        mapIds = new long[blockIds.length];
        starts = new int[blockIds.length];
        ends = new int[blockIds.length];
        for (String blockId : blockIds) {
            add(blockId);
        }
    }

    /** In the order of {@link #request}. */
    String[] readable() {
        return Arrays.copyOf(readable, count);
    }

    String[] unsupported() {
        return unsupported.toArray(String[]::new);
    }

    BlockRequest request(String execId) {
        return new BlockRequest(
                shuffleId,
                execId,
                Arrays.copyOf(mapIds, count),
                Arrays.copyOf(starts, count),
                Arrays.copyOf(ends, count));
    }

    private void add(String blockId) {
        BlockId parsed = BlockId$.MODULE$.apply(blockId);
        if (parsed instanceof ShuffleBlockId block) {
            add(blockId, block.shuffleId(), block.mapId(), block.reduceId(), block.reduceId() + 1);
        } else if (parsed instanceof ShuffleBlockBatchId batch) {
            add(blockId, batch.shuffleId(), batch.mapId(), batch.startReduceId(), batch.endReduceId());
        } else {
            unsupported.add(blockId); // a push-merged chunk
        }
    }

    private void add(String blockId, int shuffle, long mapId, int start, int end) {
        if (count > 0 && shuffle != shuffleId) {
            unsupported.add(blockId); // a reader reads one shuffle
            return;
        }
        shuffleId = shuffle;
        readable[count] = blockId;
        mapIds[count] = mapId;
        starts[count] = start;
        ends[count++] = end;
    }
}
