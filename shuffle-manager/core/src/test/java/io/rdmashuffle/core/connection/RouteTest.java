package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmashuffle.core.config.Subnet;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RouteTest {

    private static final List<LocalAddress> LOCALS = Stream.of("192.168.1.7/24", "10.9.0.1/16", "fd00:9::1/64")
            .map(Subnet::parse)
            .map(subnet -> new LocalAddress(subnet.address(), "ib0", subnet))
            .toList();

    private static List<String> routes(String... addresses) {
        List<InetSocketAddress> peers = Stream.of(addresses)
                .map(address -> new InetSocketAddress(Subnet.parse(address).address(), 7))
                .toList();
        return Route.bestFirst(LOCALS, new Owner("1", 2, peers)).stream()
                .map(route -> route.local().getHostAddress() + " -> "
                        + route.peer().getAddress().getHostAddress())
                .toList();
    }

    @Test
    void a_peer_in_a_subnet_of_ours_comes_before_one_behind_a_router() {
        assertEquals(List.of("10.9.0.1 -> 10.9.4.2", "192.168.1.7 -> 172.16.0.2"), routes("172.16.0.2", "10.9.4.2"));
    }

    @Test
    void otherwise_the_order_is_the_owners() {
        assertEquals(
                List.of(
                        "fd00:9:0:0:0:0:0:1 -> fd00:9:0:0:0:0:0:2",
                        "10.9.0.1 -> 10.9.0.2",
                        "192.168.1.7 -> 8.8.8.8",
                        "fd00:9:0:0:0:0:0:1 -> fd00:8:0:0:0:0:0:2"),
                routes("fd00:9::2", "8.8.8.8", "10.9.0.2", "fd00:8::2"));
    }

    @Test
    void addresses_that_mean_nothing_here_lead_nowhere() {
        assertEquals(List.of(), routes("fe80::2"));
        List<LocalAddress> onlyIpv4 = LOCALS.subList(0, 2);
        Owner owner = new Owner(
                "1", 2, List.of(new InetSocketAddress(Subnet.parse("fd00:9::2").address(), 7)));
        assertEquals(List.of(), Route.bestFirst(onlyIpv4, owner));
    }
}
