package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.config.Subnet;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * An address of this host.
 *
 * @param interfaceName name of the network interface that has it, such as ib0
 * @param subnet the network it is in
 */
public record LocalAddress(InetAddress address, String interfaceName, Subnet subnet) {

    /** All addresses of interfaces that are up, in the system's order. */
    public static List<LocalAddress> ofThisHost() throws SocketException {
        List<LocalAddress> found = new ArrayList<>();
        for (NetworkInterface netInterface : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (netInterface.isUp()) {
                for (InterfaceAddress one : netInterface.getInterfaceAddresses()) {
                    found.add(new LocalAddress(
                            one.getAddress(),
                            netInterface.getName(),
                            new Subnet(one.getAddress(), one.getNetworkPrefixLength())));
                }
            }
        }
        return found;
    }

    /** Such an address means something only together with an interface of the host that uses it, so no peer can be told it. */
    boolean isScoped() {
        return address instanceof Inet6Address && address.isLinkLocalAddress();
    }

    @Override
    public String toString() {
        return interfaceName + " " + address.getHostAddress();
    }
}
