package io.rdmashuffle.spark;

import java.util.Map;

/**
 * What the running application has shuffled so far, all executors together, lost ones included.
 *
 * @param executors transport by executor id; an executor appears with its first shuffle task
 * @param rdmaBytes bytes of remote blocks read by RDMA_READ
 * @param tcpBytes bytes of remote blocks read by Spark's own client
 * @param publishedOutputs map outputs that can be read over RDMA now
 * @param fallbacks blocks (on the map side: map outputs) by fallback reason; reasons that did not occur are left out
 */
public record ApplicationReport(
        Map<String, ExecutorTransport> executors,
        long rdmaBytes,
        long rdmaBlocks,
        long tcpBytes,
        long tcpBlocks,
        int publishedOutputs,
        Map<String, Long> fallbacks) {}
