package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.verbs.VerbsException;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** {@code rdma-shuffle doctor}: examines this host, alone or together with another. */
public final class DoctorCommand {

    private static final int USABLE = 0;
    private static final int DOCTOR_FAILED = 1;
    private static final int MISUSE = 2;
    private static final int NOT_USABLE = 3;

    private DoctorCommand() {}

    /** Answers the exit code: 0 usable, 3 not usable, 1 the doctor itself failed, 2 wrong usage. */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) {
        try {
            DoctorOptions options = DoctorOptions.parse(arguments);
            if (options.help()) {
                out.print(DoctorOptions.HELP);
                return USABLE;
            }
            return examine(options, out);
        } catch (IllegalArgumentException e) {
            err.println("doctor: " + e.getMessage() + "; see doctor --help");
            return MISUSE;
        } catch (IOException | RuntimeException | LinkageError e) {
            err.println("doctor: failed: " + e);
            return DOCTOR_FAILED;
        }
    }

    private static int examine(DoctorOptions options, PrintStream out) throws IOException {
        EngineSettings settings = settings(options);
        Table table = new Table(out);
        table.title(hostName());
        try (Examination examination = new Examination(Path.of("/"), addresses(options, settings), settings)) {
            Stream<Check> checks = Doctor.checks();
            if (options.peer() != null) {
                checks = Stream.concat(checks, new PeerVisit(options.peer(), options.secret()).checks().stream());
            }
            Report report = Doctor.examine(examination, checks, table::row);
            table.closing(report);
            if (options.json() != null) {
                Files.writeString(options.json(), report.toJson() + "\n");
            }
            if (options.serve() && report.usable()) {
                serve(options, examination, out);
            }
            return report.usable() ? USABLE : NOT_USABLE;
        }
    }

    private static void serve(DoctorOptions options, Examination examination, PrintStream out) throws IOException {
        try {
            new PeerServer(options.secret(), out).run(examination.endpoint(), examination.local(), options.port());
        } catch (VerbsException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static EngineSettings settings(DoctorOptions options) throws IOException {
        EngineSettings found = options.properties() == null
                ? EngineSettings.ofThisHost(System.getenv())
                : EngineSettings.ofFile(options.properties(), System.getenv());
        return options.directories().isEmpty() ? found : found.withLocalDirectories(options.directories());
    }

    private static List<LocalAddress> addresses(DoctorOptions options, EngineSettings settings) throws IOException {
        if (options.address() == null) {
            return Doctor.candidates(hostName(), settings);
        }
        List<LocalAddress> chosen = LocalAddress.ofThisHost().stream()
                .filter(local -> local.address().equals(options.address()))
                .toList();
        if (chosen.isEmpty()) {
            throw new IllegalArgumentException(
                    "this host has no address " + options.address().getHostAddress());
        }
        return chosen;
    }

    /** A host that does not know its own name has its addresses all the same. */
    private static String hostName() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }
}
