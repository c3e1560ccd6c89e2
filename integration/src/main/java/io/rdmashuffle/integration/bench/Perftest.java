package io.rdmashuffle.integration.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The READ tests of perftest, server and client on this machine, connected by rdma_cm as ours are. */
final class Perftest {

    private static final double MIB = 1 << 20; // what perftest calls MB
    private static final int TIMEOUT_SECONDS = 120;
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
            awaitListening(server);
            Process client = start(command, "-d", readerDevice, ownerAddress.getHostAddress());
            String output = output(client);
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

    private static Process start(List<String> command, String... more) throws IOException {
        List<String> whole = new ArrayList<>(command);
        whole.addAll(List.of(more));
        return new ProcessBuilder(whole).redirectErrorStream(true).start();
    }

    /** The server says so, in its own words, once it listens. */
    private static void awaitListening(Process server) throws IOException {
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

    private static String output(Process client) throws IOException, InterruptedException {
        try {
            String output = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (!client.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS) || client.exitValue() != 0) {
                throw new IOException("perftest failed: " + output.strip());
            }
            return output;
        } finally {
            client.destroy();
        }
    }
}
