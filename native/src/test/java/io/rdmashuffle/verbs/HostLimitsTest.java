package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class HostLimitsTest {
    @TempDir
    Path proc;

    @Test
    void reads_both_memory_limits() throws IOException {
        Files.writeString(proc.resolve("limits"), """
                Limit                     Soft Limit           Hard Limit           Units
                Max processes             1000                 2000                 processes
                Max locked memory         65536                unlimited            bytes
                """);
        assertEquals(65536, HostLimits.memlock(proc, 0));
        assertEquals(Long.MAX_VALUE, HostLimits.memlock(proc, 1));
    }

    @Test
    void finds_the_capability_that_lifts_the_limit() throws IOException {
        Files.writeString(proc.resolve("status"), "Name:\tjava\nCapEff:\t0000000000004000\n");
        assertTrue(HostLimits.memlockExempt(proc));
        Files.writeString(proc.resolve("status"), "Name:\tjava\nCapEff:\tffffffffffffbfff\n");
        assertFalse(HostLimits.memlockExempt(proc));
    }

    @Test
    void finds_the_page_size_in_the_auxiliary_vector() throws IOException {
        ByteBuffer auxv = ByteBuffer.allocate(48).order(ByteOrder.nativeOrder());
        auxv.putLong(16).putLong(7).putLong(6).putLong(65536).putLong(0).putLong(0);
        Files.write(proc.resolve("auxv"), auxv.array());
        assertEquals(65536, HostLimits.pageSizeBytes(proc));
    }

    @Test
    void assumes_no_limit_where_proc_says_nothing() {
        assertEquals(Long.MAX_VALUE, HostLimits.memlock(proc, 0));
        assertFalse(HostLimits.memlockExempt(proc));
        assertEquals(4096, HostLimits.pageSizeBytes(proc));
    }

    @Test
    void tells_plausible_values_of_this_process() {
        assertTrue(HostLimits.memlockSoftBytes() >= 0);
        assertTrue(HostLimits.memlockSoftBytes() <= HostLimits.memlockHardBytes());
        assertTrue(HostLimits.pageSizeBytes() >= 4096);
        assertEquals(1, Integer.bitCount(HostLimits.pageSizeBytes()));
    }
}
