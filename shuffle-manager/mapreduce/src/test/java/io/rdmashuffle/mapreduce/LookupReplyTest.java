package io.rdmashuffle.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LookupReplyTest {

    private static final LookupReply REPLY = new LookupReply(
            new Owner(
                    "NodeManager",
                    -5,
                    List.of(new InetSocketAddress("192.0.2.1", 65_000), new InetSocketAddress("2001:db8::1", 7))),
            List.of(
                    Segment.readable(1L << 62, 0xdeadbeef, 3L << 31, 5L << 31),
                    Segment.unreadable(FallbackReason.OVER_BUDGET, "full")));

    @Test
    void what_was_encoded_is_decoded() throws IOException {
        assertEquals(REPLY, LookupReply.decode(REPLY.encode(), 2));
        LookupReply none = LookupReply.unreadable(3, FallbackReason.UNAVAILABLE, "no device");
        assertEquals(none, LookupReply.decode(none.encode(), 3));
    }

    @Test
    void an_answer_about_other_map_outputs_is_refused() {
        assertThrows(IOException.class, () -> LookupReply.decode(REPLY.encode(), 1));
        assertThrows(IOException.class, () -> LookupReply.decode(REPLY.encode(), 3));
    }

    @Test
    void no_key_shows_in_text() {
        assertFalse(REPLY.toString().contains(Integer.toString(0xdeadbeef)));
        assertFalse(REPLY.toString().contains(Long.toString(1L << 62)));
    }

    @Test
    void damaged_answers_are_refused_or_decoded_and_nothing_else() {
        long seed = Long.getLong("test.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dtest.seed=" + seed + ")");
        Random random = new Random(seed);
        int refused = 0;
        for (int round = 0; round < 20_000; round++) {
            byte[] bytes = REPLY.encode();
            for (int flips = random.nextInt(4); flips >= 0; flips--) {
                bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
            }
            byte[] cut = Arrays.copyOf(bytes, random.nextInt(8) == 0 ? random.nextInt(bytes.length) : bytes.length);
            try {
                LookupReply.decode(cut, 2);
            } catch (IOException e) {
                refused++;
            }
        }
        assertTrue(refused > 0);
    }
}
