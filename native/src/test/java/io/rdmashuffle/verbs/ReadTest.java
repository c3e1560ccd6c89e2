package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** READs between two endpoints of this process, of a file that the owner has mapped. */
@Timeout(120)
class ReadTest {
    private static final int FILE_BYTES = 1_234_567;

    @TempDir
    Path directory;

    private final byte[] content = new byte[FILE_BYTES];
    private final ReadBatch batch = new ReadBatch(200);
    private VerbsPeer reader;
    private VerbsPeer owner;
    private MappedFile file;
    private MemoryRegion source;
    private NativeMemory sinkMemory;
    private MemoryRegion sink;
    private VerbsConnection connection;

    @BeforeEach
    void a_connection_and_a_served_file() throws IOException {
        reader = new VerbsPeer();
        owner = new VerbsPeer();
        new Random(7).nextBytes(content);
        Path path = Files.write(directory.resolve("shuffle.data"), content);
        file = MappedFile.map(path, MappedFile.Mode.READ_WRITE);
        source = owner.endpoint.register(file.address(), file.lengthBytes(), Access.REMOTE_READ);
        sinkMemory = NativeMemory.allocate(FILE_BYTES);
        sink = reader.endpoint.register(sinkMemory.address(), FILE_BYTES, sinkAccess());
        connection = reader.connect(owner);
    }

    private int sinkAccess() {
        return isIwarp() ? Access.LOCAL_WRITE | Access.REMOTE_WRITE : Access.LOCAL_WRITE;
    }

    private boolean isIwarp() {
        return reader.endpoint.device().transport() == RdmaDevice.Transport.IWARP;
    }

    @AfterEach
    void close_all() {
        connection.close();
        reader.close();
        owner.close();
        sinkMemory.close();
        file.close();
    }

    /** Adds a READ of the file's bytes to the same place in the sink. */
    private void add(long wrId, int offset, int length, boolean signaled) {
        batch.add(
                wrId, sink.address() + offset, sink.lkey(), source.address() + offset, source.rkey(), length, signaled);
    }

    private void postAndAwait(int completions) throws VerbsException {
        assertEquals(batch.size(), connection.post(batch, 0, batch.size()));
        VerbsPeer.pump(() -> reader.completions.size() >= completions, reader, owner);
    }

    private void assertSinkEqualsFile() {
        byte[] got = new byte[FILE_BYTES];
        sinkMemory.buffer(0, FILE_BYTES).get(got);
        assertArrayEquals(content, got);
    }

    @Test
    void a_mapped_file_arrives_byte_for_byte() throws VerbsException {
        add(42, 0, FILE_BYTES, true);
        postAndAwait(1);
        assertEquals(
                List.of(new VerbsPeer.Completion(42, WcStatus.SUCCESS, connection.qpNumber())), reader.completions);
        assertSinkEqualsFile();
    }

    @Test
    void odd_offsets_and_lengths_arrive_exactly() throws VerbsException {
        int[] cuts = {0, 1, 4095, 4097, 70_001, 500_000, 999_999, FILE_BYTES};
        for (int i = 1; i < cuts.length; i++) {
            add(i, cuts[i - 1], cuts[i] - cuts[i - 1], true);
        }
        postAndAwait(cuts.length - 1);
        assertSinkEqualsFile();
    }

    @Test
    void who_spins_for_one_READ_after_the_other_still_hears_of_who_wants_to_connect() throws VerbsException {
        reader.endpoint.wake();
        reader.poll(1000, 1_000_000); // a short wait, after which it spins
        VerbsConnection back = owner.request(reader.endpoint.listenAddress(), new byte[] {1});
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        for (int reads = 1; reader.accepted.isEmpty(); reads++) {
            batch.clear();
            add(reads, 0, 64, true);
            connection.post(batch, 0, 1);
            while (reader.completions.size() < reads) {
                reader.poll(1000, 100_000);
            }
            assertTrue(System.nanoTime() < deadline, "not heard of within " + reads + " READs");
        }
        VerbsPeer.pump(() -> owner.saw(back.id(), CmEventType.ESTABLISHED), owner, reader);
        back.close();
    }

    @Test
    void a_chain_of_100_gives_one_completion_for_all() throws VerbsException {
        int step = FILE_BYTES / 100;
        for (int i = 0; i < 100; i++) {
            add(i, i * step, i == 99 ? FILE_BYTES - i * step : step, i == 99);
        }
        postAndAwait(1);
        assertSinkEqualsFile();
        reader.poll(10);
        assertEquals(
                List.of(new VerbsPeer.Completion(99, WcStatus.SUCCESS, connection.qpNumber())), reader.completions);
    }

    @Test
    void part_of_a_batch_can_be_posted() throws VerbsException {
        for (int i = 0; i < 4; i++) {
            add(i, i, 1, true);
        }
        assertEquals(2, connection.post(batch, 1, 2));
        VerbsPeer.pump(() -> reader.completions.size() >= 2, reader, owner);
        assertEquals(
                List.of(1L, 2L),
                reader.completions.stream().map(VerbsPeer.Completion::wrId).toList());
    }

    @Test
    void a_full_send_queue_takes_what_fits_and_more_after_completions() throws VerbsException {
        TestDevice.requireSoftverbs("other devices round the depth up or free slots early");
        for (int i = 0; i < 200; i++) {
            add(i, i * 1000, 1000, i >= 100);
        }
        assertEquals(100, connection.post(batch, 0, 100)); // unsignaled: they hold their slots
        int taken = 100 + connection.post(batch, 100, 100);
        assertTrue(taken >= VerbsPeer.SEND_QUEUE_DEPTH && taken < 200, "taken " + taken);
        VerbsException full = assertThrows(VerbsException.class, () -> connection.post(batch, taken, 200 - taken));
        assertEquals(VerbsException.ENOMEM, full.errno());

        VerbsPeer.pump(() -> reader.completions.size() >= taken - 100, reader, owner);
        assertEquals(200 - taken, connection.post(batch, taken, 200 - taken));
        VerbsPeer.pump(() -> reader.completions.size() >= 100, reader, owner);
        assertTrue(reader.completions.stream().allMatch(c -> c.status() == WcStatus.SUCCESS));
    }

    @Test
    void a_wrong_rkey_is_the_cause_and_the_rest_is_flushed() throws VerbsException {
        add(1, 0, 1000, true);
        batch.add(2, sink.address(), sink.lkey(), source.address(), source.rkey() ^ 0x5500, 1000, true);
        add(3, 0, 1000, true);
        add(4, 0, 1000, false);
        postAndAwait(4);

        assertFailed(2, List.of(3L, 4L));
        assertEquals(FailureScope.CONNECTION, reader.completions.get(1).status().scope());
        if (!isIwarp()) { // soft-iWARP may take it and say nothing
            assertPostIsFlushed();
        }
    }

    @Test
    void a_read_beyond_the_region_is_refused() throws VerbsException {
        batch.add(1, sink.address(), sink.lkey(), source.address() + FILE_BYTES - 10, source.rkey(), 11, true);
        postAndAwait(1);
        assertFailed(1, List.of());
    }

    @Test
    void a_deregistered_region_is_refused() throws VerbsException {
        source.close();
        add(1, 0, 1000, true);
        postAndAwait(1);
        assertFailed(1, List.of());
    }

    @Test
    void a_sink_that_is_not_writable_is_a_bug_of_ours() throws VerbsException {
        TestDevice.requireSoftverbs("soft-RoCE and others name this failure differently");
        try (MemoryRegion readOnly = reader.endpoint.register(sink.address(), 1000, 0)) {
            batch.add(1, sink.address(), readOnly.lkey(), source.address(), source.rkey(), 1000, true);
            postAndAwait(1);
            assertEquals(FailureScope.BUG, reader.completions.get(0).status().scope());
        }
    }

    @Test
    void a_new_connection_works_after_a_failed_one() throws VerbsException {
        batch.add(1, sink.address(), sink.lkey(), source.address(), source.rkey() ^ 0x5500, 1000, true);
        postAndAwait(1);
        connection.close();
        reader.completions.clear();
        batch.clear();

        connection = reader.connect(owner);
        add(2, 0, FILE_BYTES, true);
        postAndAwait(1);
        assertSinkEqualsFile();
    }

    @Test
    void destroying_the_queue_pair_is_a_fence() throws VerbsException {
        for (int i = 0; i < 100; i++) {
            add(i, 0, FILE_BYTES, i == 99);
        }
        connection.post(batch, 0, 100);
        connection.destroyQp();
        sinkMemory.buffer(0, FILE_BYTES).put(new byte[FILE_BYTES]);
        reader.poll(100);
        byte[] got = new byte[FILE_BYTES];
        sinkMemory.buffer(0, FILE_BYTES).get(got);
        assertArrayEquals(new byte[FILE_BYTES], got);
    }

    @Test
    void disconnecting_ends_what_is_under_way_and_flushes_what_comes_after() throws VerbsException {
        assumeFalse(isIwarp(), "soft-iWARP does not flush after a disconnect: destroying the queue pair is the fence");
        for (int i = 0; i < 100; i++) {
            add(i, 0, FILE_BYTES, true);
        }
        connection.post(batch, 0, 100);
        connection.disconnect();
        VerbsPeer.pump(() -> reader.completions.size() >= 100, reader, owner);
        assertTrue(reader.completions.stream()
                .allMatch(c -> c.status() == WcStatus.SUCCESS || c.status() == WcStatus.WR_FLUSH_ERR));
        assertPostIsFlushed();
    }

    @Test
    void events_of_a_closed_connection_in_the_same_batch_are_only_numbers() throws VerbsException {
        add(1, 0, 10, true);
        connection.post(batch, 0, 1);
        owner.accepted.values().forEach(VerbsConnection::close);
        EventBatch events = new EventBatch(8, 8);
        while (reader.endpoint.poll(events, 100) == 0) {
            owner.poll(0);
        }
        long id = connection.id();
        connection.close();
        for (int i = 0; i < events.cmEvents(); i++) {
            assertEquals(id, events.cmId(i));
        }
    }

    @Test
    void posting_nothing_is_refused() {
        assertThrows(IllegalArgumentException.class, () -> connection.post(batch, 0, 0));
        assertThrows(IndexOutOfBoundsException.class, () -> connection.post(batch, 0, 1));
    }

    /** On iWARP all that is seen of the cause is "flushed", and soft-iWARP may report a flush twice. */
    private void assertFailed(long cause, List<Long> flushed) {
        WcStatus expected = isIwarp() ? WcStatus.WR_FLUSH_ERR : WcStatus.REM_ACCESS_ERR;
        List<VerbsPeer.Completion> failed = reader.completions.stream()
                .filter(completion -> completion.status() != WcStatus.SUCCESS)
                .distinct()
                .toList();
        assertEquals(cause, failed.get(0).wrId());
        assertEquals(expected, failed.get(0).status());
        List<VerbsPeer.Completion> rest = failed.subList(1, failed.size());
        assertEquals(flushed, rest.stream().map(VerbsPeer.Completion::wrId).toList());
        assertTrue(rest.stream().allMatch(completion -> completion.status() == WcStatus.WR_FLUSH_ERR));
    }

    private void assertPostIsFlushed() throws VerbsException {
        reader.completions.clear();
        batch.clear();
        add(9, 0, 1000, true);
        postAndAwait(1);
        assertEquals(9, reader.completions.get(0).wrId());
        assertEquals(WcStatus.WR_FLUSH_ERR, reader.completions.get(0).status());
    }
}
