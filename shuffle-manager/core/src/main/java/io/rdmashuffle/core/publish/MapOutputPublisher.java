package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.nio.file.Path;

/** The write walk of a process, after the engine's commit: register, publish, await the directory's answer. Any thread. */
public final class MapOutputPublisher {

    private final MapOutputRegistry registry;
    private final DirectoryClient directory;
    private final Withdrawals withdrawals;
    private final Counters counters;

    public MapOutputPublisher(
            MapOutputRegistry registry, DirectoryClient directory, Withdrawals withdrawals, Counters counters) {
        this.registry = registry;
        this.directory = directory;
        this.withdrawals = withdrawals;
        this.counters = counters;
    }

    /**
     * Returns when readers can find the map output. Waits for the driver, so on a task thread only.
     *
     * @param partitionLengths bytes of each reduce partition; their sum is the file's length and above 0
     * @throws NotPublishedException when it is to be read over TCP; nothing is left behind then
     */
    public void publish(int shuffleId, long mapId, Path dataFile, long[] partitionLengths)
            throws NotPublishedException {
        long start = System.nanoTime();
        MapOutputLocation location = registry.register(shuffleId, mapId, dataFile, partitionLengths);
        try {
            if (!directory.publish(shuffleId, location)) {
                throw new IOException("refused");
            }
        } catch (IOException e) {
            // the entry may have arrived all the same
            directory.withdraw(shuffleId, mapId);
            registry.unregister(shuffleId, mapId);
            throw new NotPublishedException(FallbackReason.PUBLISH_FAILED, e.getMessage(), e);
        }
        counters.add(Counter.PUBLISH_NANOS, System.nanoTime() - start);
        counters.add(Counter.PUBLISHED_OUTPUTS, 1);
        counters.add(Counter.PUBLISHED_BYTES, location.dataBytes());
        if (location.placement() == Placement.STAGED) {
            withdrawals.makeRoom(shuffleId, location.dataBytes());
        }
    }
}
