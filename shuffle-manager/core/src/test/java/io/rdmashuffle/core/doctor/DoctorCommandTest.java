package io.rdmashuffle.core.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The doctor as a user runs it, on hosts that lack one thing each. Devices are softverbs'. */
@Timeout(120)
class DoctorCommandTest {

    private static final Map<String, String> SOFTVERBS = Map.of();

    @TempDir
    Path scratch;

    @Test
    void a_host_with_a_device_is_usable() throws Exception {
        DoctorRun run = DoctorRun.of(SOFTVERBS, "--dir", scratch.toString());
        assertEquals(0, run.exitCode(), run.output());
        run.assertRow("registration", "ok", scratch.toString());
        run.assertRow("loopback_read", "ok", "4096 bytes right", "µs");
        assertTrue(lastLine(run).startsWith("Usable: blocks go over RDMA, by softverbs0"), run.output());
    }

    @Test
    void a_host_without_device_is_not_and_says_what_helps() throws Exception {
        DoctorRun run = DoctorRun.of(Map.of("SOFTVERBS_DEVICES", ""));
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("devices", "fail", "no RDMA device", "-> install the adapter's driver");
        run.assertRow("loopback_read", "skip");
        assertTrue(lastLine(run).startsWith("Not usable: blocks go over TCP. Cause: devices: "), run.output());
    }

    @Test
    void a_port_that_is_down_fails() throws Exception {
        DoctorRun run = DoctorRun.of(Map.of("SOFTVERBS_DEVICES", "a:port=down"));
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("port_state", "fail", "a DOWN", "-> bring up the network interface");
    }

    @Test
    void one_of_two_ports_down_is_a_warning() throws Exception {
        DoctorRun run = DoctorRun.of(Map.of("SOFTVERBS_DEVICES", "a:port=down,addr=192.0.2.1,b"));
        assertEquals(0, run.exitCode(), run.output());
        run.assertRow("port_state", "warn", "a DOWN; b ACTIVE");
    }

    @Test
    void iwarp_and_odp_are_told() throws Exception {
        DoctorRun run = DoctorRun.of(Map.of("SOFTVERBS_DEVICES", "siw0:transport=iwarp,odp=1"));
        assertEquals(0, run.exitCode(), run.output());
        run.assertRow("link_layer", "ok", "siw0 iWARP");
        run.assertRow("odp", "ok", "on-demand-paged");
    }

    @Test
    void an_old_kernel_registers_files_that_are_mapped_for_writing() throws Exception {
        DoctorRun run = DoctorRun.of(Map.of("SOFTVERBS_KERNEL", "6.1"), "--dir", scratch.toString());
        run.assertRow("registration", "ok", scratch + " (", "rw");
    }

    @Test
    void a_directory_that_is_not_there_is_named() throws Exception {
        DoctorRun run = DoctorRun.of(SOFTVERBS, "--dir", "/nowhere");
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("registration", "fail", "/nowhere (not there) none", "-> let spark.local.dir");
    }

    @Test
    void memory_that_may_not_be_locked_fails_with_its_limit() throws Exception {
        DoctorRun none = memlock(0);
        assertEquals(3, none.exitCode(), none.output());
        none.assertRow("memlock", "fail", "soft 0 B, hard 0 B", "-> raise it: memlock in /etc/security/limits.d");
        DoctorRun little = memlock(64 << 10);
        assertEquals(3, little.exitCode(), little.output());
        little.assertRow("memlock", "fail", "soft 64 KiB");
    }

    @Test
    void the_usual_limit_on_locked_memory_is_a_warning() throws Exception {
        DoctorRun run = memlock(8 << 20);
        assertEquals(0, run.exitCode(), run.output());
        run.assertRow("memlock", "warn", "soft 8 MiB");
        assertTrue(lastLine(run).endsWith("warnings: 1."), run.output());
    }

    @Test
    void a_library_of_rdma_core_that_is_missing_is_named() throws Exception {
        Files.writeString(scratch.resolve("librdmacm.so.1"), "not a library");
        DoctorRun run = DoctorRun.of(Map.of("LD_LIBRARY_PATH", scratch.toString()));
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("native_library", "ok");
        run.assertRow("rdma_libraries", "fail", "librdmacm.so.1", "-> install rdma-core");
        run.assertRow("devices", "skip");
    }

    @Test
    void a_temporary_directory_that_cannot_be_used_is_named() throws Exception {
        DoctorRun run = DoctorRun.under(
                List.of(), SOFTVERBS, List.of("-Dio.rdmashuffle.native.dir=/proc/self/none"), "--dir", "/tmp");
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow("native_library", "fail", "/proc/self/none", "-Dio.rdmashuffle.native.dir");
    }

    @Test
    void settings_that_rule_rdma_out_are_told_with_their_file() throws Exception {
        Path file = scratch.resolve("spark-defaults.conf");
        Files.writeString(file, "spark.network.crypto.enabled true\nspark.shuffle.rdma.mode  off\n");
        DoctorRun run = DoctorRun.of(SOFTVERBS, "--properties-file", file.toString());
        assertEquals(3, run.exitCode(), run.output());
        run.assertRow(
                "settings", "fail", file.toString(), "mode=off", "encrypted", "-> set spark.shuffle.rdma.mode=auto");
    }

    @Test
    void a_setting_that_would_stop_the_application_is_told_with_its_range() throws Exception {
        Path conf = Files.createDirectory(scratch.resolve("conf"));
        Files.writeString(conf.resolve("spark-defaults.conf"), "spark.shuffle.rdma.sendQueueDepth 5\n");
        DoctorRun run = DoctorRun.of(Map.of("SPARK_CONF_DIR", conf.toString()));
        run.assertRow("settings", "fail", "sendQueueDepth=5 is not allowed; allowed: 16 to 4096");
    }

    @Test
    void json_says_the_same() throws Exception {
        Path json = scratch.resolve("out.json");
        DoctorRun run = DoctorRun.of(SOFTVERBS, "--json", json.toString(), "--dir", scratch.toString());
        assertEquals(0, run.exitCode(), run.output());
        String text = Files.readString(json);
        assertTrue(
                text.startsWith(
                        "{\"usable\":true,\"cause\":null,\"remedy\":null,\"checks\":[{\"name\":\"kernel\",\"status\":\"ok\""),
                text);
        assertTrue(
                text.contains(
                        "\"devices\":[{\"name\":\"softverbs0\",\"link_layer\":\"ETHERNET\",\"transport\":\"RoCE\",\"state\":\"ACTIVE\",\"odp\":false,\"max_qp\":"),
                text);
        assertTrue(text.contains("\"registration\":[{\"dir\":\"" + scratch + "\",\"fs\":\""), text);
    }

    @Test
    void a_wrong_command_line_is_told_from_an_unusable_host() throws Exception {
        assertEquals(2, DoctorRun.of(SOFTVERBS, "--dri", "/tmp").exitCode());
        assertEquals(2, DoctorRun.of(SOFTVERBS, "--peer", "localhost:1").exitCode(), "no secret");
        assertEquals(1, DoctorRun.of(SOFTVERBS, "--json", "/nowhere/out.json").exitCode());
    }

    private static DoctorRun memlock(long bytes) throws Exception {
        assumeTrue(
                run("prlimit", "--memlock=" + bytes, "true")
                        && run("setpriv", "--inh-caps=-all", "--bounding-set=-all", "true"),
                "no prlimit or setpriv");
        // without the capability that would lift the limit
        return DoctorRun.under(
                List.of(
                        "prlimit",
                        "--memlock=" + bytes + ":" + bytes,
                        "setpriv",
                        "--inh-caps=-all",
                        "--bounding-set=-all"),
                SOFTVERBS,
                List.of());
    }

    private static boolean run(String... command) {
        try {
            return new ProcessBuilder(command)
                            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static String lastLine(DoctorRun run) {
        return run.output().lines().reduce((first, second) -> second).orElse("");
    }
}
