package io.rdmashuffle.core.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SubnetTest {

    private static boolean contains(String subnet, String address) {
        return Subnet.parse(subnet).contains(Subnet.parse(address).address());
    }

    @Test
    void an_address_is_in_it_when_its_first_bits_agree() {
        assertTrue(contains("10.9.0.0/16", "10.9.255.1"));
        assertFalse(contains("10.9.0.0/16", "10.8.255.1"));
        assertTrue(contains("10.9.0.128/25", "10.9.0.129"));
        assertFalse(contains("10.9.0.128/25", "10.9.0.127"));
        assertTrue(contains("0.0.0.0/0", "1.2.3.4"));
        assertTrue(contains("fd00:9::/63", "fd00:9:0:1::5"));
        assertFalse(contains("fd00:9::/63", "fd00:9:0:2::5"));
        assertTrue(contains("10.9.0.1", "10.9.0.1"));
        assertFalse(contains("10.9.0.1", "10.9.0.2"));
    }

    @Test
    void the_families_do_not_mix() {
        assertFalse(contains("::/0", "10.9.0.1"));
        assertFalse(contains("0.0.0.0/0", "fd00::1"));
    }

    @Test
    void what_is_no_subnet_is_refused_and_never_looked_up() {
        for (String bad : new String[] {
            "",
            "localhost",
            "10.9.0.0/33",
            "fd00::/129",
            "10.9.0.0/-1",
            "10.9.0.0/16/1",
            "10.9.0.0/x",
            "10.9.0.256",
            "beef/8",
            "10.9.0.0/"
        }) {
            assertThrows(IllegalArgumentException.class, () -> Subnet.parse(bad), bad);
        }
    }

    @Test
    void it_reads_as_it_was_written() {
        assertEquals("10.9.0.0/16", Subnet.parse("10.9.0.0/16").toString());
    }
}
