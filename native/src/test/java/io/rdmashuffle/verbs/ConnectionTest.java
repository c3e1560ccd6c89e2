package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class ConnectionTest {
    private VerbsPeer reader;
    private VerbsPeer owner;

    @BeforeEach
    void two_peers() throws VerbsException {
        reader = new VerbsPeer();
        owner = new VerbsPeer();
    }

    @AfterEach
    void close_them() {
        reader.close();
        owner.close();
    }

    @Test
    void private_data_goes_both_ways() throws VerbsException {
        byte[] question = bytes("0123456789".repeat(5) + "012345");
        byte[] answer = bytes("yes, do");
        assertEquals(VerbsConnection.MAX_PRIVATE_DATA_BYTES, question.length);

        owner.accepting(answer);
        VerbsConnection connection = reader.request(owner.endpoint.listenAddress(), question);
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ESTABLISHED), reader, owner);

        VerbsPeer.CmEvent request = owner.cmEvents.get(0);
        assertEquals(CmEventType.CONNECT_REQUEST, request.type());
        assertArrayEquals(question, request.privateData());
        byte[] got = reader.event(connection.id(), CmEventType.ESTABLISHED).privateData();
        assertArrayEquals(answer, Arrays.copyOf(got, answer.length));
    }

    @Test
    void both_sides_see_it_established_with_read_depth() throws VerbsException {
        VerbsConnection connection = reader.connect(owner);
        VerbsConnection accepted = owner.accepted.values().iterator().next();

        assertTrue(connection.qpNumber() > 0);
        assertTrue(accepted.qpNumber() > 0);
        int depth = reader.event(connection.id(), CmEventType.ESTABLISHED).initiatorDepth();
        assertTrue(depth > 0 && depth <= reader.endpoint.device().maxReadDepthOut(), "depth " + depth);
    }

    @Test
    void a_rejection_carries_private_data() throws VerbsException {
        owner.rejecting(bytes("no: bad token"));
        VerbsConnection connection = reader.request(owner.endpoint.listenAddress(), bytes("token"));
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.REJECTED), reader, owner);

        byte[] why = reader.event(connection.id(), CmEventType.REJECTED).privateData();
        assertEquals("no: bad token", new String(why, StandardCharsets.US_ASCII).trim());
        connection.close();
    }

    @Test
    void a_rejecting_peer_accepts_the_next_one() throws VerbsException {
        owner.rejecting(new byte[0]);
        VerbsConnection first = reader.request(owner.endpoint.listenAddress(), new byte[0]);
        VerbsPeer.pump(() -> reader.saw(first.id(), CmEventType.REJECTED), reader, owner);
        first.close();

        owner.accepting(new byte[0]);
        assertNotEquals(first.id(), reader.connect(owner).id());
    }

    @Test
    void nobody_listening_is_told() throws VerbsException {
        InetSocketAddress gone = owner.endpoint.listenAddress();
        owner.close();
        VerbsConnection connection;
        try {
            connection = reader.request(gone, new byte[0]);
        } catch (VerbsException e) {
            assertEquals(111, e.errno()); // soft-iWARP says ECONNREFUSED at once
            return;
        }
        Set<CmEventType> refusals = Set.of(CmEventType.REJECTED, CmEventType.UNREACHABLE, CmEventType.CONNECT_ERROR);
        VerbsPeer.pump(() -> refusals.stream().anyMatch(type -> reader.saw(connection.id(), type)), reader);
        assertFalse(reader.saw(connection.id(), CmEventType.ESTABLISHED));
    }

    @Test
    void ipv6_addresses_work_too() throws Exception {
        TestDevice.requireSoftverbs("the test address of another device may have no IPv6 sister");
        InetAddress address = InetAddress.getByName("::1");
        assumeTrue(NetworkInterface.getByInetAddress(address) != null, "no IPv6 here");
        try (VerbsPeer one = new VerbsPeer(address);
                VerbsPeer other = new VerbsPeer(address)) {
            assertEquals(address, one.endpoint.listenAddress().getAddress());
            assertTrue(one.connect(other).qpNumber() > 0);
        }
    }

    @Test
    void an_endpoint_listens_on_several_addresses_of_its_device() throws Exception {
        TestDevice.requireSoftverbs("the device of another test address has this one only");
        InetAddress second = InetAddress.getByName("127.0.0.2");
        InetSocketAddress there = owner.endpoint.listen(second, 4);
        assertEquals(second, there.getAddress());
        VerbsConnection connection = reader.request(there, new byte[0]);
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ESTABLISHED), reader, owner);
    }

    @Test
    void two_peers_may_connect_to_each_other_at_once() throws VerbsException {
        VerbsConnection there = reader.request(owner.endpoint.listenAddress(), new byte[0]);
        VerbsConnection back = owner.request(reader.endpoint.listenAddress(), new byte[0]);
        VerbsPeer.pump(
                () -> reader.saw(there.id(), CmEventType.ESTABLISHED) && owner.saw(back.id(), CmEventType.ESTABLISHED),
                reader,
                owner);
    }

    @Test
    void disconnecting_reaches_both_sides() throws VerbsException {
        VerbsConnection connection = reader.connect(owner);
        VerbsConnection accepted = owner.accepted.values().iterator().next();
        connection.disconnect();
        VerbsPeer.pump(() -> owner.saw(accepted.id(), CmEventType.DISCONNECTED), reader, owner);
        accepted.disconnect();
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.DISCONNECTED), reader, owner);
    }

    @Test
    void a_closed_connection_is_told_to_the_peer() throws VerbsException {
        VerbsConnection connection = reader.connect(owner);
        VerbsConnection accepted = owner.accepted.values().iterator().next();
        accepted.close();
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.DISCONNECTED), reader, owner);
    }

    @Test
    void closing_is_idempotent_and_ends_every_use() throws VerbsException {
        VerbsConnection connection = reader.connect(owner);
        ReadBatch batch = new ReadBatch(1);
        batch.add(1, 2, 3, 4, 5, 6, true);
        connection.destroyQp();
        connection.destroyQp();
        assertEquals(
                107,
                assertThrows(VerbsException.class, () -> connection.post(batch, 0, 1))
                        .errno());
        connection.close();
        connection.close();
        connection.destroyQp();
        assertThrows(IllegalStateException.class, () -> connection.post(batch, 0, 1));
        assertThrows(IllegalStateException.class, connection::disconnect);
        assertThrows(IllegalStateException.class, () -> connection.resolveRoute(1));
        assertThrows(IllegalStateException.class, () -> connection.connect(new byte[0], 1));
    }

    @Test
    void an_endpoint_closes_the_connections_it_has_left() throws VerbsException {
        VerbsConnection connection = reader.connect(owner);
        VerbsConnection pending = reader.request(owner.endpoint.listenAddress(), new byte[0]);
        reader.close();
        connection.close();
        pending.close();
        assertThrows(IllegalStateException.class, connection::disconnect);
    }

    @Test
    void a_request_that_nobody_took_over_is_closed_with_the_endpoint() throws VerbsException {
        VerbsConnection connection = reader.request(owner.endpoint.listenAddress(), new byte[0]);
        EventBatch ignored = new EventBatch(1, 1);
        while (owner.endpoint.poll(ignored, 100) == 0) {
            reader.poll(0);
        }
        assertEquals(CmEventType.CONNECT_REQUEST, ignored.cmType(0));
        owner.close();
        assertThrows(IllegalStateException.class, () -> owner.endpoint.incoming(ignored, 0));
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.REJECTED), reader);
    }

    @Test
    void an_event_is_adopted_once_and_only_if_it_is_a_request() throws VerbsException {
        VerbsConnection connection = reader.request(owner.endpoint.listenAddress(), new byte[0]);
        EventBatch events = new EventBatch(1, 1);
        while (owner.endpoint.poll(events, 100) == 0) {
            reader.poll(0);
        }
        VerbsConnection incoming = owner.endpoint.incoming(events, 0);
        assertEquals(events.cmId(0), incoming.id());
        assertThrows(IllegalStateException.class, () -> owner.endpoint.incoming(events, 0));
        assertThrows(IllegalArgumentException.class, () -> connection.accept(new byte[0], 1, events, 0));
        incoming.close();
    }

    @Test
    void too_much_private_data_and_wrong_depths_are_refused() throws VerbsException {
        VerbsConnection connection =
                reader.endpoint.resolve(TestDevice.address(), owner.endpoint.listenAddress(), 1000);
        assertThrows(IllegalArgumentException.class, () -> connection.connect(new byte[57], 1));
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ADDR_RESOLVED), reader);
        connection.resolveRoute(1000);
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ROUTE_RESOLVED), reader);
        assertEquals(
                VerbsException.EINVAL,
                assertThrows(VerbsException.class, () -> connection.connect(new byte[0], 0))
                        .errno());
        int tooDeep = reader.endpoint.device().maxQpWr() + 1;
        assertEquals(
                "rdma_create_qp",
                assertThrows(VerbsException.class, () -> connection.connect(new byte[0], tooDeep))
                        .step());
        connection.connect(new byte[56], 1);
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ESTABLISHED), reader, owner);
        assertThrows(VerbsException.class, () -> connection.connect(new byte[0], 1));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
