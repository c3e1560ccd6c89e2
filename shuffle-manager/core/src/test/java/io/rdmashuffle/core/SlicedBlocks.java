package io.rdmashuffle.core;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.read.BlockRequest;
import io.rdmashuffle.core.read.SliceListener;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;

/** Puts the slices of each block of one fetch together, on another thread as an engine would. */
final class SlicedBlocks extends Outcomes<SlicedBlocks> implements SliceListener {

    private final ExecutorService disk;
    private final IntPredicate fails;
    private final ByteArrayOutputStream[] files;
    private final AtomicInteger held = new AtomicInteger();
    private volatile int mostHeld;

    private SlicedBlocks(int blocks, ExecutorService disk, IntPredicate fails) {
        super(blocks);
        this.disk = disk;
        this.fails = fails;
        this.files = new ByteArrayOutputStream[blocks];
    }

    /**
     * Fetches single partitions.
     *
     * @param disk one thread that takes the slices
     * @param fails whether a block cannot be written
     */
    static SlicedBlocks fetch(
            RdmaNode node,
            String executorId,
            ExecutorService disk,
            IntPredicate fails,
            long[] mapIds,
            int... partitions) {
        int[] ends = Arrays.stream(partitions).map(partition -> partition + 1).toArray();
        SlicedBlocks blocks = new SlicedBlocks(mapIds.length, disk, fails);
        node.reader().fetchInSlices(new BlockRequest(0, executorId, mapIds, partitions, ends), blocks);
        return blocks;
    }

    @Override
    SlicedBlocks self() {
        return this;
    }

    /** Most slices that were there at a time. */
    int mostHeld() {
        return mostHeld;
    }

    @Override
    public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
        end(block, new byte[lengthBytes]);
    }

    @Override
    public void onSlice(int block, Slice slice) {
        mostHeld = Math.max(mostHeld, held.incrementAndGet());
        disk.execute(() -> take(block, slice));
    }

    private void take(int block, Slice slice) {
        held.decrementAndGet();
        if (fails.test(block)) {
            slice.failed("disk full");
            return;
        }
        if (files[block] == null) {
            files[block] = new ByteArrayOutputStream();
        }
        byte[] bytes = new byte[slice.bytes().remaining()];
        slice.bytes().get(bytes);
        files[block].writeBytes(bytes);
        if (slice.isLast()) {
            end(block, files[block].toByteArray());
        }
        slice.consumed();
    }
}
