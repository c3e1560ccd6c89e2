package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EventBatchTest {
    private final EventBatch events = new EventBatch(3, 2);
    private final ByteBuffer buffer = events.emptied();

    @Test
    void tells_its_capacities_to_the_c_half() {
        assertEquals(3, buffer.getInt(0));
        assertEquals(2, buffer.getInt(4));
        assertEquals(16, buffer.getInt(8));
        assertEquals(24 + 3 * 24 + 2 * 96 + 16 * 8, buffer.capacity());
    }

    @Test
    void reads_completions_at_the_offsets_of_the_c_struct() {
        buffer.putInt(12, 2);
        int at = 24 + 24;
        buffer.putLong(at, 77)
                .putInt(at + 8, 10)
                .putInt(at + 12, 0x88)
                .putInt(at + 16, 17)
                .putInt(at + 20, 2048);

        assertEquals(2, events.completions());
        assertEquals(77, events.wrId(1));
        assertEquals(WcStatus.REM_ACCESS_ERR, events.status(1));
        assertEquals(0x88, events.vendorError(1));
        assertEquals(17, events.qpNumber(1));
        assertEquals(2048, events.lengthBytes(1));
        assertFalse(events.isReceive(1));
        assertThrows(IndexOutOfBoundsException.class, () -> events.wrId(2));
    }

    @Test
    void tells_receives_by_their_highest_bit() {
        buffer.putInt(12, 1);
        buffer.putLong(24, Long.MIN_VALUE | 5);
        assertTrue(events.isReceive(0));
        assertEquals(5, events.slot(0));
    }

    @Test
    void reads_connection_events_at_the_offsets_of_the_c_struct() {
        buffer.putInt(16, 1);
        int at = 24 + 3 * 24;
        buffer.putLong(at, 5)
                .putInt(at + 16, 9)
                .putInt(at + 20, -110)
                .putInt(at + 24, 128)
                .putInt(at + 28, 64);
        buffer.put(at + 32, new byte[] {1, 2, 3}).putInt(at + 88, 3);

        assertEquals(5, events.cmId(0));
        assertEquals(CmEventType.ESTABLISHED, events.cmType(0));
        assertEquals(-110, events.cmStatus(0));
        assertEquals(128, events.initiatorDepth(0));
        assertEquals(64, events.responderResources(0));
        assertArrayEquals(new byte[] {1, 2, 3}, events.cmPrivateData(0));
        assertThrows(IndexOutOfBoundsException.class, () -> events.cmId(1));
    }

    @Test
    void gives_a_request_away_once() {
        buffer.putInt(16, 2);
        buffer.putLong(24 + 3 * 24 + 8, 4096);

        assertEquals(4096, events.takeRequest(0));
        assertThrows(IllegalStateException.class, () -> events.takeRequest(0));
        assertThrows(IllegalStateException.class, () -> events.takeRequest(1));
    }

    @Test
    void reads_device_events_at_the_offsets_of_the_c_struct() {
        buffer.putInt(20, 1);
        int at = 24 + 3 * 24 + 2 * 96;
        buffer.putInt(at, 3).putInt(at + 4, 42);

        assertEquals(1, events.asyncEvents());
        assertEquals(AsyncEventType.QP_ACCESS_ERR, events.asyncType(0));
        assertEquals(42, events.asyncQpNumber(0));
        events.emptied();
        assertEquals(0, events.asyncEvents());
    }

    @Test
    void refuses_to_hold_nothing() {
        assertThrows(IllegalArgumentException.class, () -> new EventBatch(0, 1));
        assertThrows(IllegalArgumentException.class, () -> new EventBatch(1, 0));
    }
}
