package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.read.BlockListener;
import io.rdmashuffle.core.read.BlockRequest;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** Collects the outcome of each block of one fetch; a second outcome for a block is an error. */
final class FetchedBlocks implements BlockListener {

    private final AtomicReferenceArray<Object> outcomes; // byte[] or FallbackReason
    private final AtomicInteger open;
    private volatile String defect = "";

    private FetchedBlocks(int blocks) {
        outcomes = new AtomicReferenceArray<>(blocks);
        open = new AtomicInteger(blocks);
    }

    /** Fetches single partitions: block i is partition {@code partitions[i]} of {@code mapIds[i]}. */
    static FetchedBlocks fetch(RdmaNode node, int shuffleId, String executorId, long[] mapIds, int... partitions) {
        int[] ends = java.util.Arrays.stream(partitions)
                .map(partition -> partition + 1)
                .toArray();
        return fetch(node, new BlockRequest(shuffleId, executorId, mapIds, partitions, ends));
    }

    static FetchedBlocks fetch(RdmaNode node, BlockRequest request) {
        FetchedBlocks blocks = new FetchedBlocks(request.size());
        node.reader().fetch(request, blocks);
        return blocks;
    }

    FetchedBlocks awaitAll() {
        return awaitAll(Duration.ofSeconds(20));
    }

    FetchedBlocks awaitAll(Duration deadline) {
        await().atMost(deadline)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .until(() -> open.get() <= 0);
        assertEquals("", defect);
        return this;
    }

    boolean isRead(int block) {
        return outcomes.get(block) instanceof byte[];
    }

    /** The reason of a block that fell back. */
    FallbackReason reason(int block) {
        return (FallbackReason) outcomes.get(block);
    }

    byte[] bytes(int block) {
        if (outcomes.get(block) instanceof byte[] bytes) {
            return bytes;
        }
        throw new AssertionError("block " + block + " was not read: " + outcomes.get(block));
    }

    void assertRead(int block, byte[] file, long from, long to) {
        assertArrayEquals(java.util.Arrays.copyOfRange(file, (int) from, (int) to), bytes(block));
    }

    void assertFellBack(int block, FallbackReason reason) {
        assertEquals(reason, outcomes.get(block));
    }

    @Override
    public void onBlock(int block, Sink sink, long offset, int lengthBytes) {
        byte[] bytes = new byte[lengthBytes];
        if (sink != null) {
            sink.view(offset, lengthBytes).get(bytes);
        }
        end(block, bytes);
    }

    @Override
    public void onFallback(int[] blocks, FallbackReason reason, String detail) {
        for (int block : blocks) {
            end(block, reason);
        }
    }

    private void end(int block, Object outcome) {
        if (!outcomes.compareAndSet(block, null, outcome)) {
            defect = "block " + block + " ended twice";
        }
        open.decrementAndGet();
    }
}
