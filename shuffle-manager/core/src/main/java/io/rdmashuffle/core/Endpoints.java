package io.rdmashuffle.core;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.SinkPool;
import io.rdmashuffle.verbs.HostLimits;
import io.rdmashuffle.verbs.Rdma;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.util.List;
import java.util.StringJoiner;

/** Opens the device of this host that can be used, or says why none can. Any thread. */
public final class Endpoints {

    private Endpoints() {}

    /**
     * Opens the first of the addresses that has an RDMA device and tries a registration there, so that RLIMIT_MEMLOCK shows now
     * rather than in the first fetch.
     *
     * @param candidates addresses that may be used, best first
     * @param backlog connection requests that may wait
     * @param cqEntries at least the sum of the send queue depths of all connections
     * @throws RdmaUnavailableException with one line for people; nothing is left behind then
     */
    public static VerbsEndpoint open(List<LocalAddress> candidates, int backlog, int cqEntries)
            throws RdmaUnavailableException {
        if (!Rdma.isAvailable()) {
            throw new RdmaUnavailableException(Rdma.unavailabilityCause(), null);
        }
        VerbsEndpoint endpoint = openFirst(candidates, backlog, cqEntries);
        try {
            SinkPool probe = new SinkPool(endpoint, new PinnedBudget(1 << 20), () -> {});
            probe.tryAllocate(1).release();
            probe.close();
            return endpoint;
        } catch (VerbsException e) {
            endpoint.close();
            throw new RdmaUnavailableException(e.getMessage(), e);
        }
    }

    /** Map outputs and sinks share what may be locked; each gets half at most. */
    public static long withinMemlock(long bytes) {
        return HostLimits.memlockExempt() ? bytes : Math.min(bytes, HostLimits.memlockSoftBytes() / 2);
    }

    private static VerbsEndpoint openFirst(List<LocalAddress> candidates, int backlog, int cqEntries)
            throws RdmaUnavailableException {
        StringJoiner tried = new StringJoiner("; ");
        for (LocalAddress candidate : candidates) {
            try {
                return VerbsEndpoint.open(candidate.address(), backlog, cqEntries);
            } catch (VerbsException e) {
                tried.add(candidate + ": " + e.getMessage());
            }
        }
        throw new RdmaUnavailableException(
                "no chosen address of this host has an RDMA device (" + tried
                        + "); give one of its interfaces an address",
                null);
    }
}
