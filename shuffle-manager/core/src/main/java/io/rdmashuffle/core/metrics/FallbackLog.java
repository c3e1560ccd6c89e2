package io.rdmashuffle.core.metrics;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts every fallback and logs one line per peer and reason. Any thread. */
public final class FallbackLog {

    private static final Logger LOG = LoggerFactory.getLogger(FallbackLog.class);

    private final Counters counters;
    private final Set<String> told = ConcurrentHashMap.newKeySet();

    public FallbackLog(Counters counters) {
        this.counters = counters;
    }

    /**
     * @param peer the owner that is not read over RDMA, or what could not be published
     * @param blocks how many blocks (map side: map outputs) take the other path
     * @param detail what happened, one phrase; empty if the reason says all
     */
    public void record(String peer, FallbackReason reason, long blocks, String detail) {
        counters.addFallbacks(reason, blocks);
        if (told.add(peer + '/' + reason)) {
            LOG.info(
                    "RDMA shuffle: {} over TCP, {}: {}{}",
                    peer,
                    reason,
                    reason.meaning(),
                    detail.isEmpty() ? "" : " (" + detail + ")");
        }
    }
}
