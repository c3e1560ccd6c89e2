package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.verbs.Rdma;
import io.rdmashuffle.verbs.RdmaDevice;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The host under examination: what the checks look at, and what one of them leaves for the next. Owns the endpoint that it opens.
 * One thread.
 */
final class Examination implements AutoCloseable {

    private static final int BACKLOG = 16;
    static final int CQ_ENTRIES = 1024;

    private final Path root;
    private final List<LocalAddress> candidates;
    private final EngineSettings settings;
    private final Map<LocalAddress, String> deviceByAddress = new LinkedHashMap<>();
    private final List<ProbedDirectory> registrations = new ArrayList<>();
    private VerbsEndpoint endpoint;
    private LocalAddress local;
    private VerbsException noEndpoint;
    private boolean looked;

    /**
     * @param root directory that holds sys, dev and proc
     * @param candidates local addresses that may be used, best first
     */
    Examination(Path root, List<LocalAddress> candidates, EngineSettings settings) {
        this.root = root;
        this.candidates = candidates;
        this.settings = settings;
    }

    /** The path of a file such as sys/class/infiniband. */
    Path file(String path) {
        return root.resolve(path);
    }

    EngineSettings settings() {
        return settings;
    }

    List<RdmaDevice> devices() {
        return Rdma.devices();
    }

    /** The endpoint on the first address that has a device; null when there is none, see {@link #noEndpoint}. */
    VerbsEndpoint endpoint() {
        if (!looked && !devices().isEmpty()) {
            looked = true;
            candidates.forEach(this::tryAddress);
        }
        return endpoint;
    }

    /** The endpoint's own address; null without an endpoint. */
    LocalAddress local() {
        return local;
    }

    /** Why the address that would have been best has no endpoint. */
    VerbsException noEndpoint() {
        return noEndpoint;
    }

    /** All addresses with a device, the one in use first. */
    Map<LocalAddress, String> deviceByAddress() {
        return deviceByAddress;
    }

    List<ProbedDirectory> registrations() {
        return registrations;
    }

    @Override
    public void close() {
        if (endpoint != null) {
            endpoint.close();
        }
    }

    private void tryAddress(LocalAddress candidate) {
        try {
            VerbsEndpoint opened = VerbsEndpoint.open(candidate.address(), BACKLOG, CQ_ENTRIES);
            deviceByAddress.put(candidate, opened.device().name());
            if (endpoint == null) {
                endpoint = opened;
                local = candidate;
            } else {
                opened.close();
            }
        } catch (VerbsException e) {
            noEndpoint = noEndpoint == null ? e : noEndpoint;
        }
    }
}
