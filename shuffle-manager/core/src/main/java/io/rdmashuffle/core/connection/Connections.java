package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.verbs.RdmaDevice;
import java.util.List;

/** Both sides of a process's connections on one event loop. */
public final class Connections {

    /** Messages that may be posted for each owner that is read from and for each reader that is served. */
    static final int MESSAGES =
            2 * MessageChannel.SEND_SLOTS + MessageChannel.READER_RECEIVES + MessageChannel.OWNER_RECEIVES;

    private final EventLoop loop;
    private final ReaderConnections asReader;
    private final OwnerConnections asOwner;
    private final Stager stager;

    /**
     * @param locals addresses to connect from
     * @param cqEntries entries of the completion queue, which all connections share
     * @param incarnation identity of this life of the process
     * @param secret the application's secret; who has it is let in
     * @param control what messages are about
     */
    public Connections(
            EventLoop loop,
            List<LocalAddress> locals,
            int cqEntries,
            long incarnation,
            byte[] secret,
            Control control,
            RdmaConfig config,
            Counters counters) {
        this.loop = loop;
        MembershipProof proof = new MembershipProof(secret);
        int connectTimeoutMillis = config.get(RdmaConfig.CONNECT_TIMEOUT_MILLIS).intValue();
        int readTimeoutMillis = config.get(RdmaConfig.READ_TIMEOUT_MILLIS).intValue();
        ReadConnection.Limits limits = new ReadConnection.Limits(
                connectTimeoutMillis, readTimeoutMillis, config.get(RdmaConfig.SEND_QUEUE_DEPTH));
        ReaderConnections.Policy policy = new ReaderConnections.Policy(
                maxConnections(loop.endpoint().device(), limits.sendQueueDepth(), cqEntries, config),
                config.get(RdmaConfig.IDLE_MILLIS));
        Quarantine<Long> quarantine = new Quarantine<>(
                config.get(RdmaConfig.QUARANTINE_MILLIS),
                config.get(RdmaConfig.QUARANTINE_MAX_MILLIS),
                System::nanoTime);
        asReader =
                new ReaderConnections(loop, locals, incarnation, proof, limits, policy, quarantine, control, counters);
        stager = new Stager(loop, control.files(), control.stagingPool(), readTimeoutMillis / 2, counters);
        asOwner = new OwnerConnections(
                loop,
                incarnation,
                proof,
                stager,
                control.messageBudget(),
                connectTimeoutMillis,
                2 * readTimeoutMillis,
                counters);
    }

    /**
     * Half of the device's queue pairs are for reading, the other half for serving; and the completion queue must have room for all
     * READs and messages that may be posted, as each leaves a completion when its connection breaks.
     */
    static int maxConnections(RdmaDevice device, int sendQueueDepth, int cqEntries, RdmaConfig config) {
        int depth = Math.max(1, Math.min(sendQueueDepth, device.maxReadDepthOut()));
        int byDevice = Math.min(device.maxQp() / 2, cqEntries / (depth + MESSAGES));
        return Math.max(1, Math.min(config.get(RdmaConfig.MAX_CONNECTIONS), byDevice));
    }

    /** Starts the loop and with it the letting in of readers. */
    public void start() {
        loop.start(asOwner);
    }

    public ReaderConnections asReader() {
        return asReader;
    }

    public OwnerConnections asOwner() {
        return asOwner;
    }

    /** Closes all connections, then ends the loop. Any thread but the loop's. */
    public void close() {
        loop.submit(() -> {
            asReader.closeAll();
            asOwner.closeAll();
            stager.close();
        });
        loop.close();
    }
}
