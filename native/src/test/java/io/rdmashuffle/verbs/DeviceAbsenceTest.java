package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class DeviceAbsenceTest {
    @TempDir
    Path root;

    private Path sys;
    private Path dev;

    @BeforeEach
    void a_host_with_everything_in_place() throws IOException {
        sys = Files.createDirectories(root.resolve("sys"));
        dev = Files.createDirectories(root.resolve("dev"));
        Files.createDirectory(sys.resolve("mlx5_0"));
        Files.createFile(dev.resolve("rdma_cm"));
        Files.createFile(dev.resolve("uverbs0"));
    }

    @Test
    void no_device_in_the_kernel() throws IOException {
        Files.delete(sys.resolve("mlx5_0"));
        assertCause("no RDMA device found");
        Files.delete(sys);
        assertCause("no RDMA device found");
    }

    @Test
    void no_connection_manager_node() throws IOException {
        Files.delete(dev.resolve("rdma_cm"));
        assertCause("rdma_cm does not exist: run 'modprobe rdma_ucm'");
    }

    @Test
    void no_verbs_node() throws IOException {
        Files.delete(dev.resolve("uverbs0"));
        assertCause("[mlx5_0] have no");
        assertCause("modprobe ib_uverbs");
    }

    @Test
    void nodes_that_this_user_may_not_open() throws IOException {
        Path node = dev.resolve("uverbs0");
        Files.setPosixFilePermissions(node, PosixFilePermissions.fromString("---------"));
        assumeFalse(Files.isReadable(node), "this user may open everything");
        assertCause("uverbs0] may not be opened by this user");
        Path cm = dev.resolve("rdma_cm");
        Files.setPosixFilePermissions(cm, PosixFilePermissions.fromString("---------"));
        assertCause("rdma_cm may not be opened by this user");
    }

    @Test
    void no_provider_library() {
        assertCause("[mlx5_0] cannot be opened (what it said)");
        assertCause("ibverbs-providers");
    }

    private void assertCause(String part) {
        String cause = new DeviceAbsence(sys, dev).explain("what it said").toString();
        assertTrue(cause.contains(part), cause);
        assertFalse(cause.contains("\n"), cause);
    }
}
