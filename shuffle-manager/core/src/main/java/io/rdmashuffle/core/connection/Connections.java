package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.metrics.Counters;

/** Both sides of a process's connections on one event loop. */
public final class Connections {

    private final EventLoop loop;
    private final ReaderConnections asReader;
    private final OwnerConnections asOwner;

    /**
     * @param incarnation identity of this life of the process
     * @param secret the application's secret; who has it is let in
     */
    public Connections(EventLoop loop, long incarnation, byte[] secret, RdmaConfig config, Counters counters) {
        this.loop = loop;
        MembershipProof proof = new MembershipProof(secret);
        int connectTimeoutMillis = config.get(RdmaConfig.CONNECT_TIMEOUT_MILLIS).intValue();
        ReadConnection.Limits limits = new ReadConnection.Limits(
                connectTimeoutMillis,
                config.get(RdmaConfig.READ_TIMEOUT_MILLIS).intValue(),
                config.get(RdmaConfig.SEND_QUEUE_DEPTH));
        long quarantineMillis = config.get(RdmaConfig.QUARANTINE_MILLIS);
        asReader = new ReaderConnections(loop, incarnation, proof, limits, quarantineMillis, counters);
        asOwner = new OwnerConnections(loop, incarnation, proof, connectTimeoutMillis, counters);
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
        });
        loop.close();
    }
}
