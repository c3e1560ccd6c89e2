package io.rdmashuffle.core.connection;

import java.net.InetSocketAddress;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A process whose map outputs can be read.
 *
 * @param executorId the engine's name of the process
 * @param incarnation random identity of this one life of the process: another life on the same host and port has another
 * @param addresses where its RDMA listeners are, all of one device, best first; at least one
 */
public record Owner(String executorId, long incarnation, List<InetSocketAddress> addresses) {

    public Owner {
        if (addresses.isEmpty()) {
            throw new IllegalArgumentException("an owner without an address");
        }
        addresses = List.copyOf(addresses);
    }

    /** How logs name it. */
    public String label() {
        return addresses.stream()
                .map(address -> address.getAddress().getHostAddress() + ":" + address.getPort())
                .collect(Collectors.joining(", ", "executor " + executorId + " at ", ""));
    }
}
