package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.config.Subnet;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;

/** Which addresses of this host may be used for RDMA: those the settings choose, or else all. */
public final class LocalAddresses {

    private LocalAddresses() {}

    /**
     * The addresses to look for an RDMA device at, best first: those of the engine's own host name, then the others; IPv4 before
     * IPv6, as engines prefer it; loopback last, since rdma_cm would take any device for it.
     *
     * @param host what the engine calls this host
     * @throws IOException when the settings choose nothing: says what there is
     */
    public static List<LocalAddress> bestFirst(String host, RdmaConfig config) throws IOException {
        return bestFirst(LocalAddress.ofThisHost(), List.of(InetAddress.getAllByName(host)), config);
    }

    static List<LocalAddress> bestFirst(List<LocalAddress> all, List<InetAddress> own, RdmaConfig config)
            throws IOException {
        List<String> interfaces = config.get(RdmaConfig.LISTEN_INTERFACES);
        List<Subnet> subnets = config.get(RdmaConfig.LISTEN_SUBNETS);
        String byInterfaces = config.nameOf(RdmaConfig.LISTEN_INTERFACES) + "=";
        String bySubnets = config.nameOf(RdmaConfig.LISTEN_SUBNETS) + "=";
        for (String name : interfaces) {
            if (all.stream().noneMatch(local -> local.interfaceName().equals(name))) {
                throw nothing(byInterfaces + name + ": no interface of this name has an address", all);
            }
        }
        for (Subnet subnet : subnets) {
            if (all.stream().noneMatch(local -> subnet.contains(local.address()))) {
                throw nothing(bySubnets + subnet + ": no address is in this subnet", all);
            }
        }
        List<LocalAddress> chosen = all.stream()
                .filter(local -> interfaces.isEmpty() || interfaces.contains(local.interfaceName()))
                .filter(local -> subnets.isEmpty() || subnets.stream().anyMatch(one -> one.contains(local.address())))
                .toList();
        if (chosen.isEmpty()) {
            throw nothing(byInterfaces + interfaces + " and " + bySubnets + subnets + ": no address is in both", all);
        }
        List<LocalAddress> usable = chosen.stream()
                .filter(local -> !local.isScoped())
                .distinct()
                .sorted(Comparator.comparing(
                                (LocalAddress local) -> local.address().isLoopbackAddress())
                        .thenComparing(local -> !own.contains(local.address()))
                        .thenComparing(local -> local.address() instanceof Inet6Address))
                .toList();
        if (usable.isEmpty()) {
            throw nothing(
                    "only link-local addresses are chosen, which mean nothing on another host: give one of their interfaces"
                            + " a global or unique local address",
                    all);
        }
        return usable;
    }

    private static IOException nothing(String cause, List<LocalAddress> all) {
        return new IOException(cause + "; this host has "
                + all.stream().map(LocalAddress::toString).collect(Collectors.joining(", ")));
    }
}
