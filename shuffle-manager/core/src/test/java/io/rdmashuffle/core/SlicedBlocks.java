package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockRequest;
import io.rdmashuffle.core.read.SliceListener;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntPredicate;

/** Puts the slices of each block of one fetch together, on another thread as an engine would; a second outcome is an error. */
final class SlicedBlocks implements SliceListener {

    private final ExecutorService disk;
    private final IntPredicate fails;
    private final ByteArrayOutputStream[] files;
    private final AtomicReferenceArray<Object> outcomes; // byte[] or FallbackReason
    private final AtomicInteger open;
    private final AtomicInteger held = new AtomicInteger();
    private volatile int mostHeld;
    private volatile String defect = "";

    private SlicedBlocks(int blocks, ExecutorService disk, IntPredicate fails) {
        this.disk = disk;
        this.fails = fails;
        this.files = new ByteArrayOutputStream[blocks];
        this.outcomes = new AtomicReferenceArray<>(blocks);
        this.open = new AtomicInteger(blocks);
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

    SlicedBlocks awaitAll() {
        await().atMost(Duration.ofSeconds(20)).until(() -> open.get() <= 0);
        assertEquals("", defect);
        return this;
    }

    boolean isRead(int block) {
        return outcomes.get(block) instanceof byte[];
    }

    Object outcome(int block) {
        return outcomes.get(block);
    }

    void assertRead(int block, byte[] file, long from, long to) {
        assertEquals(byte[].class, outcomes.get(block).getClass(), () -> "block " + block + ": " + outcomes.get(block));
        assertArrayEquals(Arrays.copyOfRange(file, (int) from, (int) to), (byte[]) outcomes.get(block));
    }

    void assertFellBack(int block, FallbackReason reason) {
        assertEquals(reason, outcomes.get(block));
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

    @Override
    public void onFallback(int[] blocks, FallbackReason reason, String detail) {
        Arrays.stream(blocks).forEach(block -> end(block, reason));
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

    private void end(int block, Object outcome) {
        if (!outcomes.compareAndSet(block, null, outcome)) {
            defect = "block " + block + " ended twice";
        }
        open.decrementAndGet();
    }
}
