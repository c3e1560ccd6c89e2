package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;

/** The write walk of a process, after the engine's commit: register and publish. Any thread. */
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
     * Registers the map output and announces it. Waits for nobody: what this process tells the driver afterwards arrives afterwards.
     *
     * @param partitionLengths bytes of each reduce partition; their sum is the file's length and above 0
     * @return ends when the directory has confirmed it, or with a {@link NotPublishedException} when it is to be read over TCP, and nothing
     *     is left behind; on any thread
     * @throws NotPublishedException the same, when it cannot be registered
     */
    public CompletableFuture<Void> publish(int shuffleId, long mapId, Path dataFile, long[] partitionLengths)
            throws NotPublishedException {
        long start = System.nanoTime();
        MapOutputLocation location = registry.register(shuffleId, mapId, dataFile, partitionLengths);
        CompletableFuture<Void> answer = directory.publish(shuffleId, location);
        counters.add(Counter.PUBLISH_NANOS, System.nanoTime() - start);
        counters.add(Counter.PUBLISHED_OUTPUTS, 1);
        counters.add(Counter.PUBLISHED_BYTES, location.dataBytes());
        if (location.placement() == Placement.STAGED) {
            withdrawals.makeRoom(shuffleId, location.dataBytes());
        }
        return answer.exceptionallyCompose(e -> {
            directory.withdraw(shuffleId, mapId); // the entry may have arrived all the same
            registry.unregister(shuffleId, mapId);
            return CompletableFuture.failedFuture(NotPublishedException.of(e));
        });
    }
}
