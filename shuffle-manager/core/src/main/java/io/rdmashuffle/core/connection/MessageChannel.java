package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.verbs.EventBatch;
import io.rdmashuffle.verbs.MessageRing;
import io.rdmashuffle.verbs.VerbsConnection;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.util.ArrayDeque;

/**
 * The messages of one connection. A message needs a receive posted at the peer, and iWARP does not wait for one, so there are as
 * many as can be under way: a reader sends a lane's next request only after the answer to the one before, hence at most a release
 * and a request for each lane, one hello and one acknowledgement are unseen by the owner; an owner has at most one answer for each
 * lane and one notice unseen by the reader. A receive is posted anew before its message is acted upon. Loop thread only.
 */
final class MessageChannel implements AutoCloseable {

    /** Messages that may be under way to the peer; the others wait here. To be added to the send queue depth. */
    static final int SEND_SLOTS = 4;

    static final int OWNER_RECEIVES = 2 * ControlMessage.LANES + 2;
    static final int READER_RECEIVES = ControlMessage.LANES + 1;

    /** Tells messages from READs in completions, whose ids are below it. */
    private static final long MESSAGE_BIT = 1L << 62;

    /** Takes what the peer said. */
    interface Listener {
        void onMessage(ControlMessage message);
    }

    private final PinnedBudget budget;
    private final MessageRing ring;
    private final long ringBytes;
    private final Listener listener;
    private final ArrayDeque<ControlMessage> waiting = new ArrayDeque<>();
    private final ArrayDeque<Integer> freeSlots = new ArrayDeque<>();

    private MessageChannel(PinnedBudget budget, MessageRing ring, long ringBytes, Listener listener) {
        this.budget = budget;
        this.ring = ring;
        this.ringBytes = ringBytes;
        this.listener = listener;
        for (int i = 0; i < SEND_SLOTS; i++) {
            freeSlots.add(ring.receiveSlots() + i);
        }
    }

    /**
     * @param receives {@link #OWNER_RECEIVES} or {@link #READER_RECEIVES}
     * @throws IOException when budget, memory or memlock runs out; nothing is kept then
     */
    static MessageChannel open(VerbsEndpoint endpoint, PinnedBudget budget, int receives, Listener listener)
            throws IOException {
        long bytes = (long) (receives + SEND_SLOTS) * ControlMessage.MAX_BYTES;
        if (!budget.tryReserve(bytes)) {
            throw new IOException("the pinned budget for messages is used up");
        }
        try {
            MessageRing ring = MessageRing.allocate(endpoint, receives, SEND_SLOTS, ControlMessage.MAX_BYTES);
            return new MessageChannel(budget, ring, bytes, listener);
        } catch (IOException | RuntimeException e) {
            budget.release(bytes);
            throw e;
        }
    }

    /** Where the connection is to receive. */
    MessageRing ring() {
        return ring;
    }

    /** Sends as soon as a slot is free. */
    void send(VerbsConnection connection, ControlMessage message) throws VerbsException {
        waiting.add(message);
        flush(connection);
    }

    /** Whether the completion is of a message, sent or received. */
    static boolean isOfMessage(EventBatch events, int index) {
        return events.isReceive(index) || (events.wrId(index) & MESSAGE_BIT) != 0;
    }

    /**
     * Takes a message's completion, which must be a success.
     *
     * @throws MalformedMessageException when the peer sent what is no message
     */
    void onCompletion(VerbsConnection connection, EventBatch events, int index)
            throws VerbsException, MalformedMessageException {
        if (!events.isReceive(index)) {
            freeSlots.add((int) events.wrId(index));
            flush(connection);
            return;
        }
        int slot = events.slot(index);
        ControlMessage message = ControlMessage.decode(ring.received(slot, events.lengthBytes(index)));
        connection.postReceives(slot, 1);
        listener.onMessage(message);
    }

    /** Frees the memory; only after the queue pair was destroyed. */
    @Override
    public void close() {
        ring.close();
        budget.release(ringBytes);
    }

    private void flush(VerbsConnection connection) throws VerbsException {
        while (!waiting.isEmpty() && !freeSlots.isEmpty()) {
            int slot = freeSlots.poll();
            var buffer = ring.outgoing(slot);
            ControlMessage.encode(waiting.poll(), buffer);
            connection.send(MESSAGE_BIT | slot, ring, slot, buffer.limit());
        }
    }
}
