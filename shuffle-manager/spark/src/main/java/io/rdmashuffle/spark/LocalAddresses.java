package io.rdmashuffle.spark;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The addresses of this host, in the order in which to look for an RDMA device. */
final class LocalAddresses {

    private LocalAddresses() {}

    /**
     * The executor's own host first, then the other interfaces, loopback last: rdma_cm would take any device for loopback.
     *
     * @param host what Spark calls this executor's host
     */
    static List<InetAddress> bestFirst(String host) throws IOException {
        Set<InetAddress> found = new LinkedHashSet<>(List.of(InetAddress.getAllByName(host)));
        for (NetworkInterface netInterface : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (netInterface.isUp()) {
                found.addAll(Collections.list(netInterface.getInetAddresses()));
            }
        }
        List<InetAddress> ordered = new ArrayList<>(found);
        ordered.removeIf(address -> address instanceof Inet6Address && address.isLinkLocalAddress());
        ordered.sort((a, b) -> Boolean.compare(a.isLoopbackAddress(), b.isLoopbackAddress()));
        return ordered;
    }
}
