package io.rdmashuffle.core.read;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;

/**
 * Is told exactly one outcome for each block of a fetch, in any order, on the loop thread: do nothing long and never block.
 */
public interface BlockListener {

    /**
     * The bytes of a block are in the sink, which is borrowed for the call: retain it to keep it.
     *
     * @param block index of the block in its fetch
     * @param sink null for a block without bytes
     */
    void onBlock(int block, Sink sink, long offset, int lengthBytes);

    /**
     * These blocks are not read over RDMA.
     *
     * @param blocks indexes in their fetch, ascending
     * @param detail what happened, one phrase; may be empty
     */
    void onFallback(int[] blocks, FallbackReason reason, String detail);
}
