package io.rdmashuffle.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Message;
import io.rdmashuffle.core.directory.MessageCodec;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process that serves what executors wrote, and a reader that knows those executors only. */
@Timeout(60)
class MapOutputServerTest extends NodeTest {

    private RdmaNode reader;
    private MapOutputServer server;

    @BeforeEach
    void openReader() throws Exception {
        reader = nodes.open(READER, readerCounters);
    }

    @AfterEach
    void closeServer() {
        if (server != null) {
            server.close();
        }
    }

    @Test
    void map_outputs_of_several_executors_are_read_over_one_connection() throws Exception {
        server = TestNodes.openServer(reader.secret(), ownerCounters);
        byte[] one = serve("7", 11, 100, 200);
        byte[] two = serve("8", 12, 300, 400);
        fetch("7", 11, 1).assertRead(0, one, 100, 300);
        fetch("8", 12, 0).assertRead(0, two, 0, 300);
        assertEquals(1, readerCounters.get(Counter.CONNECTIONS));
    }

    @Test
    void map_outputs_of_one_executor_with_two_owners_are_read_by_one_fetch() throws Exception {
        RdmaNode executor = nodes.open(OWNER, ownerCounters);
        server = TestNodes.openServer(reader.secret(), ownerCounters);
        byte[] served = serve(OWNER, 11, 100, 200);
        byte[] own = nodes.publish(executor, 0, 12, 300, 400);
        FetchedBlocks blocks = FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 12, 11}, 0, 1, 1)
                .awaitAll();
        blocks.assertRead(0, served, 0, 100);
        blocks.assertRead(1, own, 300, 700);
        blocks.assertRead(2, served, 100, 300);

        server.close();
        server = null;
        blocks =
                FetchedBlocks.fetch(reader, 0, OWNER, new long[] {11, 12}, 0, 0).awaitAll();
        assertFalse(blocks.isRead(0));
        blocks.assertRead(1, own, 0, 300);
    }

    @Test
    void what_exceeds_the_budget_is_staged() throws Exception {
        server = TestNodes.openServer(reader.secret(), ownerCounters, "pinned.maxBytes", "8m");
        byte[] file = serve("7", 11, 10 << 20, 100);
        assertEquals(Placement.STAGED, nodes.locations(0).location(0).placement());
        fetch("7", 11, 1).assertRead(0, file, 10 << 20, (10 << 20) + 100);
        assertTrue(readerCounters.get(Counter.STAGED_BYTES) > 0);
    }

    @Test
    void a_removed_shuffle_and_a_closed_server_are_read_over_tcp() throws Exception {
        server = TestNodes.openServer(reader.secret(), ownerCounters);
        byte[] file = serve("7", 11, 100, 200);
        serve("7", 12, 100, 200);
        fetch("7", 11, 0).assertRead(0, file, 0, 100);
        server.removeShuffle(0);
        fetch("7", 12, 0).assertFellBack(0, FallbackReason.READ_FAILED);
        server.close();
        server = null;
        fetch("7", 11, 0).assertFellBack(0, FallbackReason.QUARANTINED);
    }

    @Test
    void a_reader_of_another_application_is_refused() throws Exception {
        server = TestNodes.openServer(new byte[32], ownerCounters);
        serve("7", 11, 100);
        fetch("7", 11, 0).assertFellBack(0, FallbackReason.CONNECT_REJECTED);
        assertEquals(1, ownerCounters.get(Counter.REFUSED_CONNECTIONS));
    }

    /** Serves a map output of shuffle 0 as written by the executor, and says so in the directory. */
    private byte[] serve(String executorId, long mapId, long... partitionLengths) throws Exception {
        byte[] bytes = new byte[(int) Arrays.stream(partitionLengths).sum()];
        new Random(mapId).nextBytes(bytes);
        Path file = Files.write(folder.resolve("shuffle_0_" + mapId + "_0.data"), bytes);
        MapOutputLocation location = server.register(0, mapId, file, partitionLengths);
        Owner owner = server.ownerFor(executorId);
        long identity = executorId.hashCode();
        tell(new Message.Hello("service for " + executorId, identity, owner, "soft", ""));
        tell(new Message.Publish(0, identity, location));
        return bytes;
    }

    private void tell(Message message) throws Exception {
        nodes.directory.handle(MessageCodec.encode(message));
    }

    private FetchedBlocks fetch(String executorId, long mapId, int partition) {
        return FetchedBlocks.fetch(reader, 0, executorId, new long[] {mapId}, partition)
                .awaitAll();
    }
}
