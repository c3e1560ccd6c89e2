package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import io.rdmashuffle.verbs.CmEventType;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.MessageRing;
import io.rdmashuffle.verbs.ReadBatch;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import io.rdmashuffle.verbs.WcStatus;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.function.BooleanSupplier;

/** A reader that says what it likes: a member of the application, but none that keeps to the protocol. The test's thread is its loop. */
final class RawReader implements AutoCloseable {

    private static final long PATIENCE_NANOS = 20_000_000_000L;
    private static final int TIMEOUT_MILLIS = 5000;
    private static final int RECEIVES = 32;

    final ArrayDeque<ControlMessage> answers = new ArrayDeque<>();
    private final VerbsEndpoint endpoint;
    private final EventBatch events = new EventBatch(64, 8);
    private VerbsConnection connection;
    private MessageRing ring;
    private CmEventType last;
    private int completed;
    private boolean broken;

    RawReader(InetAddress address) throws IOException {
        endpoint = VerbsEndpoint.open(address, 4, 1024);
    }

    VerbsEndpoint endpoint() {
        return endpoint;
    }

    /** Connects anew, with a proof. */
    void connect(InetSocketAddress owner, byte[] proof) throws IOException {
        disconnect();
        broken = false;
        last = null;
        answers.clear();
        ring = MessageRing.allocate(endpoint, RECEIVES, 1, ControlMessage.MAX_BYTES);
        connection = endpoint.resolve(endpoint.listenAddress().getAddress(), owner, TIMEOUT_MILLIS);
        pump(() -> last == CmEventType.ADDR_RESOLVED);
        connection.resolveRoute(TIMEOUT_MILLIS);
        pump(() -> last == CmEventType.ROUTE_RESOLVED);
        connection.connect(proof, 32, ring);
        pump(() -> last == CmEventType.ESTABLISHED);
    }

    void send(ControlMessage message) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(ControlMessage.MAX_BYTES);
        ControlMessage.encode(message, bytes);
        byte[] encoded = new byte[bytes.remaining()];
        bytes.get(encoded);
        send(encoded);
    }

    /** Sends any bytes, at least one. */
    void send(byte[] bytes) throws IOException {
        int before = completed;
        ring.outgoing(RECEIVES).put(bytes);
        try {
            connection.send(1, ring, RECEIVES, bytes.length);
        } catch (VerbsException e) { // soft-iWARP: the owner has just closed; elsewhere the message is flushed
            broken = true;
        }
        pump(() -> completed > before || broken);
    }

    /** The owner's next answer; null when it closed the connection. */
    ControlMessage answer() throws IOException {
        pump(() -> !answers.isEmpty() || broken);
        return answers.poll();
    }

    boolean isBroken() {
        return broken;
    }

    /** Whether the READ was served. */
    boolean read(ReadBatch batch) throws IOException {
        int before = completed;
        connection.post(batch, 0, batch.size());
        pump(() -> completed > before || broken);
        return !broken;
    }

    @Override
    public void close() {
        disconnect();
        endpoint.close();
    }

    private void disconnect() {
        if (connection != null) {
            connection.close();
            ring.close();
            connection = null;
        }
    }

    private void pump(BooleanSupplier until) throws IOException {
        long deadline = System.nanoTime() + PATIENCE_NANOS;
        while (!until.getAsBoolean()) {
            if (System.nanoTime() > deadline) {
                fail("nothing came of it; last event " + last);
            }
            endpoint.poll(events, 20);
            for (int i = 0; i < events.completions(); i++) {
                onCompletion(i);
            }
            for (int i = 0; i < events.cmEvents(); i++) {
                last = events.cmType(i);
                broken |= last == CmEventType.DISCONNECTED;
            }
        }
    }

    private void onCompletion(int index) throws IOException {
        if (events.qpNumber(index) != connection.qpNumber()) {
            return;
        }
        if (events.status(index) != WcStatus.SUCCESS) {
            broken = true;
        } else if (events.isReceive(index)) {
            int slot = events.slot(index);
            answers.add(ControlMessage.decode(ring.received(slot, events.lengthBytes(index))));
            assertEquals(0, ring.received(slot, 1).position());
            connection.postReceives(slot, 1);
        } else {
            completed++;
        }
    }
}
