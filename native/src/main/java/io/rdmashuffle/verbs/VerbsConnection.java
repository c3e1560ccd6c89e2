package io.rdmashuffle.verbs;

import java.util.function.IntSupplier;

/**
 * One reliable connection: an rdma_cm id and, once connecting or accepted, its queue pair, whose completions go to the
 * endpoint's queue. Made by {@link VerbsEndpoint#resolve} or {@link VerbsEndpoint#incoming}. Loop thread only.
 */
public final class VerbsConnection implements AutoCloseable {
    /** Private data that every transport carries both ways (InfiniBand and RoCE carry 56 bytes in a request). */
    public static final int MAX_PRIVATE_DATA_BYTES = EventBatch.PRIVATE_DATA_BYTES;

    private final VerbsEndpoint endpoint;
    private final long connection;
    private final long id;
    private int qpNumber;
    private boolean closed;

    VerbsConnection(VerbsEndpoint endpoint, long connection) {
        this.endpoint = endpoint;
        this.connection = connection;
        this.id = endpoint.use(() -> Native.connectionId(connection));
    }

    /** Identifies it in events ({@link EventBatch#cmId}); positive, never used twice in this process. */
    public long id() {
        return id;
    }

    /** Number of its queue pair in completions; 0 before {@link #connect} or {@link #accept}. */
    public int qpNumber() {
        return qpNumber;
    }

    /** Active side, after ADDR_RESOLVED: looks for a path. A ROUTE_RESOLVED or ROUTE_ERROR event follows. */
    public void resolveRoute(int timeoutMillis) throws VerbsException {
        call(() -> Native.resolveRoute(connection, timeoutMillis));
    }

    /**
     * Active side, after ROUTE_RESOLVED: creates the queue pair and asks the peer to connect. An ESTABLISHED, REJECTED,
     * UNREACHABLE or CONNECT_ERROR event follows, within the transport's own time-out. soft-iWARP connects its TCP socket
     * in this call: it may block, and throws ECONNREFUSED when nobody listens.
     *
     * @param privateData at most 56 bytes for the peer; arrives zero-padded to 56 on InfiniBand and RoCE
     * @param sendQueueDepth READs and messages that may be posted and not yet reported, 1 to {@link RdmaDevice#maxQpWr}
     * @param ring where messages are received, all of it posted before the peer can send; to be closed after this
     *     connection. None ({@link MessageRing#NONE}): the peer must not send any
     */
    public void connect(byte[] privateData, int sendQueueDepth, MessageRing ring) throws VerbsException {
        checkPrivateData(privateData);
        call(() -> Native.connect(
                connection,
                privateData,
                sendQueueDepth,
                ring.address(),
                ring.lkey(),
                ring.receiveSlots(),
                ring.slotBytes()));
        qpNumber = call(() -> Native.qpNumber(connection));
    }

    /** As above, for a connection over which no messages come. */
    public void connect(byte[] privateData, int sendQueueDepth) throws VerbsException {
        connect(privateData, sendQueueDepth, MessageRing.NONE);
    }

    /**
     * Passive side: creates the queue pair and accepts, with the READ depths of the request (clipped to the device). An
     * ESTABLISHED event follows, or a failure.
     *
     * @param privateData at most 56 bytes for the peer, which may see them zero-padded
     * @param sendQueueDepth as for {@link #connect}
     * @param ring as for {@link #connect}
     * @param events the batch that holds the CONNECT_REQUEST
     * @param index its place there
     */
    public void accept(byte[] privateData, int sendQueueDepth, MessageRing ring, EventBatch events, int index)
            throws VerbsException {
        checkPrivateData(privateData);
        if (events.cmId(index) != id) {
            throw new IllegalArgumentException("event " + index + " is not the request of this connection");
        }
        int initiatorDepth = events.initiatorDepth(index);
        int responderResources = events.responderResources(index);
        call(() -> Native.accept(
                connection,
                privateData,
                sendQueueDepth,
                ring.address(),
                ring.lkey(),
                ring.receiveSlots(),
                ring.slotBytes(),
                initiatorDepth,
                responderResources));
        qpNumber = call(() -> Native.qpNumber(connection));
    }

    /** As above, for a connection over which no messages come. */
    public void accept(byte[] privateData, int sendQueueDepth, EventBatch events, int index) throws VerbsException {
        accept(privateData, sendQueueDepth, MessageRing.NONE, events, index);
    }

    /** Passive side: refuses the request; the peer gets REJECTED with the private data (at most 56 bytes). */
    public void reject(byte[] privateData) throws VerbsException {
        checkPrivateData(privateData);
        call(() -> Native.reject(connection, privateData));
    }

    /**
     * Posts READs with one native call, in order. On a broken connection they may be taken and complete as
     * {@link WcStatus#WR_FLUSH_ERR}, or never (soft-iWARP): every READ needs a deadline of its own.
     *
     * @param from the first READ of the batch
     * @param count how many, at least 1
     * @return how many were taken, from 1 to {@code count}: fewer when the send queue is full or the next one is wrong
     * @throws VerbsException when none was taken: ENOMEM for a full queue, EINVAL for a wrong READ
     */
    public int post(ReadBatch batch, int from, int count) throws VerbsException {
        if (count < 1) {
            throw new IllegalArgumentException("count " + count);
        }
        var buffer = batch.checked(from, count);
        return call(() -> Native.post(connection, buffer, from, count));
    }

    /**
     * Sends one message, after everything posted before; its end is always reported, and the slot is the device's until
     * then. The peer must have a receive posted for it, as iWARP does not wait for one; there the side that connected must
     * also be the first to send (RFC 5044, section 7.1).
     *
     * @param wrId comes back in the completion, at least 0
     * @param ring holds the message
     * @param slot a sending slot of the ring
     * @param lengthBytes 1 to the size of a slot
     * @throws VerbsException ENOMEM for a full queue
     */
    public void send(long wrId, MessageRing ring, int slot, int lengthBytes) throws VerbsException {
        long address = ring.checkedAddress(slot, lengthBytes);
        call(() -> Native.send(connection, wrId, address, ring.lkey(), lengthBytes));
    }

    /**
     * Posts receives anew for slots whose messages were taken out, with one native call.
     *
     * @param first the slot that was filled first among them: messages fill slots in turn
     * @param count how many, round the end of the ring
     */
    public void postReceives(int first, int count) throws VerbsException {
        call(() -> Native.postReceives(connection, first, count));
    }

    /**
     * Ends the connection on both sides; DISCONNECTED follows. READs under way are flushed, save on soft-iWARP, where
     * they may never complete: see {@link #destroyQp}.
     */
    public void disconnect() throws VerbsException {
        call(() -> Native.disconnect(connection));
    }

    /**
     * Destroys the queue pair: the fence. Once this returns no READ of this connection touches memory any more; their
     * completions may still come or never. The second call does nothing.
     */
    public void destroyQp() {
        if (!closed) {
            endpoint.useIfOpen(() -> Native.destroyQp(connection));
        }
    }

    /** Destroys the queue pair (see {@link #destroyQp}) and the id; the second call does nothing. */
    @Override
    public void close() {
        if (!closed) {
            closed = true;
            endpoint.useIfOpen(() -> Native.connectionClose(connection));
        }
    }

    @Override
    public String toString() {
        return "VerbsConnection[id=" + id + ", qp=" + qpNumber + "]";
    }

    private int call(IntSupplier nativeCall) throws VerbsException {
        if (closed) {
            throw new IllegalStateException(this + " is closed");
        }
        return VerbsEndpoint.checked(endpoint.useInt(nativeCall));
    }

    private static void checkPrivateData(byte[] privateData) {
        if (privateData.length > MAX_PRIVATE_DATA_BYTES) {
            throw new IllegalArgumentException(
                    privateData.length + " bytes of private data, at most " + MAX_PRIVATE_DATA_BYTES);
        }
    }
}
