package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.verbs.AsyncEventType;
import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of this process as owner: lets in readers that prove that they belong to the application and mean this very
 * incarnation, before any queue pair exists for them. An accepted connection needs no attention until it ends, as READs are served
 * by the device. Loop thread only.
 */
public final class OwnerConnections implements EventLoop.RequestHandler {

    private static final Logger LOG = LoggerFactory.getLogger(OwnerConnections.class);
    /** An owner posts nothing; a queue pair wants a send queue all the same. */
    private static final int SEND_QUEUE_DEPTH = 16;

    /** Handshakes under way at a time: each has a queue pair that serves nobody yet. */
    private static final int MAX_HANDSHAKES = 256;

    private static final byte[] NO_PRIVATE_DATA = {};

    private final EventLoop loop;
    private final long incarnation;
    private final MembershipProof proof;
    private final int handshakeTimeoutMillis;
    private final Counters counters;
    private final Map<Long, Served> served = new HashMap<>();
    /** A proof is good once: the last sequence number seen of each reader. */
    private final Map<Long, Long> lastSequence = new HashMap<>();

    private int handshakes;

    OwnerConnections(
            EventLoop loop, long incarnation, MembershipProof proof, int handshakeTimeoutMillis, Counters counters) {
        this.loop = loop;
        this.incarnation = incarnation;
        this.proof = proof;
        this.handshakeTimeoutMillis = handshakeTimeoutMillis;
        this.counters = counters;
    }

    @Override
    public void onConnectRequest(EventBatch events, int index) {
        VerbsConnection connection = loop.endpoint().incoming(events, index);
        MembershipProof.Claim claim = proof.verifyRequest(events.cmPrivateData(index));
        try {
            if (claim == null
                    || claim.ownerIncarnation() != incarnation
                    || isReplay(claim)
                    || handshakes >= MAX_HANDSHAKES) {
                refuse(connection);
            } else {
                connection.accept(proof.answer(claim), SEND_QUEUE_DEPTH, events, index);
                Served accepted = new Served(connection);
                served.put(connection.id(), accepted);
                loop.addConnection(connection.id(), accepted);
            }
        } catch (VerbsException e) {
            LOG.warn("RDMA shuffle: a reader could not be let in: {}", e.getMessage());
            connection.close();
        }
    }

    /** Connections that stand or are being made; from another thread than the loop's, of late. */
    public int size() {
        return served.size();
    }

    /** Closes all connections. */
    public void closeAll() {
        new ArrayList<>(served.values()).forEach(Served::close);
    }

    private boolean isReplay(MembershipProof.Claim claim) {
        Long last = lastSequence.get(claim.readerIncarnation());
        if (last != null && claim.sequence() <= last) {
            return true;
        }
        lastSequence.put(claim.readerIncarnation(), claim.sequence());
        return false;
    }

    private void refuse(VerbsConnection connection) throws VerbsException {
        counters.add(Counter.REFUSED_CONNECTIONS, 1);
        if (counters.get(Counter.REFUSED_CONNECTIONS) == 1) {
            LOG.warn(
                    "RDMA shuffle: refused a connection that does not belong to this application, is out of date, or one of too many at once");
        }
        connection.reject(NO_PRIVATE_DATA);
        connection.close();
    }

    private final class Served implements EventLoop.Handler {

        private final VerbsConnection connection;
        private final EventLoop.Timer handshake;
        private boolean handshakeEnded;

        Served(VerbsConnection connection) {
            this.connection = connection;
            this.handshake = loop.schedule(handshakeTimeoutMillis, this::close);
            handshakes++;
        }

        @Override
        public void onCmEvent(CmEventType type, EventBatch events, int index) {
            if (type == CmEventType.ESTABLISHED) {
                endHandshake();
            } else {
                close();
            }
        }

        @Override
        public void onCompletion(EventBatch events, int index) {
            throw new IllegalStateException("an owner posts nothing, yet something completed");
        }

        @Override
        public void onDeviceFailure(AsyncEventType type) {
            close();
        }

        void close() {
            endHandshake();
            served.remove(connection.id());
            loop.remove(connection.id(), 0, this);
            EventLoop.end(connection);
        }

        private void endHandshake() {
            handshake.cancel();
            if (!handshakeEnded) {
                handshakeEnded = true;
                handshakes--;
            }
        }
    }
}
