package io.rdmashuffle.spark.yarn;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Executors and NodeManagers may be of different builds: the bytes between them are held. */
class ServiceMessageTest {

    private static final byte[] SECRET = new byte[ServiceRequest.SECRET_BYTES];
    private static final MapOutputLocation LOCATION =
            new MapOutputLocation(7, Placement.DIRECT, 0x1000, 0x2a, 300, 0x2000, 0x2b, 3);

    private static ServiceAnswer served() throws IOException {
        InetAddress ip = InetAddress.getByAddress(new byte[] {10, 9, 0, 1});
        return new ServiceAnswer.Served(new Owner("3", 0x11, List.of(new InetSocketAddress(ip, 18515))), LOCATION);
    }

    private static String hex(ByteBuffer message) {
        return HexFormat.of().formatHex(message.array());
    }

    @Test
    void bytes_are_those_of_the_wire_format() throws IOException {
        Arrays.fill(SECRET, (byte) 0xee);
        assertEquals(
                "f5 01 01 0001 61 0001 33".replace(" ", "") + "ee".repeat(32) + "00000005" + "0000000000000007"
                        + "00000003",
                hex(new ServiceRequest.Serve("a", "3", SECRET, 5, 7, 3).encode()));
        assertEquals("f5010000016100000005", hex(new ServiceRequest.Forget("a", 5).encode()));
        assertEquals(
                "01 0000 0001 33 0000000000000011 01 04 0a090001 4853 0000000000000007 00 0000000000001000 0000002a"
                        .concat("000000000000012c 0000000000002000 0000002b 00000003")
                        .replace(" ", ""),
                hex(served().encode()));
        assertEquals(
                "01 000b 4f5645525f425544474554 0004 66756c6c".replace(" ", ""),
                hex(new ServiceAnswer.Refused(FallbackReason.OVER_BUDGET, "full").encode()));
    }

    @Test
    void what_was_written_is_read() throws IOException {
        assertEquals(served(), ServiceAnswer.decode(served().encode()));
        ServiceRequest forget = new ServiceRequest.Forget("application_1_2", 5);
        assertEquals(forget, ServiceRequest.decode(forget.encode()));
        ServiceRequest.Serve serve = (ServiceRequest.Serve)
                ServiceRequest.decode(new ServiceRequest.Serve("application_1_2", "3", SECRET, 5, 7, 3).encode());
        assertEquals(7, serve.mapId());
        assertEquals("3", serve.execId());
    }

    @Test
    void shortened_and_lengthened_bytes_are_refused() throws IOException {
        for (ByteBuffer whole :
                List.of(new ServiceRequest.Serve("a", "3", SECRET, 5, 7, 3).encode(), served().encode())) {
            boolean request = ServiceRequest.isOurs(whole);
            for (int length = 0; length <= whole.capacity() + 1; length++) {
                ByteBuffer changed = ByteBuffer.wrap(Arrays.copyOf(whole.array(), length));
                if (length != whole.capacity()) {
                    assertThrows(
                            IOException.class,
                            () -> {
                                Object unused =
                                        request ? ServiceRequest.decode(changed) : ServiceAnswer.decode(changed);
                            },
                            length + " bytes");
                }
            }
        }
    }

    @Test
    void damaged_messages_are_refused_or_are_others_and_nothing_else() throws IOException {
        long seed = Long.getLong("test.seed", System.nanoTime());
        System.out.println("seed " + seed + " (repeat with -Dtest.seed=" + seed + ")");
        Random random = new Random(seed);
        byte[] request = new ServiceRequest.Serve("application_1_2", "3", SECRET, 5, 7, 3)
                .encode()
                .array();
        byte[] answer = served().encode().array();
        int refused = 0;
        for (int round = 0; round < 20_000; round++) {
            try {
                ServiceRequest.decode(damaged(request, random));
                ServiceAnswer.decode(damaged(answer, random));
            } catch (IOException e) {
                refused++;
            }
        }
        assertTrue(refused > 0);
    }

    private static ByteBuffer damaged(byte[] good, Random random) {
        byte[] bytes = Arrays.copyOf(good, random.nextInt(8) == 0 ? random.nextInt(good.length) : good.length);
        for (int flips = random.nextInt(4); flips > 0 && bytes.length > 0; flips--) {
            bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return ByteBuffer.wrap(bytes);
    }

    @Test
    void the_secret_and_the_keys_show_in_no_text() throws IOException {
        assertFalse(
                new ServiceRequest.Serve("a", "3", SECRET, 5, 7, 3).toString().contains("secret"));
        assertFalse(served().toString().contains("42"));
    }
}
