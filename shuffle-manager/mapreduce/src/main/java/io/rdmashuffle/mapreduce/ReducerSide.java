package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.Endpoints;
import io.rdmashuffle.core.Listening;
import io.rdmashuffle.core.RdmaUnavailableException;
import io.rdmashuffle.core.config.Mode;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.Connections;
import io.rdmashuffle.core.connection.Control;
import io.rdmashuffle.core.connection.EventLoop;
import io.rdmashuffle.core.connection.LocalAddresses;
import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.connection.Quarantine;
import io.rdmashuffle.core.connection.ReadTask;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.Sink;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackLog;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;
import javax.crypto.SecretKey;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a reduce task's fetchers share: the device with its connections and sinks, or the reason why there is none, and which hosts
 * are left alone for a while. Any thread.
 */
final class ReducerSide implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ReducerSide.class);
    private static final int CQ_ENTRIES = 16 << 10;

    private final RdmaConfig config;
    private final Counters counters = new Counters();
    private final FallbackLog fallbacks = new FallbackLog(counters);
    private final Quarantine<String> quarantine; // under itself
    private final Object sinkReleased = new Object();
    private FallbackReason whyNot; // null when there is RDMA
    private String cause = "";
    private VerbsEndpoint endpoint;
    private EventLoop loop;
    private Connections connections;
    private SinkPool sinks;

    private ReducerSide(RdmaConfig config) {
        this.config = config;
        this.quarantine = new Quarantine<>(
                config.get(RdmaConfig.QUARANTINE_MILLIS),
                config.get(RdmaConfig.QUARANTINE_MAX_MILLIS),
                System::nanoTime);
    }

    /**
     * Opens the device; says in one log line which transport is used and why.
     *
     * @param secret the job's shuffle secret
     * @throws IllegalArgumentException for a setting that is not allowed
     */
    static ReducerSide start(Configuration job, SecretKey secret) {
        ReducerSide side = new ReducerSide(HadoopSettings.read(job));
        try {
            if (side.config.get(RdmaConfig.MODE) == Mode.OFF) {
                side.goWithout(FallbackReason.MODE_OFF, HadoopSettings.PREFIX + "mode=off");
            } else if (HadoopSettings.wantsEncryption(job, side.config)) {
                side.goWithout(
                        FallbackReason.ENCRYPTION,
                        "the shuffle is to be encrypted, which RDMA cannot do; set"
                                + " mapreduce.job.encrypted-intermediate-data or " + HadoopSettings.PREFIX
                                + "allowCleartext=true");
            } else {
                side.open(secret.getEncoded());
            }
        } catch (RdmaUnavailableException | IOException | LinkageError e) {
            side.goWithout(FallbackReason.UNAVAILABLE, String.valueOf(e.getMessage()));
        }
        return side;
    }

    Counters counters() {
        return counters;
    }

    boolean isRequired() {
        return config.get(RdmaConfig.MODE) == Mode.REQUIRED;
    }

    /**
     * Why nothing is read over RDMA from this host now; null when it can be tried. Where RDMA is required no host is left alone, as that would
     * only hide the failure that ends the task behind another.
     */
    FallbackReason whyNot(String host) {
        if (whyNot != null || isRequired()) {
            return whyNot;
        }
        synchronized (quarantine) {
            return quarantine.holds(host) ? FallbackReason.QUARANTINED : null;
        }
    }

    /** What more is to be said when this reducer has no RDMA. */
    String cause() {
        return cause;
    }

    /** Something failed that makes RDMA to this host not worth trying for a while. */
    void failed(String host) {
        synchronized (quarantine) {
            quarantine.failed(host);
        }
    }

    void worked(String host) {
        synchronized (quarantine) {
            quarantine.worked(host);
        }
    }

    void recordFallback(String host, FallbackReason reason, int segments, String detail) {
        fallbacks.record("segments of " + host, reason, segments, detail);
    }

    long maxMessageBytes() {
        return endpoint.device().maxMessageBytes();
    }

    int connectTimeoutMillis() {
        return config.get(RdmaConfig.CONNECT_TIMEOUT_MILLIS).intValue();
    }

    void submit(Owner owner, ReadTask task) {
        loop.submit(() -> connections.asReader().submit(owner, task));
    }

    /** Null when there is none now. */
    Sink trySink(int bytes) throws SegmentReads.ReadException {
        try {
            return sinks.tryAllocate(bytes);
        } catch (VerbsException e) {
            throw new SegmentReads.ReadException(FallbackReason.SINK_EXHAUSTED, e.getMessage());
        }
    }

    /** Waits for one, for a limited time. */
    Sink awaitSink(int bytes) throws IOException {
        long millis = config.get(RdmaConfig.SINK_WAIT_MILLIS);
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        synchronized (sinkReleased) {
            Sink sink = trySink(bytes);
            while (sink == null) {
                long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
                if (left <= 0) {
                    throw new SegmentReads.ReadException(
                            FallbackReason.SINK_EXHAUSTED, "none of " + bytes + " bytes within " + millis + " ms");
                }
                awaitRelease(left);
                sink = trySink(bytes);
            }
            return sink;
        }
    }

    @Override
    public void close() {
        if (endpoint != null) {
            connections.close();
            sinks.close();
            endpoint.close();
        }
    }

    private void open(byte[] secret) throws RdmaUnavailableException, IOException {
        Listening listening =
                Listening.open(LocalAddresses.bestFirst(HadoopSettings.containerHost(), config), CQ_ENTRIES);
        endpoint = listening.endpoint();
        loop = new EventLoop(endpoint);
        PinnedBudget budget = new PinnedBudget(Endpoints.withinMemlock(config.get(RdmaConfig.SINK_MAX_BYTES)));
        connections = new Connections(
                loop,
                listening.locals(),
                CQ_ENTRIES,
                new SecureRandom().nextLong(),
                secret,
                Control.withoutStaging(endpoint, budget),
                config,
                counters);
        sinks = new SinkPool(endpoint, budget, this::onSinkReleased);
        connections.start();
        LOG.info(
                "RDMA shuffle: transport rdma, device {}, address {}",
                endpoint.device().name(),
                endpoint.listenAddress().getAddress());
    }

    private void goWithout(FallbackReason reason, String why) {
        whyNot = reason;
        cause = why;
        LOG.info("RDMA shuffle: transport tcp, because {}", why);
    }

    private void onSinkReleased() {
        synchronized (sinkReleased) {
            sinkReleased.notifyAll();
        }
    }

    private void awaitRelease(long millis) throws InterruptedIOException {
        try {
            sinkReleased.wait(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while waiting for a sink");
        }
    }
}
