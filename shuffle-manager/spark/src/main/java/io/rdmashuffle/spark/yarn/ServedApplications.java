package io.rdmashuffle.spark.yarn;

import io.rdmashuffle.core.Endpoints;
import io.rdmashuffle.core.MapOutputServer;
import io.rdmashuffle.core.RdmaUnavailableException;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.LocalAddresses;
import io.rdmashuffle.core.memory.PinnedShares;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.NotPublishedException;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The applications that a NodeManager serves map outputs of, each by a {@link MapOutputServer} of its own, from its first map output
 * to its end. Any thread.
 */
final class ServedApplications implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ServedApplications.class);

    /** A running application; {@code server} is null before its first map output. */
    private record Application(byte[] secret, MapOutputServer server) {}

    private static final Application NOTHING_YET = new Application(new byte[0], null);

    private final RdmaConfig config;
    private final List<LocalAddress> addresses;
    private final String whyNot; // null when there is RDMA
    private final PinnedShares shares;
    private final Counters counters = new Counters();
    private final Map<String, Application> running = new HashMap<>(); // under this

    private ServedApplications(RdmaConfig config, List<LocalAddress> addresses, PinnedShares shares, String whyNot) {
        this.config = config;
        this.addresses = addresses;
        this.shares = shares;
        this.whyNot = whyNot;
    }

    /** Says in one log line whether map outputs can be served over RDMA and why not. */
    static ServedApplications start(RdmaConfig config, String host) {
        List<LocalAddress> addresses = List.of();
        PinnedShares shares = PinnedShares.of(config);
        String whyNot = null;
        try {
            if (config.get(RdmaConfig.MODE) == Mode.OFF) {
                throw new RdmaUnavailableException("spark.shuffle.rdma.mode=off", null);
            }
            addresses = LocalAddresses.bestFirst(host, config);
            try (VerbsEndpoint probe = Endpoints.open(addresses, 1, 1)) {
                LOG.info(
                        "RDMA shuffle: map outputs of Spark are served over rdma, device {}, address {}",
                        probe.device().name(),
                        probe.listenAddress().getAddress());
            }
        } catch (RdmaUnavailableException | IOException | LinkageError e) {
            whyNot = String.valueOf(e.getMessage());
            LOG.info("RDMA shuffle: map outputs of Spark are served over TCP only, because {}", whyNot);
        }
        return new ServedApplications(config, addresses, shares, whyNot);
    }

    /** The application has containers here. */
    synchronized void begin(String appId) {
        running.putIfAbsent(appId, NOTHING_YET);
    }

    /** Ends the application's connections and registrations. */
    void end(String appId) {
        Application ended;
        synchronized (this) {
            ended = running.remove(appId);
        }
        close(ended);
    }

    /**
     * Registers a map output, which takes time.
     *
     * @param partitionLengths bytes of each reduce partition; their sum is the file's length and above 0
     */
    ServiceAnswer serve(ServiceRequest.Serve request, Path dataFile, long[] partitionLengths) {
        if (whyNot != null) {
            return new ServiceAnswer.Refused(FallbackReason.UNAVAILABLE, whyNot);
        }
        try {
            MapOutputServer server = serverOf(request.appId(), request.secret());
            return new ServiceAnswer.Served(
                    server.ownerFor(request.execId()),
                    server.register(request.shuffleId(), request.mapId(), dataFile, partitionLengths));
        } catch (NotPublishedException e) {
            return new ServiceAnswer.Refused(e.reason(), String.valueOf(e.getMessage()));
        } catch (RdmaUnavailableException e) {
            LOG.warn("RDMA shuffle: {} is served over TCP: {}", request.appId(), e.getMessage());
            return new ServiceAnswer.Refused(FallbackReason.UNAVAILABLE, String.valueOf(e.getMessage()));
        }
    }

    void forget(String appId, int shuffleId) {
        MapOutputServer server = serverOf(appId);
        if (server != null) {
            server.removeShuffle(shuffleId);
        }
    }

    void forget(String appId, int shuffleId, long mapId) {
        MapOutputServer server = serverOf(appId);
        if (server != null) {
            server.unregister(shuffleId, mapId);
        }
    }

    @Override
    public void close() {
        List<Application> left;
        synchronized (this) {
            left = List.copyOf(running.values());
            running.clear();
        }
        left.forEach(ServedApplications::close);
    }

    private synchronized MapOutputServer serverOf(String appId) {
        return running.getOrDefault(appId, NOTHING_YET).server;
    }

    /** A new attempt of the application has another secret, and has no use for the map outputs of the one before. */
    private synchronized MapOutputServer serverOf(String appId, byte[] secret)
            throws RdmaUnavailableException, NotPublishedException {
        Application known = running.get(appId);
        if (known == null) {
            throw new NotPublishedException(FallbackReason.CLOSED, appId + " does not run here", null);
        }
        if (known.server == null || !MessageDigest.isEqual(known.secret, secret)) {
            close(known);
            running.put(appId, NOTHING_YET);
            PinnedShares share = shares.ofApplication(config.get(RdmaConfig.PINNED_MAX_BYTES_PER_APPLICATION));
            MapOutputServer server = MapOutputServer.open(addresses, secret, share, config, counters);
            running.put(appId, new Application(secret, server));
            return server;
        }
        return known.server;
    }

    private static void close(Application application) {
        if (application != null && application.server != null) {
            application.server.close();
        }
    }
}
