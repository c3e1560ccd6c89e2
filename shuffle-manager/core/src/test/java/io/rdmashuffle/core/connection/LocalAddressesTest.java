package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.config.Subnet;
import java.io.IOException;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LocalAddressesTest {

    private static final String PREFIX = "spark.shuffle.rdma.";

    /** A host with a management network, two InfiniBand ports and IPv6. */
    private static final List<LocalAddress> HOST = List.of(
            local("lo", "127.0.0.1/8"),
            local("lo", "::1/128"),
            local("ib0", "fe80::202:c903:0:1/64"),
            local("ib0", "fd00:9::1/64"),
            local("ib0", "10.9.0.1/16"),
            local("eth0", "192.168.1.7/24"),
            local("ib1", "10.10.0.1/16"),
            local("eth1", "fe80::1/64"));

    private static LocalAddress local(String name, String cidr) {
        Subnet subnet = Subnet.parse(cidr);
        return new LocalAddress(subnet.address(), name, subnet);
    }

    /** @param settings name, value, name, value … */
    private static List<String> choose(String... settings) throws IOException {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < settings.length; i += 2) {
            given.put(PREFIX + settings[i], settings[i + 1]);
        }
        List<InetAddress> own = List.of(InetAddress.getByName("192.168.1.7"));
        return LocalAddresses.bestFirst(HOST, own, new RdmaConfig(PREFIX, given)).stream()
                .map(local -> local.address().getHostAddress())
                .toList();
    }

    private static String refusal(String... settings) {
        return assertThrows(IOException.class, () -> choose(settings)).getMessage();
    }

    @Test
    void without_settings_all_but_scoped_addresses_are_used_own_name_first_and_loopback_last() throws Exception {
        assertEquals(
                List.of("192.168.1.7", "10.9.0.1", "10.10.0.1", "fd00:9:0:0:0:0:0:1", "127.0.0.1", "0:0:0:0:0:0:0:1"),
                choose());
    }

    @Test
    void interfaces_and_subnets_choose() throws Exception {
        assertEquals(List.of("10.9.0.1", "10.10.0.1", "fd00:9:0:0:0:0:0:1"), choose("listen.interfaces", "ib0, ib1"));
        assertEquals(List.of("10.10.0.1"), choose("listen.subnets", "10.10.0.0/16"));
        assertEquals(List.of("fd00:9:0:0:0:0:0:1"), choose("listen.subnets", "fd00::/8"));
        assertEquals(List.of("10.9.0.1"), choose("listen.subnets", "10.0.0.0/8", "listen.interfaces", "ib0"));
    }

    @Test
    void a_wrong_interface_is_named_with_what_exists() {
        String message = refusal("listen.interfaces", "ib0,ib9");
        assertTrue(message.startsWith(PREFIX + "listen.interfaces=ib9: no interface of this name"), message);
        assertTrue(message.contains("eth0 192.168.1.7") && message.contains("ib1 10.10.0.1"), message);
    }

    @Test
    void a_wrong_subnet_is_named_with_what_exists() {
        String message = refusal("listen.subnets", "172.16.0.0/12");
        assertTrue(message.startsWith(PREFIX + "listen.subnets=172.16.0.0/12: no address"), message);
        assertTrue(message.contains("ib0 10.9.0.1"), message);
    }

    @Test
    void settings_that_exclude_each_other_are_named_both() {
        String message = refusal("listen.interfaces", "ib0", "listen.subnets", "192.168.1.0/24");
        assertTrue(message.contains("listen.interfaces") && message.contains("listen.subnets"), message);
    }

    @Test
    void scoped_link_local_addresses_are_refused_with_the_cause() {
        assertTrue(refusal("listen.subnets", "fe80::/10").contains("link-local"));
        assertTrue(refusal("listen.interfaces", "eth1").contains("link-local"));
    }

    @Test
    void this_host_has_addresses_and_none_is_offered_twice() throws Exception {
        List<LocalAddress> found = LocalAddresses.bestFirst("127.0.0.1", new RdmaConfig(PREFIX, Map.of()));
        assertEquals(found.size(), found.stream().distinct().count());
        assertTrue(found.stream().anyMatch(local -> local.address().isLoopbackAddress()));
    }
}
