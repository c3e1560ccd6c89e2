package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.metrics.Snapshot;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What the running application has shuffled so far, all executors together, lost ones included.
 *
 * @param executors by executor id; an executor appears with its first shuffle task
 * @param publishedOutputs map outputs that can be read over RDMA now
 * @param figures sums of all executors
 */
public record ApplicationReport(Map<String, ExecutorTransport> executors, int publishedOutputs, Snapshot figures) {

    /** Bytes of remote blocks read by RDMA_READ. */
    public long rdmaBytes() {
        return figures.get(Counter.RDMA_BYTES);
    }

    public long rdmaBlocks() {
        return figures.get(Counter.RDMA_BLOCKS);
    }

    /** Bytes of remote blocks read by Spark's own client. */
    public long tcpBytes() {
        return figures.get(Counter.TCP_BYTES);
    }

    public long tcpBlocks() {
        return figures.get(Counter.TCP_BLOCKS);
    }

    /** Blocks (on the map side: map outputs) by fallback reason; reasons that did not occur are left out. */
    public Map<String, Long> fallbacks() {
        Map<String, Long> fallbacks = new LinkedHashMap<>();
        for (FallbackReason reason : FallbackReason.values()) {
            if (figures.blocks(reason) > 0) {
                fallbacks.put(reason.name(), figures.blocks(reason));
            }
        }
        return fallbacks;
    }
}
