package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockListener;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The outcome of each block of one fetch; a second outcome for a block is an error.
 *
 * @param <T> the class itself
 */
abstract class Outcomes<T extends Outcomes<T>> implements BlockListener {

    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final AtomicReferenceArray<Object> outcomes; // byte[] or FallbackReason
    private final AtomicInteger open;
    private volatile String defect = "";

    Outcomes(int blocks) {
        outcomes = new AtomicReferenceArray<>(blocks);
        open = new AtomicInteger(blocks);
    }

    abstract T self();

    /** Tells the outcome of a block: its bytes, or why it fell back. */
    final void end(int block, Object outcome) {
        if (!outcomes.compareAndSet(block, null, outcome)) {
            defect = "block " + block + " ended twice";
        }
        open.decrementAndGet();
    }

    final T awaitAll() {
        return awaitAll(PATIENCE);
    }

    final T awaitAll(Duration deadline) {
        await().atMost(deadline)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> open.get() <= 0);
        assertEquals("", defect);
        return self();
    }

    final boolean isRead(int block) {
        return outcomes.get(block) instanceof byte[];
    }

    /** The reason of a block that fell back. */
    final FallbackReason reason(int block) {
        return (FallbackReason) outcomes.get(block);
    }

    final byte[] bytes(int block) {
        if (outcomes.get(block) instanceof byte[] bytes) {
            return bytes;
        }
        throw new AssertionError("block " + block + " was not read: " + outcomes.get(block));
    }

    final void assertRead(int block, byte[] file, long from, long to) {
        assertArrayEquals(Arrays.copyOfRange(file, (int) from, (int) to), bytes(block));
    }

    final void assertFellBack(int block, FallbackReason reason) {
        assertEquals(reason, outcomes.get(block));
    }

    /**
     * How many blocks were read; all of them must be right.
     *
     * @param files the file of each block
     * @param partitions the partition that each block is
     * @param starts where partitions start in each file, and where the last one ends
     */
    final int countRight(byte[][] files, int[] partitions, long[] starts) {
        int right = 0;
        for (int block = 0; block < partitions.length; block++) {
            if (isRead(block)) {
                assertRead(block, files[block], starts[partitions[block]], starts[partitions[block] + 1]);
                right++;
            }
        }
        return right;
    }

    @Override
    public final void onFallback(int[] blocks, FallbackReason reason, String detail) {
        for (int block : blocks) {
            end(block, reason);
        }
    }

    @Override
    public final String toString() {
        return outcomes.toString();
    }
}
