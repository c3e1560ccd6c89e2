package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.metrics.Gauge;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How a reader comes to its owners: addresses, devices, the number of connections and their end. */
@Timeout(60)
class ConnectionsTest extends NodeTest {

    /** softverbs' device of link layer InfiniBand, which takes 4 READs of a connection at a time and refuses a fifth. */
    private static final List<String> INFINIBAND = List.of("127.0.0.9");

    @BeforeAll
    static void on_softverbs() {
        assumeTrue(System.getenv("RDMA_SHUFFLE_TEST_ADDRESS") == null, "needs softverbs: several devices");
    }

    private static InetSocketAddress at(String address, int port) {
        try {
            return new InetSocketAddress(InetAddress.getByName(address), port);
        } catch (java.net.UnknownHostException e) {
            throw new AssertionError(e);
        }
    }

    private static long connections(Counters counters, Gauge gauge) {
        return counters.snapshot().get(gauge);
    }

    private FetchedBlocks fetch(RdmaNode reader) {
        return FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll();
    }

    @Test
    void a_node_uses_the_address_that_has_a_device_and_passes_the_other_over() throws Exception {
        RdmaNode owner = nodes.openAt(List.of("127.0.0.5", "127.0.0.1"), OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 10);
        assertEquals(
                List.of("127.0.0.1"),
                owner.addresses().stream()
                        .map(address -> address.getAddress().getHostAddress())
                        .toList());
        fetch(reader).assertRead(0, file, 0, 10);
    }

    @Test
    void without_a_device_at_any_address_the_cause_names_them() {
        RdmaUnavailableException e = assertThrows(
                RdmaUnavailableException.class, () -> nodes.openAt(List.of("127.0.0.5"), OWNER, ownerCounters));
        assertTrue(e.getMessage().contains("127.0.0.5") && e.getMessage().contains("no RDMA device"), e.getMessage());
    }

    @Test
    void all_addresses_of_the_device_are_announced_and_those_of_other_devices_are_not() throws Exception {
        RdmaNode owner = nodes.openAt(List.of("127.0.0.1", "127.0.0.9", "127.0.0.2"), OWNER, ownerCounters);
        assertEquals(
                List.of("127.0.0.1", "127.0.0.2"),
                owner.addresses().stream()
                        .map(address -> address.getAddress().getHostAddress())
                        .toList());
    }

    @Test
    void a_reader_goes_on_with_the_next_address_when_one_is_dead() throws Exception {
        // nobody listens at the first, nobody has the second
        nodes.announced = real -> Stream.concat(Stream.of(at("127.0.0.1", 1), at("10.255.255.1", 4791)), real.stream())
                .toList();
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "connect.timeout", "300ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        fetch(reader).assertRead(0, file, 0, 10);
        assertEquals(1, readerCounters.get(Counter.CONNECTIONS));
    }

    @Test
    void when_every_address_is_dead_the_blocks_fall_back_and_the_owner_is_quarantined() throws Exception {
        nodes.announced = real -> List.of(at("127.0.0.1", 1), at("127.0.0.2", 1));
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        fetch(reader).assertFellBack(0, FallbackReason.CONNECT_REJECTED);
        fetch(reader).assertFellBack(0, FallbackReason.QUARANTINED);
    }

    @Test
    void an_owner_without_an_address_of_a_known_kind_is_read_over_tcp() throws Exception {
        nodes.announced = real -> List.of(at("fd00:ffff::1", 4791), at("fe80::1", 4791));
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters);
        nodes.publish(owner, 0, 11, 10);
        fetch(reader).assertFellBack(0, FallbackReason.CONNECT_FAILED);
    }

    @Test
    void ipv6_works() throws Exception {
        assumeTrue(NetworkInterface.getByInetAddress(InetAddress.getByName("::1")) != null, "no IPv6 here");
        RdmaNode owner = nodes.openAt(List.of("::1"), OWNER, ownerCounters);
        RdmaNode reader = nodes.openAt(List.of("::1"), READER, readerCounters);
        byte[] file = nodes.publish(owner, 0, 11, 70_000);
        fetch(reader).assertRead(0, file, 0, 70_000);
    }

    @Test
    void infiniband_works_and_more_reads_than_agreed_upon_wait() throws Exception {
        RdmaNode owner = nodes.openAt(INFINIBAND, OWNER, ownerCounters);
        RdmaNode reader = nodes.openAt(INFINIBAND, READER, readerCounters);
        assertEquals("ib0", reader.device());
        byte[][] files = new byte[100][];
        long[] mapIds = new long[files.length];
        for (int map = 0; map < files.length; map++) {
            files[map] = nodes.publish(owner, 0, map, 1000);
            mapIds[map] = map;
        }
        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, mapIds, new int[files.length])
                .awaitAll();
        for (int map = 0; map < files.length; map++) {
            blocks.assertRead(map, files[map], 0, 1000);
        }
    }

    @Test
    void both_directions_may_connect_at_once() throws Exception {
        RdmaNode one = nodes.open(OWNER, ownerCounters);
        RdmaNode other = nodes.open(READER, readerCounters);
        byte[] file = nodes.publish(one, 0, 11, 5000);
        byte[] back = nodes.publish(other, 0, 12, 5000);
        CyclicBarrier start = new CyclicBarrier(2);
        FetchedBlocks[] fetched = new FetchedBlocks[2];
        Thread there = new Thread(() -> {
            awaitStart(start);
            fetched[0] = FetchedBlocks.fetch(other, 0, OWNER, new long[] {11}, 0);
        });
        there.start();
        awaitStart(start);
        fetched[1] = FetchedBlocks.fetch(one, 0, READER, new long[] {12}, 0);
        there.join();
        fetched[0].awaitAll().assertRead(0, file, 0, 5000);
        fetched[1].awaitAll().assertRead(0, back, 0, 5000);
        assertEquals(1, ownerCounters.get(Counter.CONNECTIONS));
        assertEquals(1, readerCounters.get(Counter.CONNECTIONS));
    }

    private static void awaitStart(CyclicBarrier start) {
        try {
            start.await(20, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void an_idle_connection_is_closed_on_both_sides_and_made_anew_when_wanted() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "connections.idle", "50ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        fetch(reader).assertRead(0, file, 0, 10);
        await().until(() -> connections(readerCounters, Gauge.READER_QUEUE_PAIRS) == 0
                && connections(ownerCounters, Gauge.OWNER_QUEUE_PAIRS) == 0);
        fetch(reader).assertRead(0, file, 0, 10);
        assertEquals(2, readerCounters.get(Counter.CONNECTIONS));
    }

    @Test
    void no_read_is_lost_when_connections_are_closed_as_idle_all_the_time() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "connections.idle", "10ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        await().until(() -> {
            fetch(reader).assertRead(0, file, 0, 10);
            return readerCounters.get(Counter.CONNECTIONS) >= 10;
        });
    }

    @Test
    void beyond_the_cap_idle_connections_make_room() throws Exception {
        RdmaNode reader = nodes.open(READER, readerCounters, "connections.max", "3");
        for (int owner = 10; owner < 18; owner++) {
            byte[] file = nodes.publish(nodes.open(Integer.toString(owner), new Counters()), owner, owner, 10);
            FetchedBlocks.fetch(reader, owner, Integer.toString(owner), new long[] {owner}, 0)
                    .awaitAll()
                    .assertRead(0, file, 0, 10);
            assertTrue(
                    connections(readerCounters, Gauge.READER_QUEUE_PAIRS) <= 3,
                    connections(readerCounters, Gauge.READER_QUEUE_PAIRS) + " connections");
        }
        assertEquals(8, readerCounters.get(Counter.CONNECTIONS));
    }

    @Test
    void when_all_connections_are_busy_a_further_owner_is_read_over_tcp() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode other = nodes.open("3", new Counters());
        RdmaNode reader = nodes.open(READER, readerCounters, "connections.max", "1", "read.timeout", "2s");
        nodes.publish(owner, 0, 11, 10);
        byte[] file = nodes.publish(other, 1, 12, 10);
        TestNodes.inject("read stall");
        FetchedBlocks stalled = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0);
        FetchedBlocks.fetch(reader, 1, "3", new long[] {12}, 0)
                .awaitAll()
                .assertFellBack(0, FallbackReason.CONNECTION_CAP);
        stalled.awaitAll().assertFellBack(0, FallbackReason.READ_TIMEOUT);
        TestNodes.clearFaults();
        FetchedBlocks.fetch(reader, 1, "3", new long[] {12}, 0).awaitAll().assertRead(0, file, 0, 10);
    }

    @Test
    void a_peer_that_failed_is_tried_again_after_its_quarantine() throws Exception {
        RdmaNode owner = nodes.open(OWNER, ownerCounters);
        RdmaNode reader = nodes.open(READER, readerCounters, "quarantine", "300ms");
        byte[] file = nodes.publish(owner, 0, 11, 10);
        TestNodes.inject("connect when 1 reject");
        fetch(reader).assertFellBack(0, FallbackReason.CONNECT_REJECTED);
        fetch(reader).assertFellBack(0, FallbackReason.QUARANTINED);
        await().until(() -> fetch(reader).isRead(0));
        fetch(reader).assertRead(0, file, 0, 10);
    }
}
