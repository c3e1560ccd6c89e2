package io.rdmashuffle.core.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;

/**
 * A range of addresses that share their first bits, as CIDR writes it (RFC 4632, RFC 4291 section 2.3).
 *
 * @param address any address in it
 * @param prefixBits how many bits they share: 0 to 32, or 128 for IPv6
 */
public record Subnet(InetAddress address, int prefixBits) {

    /** What is written like an address, so that no text is ever looked up as a host name. */
    private static final Pattern LITERAL = Pattern.compile("[0-9.]+|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*");

    public Subnet {
        if (prefixBits < 0 || prefixBits > 8 * address.getAddress().length) {
            throw new IllegalArgumentException("a prefix of " + prefixBits + " bits");
        }
    }

    /**
     * @param text such as 10.9.0.0/16 or fd00:9::/64; an address alone is itself only
     * @throws IllegalArgumentException when it is none
     */
    public static Subnet parse(String text) {
        String[] parts = text.split("/", -1);
        if (parts.length > 2 || !LITERAL.matcher(parts[0]).matches()) {
            throw new IllegalArgumentException("'" + text + "' is no subnet");
        }
        try {
            InetAddress address = InetAddress.getByName(parts[0]);
            int bits = 8 * address.getAddress().length;
            return new Subnet(address, parts.length == 2 ? Integer.parseInt(parts[1]) : bits);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("'" + text + "' is no subnet", e);
        }
    }

    /** Whether an address lies in it; never for one of the other family. */
    public boolean contains(InetAddress other) {
        byte[] mine = address.getAddress();
        byte[] theirs = other.getAddress();
        if (mine.length != theirs.length) {
            return false;
        }
        for (int bit = 0; bit < prefixBits; bit++) {
            int mask = 0x80 >> bit % 8;
            if (((mine[bit / 8] ^ theirs[bit / 8]) & mask) != 0) {
                return false;
            }
        }
        return true;
    }

    @Override
    public String toString() {
        return address.getHostAddress() + "/" + prefixBits;
    }
}
