package io.rdmashuffle.core.directory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class MessageCodecTest {

    private static final MapOutputLocation LOCATION = new MapOutputLocation(
            300, Placement.ODP, 0x7f00_1234_5000L, 0xCAFEBABE, 70_000, 0x7f00_5678_0000L, 0x0BADF00D, 200);

    private static Owner owner(String address) {
        return owner(0x0102030405060708L, address);
    }

    private static Owner owner(long incarnation, String address) {
        try {
            return new Owner("7", incarnation, List.of(new InetSocketAddress(InetAddress.getByName(address), 18515)));
        } catch (java.net.UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    /** Map outputs 300, 301, … of two owners in turn. */
    private static LocationTable table(int size) {
        LocationTable table = new LocationTable();
        Owner[] owners = {owner(7, "10.9.0.1"), owner(8, "10.9.0.2")};
        for (int i = 0; i < size; i++) {
            MapOutputLocation location = new MapOutputLocation(
                    300 + i, Placement.ODP, 0x7f00_1234_5000L, 0xCAFEBABE, 70_000, 0x7f00_5678_0000L, 0x0BADF00D, 200);
            table.put(owners[i % 2], location);
        }
        return table;
    }

    private static List<Object> contents(LocationTable table) {
        return table.rows()
                .<Object>mapToObj(row -> List.of(table.owner(row), table.location(row)))
                .toList();
    }

    private static List<Message> messages() {
        return List.of(
                new Message.Hello("7", -5, owner("10.9.0.1"), "rxea", ""),
                new Message.Hello("7", -5, owner("fe80::1"), "rxea", ""),
                new Message.Hello("driver", 9, null, "", "no RDMA device found"),
                new Message.Publish(4, 9, LOCATION),
                new Message.Withdraw(4, 9, 300),
                new Message.Ack(true),
                new Message.Locate(4),
                new Message.Locations(table(2)),
                new Message.Locations(table(0)),
                new Message.Unpin(4, 9),
                new Message.Publish(4, 9, LOCATION.staged()),
                new Message.Report(77, new long[] {1, 0, Long.MAX_VALUE}));
    }

    @Test
    void every_message_comes_back_as_it_went() throws Exception {
        for (Message message : messages()) {
            Message back = MessageCodec.decode(MessageCodec.encode(message));
            if (message instanceof Message.Report report) {
                assertArrayEquals(report.counters(), ((Message.Report) back).counters());
            } else if (message instanceof Message.Locations locations) {
                assertEquals(contents(locations.outputs()), contents(((Message.Locations) back).outputs()));
            } else {
                assertEquals(message, back);
            }
        }
        assertArrayEquals(
                new byte[] {1, 2, 3},
                ((Message.Welcome) MessageCodec.decode(MessageCodec.encode(new Message.Welcome(new byte[] {1, 2, 3}))))
                        .secret());
    }

    /** The wire format of version 1: a change here is a change of the version. */
    @Test
    void the_bytes_of_version_1_stay_as_they_are() {
        assertEquals(
                "011404000000000000000" + "9" + "c801" + "ac02" + "01" + "00007f0012345000" + "cafebabe" + "f0a204"
                        + "00007f0056780000" + "0badf00d",
                HexFormat.of().formatHex(MessageCodec.encode(new Message.Publish(4, 9, LOCATION))));
        Owner owner = new Owner(
                "7",
                5,
                List.of(
                        owner("10.9.0.1").addresses().get(0),
                        owner("fd00:9::1").addresses().get(0)));
        assertEquals(
                "0112" + "82" + "37" + "fffffffffffffffb" + "01" + "82" + "37" + "0000000000000005" + "02" + "04"
                        + "0a090001" + "d39001" + "10" + "fd000009000000000000000000000001" + "d39001" + "8272" + "81",
                HexFormat.of().formatHex(MessageCodec.encode(new Message.Hello("7", -5, owner, "r", ""))));
        String location = "01" + "00007f0012345000" + "cafebabe" + "f0a204" + "00007f0056780000" + "0badf00d";
        assertEquals(
                "0118" + "02" + "82" + "37" + "0000000000000007" + "01" + "04" + "0a090001" + "d39001" + "82" + "37"
                        + "0000000000000008" + "01" + "04" + "0a090002" + "d39001" + "02" + "c801" + "00" + "ac02"
                        + location + "01" + "ad02" + location,
                HexFormat.of().formatHex(MessageCodec.encode(new Message.Locations(table(2)))));
        assertEquals("011601", HexFormat.of().formatHex(MessageCodec.encode(new Message.Ack(true))));
    }

    @Test
    void a_map_output_costs_few_bytes() {
        int bytes = MessageCodec.encode(new Message.Locations(table(1000))).length;
        assertTrue(bytes < 32 * 1000, bytes + " bytes");
    }

    @Test
    void another_version_is_refused_by_name() {
        byte[] bytes = MessageCodec.encode(new Message.Ack(true));
        bytes[0] = 2;
        MalformedMessageException e = assertThrows(MalformedMessageException.class, () -> MessageCodec.decode(bytes));
        assertTrue(e.getMessage().contains("version 2"), e.getMessage());
    }

    /** Kryo can say both, and the directory would fail on them long after. */
    @Test
    void a_negative_number_or_a_text_that_is_not_there_is_refused() {
        for (Message message : List.of(
                new Message.Locate(-1),
                new Message.Publish(-1, 9, LOCATION),
                new Message.Withdraw(-1, 9, 300),
                new Message.Unpin(-1, 9),
                new Message.Hello(null, -5, null, "", ""))) {
            byte[] bytes = MessageCodec.encode(message);
            assertThrows(MalformedMessageException.class, () -> MessageCodec.decode(bytes), message::toString);
        }
    }

    @Test
    void keys_and_secrets_do_not_show_in_text() {
        assertFalse(new Message.Publish(4, 9, LOCATION).toString().contains(Integer.toString(0xCAFEBABE)));
        assertFalse(new Message.Welcome(new byte[] {42}).toString().contains("42"));
    }

    @Property(tries = 2000)
    void damaged_bytes_are_refused_or_are_another_message(
            @ForAll @IntRange(min = 0, max = 11) int which,
            @ForAll @IntRange(min = 0, max = 300) int at,
            @ForAll byte value,
            @ForAll @IntRange(min = 0, max = 300) int length) {
        byte[] bytes = MessageCodec.encode(messages().get(which));
        bytes[at % bytes.length] = value;
        try {
            MessageCodec.decode(Arrays.copyOf(bytes, Math.min(length, bytes.length)));
        } catch (MalformedMessageException e) {
            assertFalse(e.getMessage().isEmpty());
        }
    }

    @Property(tries = 2000)
    void any_bytes_are_refused_without_harm(@ForAll byte[] bytes) {
        try {
            MessageCodec.decode(bytes);
        } catch (MalformedMessageException e) {
            assertFalse(e.getMessage().isEmpty());
        }
    }
}
