package io.rdmashuffle.core;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.LocationCache;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.Gauge;
import io.rdmashuffle.core.publish.MapOutputPublisher;
import io.rdmashuffle.core.publish.MapOutputRegistry;
import io.rdmashuffle.core.read.BlockReader;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.util.List;

/**
 * A process that takes part: its device, event loop, connections, published map outputs and the reading of others'. Owns all of it
 * and closes it in reverse. Any thread.
 */
public final class RdmaNode implements AutoCloseable {

    private static final int BACKLOG = 128;
    private static final int CQ_ENTRIES = 16 << 10;
    private static final long OFFSETS_CACHE_BYTES = 64L << 20;

    private final VerbsEndpoint endpoint;
    private final Connections connections;
    private final MapOutputRegistry registry;
    private final MapOutputPublisher publisher;
    private final BlockReader reader;

    private RdmaNode(
            VerbsEndpoint endpoint,
            byte[] secret,
            long incarnation,
            DirectoryClient directory,
            RdmaConfig config,
            Counters counters) {
        this.endpoint = endpoint;
        EventLoop loop = new EventLoop(endpoint);
        connections = new Connections(loop, incarnation, secret, config, counters);
        registry = new MapOutputRegistry(
                endpoint, Endpoints.withinMemlock(config.get(RdmaConfig.PINNED_MAX_BYTES)), counters);
        publisher = new MapOutputPublisher(registry, directory, counters);
        LocationCache locations = new LocationCache(directory, loop::submit, OFFSETS_CACHE_BYTES);
        reader = new BlockReader(
                loop,
                locations,
                connections.asReader(),
                Endpoints.withinMemlock(config.get(RdmaConfig.SINK_MAX_BYTES)),
                config.get(RdmaConfig.SINK_WAIT_MILLIS),
                counters);
        counters.setGauge(Gauge.REGISTERED_BYTES, registry::registeredBytes);
        counters.setGauge(Gauge.SINK_POOL_BYTES, reader.pool()::registeredBytes);
        counters.setGauge(Gauge.SINK_LENT_BYTES, reader.pool()::lentBytes);
        counters.setGauge(Gauge.READER_QUEUE_PAIRS, connections.asReader()::size);
        counters.setGauge(Gauge.OWNER_QUEUE_PAIRS, connections.asOwner()::size);
    }

    /**
     * Opens the first of the addresses that has an RDMA device, introduces this process to the directory, and starts. Waits for the
     * driver.
     *
     * @param executorId the engine's name of this process
     * @param incarnation identity of this life of the process, the same as the directory client's
     * @param addresses local addresses, best first
     * @throws RdmaUnavailableException when this process cannot take part; nothing is left behind then
     */
    public static RdmaNode open(
            String executorId,
            long incarnation,
            List<InetAddress> addresses,
            DirectoryClient directory,
            RdmaConfig config,
            Counters counters)
            throws RdmaUnavailableException {
        VerbsEndpoint endpoint = Endpoints.open(addresses, BACKLOG, CQ_ENTRIES);
        try {
            Owner owner = new Owner(executorId, incarnation, endpoint.listenAddress());
            String device = endpoint.device().name();
            byte[] secret = directory.hello(new Message.Hello(executorId, incarnation, owner, device, ""));
            RdmaNode node = new RdmaNode(endpoint, secret, incarnation, directory, config, counters);
            node.connections.start();
            return node;
        } catch (IOException e) {
            endpoint.close();
            throw new RdmaUnavailableException(e.getMessage(), e);
        }
    }

    /** The device in use, for people. */
    public String device() {
        return endpoint.device().name();
    }

    public InetAddress address() {
        return endpoint.listenAddress().getAddress();
    }

    public MapOutputPublisher publisher() {
        return publisher;
    }

    public BlockReader reader() {
        return reader;
    }

    /** Withdraws a removed shuffle: deregisters its map outputs and forgets those of others. */
    public void removeShuffle(int shuffleId) {
        registry.unregisterShuffle(shuffleId);
        reader.forget(shuffleId);
    }

    /** Registered bytes of map outputs and offsets. */
    public long registeredBytes() {
        return registry.registeredBytes();
    }

    @Override
    public void close() {
        reader.close();
        connections.close();
        registry.close();
        endpoint.close();
    }
}
