package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.MalformedMessageException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class ControlMessageTest {

    private static final ControlMessage.Stage STAGE = new ControlMessage.Stage(
            2, 9, 4, new long[] {300, 301}, new long[] {0, 1L << 33}, new int[] {100, Integer.MAX_VALUE});

    private static final List<ControlMessage> MESSAGES = List.of(
            new ControlMessage.Hello(),
            STAGE,
            new ControlMessage.Staged(3, 7, 0x7f0012345000L, 0xCAFEBABE, 70_000),
            new ControlMessage.Refused(1, 8, ControlMessage.Refusal.BUSY),
            new ControlMessage.Release(3, 7),
            new ControlMessage.Withdrawn(new int[] {4, 5}),
            new ControlMessage.Noted());

    private static ByteBuffer encode(ControlMessage message) {
        ByteBuffer buffer = ByteBuffer.allocate(ControlMessage.MAX_BYTES);
        ControlMessage.encode(message, buffer);
        return buffer;
    }

    private static String hex(ControlMessage message) {
        ByteBuffer bytes = encode(message);
        return HexFormat.of().formatHex(bytes.array(), 0, bytes.limit());
    }

    /** The wire format of version 1: a change here is a change of the version. */
    @Test
    void the_bytes_of_version_1_stay_as_they_are() {
        assertEquals("0101000000000000", hex(MESSAGES.get(0)));
        assertEquals(
                "0102000200000009" + "00000004" + "00000002" + "000000000000012c" + "0000000000000000" + "00000064"
                        + "000000000000012d" + "0000000200000000" + "7fffffff",
                hex(STAGE));
        assertEquals("0103000300000007" + "00007f0012345000" + "cafebabe" + "00011170", hex(MESSAGES.get(2)));
        assertEquals("0104000100000008" + "00000001", hex(MESSAGES.get(3)));
        assertEquals("0105000300000007", hex(MESSAGES.get(4)));
        assertEquals("0106000000000000" + "00000002" + "00000004" + "00000005", hex(MESSAGES.get(5)));
        assertEquals("0107000000000000", hex(MESSAGES.get(6)));
    }

    @Test
    void every_message_comes_back_as_it_went() throws Exception {
        for (ControlMessage message : MESSAGES) {
            ControlMessage back = ControlMessage.decode(encode(message));
            assertEquals(hex(message), hex(back));
            assertEquals(message.getClass(), back.getClass());
        }
    }

    @Test
    void the_longest_messages_fit() throws Exception {
        int extents = ControlMessage.MAX_EXTENTS;
        int[] lengths = new int[extents];
        Arrays.fill(lengths, 1);
        ControlMessage.Stage stage = new ControlMessage.Stage(0, 1, 2, new long[extents], new long[extents], lengths);
        ControlMessage.Stage back = assertInstanceOf(ControlMessage.Stage.class, ControlMessage.decode(encode(stage)));
        assertArrayEquals(lengths, back.lengths());
        ControlMessage.decode(encode(new ControlMessage.Withdrawn(new int[ControlMessage.MAX_SHUFFLES])));
    }

    @Test
    void another_version_is_refused_by_name() {
        ByteBuffer bytes = encode(STAGE);
        bytes.put(0, (byte) 2);
        MalformedMessageException e = assertThrows(MalformedMessageException.class, () -> ControlMessage.decode(bytes));
        assertTrue(e.getMessage().contains("version 2"), e.getMessage());
    }

    @Test
    void keys_do_not_show_in_text() {
        assertFalse(MESSAGES.get(2).toString().contains(Integer.toString(0xCAFEBABE)));
    }

    @Property(tries = 5000)
    void damaged_bytes_are_refused_or_are_a_message_within_its_bounds(
            @ForAll @IntRange(min = 0, max = 6) int which,
            @ForAll @IntRange(min = 0, max = 80) int at,
            @ForAll byte value,
            @ForAll @IntRange(min = 0, max = 80) int length) {
        ByteBuffer bytes = encode(MESSAGES.get(which));
        bytes.put(at % bytes.limit(), value);
        assertHarmless(bytes.limit(Math.min(length, bytes.limit())));
    }

    @Property(tries = 2000)
    void any_bytes_are_refused_without_harm(@ForAll byte[] bytes) {
        assertHarmless(ByteBuffer.wrap(bytes));
    }

    private static void assertHarmless(ByteBuffer bytes) {
        try {
            ControlMessage message = ControlMessage.decode(bytes);
            if (message instanceof ControlMessage.Stage stage) {
                assertTrue(stage.lane() >= 0 && stage.lane() < ControlMessage.LANES);
                assertTrue(Arrays.stream(stage.offsets()).allMatch(offset -> offset >= 0));
                assertTrue(Arrays.stream(stage.lengths()).allMatch(lengthBytes -> lengthBytes >= 1));
            }
        } catch (MalformedMessageException e) {
            assertFalse(e.getMessage().isEmpty());
        }
    }
}
