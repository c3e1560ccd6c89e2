package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.metrics.Gauge;
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

    /** Of them, bytes read from pinned map outputs. */
    public long directBytes() {
        return figures.get(Counter.DIRECT_BYTES);
    }

    /** Of them, bytes read from map outputs registered for on-demand paging. */
    public long odpBytes() {
        return figures.get(Counter.ODP_BYTES);
    }

    /** Of them, bytes that their owner staged. */
    public long stagedBytes() {
        return figures.get(Counter.STAGED_BYTES);
    }

    /** Bytes of map outputs published, in whatever placement. */
    public long publishedBytes() {
        return figures.get(Counter.PUBLISHED_BYTES);
    }

    /** Times that an executor deregistered a shuffle to make room for others. */
    public long withdrawnShuffles() {
        return figures.get(Counter.WITHDRAWN_SHUFFLES);
    }

    /** Bytes that executors keep registered, of all kinds, as last reported. */
    public long registeredBytes() {
        return figures.get(Gauge.PINNED_BYTES);
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
