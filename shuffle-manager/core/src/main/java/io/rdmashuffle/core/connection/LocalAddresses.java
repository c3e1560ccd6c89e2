package io.rdmashuffle.core.connection;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The addresses of this host, in the order in which to look for an RDMA device. */
public final class LocalAddresses {

    private LocalAddresses() {}

    /**
     * The addresses of the named host first, then the other interfaces, IPv4 before IPv6 as Spark prefers too; loopback last: rdma_cm would
     * take any device for it.
     *
     * @param host what the engine calls this host
     */
    public static List<InetAddress> bestFirst(String host) throws IOException {
        List<InetAddress> own = List.of(InetAddress.getAllByName(host));
        Set<InetAddress> found = new LinkedHashSet<>(own);
        for (NetworkInterface netInterface : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (netInterface.isUp()) {
                found.addAll(Collections.list(netInterface.getInetAddresses()));
            }
        }
        List<InetAddress> ordered = new ArrayList<>(found);
        ordered.removeIf(address -> address instanceof Inet6Address && address.isLinkLocalAddress());
        ordered.sort(Comparator.comparing(InetAddress::isLoopbackAddress)
                .thenComparing(address -> !own.contains(address))
                .thenComparing(address -> address instanceof Inet6Address));
        return ordered;
    }
}
