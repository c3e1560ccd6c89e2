package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Failures that a device shows only on demand: softverbs acts them out in a JVM of its own. */
@Timeout(120)
class FaultTest {
    @BeforeEach
    void softverbs() {
        TestDevice.requireSoftverbs("its faults are scripted");
    }

    private static String under(String faults) throws IOException, InterruptedException {
        List<String> command = ChildJvm.command(ChildJvm.CLASS_PATH, List.of(), FaultProbe.class);
        try (ChildJvm child = ChildJvm.start(Map.of("SOFTVERBS_FAULTS", faults), command)) {
            String output = child.outputToEnd();
            assertEquals(0, child.exitCode(), output);
            assertTrue(output.endsWith("closed"), output);
            return output;
        }
    }

    private static void assertFails(String faults, String... parts) throws Exception {
        String output = under(faults);
        for (String part : parts) {
            assertTrue(output.contains(part), output);
        }
    }

    private static List<String> completions(String output) {
        return output.lines()
                .filter(line -> line.startsWith("completion: "))
                .map(line -> line.substring("completion: ".length()))
                .toList();
    }

    @Test
    void a_read_that_fails_is_followed_by_flushes() throws Exception {
        assertEquals(
                List.of("1 SUCCESS", "2 SUCCESS", "3 RETRY_EXC_ERR", "4 WR_FLUSH_ERR", "5 WR_FLUSH_ERR"),
                completions(under("read when 3 status=RETRY_EXC_ERR")));
    }

    @Test
    void completions_that_never_come_do_not_hinder_closing() throws Exception {
        assertTrue(completions(under("read after 2 stall")).size() < 5);
        assertTrue(completions(under("read when 5 drop")).size() < 5);
    }

    @Test
    void a_refused_post_is_named() throws Exception {
        assertFails("post_send when 1 errno=ENOMEM", "failed: ibv_post_send: Cannot allocate memory");
    }

    @Test
    void a_memory_limit_is_named_with_its_remedy() throws Exception {
        assertFails(
                "reg_mr when 2 errno=ENOMEM",
                "failed: ibv_reg_mr: Cannot allocate memory (errno 12)",
                "RLIMIT_MEMLOCK");
        assertFails("reg_mr errno=EPERM", "failed: ibv_reg_mr: Operation not permitted");
    }

    @Test
    void each_step_that_fails_is_named() throws Exception {
        assertFails("alloc_pd when 2 errno=ENOMEM", "failed: ibv_alloc_pd");
        assertFails("create_cq when 2 errno=ENOMEM", "failed: ibv_create_cq", "RLIMIT_MEMLOCK");
        assertFails("create_qp when 1 errno=ENOMEM", "failed: rdma_create_qp", "RLIMIT_MEMLOCK");
        assertFails("listen when 1 errno=EADDRINUSE", "failed: rdma_listen: Address already in use");
    }

    @Test
    void a_port_that_goes_down_is_told() throws Exception {
        assertFails("read when 2 port_down", "async: PORT_ERR DEVICE");
    }

    @Test
    void a_device_that_dies_is_told_and_can_be_closed() throws Exception {
        assertFails("read when 2 device_fatal", "async: DEVICE_FATAL DEVICE");
    }

    @Test
    void a_connection_cut_under_reads_is_told() throws Exception {
        assertFails("read when 2 disconnect", "cm: DISCONNECTED");
    }
}
