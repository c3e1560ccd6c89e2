package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The connections of this process as owner: lets in readers that prove that they belong to the application and mean this very
 * incarnation, before any queue pair exists for them. Loop thread only, but for {@link #tellWithdrawn} and {@link #forget}.
 */
public final class OwnerConnections implements EventLoop.RequestHandler {

    private static final Logger LOG = LoggerFactory.getLogger(OwnerConnections.class);
    /** Handshakes under way at a time: each has a queue pair that serves nobody yet. */
    private static final int MAX_HANDSHAKES = 256;

    private static final byte[] NO_PRIVATE_DATA = {};

    private final EventLoop loop;
    private final long incarnation;
    private final MembershipProof proof;
    private final ServedReader.Service service;
    private final Counters counters;
    private final Map<Long, ServedReader> served = new HashMap<>();
    private final Set<Integer> withdrawn = new HashSet<>(); // shuffles
    private boolean misbehaviourTold;
    /** A proof is good once: the last sequence number seen of each reader. */
    private final Map<Long, Long> lastSequence = new HashMap<>();

    OwnerConnections(
            EventLoop loop,
            long incarnation,
            MembershipProof proof,
            Stager stager,
            PinnedBudget messageBudget,
            int handshakeTimeoutMillis,
            int releaseTimeoutMillis,
            Counters counters) {
        this.loop = loop;
        this.incarnation = incarnation;
        this.proof = proof;
        this.service = new ServedReader.Service(
                loop,
                stager,
                messageBudget,
                handshakeTimeoutMillis,
                releaseTimeoutMillis,
                reader -> served.remove(reader.id()),
                this::onMisbehaviour);
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
                    || handshakes() >= MAX_HANDSHAKES) {
                refuse(connection);
            } else {
                ServedReader reader = new ServedReader(service, connection);
                served.put(reader.id(), reader);
                reader.accept(proof.answer(claim), events, index);
                reader.tellWithdrawn(withdrawn);
            }
        } catch (IOException e) {
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
        new ArrayList<>(served.values()).forEach(ServedReader::close);
    }

    /** Tells all readers, present and future, that the map outputs of a shuffle are about to be deregistered. Any thread. */
    public void tellWithdrawn(int shuffleId) {
        loop.submit(() -> {
            withdrawn.add(shuffleId);
            new ArrayList<>(served.values()).forEach(reader -> reader.tellWithdrawn(Set.of(shuffleId)));
        });
    }

    /** Forgets a shuffle that was removed. Any thread. */
    public void forget(int shuffleId) {
        loop.submit(() -> withdrawn.remove(shuffleId));
    }

    private void onMisbehaviour(String detail) {
        counters.add(Counter.REFUSED_REQUESTS, 1);
        if (!misbehaviourTold) {
            misbehaviourTold = true;
            LOG.warn("RDMA shuffle: closed the connection of a reader that does not keep to the protocol: {}", detail);
        }
    }

    private long handshakes() {
        return served.values().stream().filter(ServedReader::isShakingHands).count();
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
}
