package io.rdmashuffle.core.doctor;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** The command line of the doctor. The secret is read here and appears on no command line. */
final class DoctorOptions {

    static final String HELP = """
            doctor [OPTION…]   says whether this host can do RDMA shuffle, and why not, and what helps

              --json FILE             the findings for programs
              --dir DIR               a local directory to try, repeatable (default: those Spark would use)
              --address IP            the local address to use (default: the first one with an RDMA device)
              --properties-file FILE  Spark's settings (default: spark-defaults.conf of SPARK_CONF_DIR or SPARK_HOME)

            Two hosts, one READ, with the same secret of 16 characters or more on both:
              --serve                 after the checks, serve until ended
              --port N                …on this TCP port (default 18516; 0: any)
              --peer HOST:PORT        after the checks, read from the doctor that serves there
              --secret-file FILE      where the secret stands; - is standard input

            Exit code: 0 usable, 3 not usable (TCP will be used), 1 the doctor itself failed, 2 wrong usage
            """;

    private static final int DEFAULT_PORT = 18516;
    private static final int LEAST_SECRET_BYTES = 16;

    private boolean help;
    private boolean serve;
    private Path json;
    private Path properties;
    private final List<Path> directories = new ArrayList<>();
    private InetAddress address;
    private InetSocketAddress peer;
    private int port = DEFAULT_PORT;
    private byte[] secret;

    private DoctorOptions() {}

    /** @throws IllegalArgumentException for a wrong command line */
    static DoctorOptions parse(List<String> arguments) throws IOException {
        DoctorOptions options = new DoctorOptions();
        Iterator<String> rest = arguments.iterator();
        while (rest.hasNext()) {
            options.take(rest.next(), rest);
        }
        if ((options.serve || options.peer != null) && options.secret == null && !options.help) {
            throw new IllegalArgumentException("--serve and --peer want --secret-file");
        }
        return options;
    }

    boolean help() {
        return help;
    }

    boolean serve() {
        return serve;
    }

    /** Null when not wanted. */
    Path json() {
        return json;
    }

    /** Null for the engine's own. */
    Path properties() {
        return properties;
    }

    List<Path> directories() {
        return directories;
    }

    /** Null for the best. */
    InetAddress address() {
        return address;
    }

    /** Null for none. */
    InetSocketAddress peer() {
        return peer;
    }

    int port() {
        return port;
    }

    byte[] secret() {
        return secret;
    }

    private void take(String option, Iterator<String> rest) throws IOException {
        switch (option) {
            case "--help", "-h" -> help = true;
            case "--serve" -> serve = true;
            case "--json" -> json = Path.of(value(option, rest));
            case "--properties-file" -> properties = Path.of(value(option, rest));
            case "--dir" -> directories.add(Path.of(value(option, rest)));
            case "--address" -> address = address(value(option, rest));
            case "--peer" -> peer = peer(value(option, rest));
            case "--port" -> port = port(value(option, rest));
            case "--secret-file" -> secret = secret(value(option, rest));
            default -> throw new IllegalArgumentException("unknown option " + option);
        }
    }

    private static String value(String option, Iterator<String> rest) {
        if (!rest.hasNext()) {
            throw new IllegalArgumentException(option + " wants a value");
        }
        return rest.next();
    }

    private static InetAddress address(String text) {
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("unknown address " + text, e);
        }
    }

    private static InetSocketAddress peer(String text) {
        int colon = text.lastIndexOf(':');
        if (colon < 1) {
            throw new IllegalArgumentException("--peer wants HOST:PORT, not " + text);
        }
        return new InetSocketAddress(address(text.substring(0, colon)), port(text.substring(colon + 1)));
    }

    private static int port(String text) {
        if (!text.matches("\\d{1,5}") || Integer.parseInt(text) > 65535) {
            throw new IllegalArgumentException("a port is 0 to 65535, not " + text);
        }
        return Integer.parseInt(text);
    }

    private static byte[] secret(String file) throws IOException {
        byte[] bytes = file.equals("-") ? System.in.readAllBytes() : Files.readAllBytes(Path.of(file));
        byte[] secret = new String(bytes, StandardCharsets.UTF_8).strip().getBytes(StandardCharsets.UTF_8);
        if (secret.length < LEAST_SECRET_BYTES) {
            throw new IllegalArgumentException("the secret has less than " + LEAST_SECRET_BYTES + " characters");
        }
        return secret;
    }
}
