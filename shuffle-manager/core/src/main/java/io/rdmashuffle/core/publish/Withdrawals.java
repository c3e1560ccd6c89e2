package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes room in a full budget: the coldest shuffle is withdrawn. The driver is told first, then readers that have a connection; after
 * a time of grace its data files are deregistered, and are staged from then on. Who READs one of them even later loses its
 * connection and reads that block another way. Any thread.
 */
public final class Withdrawals {

    private static final Logger LOG = LoggerFactory.getLogger(Withdrawals.class);

    private final MapOutputRegistry registry;
    private final DirectoryClient directory;
    private final IntConsumer readers;
    private final long graceMillis;
    private final Counters counters;
    private long underWayBytes; // withdrawn and not yet deregistered

    /** @param readers is told the id of each shuffle withdrawn, to tell the readers that are connected */
    public Withdrawals(
            MapOutputRegistry registry,
            DirectoryClient directory,
            IntConsumer readers,
            long graceMillis,
            Counters counters) {
        this.registry = registry;
        this.directory = directory;
        this.readers = readers;
        this.graceMillis = graceMillis;
        this.counters = counters;
    }

    /** Sees to it that so many bytes of later outputs of the shuffle can be registered, if withdrawing others can do it. */
    synchronized void makeRoom(int shuffleId, long bytes) {
        if (registry.isWithdrawn(shuffleId)) {
            return; // has no use for it
        }
        while (registry.canEverHold(bytes) && registry.freeBytes() + underWayBytes < bytes) {
            MapOutputRegistry.Withdrawn withdrawn = registry.withdrawColdest(shuffleId);
            if (withdrawn == null) {
                return;
            }
            LOG.debug(
                    "the pinned budget is used up: shuffle {} is withdrawn, its {} bytes here are staged",
                    withdrawn.shuffleId(),
                    withdrawn.pinnedBytes());
            counters.add(Counter.WITHDRAWN_SHUFFLES, 1);
            underWayBytes += withdrawn.pinnedBytes();
            directory.unpin(withdrawn.shuffleId());
            readers.accept(withdrawn.shuffleId());
            CompletableFuture.delayedExecutor(graceMillis, TimeUnit.MILLISECONDS)
                    .execute(() -> deregister(withdrawn));
        }
    }

    private void deregister(MapOutputRegistry.Withdrawn withdrawn) {
        try {
            registry.deregister(withdrawn.shuffleId());
        } finally {
            synchronized (this) {
                underWayBytes -= withdrawn.pinnedBytes();
            }
        }
    }
}
