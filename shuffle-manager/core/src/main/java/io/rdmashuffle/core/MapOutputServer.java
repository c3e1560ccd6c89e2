package io.rdmashuffle.core;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.Control;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.publish.FileRegistrar;
import io.rdmashuffle.core.publish.MapOutputRegistry;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;

/**
 * Serves the map outputs of one application, for executors that may leave: reads nothing and knows no directory. It has an endpoint,
 * hence a protection domain, queue pairs and regions of its own: keys and connections of one application are of no use against
 * another's, and closing leaves nothing of it behind. Any thread.
 */
public final class MapOutputServer implements AutoCloseable {

    /** An owner posts next to nothing. */
    private static final int CQ_ENTRIES = 1024;

    private final Listening listening;
    private final VerbsEndpoint endpoint;
    private final long incarnation = new SecureRandom().nextLong();
    private final MapOutputRegistry registry;
    private final Connections connections;

    private MapOutputServer(
            Listening listening, byte[] secret, PinnedShares shares, RdmaConfig config, Counters counters) {
        this.listening = listening;
        this.endpoint = listening.endpoint();
        FileRegistrar files = new FileRegistrar(endpoint, shares.mapOutputs(), config.get(RdmaConfig.ODP));
        this.registry = new MapOutputRegistry(endpoint, shares, files, counters);
        StagingPool stagingPool = new StagingPool(endpoint, shares.staging());
        this.connections = new Connections(
                new EventLoop(endpoint),
                listening.locals(),
                CQ_ENTRIES,
                incarnation,
                secret,
                new Control(shares.messages(), stagingPool, registry, (owner, shuffleId) -> {}),
                config,
                counters);
    }

    /**
     * Opens the device of the first address that has one, and starts.
     *
     * @param candidates addresses of this host, best first
     * @param secret the application's secret: who has it is let in
     * @param shares the budget of the whole process, of which other applications have their part
     * @throws RdmaUnavailableException when nothing can be served; nothing is left behind then
     */
    public static MapOutputServer open(
            List<LocalAddress> candidates, byte[] secret, PinnedShares shares, RdmaConfig config, Counters counters)
            throws RdmaUnavailableException {
        Listening listening = Listening.open(candidates, CQ_ENTRIES);
        MapOutputServer server = new MapOutputServer(listening, secret, shares, config, counters);
        server.connections.start();
        return server;
    }

    /** What readers of this executor's map outputs connect to. */
    public Owner ownerFor(String executorId) {
        return new Owner(executorId, incarnation, listening.announced());
    }

    /**
     * Makes a committed map output readable, one at a time. Whoever registers one again gets another place for it, and READs from
     * the earlier one fail.
     *
     * @param dataFile never changes nor shrinks
     * @param partitionLengths bytes of each reduce partition; their sum is the file's length and above 0
     * @throws NotPublishedException when it is not readable now; nothing is kept then
     */
    public synchronized MapOutputLocation register(int shuffleId, long mapId, Path dataFile, long[] partitionLengths)
            throws NotPublishedException {
        registry.unregister(shuffleId, mapId);
        return registry.register(shuffleId, mapId, dataFile, partitionLengths);
    }

    /** Forgets one map output. READs under way from it fail. */
    public void unregister(int shuffleId, long mapId) {
        registry.unregister(shuffleId, mapId);
    }

    /** Forgets what is served of a removed shuffle. */
    public void removeShuffle(int shuffleId) {
        registry.unregisterShuffle(shuffleId);
        connections.asOwner().forget(shuffleId);
    }

    @Override
    public void close() {
        connections.close();
        registry.close();
        endpoint.close();
    }
}
