package io.rdmashuffle.core.connection;

import java.net.InetSocketAddress;

/**
 * A process whose map outputs can be read.
 *
 * @param executorId the engine's name of the process
 * @param incarnation random identity of this one life of the process: another life on the same host and port has another
 * @param address where its RDMA listener is
 */
public record Owner(String executorId, long incarnation, InetSocketAddress address) {

    /** How logs name it. */
    public String label() {
        return "executor " + executorId + " at " + address.getAddress().getHostAddress() + ":" + address.getPort();
    }
}
