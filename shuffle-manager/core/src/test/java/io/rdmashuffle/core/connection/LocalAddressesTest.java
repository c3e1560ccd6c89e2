package io.rdmashuffle.core.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LocalAddressesTest {

    @Test
    void loopback_comes_last_even_when_the_executor_is_named_by_it() throws Exception {
        List<InetAddress> addresses = LocalAddresses.bestFirst("127.0.0.1");
        assertTrue(addresses.contains(InetAddress.getByName("127.0.0.1")));
        boolean seenLoopback = false;
        for (InetAddress address : addresses) {
            assertFalse(seenLoopback && !address.isLoopbackAddress(), addresses.toString());
            seenLoopback |= address.isLoopbackAddress();
        }
    }

    @Test
    void no_address_comes_twice_and_link_local_ones_are_left_out() throws Exception {
        List<InetAddress> addresses = LocalAddresses.bestFirst("127.0.0.1");
        assertEquals(addresses.size(), addresses.stream().distinct().count());
        assertTrue(addresses.stream().noneMatch(a -> a instanceof java.net.Inet6Address && a.isLinkLocalAddress()));
    }
}
