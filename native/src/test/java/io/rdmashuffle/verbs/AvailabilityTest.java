package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each way in which RDMA is not there is told in one line with its remedy, and none throws. */
@Timeout(120)
class AvailabilityTest {
    private static final Path WRONG_ABI = Path.of(System.getProperty("native.build.dir", "target/native"), "wrong-abi");
    private static final String LIBRARY_PATH = "LD_LIBRARY_PATH";

    @TempDir
    Path scratch;

    @Test
    void a_device_makes_it_available() {
        TestDevice.require();
        assertNull(Rdma.unavailabilityCause());
        assertFalse(Rdma.devices().isEmpty());
        RdmaDevice device = Rdma.devices().get(0);
        assertFalse(device.name().isEmpty());
        assertTrue(device.maxQp() > 0 && device.maxQpWr() > 0 && device.maxCqe() > 0, device.toString());
        assertTrue(device.maxReadDepthOut() > 0 && device.maxReadDepthIn() > 0, device.toString());
        assertTrue(device.maxMrBytes() > 0 && device.maxMessageBytes() > 0, device.toString());
        assertTrue(device.activeMtuBytes() >= 256 && device.activeMtuBytes() <= 4096, device.toString());
    }

    @Test
    void classes_that_need_no_library_do_not_load_it() throws Exception {
        assertTrue(probe(Map.of(), List.of()).contains("loaded early: false"));
    }

    @Test
    void a_host_without_device_says_so() throws Exception {
        assumeFalse(Files.exists(Path.of("/sys/class/infiniband")), "this host's kernel has RDMA");
        String output = probe(Map.of(LIBRARY_PATH, ""), List.of());
        assertCause(output, "no RDMA device found");
        assertTrue(output.contains("devices: []"), output);
        assertTrue(output.contains("loaded: true"), output);
    }

    @Test
    void a_missing_verbs_library_is_named_with_its_package() throws Exception {
        Files.writeString(scratch.resolve("libibverbs.so.1"), "not a library");
        assertCause(probe(Map.of(LIBRARY_PATH, scratch.toString()), List.of()), "libibverbs.so.1", "rdma-core");
    }

    @Test
    void a_missing_connection_manager_library_is_named_with_its_package() throws Exception {
        Files.writeString(scratch.resolve("librdmacm.so.1"), "not a library");
        assertCause(probe(Map.of(LIBRARY_PATH, scratch.toString()), List.of()), "librdmacm.so.1", "librdmacm1");
    }

    @Test
    void a_library_of_another_version_is_refused() throws Exception {
        assumeTrue(Files.exists(WRONG_ABI), "the C tests were not built");
        String classPath = WRONG_ABI + File.pathSeparator + ChildJvm.CLASS_PATH;
        assertCause(
                probe(Map.of(), ChildJvm.command(classPath, List.of(), AvailabilityProbe.class)),
                "ABI item 0 is 0",
                "one version of rdma-shuffle");
    }

    @Test
    void a_library_that_is_none_is_refused() throws Exception {
        Path resource = scratch.resolve("META-INF/native").resolve(platform()).resolve(NativeLoader.LIBRARY);
        Files.createDirectories(resource.getParent());
        Files.writeString(resource, "built for another processor");
        String classPath = scratch + File.pathSeparator + ChildJvm.CLASS_PATH;
        assertCause(
                probe(Map.of(), ChildJvm.command(classPath, List.of(), AvailabilityProbe.class)),
                "cannot load the native library");
    }

    @Test
    void a_jar_without_library_says_so() throws Exception {
        for (Class<?> type : List.of(AvailabilityProbe.class, Rdma.class)) {
            copyClassesOf(type);
        }
        assertCause(
                probe(Map.of(), ChildJvm.command(scratch.toString(), List.of(), AvailabilityProbe.class)),
                "holds no /META-INF/native/" + platform());
    }

    @Test
    void a_directory_that_cannot_be_written_is_named() throws Exception {
        String directory = "/proc/self/none";
        assertCause(
                probe(Map.of(), List.of("-D" + NativeLoader.DIRECTORY_PROPERTY + "=" + directory)),
                "cannot write the native library to " + directory,
                "-D" + NativeLoader.DIRECTORY_PROPERTY);
    }

    @Test
    void a_directory_mounted_noexec_is_named() throws Exception {
        // A mount namespace of its own, so that the mount ends with the process.
        String script = "mount -t tmpfs -o noexec none " + scratch + " && exec \"$@\"";
        List<String> command = new ArrayList<>(List.of("unshare", "-rm", "sh", "-c", script, "sh"));
        assumeTrue(
                new ProcessBuilder("unshare", "-rm", "true").start().waitFor() == 0,
                "no user and mount namespaces here");
        command.addAll(ChildJvm.command(
                ChildJvm.CLASS_PATH,
                List.of("-D" + NativeLoader.DIRECTORY_PROPERTY + "=" + scratch),
                AvailabilityProbe.class));
        String output = output(Map.of(), command);
        assumeFalse(output.contains("mount:"), output);
        assertCause(output, "noexec", "-D" + NativeLoader.DIRECTORY_PROPERTY);
    }

    @Test
    void the_library_leaves_no_file_behind() throws Exception {
        probe(Map.of(), List.of("-D" + NativeLoader.DIRECTORY_PROPERTY + "=" + scratch));
        try (var files = Files.list(scratch)) {
            assertEquals(List.of(), files.toList());
        }
    }

    private static void assertCause(String output, String... parts) {
        assertTrue(output.contains("available: false"), output);
        List<String> causes =
                output.lines().filter(line -> line.startsWith("cause: ")).toList();
        assertEquals(1, causes.size(), output);
        for (String part : parts) {
            assertTrue(causes.get(0).contains(part), causes.get(0));
        }
    }

    private static String probe(Map<String, String> environment, List<String> arguments) throws Exception {
        boolean isCommand = !arguments.isEmpty() && !arguments.get(0).startsWith("-");
        return output(
                environment,
                isCommand ? arguments : ChildJvm.command(ChildJvm.CLASS_PATH, arguments, AvailabilityProbe.class));
    }

    private static String output(Map<String, String> environment, List<String> command) throws Exception {
        try (ChildJvm child = ChildJvm.start(environment, command)) {
            return child.outputToEnd();
        }
    }

    private static String platform() {
        return NativeLoader.platform(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    private void copyClassesOf(Class<?> type) throws IOException {
        String directory = type.getPackageName().replace('.', '/');
        Path from =
                Path.of(type.getProtectionDomain().getCodeSource().getLocation().getPath(), directory);
        Files.createDirectories(scratch.resolve(directory));
        try (var classes = Files.list(from)) {
            for (Path file : (Iterable<Path>) classes::iterator) {
                try (InputStream bytes = Files.newInputStream(file)) {
                    Files.copy(bytes, scratch.resolve(directory).resolve(file.getFileName()));
                }
            }
        }
    }
}
