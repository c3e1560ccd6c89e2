package io.rdmashuffle.core;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one device of a process and where it can be reached: memory is registered with one device, so all addresses are this device's.
 * The maker closes the endpoint.
 *
 * @param locals our addresses on the device, best first
 * @param announced where peers connect to, one for each of them
 */
public record Listening(VerbsEndpoint endpoint, List<LocalAddress> locals, List<InetSocketAddress> announced) {

    private static final Logger LOG = LoggerFactory.getLogger(Listening.class);
    /** Each executor may come at once; Linux takes no more unless told (net.rdma_ucm.max_backlog). */
    private static final int BACKLOG = 1024;

    private static final int MAX_ADDRESSES = 16; // of an endpoint

    /**
     * Opens the device of the first address that has one, and listens on its other addresses too; on loopback only if there is nothing
     * else.
     *
     * @param candidates addresses that may be used, best first
     * @param cqEntries entries of the completion queue
     * @throws RdmaUnavailableException with one line for people; nothing is left behind then
     */
    public static Listening open(List<LocalAddress> candidates, int cqEntries) throws RdmaUnavailableException {
        VerbsEndpoint endpoint = Endpoints.open(candidates, BACKLOG, cqEntries);
        InetAddress first = endpoint.listenAddress().getAddress();
        List<LocalAddress> locals = new ArrayList<>();
        List<InetSocketAddress> announced = new ArrayList<>();
        for (LocalAddress candidate : candidates) {
            InetAddress address = candidate.address();
            boolean alike = address.isLoopbackAddress() == first.isLoopbackAddress();
            if (alike && locals.size() < MAX_ADDRESSES) {
                try {
                    announced.add(address.equals(first) ? endpoint.listenAddress() : endpoint.listen(address, BACKLOG));
                    locals.add(candidate);
                } catch (VerbsException e) {
                    LOG.debug("{} is not announced: {}", candidate, e.getMessage());
                }
            }
        }
        return new Listening(endpoint, List.copyOf(locals), List.copyOf(announced));
    }
}
