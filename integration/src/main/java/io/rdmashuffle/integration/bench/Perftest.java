package io.rdmashuffle.integration.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** The READ tests of perftest, server and client on this machine, connected by rdma_cm as ours are. */
final class Perftest {

    private static final double MIB = 1 << 20; // what perftest calls MB
    private static final int TIMEOUT_SECONDS = 120;
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

    /** READs per second; the rate is printed with two digits, so that of small READs comes from the messages. */
    double readsPerSecond(int bytes, int depth, long reads) throws IOException, InterruptedException {
        // #bytes #iterations peak average message-rate
        String[] columns = run("ib_read_bw", bytes, "-t", "" + depth, "-n", "" + Math.max(reads, depth));
        double average = Double.parseDouble(columns[3]);
        return bytes < 4096 ? Double.parseDouble(columns[4]) * 1e6 : average * MIB / bytes;
    }

    /** Typical time of one READ in microseconds, which perftest takes from the middle of all. */
    double medianMicros(int bytes, int reads) throws IOException, InterruptedException {
        // #bytes #iterations least greatest typical …
        return Double.parseDouble(run("ib_read_lat", bytes, "-n", "" + reads)[4]);
    }

    /** The columns of the one line of figures that the client prints. */
    private String[] run(String tool, int bytes, String... more) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(tool, "-R", "-F", "-s", "" + bytes, "-p", "" + port++));
        command.addAll(List.of(more));
        Process server = start(command, "-d", ownerDevice);
        try {
            awaitReady(server);
            String output = client(command, server);
            for (String line : output.lines().map(String::strip).toList()) {
                if (line.matches(bytes + "\\s+\\d+\\s.*")) {
                    return line.split("\\s+");
                }
            }
            throw new IOException(tool + " gave no figures: " + output.strip());
        } finally {
            server.destroy();
            server.waitFor();
        }
    }

    /** The server says that it waits shortly before it does: a client that comes too early is started again. */
    private String client(List<String> command, Process server) throws IOException, InterruptedException {
        String output = "";
        for (int attempt = 0; attempt < ATTEMPTS && server.isAlive(); attempt++) {
            Process client = start(command, "-d", readerDevice, ownerAddress.getHostAddress());
            try {
                output = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
                if (client.waitFor() == 0) {
                    return output;
                }
            } finally {
                client.destroy();
            }
        }
        throw new IOException("perftest failed: " + output.strip());
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
