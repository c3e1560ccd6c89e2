package io.rdmashuffle.core.directory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.connection.Owner;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One thread is the driver, the loop and all who wait. */
class LocationCacheTest {

    private static final int SHUFFLE = 3;
    private static final long OWNER = 100;
    private static final long[] OFFSETS = {0, 10, 20, 30, 40};

    private final Directory directory = new Directory();
    private final LocationCache cache = new LocationCache(
            new DirectoryClient(new DirectChannel(directory), 1, 1000), Runnable::run, 2 * 8L * OFFSETS.length);

    private record DirectChannel(Directory directory) implements DriverChannel {

        @Override
        public CompletableFuture<byte[]> ask(byte[] message) {
            try {
                return CompletableFuture.completedFuture(directory.handle(message));
            } catch (MalformedMessageException e) {
                return CompletableFuture.failedFuture(e);
            }
        }

        @Override
        public void send(byte[] message) {
            ask(message).join();
        }
    }

    @BeforeEach
    void introduce() throws Exception {
        Owner owner = new Owner("7", OWNER, List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), 4791)));
        tell(new Message.Hello("7", OWNER, owner, "soft", ""));
    }

    private void tell(Message message) throws Exception {
        directory.handle(MessageCodec.encode(message));
    }

    private void publish(long mapId, long dataAddress, long offsetsAddress) throws Exception {
        tell(new Message.Publish(
                SHUFFLE,
                OWNER,
                new MapOutputLocation(mapId, Placement.DIRECT, dataAddress, 5, 40, offsetsAddress, 6, 4)));
    }

    private PublishedOutput refreshed(long mapId) {
        cache.refresh(SHUFFLE, error -> assertNull(error));
        return cache.find(SHUFFLE, mapId);
    }

    private void keep(PublishedOutput output) {
        cache.keepOffsets(SHUFFLE, output, OFFSETS);
    }

    @Test
    void who_waits_is_told_also_when_the_question_cannot_be_asked_and_the_next_is_asked() {
        DriverChannel broken = new DriverChannel() {
            @Override
            public CompletableFuture<byte[]> ask(byte[] message) {
                throw new IllegalStateException("the RPC environment is stopped");
            }

            @Override
            public void send(byte[] message) {}
        };
        LocationCache cache = new LocationCache(new DirectoryClient(broken, 1, 1000), Runnable::run, 0);
        List<Throwable> told = new ArrayList<>();
        assertTrue(cache.refresh(SHUFFLE, told::add));
        assertTrue(cache.refresh(SHUFFLE, told::add));
        assertEquals(2, told.size());
        assertEquals("the RPC environment is stopped", told.get(1).getMessage());
    }

    @Test
    void offsets_outlive_a_new_answer_that_says_the_same_of_their_map_output() throws Exception {
        publish(11, 4096, 512);
        PublishedOutput output = refreshed(11);
        keep(output);
        publish(12, 8192, 552);
        assertNotNull(refreshed(12));
        assertSame(output, cache.find(SHUFFLE, 11));
        assertArrayEquals(OFFSETS, output.offsets());
    }

    @Test
    void a_map_output_published_again_elsewhere_is_known_anew() throws Exception {
        publish(11, 4096, 512);
        PublishedOutput before = refreshed(11);
        keep(before);
        publish(11, 12288, 592);
        PublishedOutput after = refreshed(11);
        assertEquals(12288, after.dataAddress());
        assertNull(after.offsets());
        assertEquals(4096, before.dataAddress(), "a fetch under way goes on with what it had");
    }

    @Test
    void a_fetch_under_way_learns_that_a_file_is_not_registered_any_more() throws Exception {
        publish(11, 4096, 512);
        PublishedOutput output = refreshed(11);
        refreshed(11);
        cache.unpin(OWNER, SHUFFLE);
        assertEquals(Placement.STAGED, output.placement());
        assertEquals(0, output.dataRkey());
        assertEquals(Placement.STAGED, refreshed(11).placement(), "the answer is older than what the owner said");
    }

    @Test
    void offsets_are_kept_while_there_is_room_and_give_it_back() throws Exception {
        for (int map = 0; map < 4; map++) {
            publish(map, 4096, 512 + 40L * map);
        }
        refreshed(0);
        for (int map = 0; map < 3; map++) {
            keep(cache.find(SHUFFLE, map));
        }
        PublishedOutput third = cache.find(SHUFFLE, 2);
        assertNull(third.offsets(), "there is room for two");
        cache.forget(SHUFFLE);
        keep(third);
        assertNull(third.offsets(), "nobody would find them");
        PublishedOutput again = refreshed(3);
        keep(again);
        assertArrayEquals(OFFSETS, again.offsets());
    }

    @Test
    void what_was_absent_may_not_appear_until_it_was_seen() throws Exception {
        publish(11, 4096, 512);
        refreshed(11);
        assertTrue(cache.mayAppear(SHUFFLE, 12));
        cache.markAbsent(SHUFFLE, 12);
        assertFalse(cache.mayAppear(SHUFFLE, 12));
        publish(12, 8192, 552);
        assertNotNull(refreshed(12));
        assertTrue(cache.mayAppear(SHUFFLE, 12));
    }
}
