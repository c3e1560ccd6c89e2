package io.rdmashuffle.core;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.Control;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.LocalAddresses;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.DirectoryClient;
import io.rdmashuffle.core.directory.LocationCache;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.Gauge;
import io.rdmashuffle.core.publish.FileRegistrar;
import io.rdmashuffle.core.publish.MapOutputPublisher;
import io.rdmashuffle.core.publish.MapOutputRegistry;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.core.publish.Withdrawals;
import io.rdmashuffle.core.read.BlockReader;
import io.rdmashuffle.verbs.Rdma;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A process that takes part: its device, event loop, connections, published map outputs and the reading of others'. Owns all of it
 * and closes it in reverse. Any thread.
 */
public final class RdmaNode implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(RdmaNode.class);
    private static final int CQ_ENTRIES = 32_000; // soft-RoCE has 32,767 at most
    private static final long MIN_PINNED_BYTES = 1 << 20; // the least of the setting

    private final Listening listening;
    private final byte[] secret;
    private final VerbsEndpoint endpoint;
    private final Connections connections;
    private final FileRegistrar files;
    private final StagingPool stagingPool;
    private final MapOutputRegistry registry;
    private final MapOutputPublisher publisher;
    private final BlockReader reader;

    private RdmaNode(
            Listening listening,
            byte[] secret,
            long incarnation,
            DirectoryClient directory,
            PinnedShares shares,
            RdmaConfig config,
            Counters counters) {
        this.listening = listening;
        this.secret = secret;
        this.endpoint = listening.endpoint();
        EventLoop loop = new EventLoop(endpoint);
        LocationCache locations =
                new LocationCache(directory, loop::submit, config.get(RdmaConfig.OFFSETS_CACHE_MAX_BYTES));
        files = new FileRegistrar(endpoint, shares.mapOutputs(), config.get(RdmaConfig.ODP));
        registry = new MapOutputRegistry(endpoint, shares, files, counters);
        stagingPool = new StagingPool(endpoint, shares.staging());
        Control control = new Control(shares.messages(), stagingPool, registry, locations::unpin);
        connections =
                new Connections(loop, listening.locals(), CQ_ENTRIES, incarnation, secret, control, config, counters);
        Withdrawals withdrawals = new Withdrawals(
                registry,
                directory,
                connections.asOwner()::tellWithdrawn,
                config.get(RdmaConfig.WITHDRAW_GRACE_MILLIS),
                counters);
        publisher = new MapOutputPublisher(registry, directory, withdrawals, counters);
        reader = new BlockReader(
                loop,
                locations,
                connections.asReader(),
                new BlockReader.Limits(
                        shares.sinks(),
                        config.get(RdmaConfig.SINK_WAIT_MILLIS),
                        config.get(RdmaConfig.IN_FLIGHT_MAX_BYTES),
                        config.get(RdmaConfig.IN_FLIGHT_MAX_BYTES_PER_PEER)),
                registry::touch,
                counters);
        counters.setGauge(Gauge.REGISTERED_BYTES, registry::registeredBytes);
        counters.setGauge(Gauge.PINNED_BYTES, shares.whole()::usedBytes);
        counters.setGauge(Gauge.STAGING_BYTES, shares.staging()::usedBytes);
        counters.setGauge(Gauge.SINK_POOL_BYTES, reader.pool()::registeredBytes);
        counters.setGauge(Gauge.SINK_LENT_BYTES, reader.pool()::lentBytes);
        counters.setGauge(Gauge.READER_QUEUE_PAIRS, connections.asReader()::size);
        counters.setGauge(Gauge.OWNER_QUEUE_PAIRS, connections.asOwner()::size);
    }

    /**
     * Loads, on a thread of its own, what takes a process long to load: the verbs library, cryptography, the messages' serializer.
     * Otherwise the first task waits for it. What cannot be loaded shows when a node is opened.
     */
    public static void warmUp() {
        Thread thread = new Thread(RdmaNode::load, "rdma-shuffle-warm-up");
        thread.setDaemon(true);
        thread.start();
    }

    private static void load() {
        try {
            MessageCodec.decode(MessageCodec.encode(new Message.Ack(true)));
            new HmacSha256(new byte[1]).of();
            boolean verbs = Rdma.isAvailable(); // loads the library
            LOG.debug("warm-up ended, verbs {}", verbs ? "there" : "not there");
        } catch (MalformedMessageException | RuntimeException | LinkageError e) {
            LOG.debug("warm-up", e);
        }
    }

    /**
     * Opens the device of the first chosen address that has one, introduces this process to the directory, and starts. Waits for the
     * driver.
     *
     * @param executorId the engine's name of this process
     * @param incarnation identity of this life of the process, the same as the directory client's
     * @param host what the engine calls this host: its addresses come first among those that the settings choose
     * @throws RdmaUnavailableException when this process cannot take part; nothing is left behind then
     */
    public static RdmaNode open(
            String executorId,
            long incarnation,
            String host,
            DirectoryClient directory,
            RdmaConfig config,
            Counters counters)
            throws RdmaUnavailableException {
        try {
            return open(executorId, incarnation, LocalAddresses.bestFirst(host, config), directory, config, counters);
        } catch (IOException e) {
            throw new RdmaUnavailableException(e.getMessage(), e);
        }
    }

    /** The same with the addresses of this host given, best first. */
    static RdmaNode open(
            String executorId,
            long incarnation,
            List<LocalAddress> candidates,
            DirectoryClient directory,
            RdmaConfig config,
            Counters counters)
            throws RdmaUnavailableException {
        PinnedShares shares = PinnedShares.of(config);
        if (shares.whole().maxBytes() < MIN_PINNED_BYTES) {
            throw new RdmaUnavailableException(shares.tooSmall(), null);
        }
        Listening listening = Listening.open(candidates, CQ_ENTRIES);
        try {
            Owner owner = new Owner(executorId, incarnation, listening.announced());
            String device = listening.endpoint().device().name();
            byte[] secret = directory.hello(new Message.Hello(executorId, incarnation, owner, device, ""));
            RdmaNode node = new RdmaNode(listening, secret, incarnation, directory, shares, config, counters);
            node.connections.start();
            return node;
        } catch (IOException e) {
            listening.endpoint().close();
            throw new RdmaUnavailableException(e.getMessage(), e);
        }
    }

    /** The device in use, for people. */
    public String device() {
        return endpoint.device().name();
    }

    /** Where peers connect to, best first. */
    public List<InetSocketAddress> addresses() {
        return listening.announced();
    }

    /** The application's secret, for a process that serves for this one. Not to be changed. */
    public byte[] secret() {
        return secret;
    }

    public MapOutputPublisher publisher() {
        return publisher;
    }

    public BlockReader reader() {
        return reader;
    }

    /**
     * Finds out, once each, how files in these local directories can be registered; map outputs in them are registered accordingly.
     * Best called before the first is published. Any thread.
     */
    public List<ProbedDirectory> probe(List<Path> dirs) {
        return files.probe(dirs);
    }

    /** Forgets a removed shuffle: deregisters its map outputs and forgets those of others. */
    public void removeShuffle(int shuffleId) {
        registry.unregisterShuffle(shuffleId);
        connections.asOwner().forget(shuffleId);
        reader.forget(shuffleId);
    }

    /** Registered bytes of map outputs and offsets. */
    public long registeredBytes() {
        return registry.registeredBytes();
    }

    /** Staging buffers that hold bytes which a reader may READ, or wait for them. */
    int stagedBuffers() {
        return stagingPool.taken();
    }

    /** Readers that are connected. */
    int readersServed() {
        return connections.asOwner().size();
    }

    @Override
    public void close() {
        reader.close();
        connections.close();
        registry.close();
        endpoint.close();
    }
}
