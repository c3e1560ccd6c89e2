package io.rdmashuffle.verbs;

import java.nio.file.Path;

/**
 * Run in a JVM of its own: serves one file until it is killed, or until a peer disconnects when told to. Prints
 * "serving port address rkey" once ready.
 */
final class FileServer {
    private FileServer() {}

    /** @param args the file, then "once" or "forever" */
    public static void main(String[] args) throws VerbsException {
        boolean once = args[1].equals("once");
        try (VerbsPeer peer = new VerbsPeer();
                MappedFile file = MappedFile.map(Path.of(args[0]), MappedFile.Mode.READ_WRITE);
                MemoryRegion region = peer.endpoint.register(file.address(), file.lengthBytes(), Access.REMOTE_READ)) {
            int port = peer.endpoint.listenAddress().getPort();
            System.out.println("serving " + port + " " + region.address() + " " + region.rkey());
            while (!once || peer.cmEvents.stream().noneMatch(e -> e.type() == CmEventType.DISCONNECTED)) {
                peer.poll(100);
            }
        }
        System.out.println("done");
    }
}
