package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.verbs.VerbsEndpoint;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.net.Socket;

/** The other side of {@link PeerVisit}: serves until the process is ended. */
final class PeerServer {

    private final PeerHandshake handshake;
    private final byte[] secret;
    private final PrintStream out;

    PeerServer(byte[] secret, PrintStream out) {
        this.handshake = new PeerHandshake(secret);
        this.secret = secret;
        this.out = out;
    }

    /** @param port to listen on for TCP; 0 lets the system choose */
    void run(VerbsEndpoint endpoint, LocalAddress local, int port) throws IOException, VerbsException {
        try (ReadProbe probe = new ReadProbe("doctor", endpoint, local, secret);
                ServerSocket listener = new ServerSocket(port)) {
            out.printf(
                    "Serving on port %d, RDMA address %s. On the other host: rdma-shuffle doctor --peer %s:%d --secret-file FILE%n",
                    listener.getLocalPort(),
                    local.address().getHostAddress(),
                    local.address().getHostAddress(),
                    listener.getLocalPort());
            while (true) {
                serveOne(listener.accept(), probe.target());
            }
        }
    }

    private void serveOne(Socket visitor, ReadProbe.Target target) {
        try (visitor) {
            handshake.serve(visitor, target);
            out.printf("%s: let in%n", visitor.getInetAddress().getHostAddress());
        } catch (IOException e) {
            out.printf("%s: refused, %s%n", visitor.getInetAddress().getHostAddress(), e.getMessage());
        }
    }
}
