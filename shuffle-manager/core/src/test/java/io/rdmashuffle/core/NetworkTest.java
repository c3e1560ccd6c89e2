package io.rdmashuffle.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.metrics.Counters;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What only a kernel's network shows; the lab names its addresses in the environment. */
@Timeout(240)
class NetworkTest extends NodeTest {

    /** An emulated host on a busy machine needs tens of seconds for its first connection. */
    private static final Duration PATIENCE = Duration.ofSeconds(70);

    private static String address(String variable) {
        String address = System.getenv(variable);
        assumeTrue(address != null, "no " + variable + " here: bin/test lab-faults brings its own");
        return address;
    }

    private RdmaNode openAt(String address, String executorId) throws Exception {
        return nodes.openAt(List.of(address), executorId, new Counters(), "connect.timeout", "60s");
    }

    private void assertReads(RdmaNode owner, String ownerId, RdmaNode reader, int shuffleId) throws Exception {
        byte[] file = nodes.publish(owner, shuffleId, 11, 10, 100_000);
        FetchedBlocks.fetch(reader, shuffleId, ownerId, new long[] {11, 11}, 0, 1)
                .awaitAll(PATIENCE)
                .assertRead(1, file, 10, 100_010);
    }

    @Test
    void two_hosts_with_a_device_each_read_from_each_other() throws Exception {
        RdmaNode one = openAt(address("LAB_HOST_A"), OWNER);
        RdmaNode other = openAt(address("LAB_HOST_B"), READER);
        assertNotEquals(one.device(), other.device());
        assertReads(one, OWNER, other, 0);
        assertReads(other, READER, one, 1);
    }

    @Test
    void ipv6_works() throws Exception {
        assumeTrue(System.getenv("LAB_HOST_B") == null, "what two hosts send is routed by IPv4 only");
        RdmaNode owner = openAt(address("LAB_HOST_A6"), OWNER);
        assertReads(owner, OWNER, openAt(address("LAB_HOST_A6"), READER), 0);
    }

    @Test
    void an_interface_without_a_device_is_passed_over() throws Exception {
        String plain = address("LAB_PLAIN");
        RdmaNode node = nodes.openOnHost(plain, OWNER, ownerCounters);
        List<InetAddress> announced =
                node.addresses().stream().map(address -> address.getAddress()).toList();
        assertEquals(
                List.of(InetAddress.getByName(address("LAB_HOST_A")), InetAddress.getByName(address("LAB_HOST_A6"))),
                announced);
        assertReads(node, OWNER, nodes.openOnHost(plain, READER, readerCounters), 0);
        RdmaUnavailableException refusal = assertThrows(
                RdmaUnavailableException.class,
                () -> nodes.openOnHost(plain, "3", new Counters(), "listen.subnets", plain + "/24"));
        assertTrue(refusal.getMessage().contains(plain), refusal.getMessage());
    }
}
