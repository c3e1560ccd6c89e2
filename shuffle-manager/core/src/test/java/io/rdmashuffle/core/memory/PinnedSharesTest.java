package io.rdmashuffle.core.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.verbs.CgroupMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PinnedSharesTest {

    private static final long MIB = 1 << 20;

    @TempDir
    Path root;

    /** A control group of version 2 as a container sees it. */
    private CgroupMemory group(String limit, long usedBytes, long inactiveFileBytes) throws IOException {
        Path group = Files.createDirectories(root.resolve("sys/fs/cgroup"));
        Files.createDirectories(root.resolve("proc/self"));
        Files.writeString(root.resolve("proc/self/cgroup"), "0::/\n");
        Files.writeString(group.resolve("memory.max"), limit + "\n");
        Files.writeString(group.resolve("memory.current"), usedBytes + "\n");
        Files.writeString(group.resolve("memory.stat"), "anon 1\ninactive_file " + inactiveFileBytes + "\n");
        return CgroupMemory.read(root);
    }

    @Test
    void shares_add_up_to_the_whole_and_none_can_take_anothers() {
        PinnedShares shares = PinnedShares.of(64 * MIB, 256 * MIB, 64 * MIB);
        long sum = shares.mapOutputs().maxBytes()
                + shares.offsets().maxBytes()
                + shares.messages().maxBytes()
                + shares.staging().maxBytes()
                + shares.sinks().maxBytes();
        assertEquals(64 * MIB, sum);
        assertEquals(16 * MIB, shares.sinks().maxBytes(), "a quarter at most");
        assertEquals(8 * MIB, shares.staging().maxBytes(), "an eighth at most");
        assertTrue(shares.mapOutputs().tryReserve(shares.mapOutputs().maxBytes()));
        assertFalse(shares.mapOutputs().tryReserve(1));
        assertTrue(shares.sinks().tryReserve(16 * MIB));
        assertTrue(shares.offsets().tryReserve(8 * MIB));
        assertEquals(shares.mapOutputs().maxBytes() + 24 * MIB, shares.whole().usedBytes());
        shares.sinks().release(16 * MIB);
        assertEquals(shares.mapOutputs().maxBytes() + 8 * MIB, shares.whole().usedBytes());
    }

    @Test
    void what_staging_does_not_get_is_for_map_outputs() {
        PinnedShares with = PinnedShares.of(64 * MIB, MIB, 4 * MIB);
        PinnedShares without = PinnedShares.of(64 * MIB, MIB, 0);
        assertEquals(
                4 * MIB, without.mapOutputs().maxBytes() - with.mapOutputs().maxBytes());
    }

    @Test
    void a_share_is_bounded_by_what_is_left_of_the_whole() {
        PinnedBudget whole = new PinnedBudget(10);
        PinnedBudget one = whole.share(8);
        PinnedBudget other = whole.share(8);
        assertTrue(one.tryReserve(8));
        assertFalse(other.tryReserve(3));
        assertEquals(0, other.usedBytes(), "nothing is kept of what was not granted");
        assertTrue(other.tryReserve(2));
    }

    @Test
    void a_container_leaves_half_of_what_its_limit_has_beside_the_heap() throws IOException {
        assertEquals(150 * MIB, PinnedShares.roomBytes(group(Long.toString(1000 * MIB), 100 * MIB, 0), 700 * MIB));
        assertEquals(
                100 * MIB,
                PinnedShares.roomBytes(group(Long.toString(1000 * MIB), 900 * MIB, 100 * MIB), 700 * MIB),
                "more is in use than the heap, and cached files are not counted");
        assertEquals(0, PinnedShares.roomBytes(group(Long.toString(1000 * MIB), 0, 0), 2000 * MIB));
        assertEquals(Long.MAX_VALUE, PinnedShares.roomBytes(group("max", 100 * MIB, 0), 700 * MIB));
    }
}
