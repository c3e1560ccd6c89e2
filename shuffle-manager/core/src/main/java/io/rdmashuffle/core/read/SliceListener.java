package io.rdmashuffle.core.read;

import java.nio.ByteBuffer;

/**
 * Takes blocks too long for memory: each comes as slices, in order, at most two at a time. Blocks without bytes come as
 * {@link #onBlock}. A block may fall back after some of its slices came. On the loop thread: do nothing long and never block.
 */
public interface SliceListener extends BlockListener {

    /** The next bytes of a block. */
    void onSlice(int block, Slice slice);

    /** Some bytes of a block. Whoever got it calls {@link #consumed} or {@link #failed} once, on any thread. */
    interface Slice {

        /** Valid until the slice was consumed or failed. */
        ByteBuffer bytes();

        /** Whether the block ends with it; consuming it is the block's outcome then. */
        boolean isLast();

        /** The bytes are not needed any more. */
        void consumed();

        /** The bytes could not be kept: the block falls back unless it did already. */
        void failed(String detail);
    }
}
