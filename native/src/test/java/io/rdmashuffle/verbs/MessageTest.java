package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Messages between two endpoints of this process. The reader, which connects, speaks first, as iWARP asks for. */
@Timeout(120)
class MessageTest {
    private static final int RECEIVES = 4;
    private static final int SENDS = 2;
    private static final int SLOT_BYTES = 256;

    private VerbsPeer reader;
    private VerbsPeer owner;
    private MessageRing ofReader;
    private MessageRing ofOwner;
    private VerbsConnection connection;
    private VerbsConnection accepted;

    @BeforeEach
    void a_connection_with_rings_on_both_sides() throws IOException {
        reader = new VerbsPeer();
        owner = new VerbsPeer();
        ofReader = MessageRing.allocate(reader.endpoint, RECEIVES, SENDS, SLOT_BYTES);
        ofOwner = MessageRing.allocate(owner.endpoint, RECEIVES, SENDS, SLOT_BYTES);
        owner.receiving(ofOwner);
        connection = reader.receiving(ofReader).connect(owner);
        accepted = owner.accepted.values().iterator().next();
    }

    @AfterEach
    void close_all() {
        reader.close();
        owner.close();
        ofReader.close();
        ofOwner.close();
    }

    private static void send(VerbsConnection connection, MessageRing ring, int number, int lengthBytes)
            throws VerbsException {
        int slot = RECEIVES + number % SENDS;
        ByteBuffer message = ring.outgoing(slot);
        for (int i = 0; i < lengthBytes; i++) {
            message.put((byte) (number + i));
        }
        connection.send(number, ring, slot, lengthBytes);
    }

    private static void assertMessage(MessageRing ring, int slot, int number, int lengthBytes) {
        ByteBuffer message = ring.received(slot, lengthBytes);
        assertEquals(lengthBytes, message.remaining());
        for (int i = 0; i < lengthBytes; i++) {
            assertEquals((byte) (number + i), message.get());
        }
    }

    @Test
    void messages_arrive_in_order_whole_and_with_their_length() throws VerbsException {
        int[] lengths = {1, 17, SLOT_BYTES, 100};
        for (int i = 0; i < lengths.length; i++) {
            int sent = i + 1;
            send(connection, ofReader, i, lengths[i]);
            VerbsPeer.pump(() -> reader.completions.size() == sent, reader, owner);
            assertEquals(
                    new VerbsPeer.Completion(i, WcStatus.SUCCESS, connection.qpNumber()), reader.completions.get(i));
        }
        VerbsPeer.pump(() -> owner.received.size() == lengths.length, reader, owner);
        for (int i = 0; i < lengths.length; i++) {
            assertEquals(new VerbsPeer.Received(i, lengths[i], WcStatus.SUCCESS), owner.received.get(i));
            assertMessage(ofOwner, i, i, lengths[i]);
        }
    }

    @Test
    void slots_are_filled_round_and_round_once_posted_anew() throws VerbsException {
        int sent = 0;
        for (int count : new int[] {2, 3, 4, 1, 2}) {
            int first = sent % RECEIVES;
            for (int i = 0; i < count; i++) {
                int expected = sent + 1;
                send(connection, ofReader, sent, 9);
                VerbsPeer.pump(
                        () -> reader.completions.size() == expected && owner.received.size() == expected,
                        reader,
                        owner);
                assertEquals(sent % RECEIVES, owner.received.get(sent).slot());
                assertMessage(ofOwner, sent % RECEIVES, sent, 9);
                sent++;
            }
            accepted.postReceives(first, count);
        }
    }

    @Test
    void the_other_side_answers() throws VerbsException {
        send(connection, ofReader, 1, 3);
        VerbsPeer.pump(() -> owner.received.size() == 1, reader, owner);
        send(accepted, ofOwner, 40, 5);
        VerbsPeer.pump(() -> reader.received.size() == 1 && owner.completions.size() == 1, reader, owner);
        assertMessage(ofReader, 0, 40, 5);
    }

    @Test
    void the_receives_of_a_lost_connection_are_flushed_and_told_as_receives() throws VerbsException {
        send(connection, ofReader, 1, 3);
        VerbsPeer.pump(() -> owner.received.size() == 1, reader, owner);
        connection.disconnect();
        VerbsPeer.pump(() -> owner.saw(accepted.id(), CmEventType.DISCONNECTED), reader, owner);
        accepted.disconnect();
        VerbsPeer.pump(() -> owner.received.size() == RECEIVES, reader, owner);
        assertTrue(owner.received.subList(1, RECEIVES).stream()
                .allMatch(received -> received.status() == WcStatus.WR_FLUSH_ERR));
    }

    @Test
    void what_does_not_fit_is_refused_before_it_reaches_the_device() {
        assertThrows(IndexOutOfBoundsException.class, () -> connection.send(1, ofReader, 0, 3), "a receiving slot");
        assertThrows(IndexOutOfBoundsException.class, () -> connection.send(1, ofReader, RECEIVES, SLOT_BYTES + 1));
        assertThrows(IndexOutOfBoundsException.class, () -> connection.send(1, ofReader, RECEIVES, 0));
        assertThrows(IndexOutOfBoundsException.class, () -> ofReader.outgoing(RECEIVES + SENDS));
        assertThrows(IndexOutOfBoundsException.class, () -> ofReader.received(RECEIVES, 1));
        assertEquals(
                22,
                assertThrows(VerbsException.class, () -> connection.postReceives(RECEIVES, 1))
                        .errno());
        assertThrows(IllegalArgumentException.class, () -> MessageRing.allocate(reader.endpoint, 0, 1, 1));
    }
}
