package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * A reusable buffer that one {@link VerbsEndpoint#poll} fills with completions, connection-manager events and device
 * events. The layout is that of {@code struct rs_events} in rs_verbs.h. What it holds stays valid until the next poll;
 * ids and numbers in it are values to compare, they own nothing. Not thread-safe.
 */
public final class EventBatch {
    /** Private data kept of an event: the most that every transport carries both ways. */
    static final int PRIVATE_DATA_BYTES = 56;

    private static final int ASYNC_CAPACITY = 16;

    // struct rs_events: the header
    private static final int MAX_COMPLETIONS = 0;
    private static final int MAX_CM_EVENTS = MAX_COMPLETIONS + Integer.BYTES;
    private static final int MAX_ASYNC_EVENTS = MAX_CM_EVENTS + Integer.BYTES;
    private static final int COMPLETIONS = MAX_ASYNC_EVENTS + Integer.BYTES;
    private static final int CM_EVENTS = COMPLETIONS + Integer.BYTES;
    private static final int ASYNC_EVENTS = CM_EVENTS + Integer.BYTES;
    static final int HEADER_BYTES = ASYNC_EVENTS + Integer.BYTES;

    // struct rs_completion
    private static final int WC_WR_ID = 0;
    private static final int WC_STATUS = WC_WR_ID + Long.BYTES;
    private static final int WC_VENDOR_ERROR = WC_STATUS + Integer.BYTES;
    private static final int WC_QP_NUMBER = WC_VENDOR_ERROR + Integer.BYTES;
    private static final int WC_LENGTH_BYTES = WC_QP_NUMBER + Integer.BYTES;
    static final int COMPLETION_STRIDE = WC_LENGTH_BYTES + Integer.BYTES;

    // struct rs_cm_event
    private static final int CM_ID = 0;
    private static final int CM_REQUEST = CM_ID + Long.BYTES;
    private static final int CM_TYPE = CM_REQUEST + Long.BYTES;
    private static final int CM_STATUS = CM_TYPE + Integer.BYTES;
    private static final int CM_INITIATOR_DEPTH = CM_STATUS + Integer.BYTES;
    private static final int CM_RESPONDER_RESOURCES = CM_INITIATOR_DEPTH + Integer.BYTES;
    private static final int CM_PRIVATE_DATA = CM_RESPONDER_RESOURCES + Integer.BYTES;
    private static final int CM_PRIVATE_DATA_BYTES = CM_PRIVATE_DATA + PRIVATE_DATA_BYTES;
    private static final int CM_RESERVED = CM_PRIVATE_DATA_BYTES + Integer.BYTES;
    static final int CM_EVENT_STRIDE = CM_RESERVED + Integer.BYTES;

    // struct rs_async_event
    private static final int ASYNC_TYPE = 0;
    private static final int ASYNC_QP_NUMBER = ASYNC_TYPE + Integer.BYTES;
    static final int ASYNC_EVENT_STRIDE = ASYNC_QP_NUMBER + Integer.BYTES;

    private final ByteBuffer buffer;
    private final int cmBase;
    private final int asyncBase;

    /**
     * @param maxCompletions most completions of one poll, at least 1
     * @param maxCmEvents most connection-manager events of one poll, at least 1
     */
    public EventBatch(int maxCompletions, int maxCmEvents) {
        if (maxCompletions < 1 || maxCmEvents < 1) {
            throw new IllegalArgumentException("maxCompletions " + maxCompletions + ", maxCmEvents " + maxCmEvents);
        }
        cmBase = Math.addExact(HEADER_BYTES, Math.multiplyExact(maxCompletions, COMPLETION_STRIDE));
        asyncBase = Math.addExact(cmBase, Math.multiplyExact(maxCmEvents, CM_EVENT_STRIDE));
        buffer = ByteBuffer.allocateDirect(Math.addExact(asyncBase, ASYNC_CAPACITY * ASYNC_EVENT_STRIDE))
                .order(ByteOrder.nativeOrder());
        buffer.putInt(MAX_COMPLETIONS, maxCompletions);
        buffer.putInt(MAX_CM_EVENTS, maxCmEvents);
        buffer.putInt(MAX_ASYNC_EVENTS, ASYNC_CAPACITY);
    }

    /** Number of completions. */
    public int completions() {
        return buffer.getInt(COMPLETIONS);
    }

    /** The id that the READ or message was posted with. soft-iWARP may report the same flushed READ twice. */
    public long wrId(int i) {
        return buffer.getLong(completion(i) + WC_WR_ID);
    }

    /** Whether this is the end of a receive, good or bad, rather than of something that was posted to be read or sent. */
    public boolean isReceive(int i) {
        return wrId(i) < 0; // RS_RECEIVE_BIT
    }

    /** Of a receive: the slot of the {@link MessageRing} that it was posted with. */
    public int slot(int i) {
        return (int) wrId(i);
    }

    /** Of a receive that succeeded: the length of the message. */
    public int lengthBytes(int i) {
        return buffer.getInt(completion(i) + WC_LENGTH_BYTES);
    }

    /** How the READ, message or receive ended. */
    public WcStatus status(int i) {
        return WcStatus.of(buffer.getInt(completion(i) + WC_STATUS));
    }

    /** The device vendor's own error code; 0 on success. */
    public int vendorError(int i) {
        return buffer.getInt(completion(i) + WC_VENDOR_ERROR);
    }

    /** Number of the connection's queue pair; numbers are used again after a queue pair is destroyed. */
    public int qpNumber(int i) {
        return buffer.getInt(completion(i) + WC_QP_NUMBER);
    }

    /** Number of connection-manager events. */
    public int cmEvents() {
        return buffer.getInt(CM_EVENTS);
    }

    /** {@link VerbsConnection#id} of the connection concerned, never used twice; 0 is the endpoint's listener. */
    public long cmId(int i) {
        return buffer.getLong(cmEvent(i) + CM_ID);
    }

    /** What happened. */
    public CmEventType cmType(int i) {
        return CmEventType.of(buffer.getInt(cmEvent(i) + CM_TYPE));
    }

    /** 0, or why: -errno, or a transport's reject reason (8 on InfiniBand and RoCE: refused, nobody listens). */
    public int cmStatus(int i) {
        return buffer.getInt(cmEvent(i) + CM_STATUS);
    }

    /** Request and established events: READs this side may have under way (0 to 255). */
    public int initiatorDepth(int i) {
        return buffer.getInt(cmEvent(i) + CM_INITIATOR_DEPTH);
    }

    /** Request and established events: READs this side serves at once (0 to 255). */
    public int responderResources(int i) {
        return buffer.getInt(cmEvent(i) + CM_RESPONDER_RESOURCES);
    }

    /** A copy of the peer's private data: its first 56 bytes at most, zero-padded by InfiniBand and RoCE. */
    public byte[] cmPrivateData(int i) {
        int at = cmEvent(i);
        byte[] data = new byte[buffer.getInt(at + CM_PRIVATE_DATA_BYTES)];
        buffer.get(at + CM_PRIVATE_DATA, data);
        return data;
    }

    /** Number of device, port and queue-pair events. */
    public int asyncEvents() {
        return buffer.getInt(ASYNC_EVENTS);
    }

    /** What happened to the device, port or queue pair. */
    public AsyncEventType asyncType(int i) {
        return AsyncEventType.of(buffer.getInt(asyncEvent(i) + ASYNC_TYPE));
    }

    /** Number of the queue pair that an event is about; 0 when it is about none. */
    public int asyncQpNumber(int i) {
        return buffer.getInt(asyncEvent(i) + ASYNC_QP_NUMBER);
    }

    /** Takes the native connection out of a CONNECT_REQUEST, once. */
    long takeRequest(int i) {
        int at = cmEvent(i);
        long request = buffer.getLong(at + CM_REQUEST);
        if (request == 0) {
            throw new IllegalStateException("event " + i + " is no CONNECT_REQUEST, or already adopted");
        }
        buffer.putLong(at + CM_REQUEST, 0);
        return request;
    }

    /** The buffer to hand to the native call, emptied. */
    ByteBuffer emptied() {
        buffer.putInt(COMPLETIONS, 0);
        buffer.putInt(CM_EVENTS, 0);
        buffer.putInt(ASYNC_EVENTS, 0);
        return buffer;
    }

    private int completion(int i) {
        return HEADER_BYTES + Objects.checkIndex(i, completions()) * COMPLETION_STRIDE;
    }

    private int cmEvent(int i) {
        return cmBase + Objects.checkIndex(i, cmEvents()) * CM_EVENT_STRIDE;
    }

    private int asyncEvent(int i) {
        return asyncBase + Objects.checkIndex(i, asyncEvents()) * ASYNC_EVENT_STRIDE;
    }
}
