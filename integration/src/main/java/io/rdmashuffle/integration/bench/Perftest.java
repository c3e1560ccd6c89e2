package io.rdmashuffle.integration.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The READ tests of perftest, server and client on this machine, connected by rdma_cm as ours are. */
final class Perftest {

    private static final double MIB = 1 << 20; // what perftest calls MB
    private static final int TIMEOUT_SECONDS = 60;
    private static final int ATTEMPTS = 5;
    private static final int FIRST_PORT = 18600;

    private final String ownerDevice;
    private final InetAddress ownerAddress;
    private final String readerDevice;
    private int port = FIRST_PORT;

    Perftest(String ownerDevice, InetAddress ownerAddress, String readerDevice) {
        this.ownerDevice = ownerDevice;
        this.ownerAddress = ownerAddress;
        this.readerDevice = readerDevice;
    }

    /**
     * READs per second, the last of a chain signaled, as ours; the rate is printed with two digits, so that of small READs comes from the
     * messages.
     */
    double readsPerSecond(int bytes, int depth, int chain, long reads) throws IOException, InterruptedException {
        long whole = (Math.max(reads, depth) + chain - 1) / chain * chain; // perftest takes no part of a chain
        // #bytes #iterations peak average message-rate
        String[] columns = run("ib_read_bw", bytes, "-t", "" + depth, "-l", "" + chain, "-n", "" + whole);
        double average = Double.parseDouble(columns[3]);
        return bytes < 4096 ? Double.parseDouble(columns[4]) * 1e6 : average * MIB / bytes;
    }

    /** Typical time of one READ in microseconds, which perftest takes from the middle of all. */
    double medianMicros(int bytes, int reads) throws IOException, InterruptedException {
        // #bytes #iterations least greatest typical …
        return Double.parseDouble(run("ib_read_lat", bytes, "-n", "" + reads)[4]);
    }

    /**
     * The columns of the one line of figures that the client prints. The server says that it waits shortly before it does, so a client may
     * come too early; on soft-RoCE a client has hung. Both are started again then.
     */
    private String[] run(String tool, int bytes, String... more) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(tool, "-R", "-F", "-s", "" + bytes));
        command.addAll(List.of(more));
        String output = "";
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            output = output(command, port++);
            for (String line : output.lines().map(String::strip).toList()) {
                if (line.matches(bytes + "\\s+\\d+\\s.*")) {
                    return line.split("\\s+");
                }
            }
        }
        throw new IOException(String.join(" ", command) + " gave no figures " + ATTEMPTS + " times, within "
                + TIMEOUT_SECONDS + " s each; the last time it said: " + output.strip());
    }

    /** What the client says, to its end. */
    private String output(List<String> command, int port) throws IOException, InterruptedException {
        Process server = start(command, "-p", "" + port, "-d", ownerDevice);
        try {
            awaitReady(server);
            Process client = start(command, "-p", "" + port, "-d", readerDevice, ownerAddress.getHostAddress());
            try {
                return new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            } finally {
                client.destroy();
            }
        } finally {
            server.destroy();
            server.waitFor();
        }
    }

    private static Process start(List<String> command, String... more) throws IOException {
        // line by line, or what it says before it waits would stay in its buffer; and it knows no time-out of its own
        List<String> whole = new ArrayList<>(List.of("stdbuf", "-oL", "timeout", "" + TIMEOUT_SECONDS));
        whole.addAll(command);
        whole.addAll(List.of(more));
        return new ProcessBuilder(whole).redirectErrorStream(true).start();
    }

    private static void awaitReady(Process server) throws IOException {
        StringBuilder said = new StringBuilder();
        int character;
        while ((character = server.getInputStream().read()) >= 0) {
            said.append((char) character);
            if (said.indexOf("Waiting for client") >= 0) {
                return;
            }
        }
        throw new IOException("perftest's server ended: " + said.toString().strip());
    }
}
