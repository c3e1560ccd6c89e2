package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.doctor.Check.Need;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;

/** Reads once from the doctor that serves on another host, step by step: the first step that fails is named. One thread. */
final class PeerVisit {

    private static final int CONNECT_TIMEOUT_MILLIS = 10_000;
    private static final String NOT_REACHED = "not reached";

    private final InetSocketAddress peer;
    private final byte[] secret;
    private Socket socket;
    private ReadProbe.Target target;
    private String measured; // by the READs; null until then
    private ReadProbe.ReadFailure failure; // of a READ on a connection that stood

    PeerVisit(InetSocketAddress peer, byte[] secret) {
        this.peer = peer;
        this.secret = secret;
    }

    /** The steps in order. */
    List<Check> checks() {
        return List.of(
                new Check("peer_tcp", Need.ENDPOINT, this::tcp),
                new Check("peer_secret", Need.ENDPOINT, this::secret),
                new Check("peer_connection", Need.ENDPOINT, this::connection),
                new Check("peer_read", Need.ENDPOINT, this::read));
    }

    private Finding tcp(String name, Examination host) {
        Socket opened = new Socket();
        try {
            opened.connect(peer, CONNECT_TIMEOUT_MILLIS);
            socket = opened;
            return Finding.ok(name, peer + " answers");
        } catch (IOException e) {
            return Finding.fail(
                    name,
                    peer + ": " + e.getMessage(),
                    "start 'rdma-shuffle doctor --serve' there, with this port, and let TCP to it pass");
        }
    }

    private Finding secret(String name, Examination host) {
        if (socket == null) {
            return Finding.skip(name, NOT_REACHED);
        }
        try (Socket open = socket) {
            target = new PeerHandshake(secret).ask(open);
            return Finding.ok(
                    name,
                    "both have it; its RDMA address is "
                            + target.owner().addresses().get(0));
        } catch (IOException e) {
            return Finding.fail(
                    name,
                    e.getMessage() == null ? "the connection was closed" : e.getMessage(),
                    PathChecks.remedy(FallbackReason.CONNECT_REJECTED));
        }
    }

    private Finding connection(String name, Examination host) {
        if (target == null) {
            return Finding.skip(name, NOT_REACHED);
        }
        try (ReadProbe probe = new ReadProbe("visitor", host.endpoint(), host.local(), secret)) {
            measured = PathChecks.measure(probe, target);
        } catch (ReadProbe.ReadFailure e) {
            if (isConnecting(e.reason())) {
                return Finding.fail(
                        name, "from " + host.local() + ": " + e.getMessage(), PathChecks.remedy(e.reason()));
            }
            failure = e;
        } catch (VerbsException e) {
            return Finding.fail(name, e.problem(), e.remedy());
        }
        return Finding.ok(name, "from " + host.local() + ", authenticated");
    }

    private Finding read(String name, Examination host) {
        if (measured == null && failure == null) {
            return Finding.skip(name, NOT_REACHED);
        }
        return failure == null
                ? Finding.ok(name, measured)
                : Finding.fail(name, failure.getMessage(), PathChecks.remedy(failure.reason()));
    }

    private static boolean isConnecting(FallbackReason reason) {
        return reason == FallbackReason.CONNECT_FAILED || reason == FallbackReason.CONNECT_REJECTED;
    }
}
