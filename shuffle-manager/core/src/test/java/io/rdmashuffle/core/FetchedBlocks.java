package io.rdmashuffle.core;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.read.BlockRequest;
import java.util.Arrays;

/** What came of the blocks of one fetch. */
final class FetchedBlocks extends Outcomes<FetchedBlocks> {

    private FetchedBlocks(int blocks) {
        super(blocks);
    }

    /** Fetches single partitions: block i is partition {@code partitions[i]} of {@code mapIds[i]}. */
    static FetchedBlocks fetch(RdmaNode node, int shuffleId, String executorId, long[] mapIds, int... partitions) {
        int[] ends = Arrays.stream(partitions).map(partition -> partition + 1).toArray();
        return fetch(node, new BlockRequest(shuffleId, executorId, mapIds, partitions, ends));
    }

    static FetchedBlocks fetch(RdmaNode node, BlockRequest request) {
        FetchedBlocks blocks = new FetchedBlocks(request.size());
        node.reader().fetch(request, blocks);
        return blocks;
    }

    @Override
    FetchedBlocks self() {
        return this;
    }

    @Override
    public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        if (sink != null) {
            sink.view(offset, lengthBytes).get(bytes);
        }
        end(block, bytes);
    }
}
