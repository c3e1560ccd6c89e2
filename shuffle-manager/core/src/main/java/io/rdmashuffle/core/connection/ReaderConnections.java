package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of this process as reader: one to each owner, made when first wanted, by the first of the owner's addresses that
 * works, and closed when long idle. An owner whose connection failed is left alone for the time of its quarantine. Loop thread only.
 */
public final class ReaderConnections {

    private static final Logger LOG = LoggerFactory.getLogger(ReaderConnections.class);

    /** Most connections at a time, and after how long an idle one is closed. */
    record Policy(int maxConnections, long idleMillis) {}

    private final EventLoop loop;
    private final List<LocalAddress> locals;
    private final long incarnation;
    private final MembershipProof proof;
    private final ReadConnection.Limits limits;
    private final Policy policy;
    private final Quarantine<Long> quarantine;
    private final Control control;
    private final Counters counters;
    /** By incarnation, the least recently used first. */
    private final LinkedHashMap<Long, Peer> peers = new LinkedHashMap<>(16, 0.75f, true);

    private long sequence;
    private boolean watchesIdle;

    ReaderConnections(
            EventLoop loop,
            List<LocalAddress> locals,
            long incarnation,
            MembershipProof proof,
            ReadConnection.Limits limits,
            Policy policy,
            Quarantine<Long> quarantine,
            Control control,
            Counters counters) {
        this.loop = loop;
        this.locals = locals;
        this.incarnation = incarnation;
        this.proof = proof;
        this.limits = limits;
        this.policy = policy;
        this.quarantine = quarantine;
        this.control = control;
        this.counters = counters;
    }

    /** Reads from the owner; the task is told the outcome, at once when there can be no connection now. */
    public void submit(Owner owner, ReadTask task) {
        Peer peer = peers.get(owner.incarnation());
        if (loop.hasEnded()) {
            task.onFailed(FallbackReason.CLOSED, "");
        } else if (peer != null) {
            peer.connection.submit(task);
        } else if (quarantine.holds(owner.incarnation())) {
            task.onFailed(FallbackReason.QUARANTINED, "");
        } else if (peers.size() >= policy.maxConnections && !closeLeastRecentlyUsed()) {
            task.onFailed(FallbackReason.CONNECTION_CAP, policy.maxConnections + ", none of them idle");
        } else {
            new Peer(owner).connect(task);
        }
    }

    /** Connections that stand or are being made; from another thread than the loop's, of late. */
    public int size() {
        return peers.size();
    }

    /** Fails what is under way and closes all connections. */
    public void closeAll() {
        new ArrayList<>(peers.values()).forEach(peer -> peer.close("the process is ending"));
    }

    private boolean closeLeastRecentlyUsed() {
        for (Peer peer : peers.values()) {
            if (peer.connection.isIdle()) {
                peer.close("another owner is wanted");
                return true;
            }
        }
        return false;
    }

    /** Looks from time to time, as long as there are connections. */
    private void watchIdle() {
        watchesIdle = true;
        loop.schedule(Math.max(1, policy.idleMillis / 4), () -> {
            long now = System.nanoTime();
            long idleNanos = TimeUnit.MILLISECONDS.toNanos(policy.idleMillis);
            new ArrayList<>(peers.values())
                    .stream()
                            .filter(peer -> peer.connection.isIdle())
                            .filter(peer -> now - peer.connection.lastUseNanos() >= idleNanos)
                            .forEach(peer -> peer.close("idle"));
            watchesIdle = false;
            if (!peers.isEmpty()) {
                watchIdle();
            }
        });
    }

    /** An owner and the connection to it, by one route after the other until one stands. */
    private final class Peer implements ReadConnection.ClosedListener {

        private final Owner owner;
        private final Iterator<Route> untried;
        private ReadConnection connection;

        Peer(Owner owner) {
            this.owner = owner;
            this.untried = Route.bestFirst(locals, owner).iterator();
        }

        void connect(ReadTask task) {
            if (!untried.hasNext()) {
                task.onFailed(FallbackReason.CONNECT_FAILED, "no address of a kind that this host has");
                return;
            }
            peers.put(owner.incarnation(), this);
            if (!watchesIdle) {
                watchIdle();
            }
            tryNext(List.of(task));
        }

        /** For reasons of ours: the owner is not blamed. */
        void close(String detail) {
            connection.close(FallbackReason.CLOSED, detail);
        }

        @Override
        public void onClosed(ReadConnection closed, FallbackReason reason, String detail, List<ReadTask> unread) {
            LOG.debug("connection to {} closed: {} ({})", owner.label(), reason, detail);
            boolean ours = reason == FallbackReason.CLOSED;
            if (!ours && !closed.hasStood() && untried.hasNext() && !loop.hasEnded()) {
                tryNext(unread);
                return;
            }
            peers.remove(owner.incarnation());
            if (closed.hasRead()) {
                quarantine.worked(owner.incarnation());
            }
            if (!ours) {
                counters.add(Counter.QUARANTINES, 1);
                quarantine.failed(owner.incarnation());
            }
            fail(unread, reason, detail);
        }

        /** Each try has a proof of its own, as the owner may have seen the one before. */
        private void tryNext(List<ReadTask> tasks) {
            MembershipProof.Claim claim = new MembershipProof.Claim(incarnation, owner.incarnation(), ++sequence);
            try {
                connection = new ReadConnection(loop, untried.next(), proof, claim, limits, control, counters, this);
            } catch (OutOfMemoryError e) { // of direct memory, which has a limit of its own
                peers.remove(owner.incarnation());
                fail(tasks, FallbackReason.CONNECT_FAILED, e.getMessage());
                return;
            }
            tasks.forEach(connection::submit);
            connection.open();
        }

        private void fail(List<ReadTask> tasks, FallbackReason reason, String detail) {
            tasks.forEach(task -> EventLoop.guarded(() -> task.onFailed(reason, detail)));
        }
    }
}
