package io.rdmashuffle.core.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two doctors, one READ: the step that fails is named. */
@Timeout(120)
class PeerVisitTest {

    private static final Pattern PORT = Pattern.compile("Serving on port (\\d+),.*");

    @TempDir
    Path scratch;

    private Process server;
    private Path secret;
    private String peer;

    @BeforeEach
    void a_doctor_serves() throws Exception {
        secret = Files.writeString(scratch.resolve("secret"), "correct horse battery\n");
        server = DoctorRun.start(
                List.of(), Map.of(), List.of(), "--serve", "--port", "0", "--secret-file", secret.toString());
        BufferedReader output =
                new BufferedReader(new InputStreamReader(server.getInputStream(), StandardCharsets.UTF_8));
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            Matcher serving = PORT.matcher(line);
            if (serving.matches()) {
                peer = "127.0.0.1:" + serving.group(1);
                return;
            }
        }
        throw new AssertionError("it does not serve");
    }

    @AfterEach
    void it_ends() throws Exception {
        server.destroyForcibly().waitFor();
    }

    @Test
    void with_the_same_secret_one_reads_from_the_other() throws Exception {
        DoctorRun run = visit(Map.of(), secret);
        assertEquals(0, run.exitCode(), run.output());
        run.assertRow("peer_tcp", "ok");
        run.assertRow("peer_secret", "ok");
        run.assertRow("peer_connection", "ok", "authenticated");
        run.assertRow("peer_read", "ok", "4096 bytes right");
    }

    @Test
    void another_secret_is_refused_before_rdma_is_tried() throws Exception {
        DoctorRun run = visit(Map.of(), Files.writeString(scratch.resolve("other"), "an altogether other one"));
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("peer_secret", "fail", "it refused our secret", "-> give both sides the same secret");
        run.assertRow("peer_connection", "skip");
    }

    @Test
    void a_port_where_nobody_serves_is_named() throws Exception {
        try (ServerSocket unused = new ServerSocket(0)) {
            peer = "127.0.0.1:" + unused.getLocalPort();
        }
        DoctorRun run = visit(Map.of(), secret);
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("peer_tcp", "fail", peer, "-> start 'rdma-shuffle doctor --serve'");
        run.assertRow("peer_read", "skip");
    }

    @Test
    void hosts_that_rdma_does_not_join_are_told_by_the_connection() throws Exception {
        DoctorRun run = visit(Map.of("SOFTVERBS_FABRIC", "another"), secret);
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("peer_secret", "ok");
        run.assertRow("peer_connection", "fail", "CONNECT_", "-> ");
        run.assertRow("peer_read", "skip");
    }

    @Test
    void a_read_that_brings_wrong_bytes_is_found() throws Exception {
        // the loopback's READs come first
        DoctorRun run = visit(Map.of("SOFTVERBS_FAULTS", "read after 22 corrupt"), secret);
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("loopback_read", "ok");
        run.assertRow("peer_connection", "ok");
        run.assertRow("peer_read", "fail", "other bytes than the peer serves");
    }

    @Test
    void the_secret_is_on_no_command_line_and_in_no_output() throws Exception {
        DoctorRun run = visit(Map.of(), secret);
        assertTrue(!run.output().contains("battery"), run.output());
        String commandLine = Files.readString(Path.of("/proc/" + server.pid() + "/cmdline"));
        assertTrue(!commandLine.contains("battery"), commandLine);
    }

    private DoctorRun visit(Map<String, String> environment, Path secretFile) throws Exception {
        return DoctorRun.of(environment, "--peer", peer, "--secret-file", secretFile.toString());
    }
}
