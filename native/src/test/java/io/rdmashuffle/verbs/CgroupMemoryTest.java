package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class CgroupMemoryTest {
    @TempDir
    Path root;

    @Test
    void the_narrowest_of_the_groups_above_counts() throws IOException {
        file("proc/self/cgroup", "0::/yarn/container_7\n");
        file("sys/fs/cgroup/yarn/container_7/memory.max", "max\n");
        file("sys/fs/cgroup/yarn/memory.max", "1000\n");
        file("sys/fs/cgroup/yarn/memory.current", "700\n");
        file("sys/fs/cgroup/yarn/memory.stat", "anon 500\ninactive_file 200\n");
        CgroupMemory memory = CgroupMemory.read(root);
        assertEquals(1000, memory.limitBytes());
        assertEquals(500, memory.headroomBytes(), "file cache that is not in use counts as free");
    }

    @Test
    void version_1_is_read_too() throws IOException {
        file("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/a\n0::/\n");
        file("sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "4096\n");
        file("sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes", "5000\n");
        file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        CgroupMemory memory = CgroupMemory.read(root);
        assertEquals(4096, memory.limitBytes());
        assertEquals(0, memory.headroomBytes());
    }

    @Test
    void a_container_that_sees_its_group_as_the_root_is_understood() throws IOException {
        file("proc/self/cgroup", "4:memory:/docker/not-visible-here\n");
        file("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
        file("sys/fs/cgroup/memory/memory.usage_in_bytes", "96\n");
        assertEquals(4000, CgroupMemory.read(root).headroomBytes());
    }

    @Test
    void without_groups_there_is_no_limit() {
        assertEquals(Long.MAX_VALUE, CgroupMemory.read(root).limitBytes());
        assertEquals(Long.MAX_VALUE, CgroupMemory.read(root).headroomBytes());
        assertTrue(CgroupMemory.read().headroomBytes() >= 0);
    }

    private void file(String path, String text) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
