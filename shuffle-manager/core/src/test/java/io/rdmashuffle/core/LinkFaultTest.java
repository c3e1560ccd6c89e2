package io.rdmashuffle.core;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A link that goes down under READs and comes up again: in the lab, with two hosts. */
@Timeout(420)
class LinkFaultTest extends NodeTest {

    private static final Duration DEADLINE = Duration.ofSeconds(60);

    @Test
    void reads_end_when_the_link_goes_down_and_go_over_rdma_when_it_is_up_again() throws Exception {
        assumeTrue(System.getenv("LAB_ROUTES") != null, "no two hosts here: bin/test lab-faults brings its own");
        Resources before = Resources.now();
        RdmaNode owner = nodes.openAt(List.of(System.getenv("LAB_HOST_A")), OWNER, ownerCounters);
        RdmaNode reader = nodes.openAt(
                List.of(System.getenv("LAB_HOST_B")),
                READER,
                readerCounters,
                "quarantine",
                "0ms",
                "read.timeout",
                "3s",
                "connect.timeout",
                "10s");
        byte[] file = nodes.publish(owner, 0, 11, 1_000_000);
        fetch(reader).assertRead(0, file, 0, file.length);

        ip("link", "set", "veth_a", "down");
        Set<FallbackReason> expected = EnumSet.of(
                FallbackReason.READ_FAILED,
                FallbackReason.READ_TIMEOUT,
                FallbackReason.CONNECTION_LOST,
                FallbackReason.CONNECT_FAILED);
        for (int i = 0; i < 3; i++) {
            FetchedBlocks blocks = fetch(reader);
            assertTrue(!blocks.isRead(0) && expected.contains(blocks.reason(0)), blocks::toString);
        }
        await().until(() -> reader.reader().pool().lentBytes() == 0);

        ip("link", "set", "veth_a", "up");
        ip("-batch", System.getenv("LAB_ROUTES"));
        if (!isSoftRoce()) {
            await().atMost(DEADLINE).untilAsserted(() -> fetch(reader).assertRead(0, file, 0, file.length));
        }
        nodes.close();
        await().atMost(DEADLINE).untilAsserted(() -> assertEquals(before, Resources.now()));
    }

    /** The soft-RoCE of Linux 6.1 then answers no connection request, rping's neither, until the guest boots again. */
    private static boolean isSoftRoce() {
        return System.getenv("LAB_DEVICE_A").startsWith("rxe");
    }

    private static FetchedBlocks fetch(RdmaNode reader) {
        return FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11}, 0).awaitAll(DEADLINE);
    }

    private static void ip(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        assertEquals(0, new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
