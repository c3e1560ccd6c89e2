package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of this process as reader: one to each owner, made when first wanted. An owner whose connection failed is left
 * alone for the time of the quarantine. Loop thread only.
 */
public final class ReaderConnections {

    private static final Logger LOG = LoggerFactory.getLogger(ReaderConnections.class);

    private final EventLoop loop;
    private final long incarnation;
    private final MembershipProof proof;
    private final ReadConnection.Limits limits;
    private final long quarantineNanos;
    private final Counters counters;
    private final Map<Long, ReadConnection> byIncarnation = new HashMap<>();
    private final Map<Long, Long> quarantinedUntilNanos = new HashMap<>();
    private long sequence;

    ReaderConnections(
            EventLoop loop,
            long incarnation,
            MembershipProof proof,
            ReadConnection.Limits limits,
            long quarantineMillis,
            Counters counters) {
        this.loop = loop;
        this.incarnation = incarnation;
        this.proof = proof;
        this.limits = limits;
        this.quarantineNanos = TimeUnit.MILLISECONDS.toNanos(quarantineMillis);
        this.counters = counters;
    }

    /** Reads from the owner; the task is told the outcome, at once when the owner is in quarantine. */
    public void submit(Owner owner, ReadTask task) {
        if (loop.hasEnded()) {
            task.onFailed(FallbackReason.CLOSED, "");
            return;
        }
        if (isQuarantined(owner)) {
            task.onFailed(FallbackReason.QUARANTINED, "");
            return;
        }
        ReadConnection connection = byIncarnation.get(owner.incarnation());
        if (connection == null) {
            connection = open(owner);
        }
        connection.submit(task);
    }

    /** Connections that stand or are being made; from another thread than the loop's, of late. */
    public int size() {
        return byIncarnation.size();
    }

    /** Fails what is under way and closes all connections. */
    public void closeAll() {
        new ArrayList<>(byIncarnation.values())
                .forEach(connection -> connection.close(FallbackReason.CLOSED, "the process is ending"));
    }

    private ReadConnection open(Owner owner) {
        MembershipProof.Claim claim = new MembershipProof.Claim(incarnation, owner.incarnation(), ++sequence);
        ReadConnection connection = new ReadConnection(loop, owner, proof, claim, limits, counters, this::onClosed);
        byIncarnation.put(owner.incarnation(), connection);
        connection.open();
        return connection;
    }

    private boolean isQuarantined(Owner owner) {
        Long until = quarantinedUntilNanos.get(owner.incarnation());
        if (until != null && until - System.nanoTime() <= 0) {
            quarantinedUntilNanos.remove(owner.incarnation());
            return false;
        }
        return until != null;
    }

    private void onClosed(ReadConnection connection, FallbackReason reason, String detail) {
        Owner owner = connection.owner();
        byIncarnation.remove(owner.incarnation(), connection);
        if (reason != FallbackReason.CLOSED) {
            counters.add(Counter.QUARANTINES, 1);
            quarantinedUntilNanos.put(owner.incarnation(), System.nanoTime() + quarantineNanos);
            LOG.debug("connection to {} closed: {} ({})", owner.label(), reason, detail);
        }
    }
}
