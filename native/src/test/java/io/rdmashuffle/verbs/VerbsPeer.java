package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.fail;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** An endpoint, its connections, and what its polls have brought. The test's own thread is its loop thread. */
final class VerbsPeer implements AutoCloseable {
    static final int SEND_QUEUE_DEPTH = 128;

    private static final int TIMEOUT_MILLIS = 5_000;
    private static final long PATIENCE_NANOS = 60_000_000_000L;

    final VerbsEndpoint endpoint;
    final List<Completion> completions = new ArrayList<>();
    final List<Received> received = new ArrayList<>();
    final List<CmEvent> cmEvents = new ArrayList<>();
    final List<AsyncEventType> asyncEvents = new ArrayList<>();
    /** Connections accepted, by id. */
    final Map<Long, VerbsConnection> accepted = new HashMap<>();

    private final EventBatch events = new EventBatch(64, 8);
    private boolean rejects;
    private byte[] answer = {};
    private MessageRing ring = MessageRing.NONE;

    record Completion(long wrId, WcStatus status, int qpNumber) {}

    /** @param slot of the ring; @param lengthBytes of the message */
    record Received(int slot, int lengthBytes, WcStatus status) {}

    record CmEvent(long id, CmEventType type, int status, int initiatorDepth, byte[] privateData) {}

    VerbsPeer() throws VerbsException {
        this(TestDevice.address());
    }

    VerbsPeer(InetAddress address) throws VerbsException {
        TestDevice.require();
        endpoint = VerbsEndpoint.open(address, 16, 4 * SEND_QUEUE_DEPTH);
    }

    /** From now on connection requests are accepted with this private data. */
    VerbsPeer accepting(byte[] privateData) {
        rejects = false;
        answer = privateData;
        return this;
    }

    /** From now on connections receive messages there. */
    VerbsPeer receiving(MessageRing ring) {
        this.ring = ring;
        return this;
    }

    /** From now on connection requests are rejected with this private data. */
    VerbsPeer rejecting(byte[] privateData) {
        rejects = true;
        answer = privateData;
        return this;
    }

    /** Polls these peers in turn until the condition holds. */
    static void pump(BooleanSupplier until, VerbsPeer... peers) throws VerbsException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!until.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("nothing came of it; events: " + peers[0].cmEvents + ", " + peers[0].completions);
            }
            for (VerbsPeer peer : peers) {
                peer.poll(5);
            }
        }
    }

    int poll(int timeoutMillis) throws VerbsException {
        return poll(timeoutMillis, 0);
    }

    int poll(int timeoutMillis, int spinMicros) throws VerbsException {
        int count = endpoint.poll(events, timeoutMillis, spinMicros);
        for (int i = 0; i < events.completions(); i++) {
            if (events.isReceive(i)) {
                received.add(new Received(events.slot(i), events.lengthBytes(i), events.status(i)));
            } else {
                completions.add(new Completion(events.wrId(i), events.status(i), events.qpNumber(i)));
            }
        }
        for (int i = 0; i < events.cmEvents(); i++) {
            if (events.cmType(i) == CmEventType.CONNECT_REQUEST) {
                answer(i);
            }
            cmEvents.add(new CmEvent(
                    events.cmId(i),
                    events.cmType(i),
                    events.cmStatus(i),
                    events.initiatorDepth(i),
                    events.cmPrivateData(i)));
        }
        for (int i = 0; i < events.asyncEvents(); i++) {
            asyncEvents.add(events.asyncType(i));
        }
        return count;
    }

    private void answer(int index) throws VerbsException {
        VerbsConnection connection = endpoint.incoming(events, index);
        if (rejects) {
            connection.reject(answer);
            connection.close();
        } else {
            connection.accept(answer, SEND_QUEUE_DEPTH, ring, events, index);
            accepted.put(connection.id(), connection);
        }
    }

    /** Starts to connect and goes on until the request is on its way. */
    VerbsConnection request(InetSocketAddress peer, byte[] privateData) throws VerbsException {
        VerbsConnection connection = endpoint.resolve(endpoint.listenAddress().getAddress(), peer, TIMEOUT_MILLIS);
        pump(() -> saw(connection.id(), CmEventType.ADDR_RESOLVED), this);
        connection.resolveRoute(TIMEOUT_MILLIS);
        pump(() -> saw(connection.id(), CmEventType.ROUTE_RESOLVED), this);
        connection.connect(privateData, SEND_QUEUE_DEPTH, ring);
        return connection;
    }

    /** Connects to another peer of this process, which must be accepting. */
    VerbsConnection connect(VerbsPeer owner) throws VerbsException {
        VerbsConnection connection = request(owner.endpoint.listenAddress(), new byte[] {1});
        pump(
                () -> saw(connection.id(), CmEventType.ESTABLISHED)
                        && owner.accepted.keySet().stream().anyMatch(id -> owner.saw(id, CmEventType.ESTABLISHED)),
                this,
                owner);
        return connection;
    }

    boolean saw(long id, CmEventType type) {
        return cmEvents.stream().anyMatch(event -> event.id() == id && event.type() == type);
    }

    CmEvent event(long id, CmEventType type) {
        return cmEvents.stream()
                .filter(event -> event.id() == id && event.type() == type)
                .findFirst()
                .orElseThrow();
    }

    @Override
    public void close() {
        endpoint.close();
    }
}
