package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ReadBatchTest {
    @Test
    void lays_reads_out_as_the_c_struct() {
        ReadBatch batch = new ReadBatch(2);
        batch.add(1, 2, 3, 4, 5, 6, false);
        batch.add(0x1122334455667788L, -2L, -3, 0x7fffffffffffL, -5, Integer.MAX_VALUE, true);

        ByteBuffer buffer = batch.checked(0, 2);
        int at = ReadBatch.STRIDE;
        assertEquals(40, ReadBatch.STRIDE);
        assertEquals(0x1122334455667788L, buffer.getLong(at));
        assertEquals(-2L, buffer.getLong(at + 8));
        assertEquals(0x7fffffffffffL, buffer.getLong(at + 16));
        assertEquals(-3, buffer.getInt(at + 24));
        assertEquals(-5, buffer.getInt(at + 28));
        assertEquals(Integer.MAX_VALUE, buffer.getInt(at + 32));
        assertEquals(1, buffer.getInt(at + 36));
        assertEquals(0, buffer.getInt(36));
    }

    @Test
    void holds_its_capacity_and_no_more_until_cleared() {
        ReadBatch batch = new ReadBatch(1);
        batch.add(1, 2, 3, 4, 5, 6, true);
        assertThrows(IllegalStateException.class, () -> batch.add(2, 2, 3, 4, 5, 6, true));
        assertEquals(1, batch.size());

        batch.clear();
        assertEquals(0, batch.size());
        batch.add(3, 2, 3, 4, 5, 6, true);
        assertEquals(3, batch.checked(0, 1).getLong(0));
        assertEquals(1, batch.capacity());
    }

    @Test
    void refuses_what_cannot_be_posted() {
        ReadBatch batch = new ReadBatch(4);
        batch.add(1, 2, 3, 4, 5, 6, true);
        assertThrows(IllegalArgumentException.class, () -> batch.add(1, 2, 3, 4, 5, 0, true));
        assertThrows(IllegalArgumentException.class, () -> batch.add(1, 2, 3, 4, 5, -1, true));
        assertThrows(IndexOutOfBoundsException.class, () -> batch.checked(0, 2));
        assertThrows(IndexOutOfBoundsException.class, () -> batch.checked(-1, 1));
        assertThrows(IllegalArgumentException.class, () -> new ReadBatch(0));
    }
}
