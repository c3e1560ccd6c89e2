package io.rdmashuffle.core.connection;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.Seeds;
import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.ControlMessage.Refusal;
import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.memory.StagingPool;
import io.rdmashuffle.core.metrics.Counter;
import io.rdmashuffle.core.metrics.Counters;
import io.rdmashuffle.verbs.Access;
import io.rdmashuffle.verbs.MemoryRegion;
import io.rdmashuffle.verbs.NativeMemory;
import io.rdmashuffle.verbs.ReadBatch;
import io.rdmashuffle.verbs.VerbsEndpoint;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An owner that stages, against a reader that asks for anything. */
@Timeout(120)
class StagingTest {

    private static final int SHUFFLE = 4;
    private static final long MAP = 11;
    private static final byte[] SECRET = {1, 2, 3};
    private static final long INCARNATION = 77;
    private static final int BUFFER_BYTES = 8192;

    @TempDir
    Path folder;

    private final byte[] content = new byte[100_000];
    private final Counters counters = new Counters();
    private final MembershipProof proof = new MembershipProof(SECRET);
    private long sequence;
    private VerbsEndpoint endpoint;
    private StagingPool pool;
    private Connections owner;
    private RawReader reader;

    @BeforeEach
    void an_owner_with_one_published_file_and_four_buffers() throws IOException {
        InetAddress address =
                InetAddress.getByName(System.getenv().getOrDefault("RDMA_SHUFFLE_TEST_ADDRESS", "127.0.0.1"));
        new Random(1).nextBytes(content);
        Path file = Files.write(folder.resolve("data"), content);
        endpoint = VerbsEndpoint.open(address, 16, 4096);
        pool = new StagingPool(endpoint, new PinnedBudget(4 * BUFFER_BYTES));
        MapOutputFiles files = new MapOutputFiles() {
            @Override
            public DataFile find(int shuffleId, long mapId) {
                return shuffleId == SHUFFLE && mapId == MAP ? new DataFile(file, content.length) : null;
            }

            @Override
            public void touch(int shuffleId) {}
        };
        RdmaConfig config = new RdmaConfig("test.", Map.of("test.read.timeout", "1s"));
        Control control = new Control(new PinnedBudget(1 << 20), pool, files, (incarnation, shuffleId) -> {});
        owner = new Connections(
                new EventLoop(endpoint), List.of(), 4096, INCARNATION, SECRET, control, config, counters);
        owner.start();
        reader = new RawReader(address);
        connect();
    }

    @AfterEach
    void close() {
        reader.close();
        owner.close();
        endpoint.close();
    }

    private void connect() throws IOException {
        reader.connect(endpoint.listenAddress(), proof.request(new MembershipProof.Claim(5, INCARNATION, ++sequence)));
        reader.send(new ControlMessage.Hello());
    }

    private static ControlMessage.Stage stage(int lane, int number, long mapId, long offset, int lengthBytes) {
        return new ControlMessage.Stage(
                lane, number, SHUFFLE, new long[] {mapId}, new long[] {offset}, new int[] {lengthBytes});
    }

    private byte[] read(ControlMessage.Staged staged) throws IOException {
        try (NativeMemory memory = NativeMemory.allocate(staged.lengthBytes());
                MemoryRegion sink = reader.endpoint()
                        .register(memory.address(), staged.lengthBytes(), Access.LOCAL_WRITE | Access.REMOTE_WRITE)) {
            ReadBatch batch = new ReadBatch(1);
            batch.add(2, sink.address(), sink.lkey(), staged.address(), staged.rkey(), staged.lengthBytes(), true);
            assertTrue(reader.read(batch), "the READ is served");
            byte[] bytes = new byte[staged.lengthBytes()];
            memory.buffer(0, bytes.length).get(bytes);
            return bytes;
        }
    }

    private void assertServes() throws IOException {
        reader.send(stage(1, 1, MAP, 50_000, 3000));
        ControlMessage.Staged staged = assertInstanceOf(ControlMessage.Staged.class, reader.answer());
        assertArrayEquals(Arrays.copyOfRange(content, 50_000, 53_000), read(staged));
        reader.send(new ControlMessage.Release(1, 1));
        await().until(() -> pool.taken() == 0);
    }

    @Test
    void asked_for_more_than_a_buffer_holds_it_stages_the_first_part() throws IOException {
        reader.send(stage(0, 1, MAP, 10, 60_000));
        ControlMessage.Staged staged = assertInstanceOf(ControlMessage.Staged.class, reader.answer());
        assertEquals(BUFFER_BYTES, staged.lengthBytes());
        assertArrayEquals(Arrays.copyOfRange(content, 10, 10 + BUFFER_BYTES), read(staged));
    }

    @Test
    void what_was_not_published_or_is_out_of_bounds_is_refused_and_the_next_request_is_served() throws IOException {
        ControlMessage.Stage[] wrong = {
            stage(0, 1, 99, 0, 1),
            stage(0, 2, MAP, content.length, 1),
            stage(0, 3, MAP, 1, content.length),
            stage(0, 4, MAP, Long.MAX_VALUE, Integer.MAX_VALUE),
            new ControlMessage.Stage(0, 5, SHUFFLE + 1, new long[] {MAP}, new long[] {0}, new int[] {1}),
            new ControlMessage.Stage(0, 6, SHUFFLE, new long[] {MAP, 99}, new long[] {0, 0}, new int[] {1, 1}),
        };
        for (ControlMessage.Stage request : wrong) {
            reader.send(request);
            ControlMessage.Refused refused = assertInstanceOf(ControlMessage.Refused.class, reader.answer());
            assertEquals(Refusal.UNKNOWN, refused.refusal());
            assertEquals(request.number(), refused.number());
        }
        assertEquals(wrong.length, counters.get(Counter.REFUSED_REQUESTS));
        assertServes();
    }

    @Test
    void who_breaks_the_protocol_loses_its_connection_and_nothing_else() throws IOException {
        byte[][] wrong = {
            {1},
            {9, 9, 9, 9},
            encoded(new ControlMessage.Release(2, 1)),
            encoded(new ControlMessage.Withdrawn(new int[] {1})),
            encoded(new ControlMessage.Staged(0, 1, 4096, 1, 1)),
        };
        for (byte[] bytes : wrong) {
            reader.send(bytes);
            assertNull(reader.answer());
            connect();
        }
        reader.send(stage(0, 1, MAP, 0, 1));
        reader.send(stage(0, 2, MAP, 0, 1)); // while the first is not released
        await().until(() -> {
            reader.answer();
            return reader.isBroken();
        });
        connect();
        assertServes();
        assertEquals(wrong.length + 1, counters.get(Counter.REFUSED_REQUESTS));
    }

    @Test
    void who_waits_too_long_for_a_buffer_is_told_so() throws IOException {
        for (int lane = 0; lane < ControlMessage.LANES; lane++) {
            reader.send(stage(lane, 1, MAP, 0, 1));
            assertInstanceOf(ControlMessage.Staged.class, reader.answer());
        }
        try (RawReader other = new RawReader(endpoint.listenAddress().getAddress())) {
            other.connect(endpoint.listenAddress(), proof.request(new MembershipProof.Claim(6, INCARNATION, 1)));
            other.send(new ControlMessage.Hello());
            other.send(stage(0, 1, MAP, 0, 1));
            ControlMessage.Refused refused = assertInstanceOf(ControlMessage.Refused.class, other.answer());
            assertEquals(Refusal.BUSY, refused.refusal());
        }
    }

    @Test
    void what_is_never_released_is_taken_back_with_the_connection() throws IOException {
        reader.send(stage(0, 1, MAP, 0, 1));
        ControlMessage.Staged staged = assertInstanceOf(ControlMessage.Staged.class, reader.answer());
        assertNull(reader.answer(), "the owner closes the connection");
        await().until(() -> pool.taken() == 0);
        assertTrue(staged.lengthBytes() > 0);
        connect();
        assertServes();
    }

    @Test
    void a_reader_that_goes_leaves_no_buffer_behind() throws IOException {
        reader.send(stage(0, 1, MAP, 0, 1));
        reader.send(stage(1, 1, MAP, 0, 1));
        reader.close();
        await().until(() -> owner.asOwner().size() == 0 && pool.taken() == 0);
    }

    /** Valid messages with a few bytes changed, and nonsense: an answer or the end of the connection, and good requests go on. */
    @Test
    void no_request_harms_the_owner() throws IOException {
        Random random = Seeds.random();
        int answered = 0;
        for (int round = 0; round < 150; round++) {
            byte[] bytes = mutated(random);
            reader.send(bytes);
            boolean isStage = bytes.length > 1 && bytes[1] == 2;
            if (isStage || reader.isBroken()) {
                ControlMessage answer = reader.answer();
                if (answer instanceof ControlMessage.Staged staged) {
                    assertTrue(staged.lengthBytes() <= BUFFER_BYTES);
                    reader.send(new ControlMessage.Release(staged.lane(), staged.number()));
                }
                answered += answer == null ? 0 : 1;
            }
            if (reader.isBroken() || round % 10 == 9) {
                connect();
            }
        }
        assertFalse(answered == 0, "some requests must have been good enough for an answer");
        connect();
        assertServes();
    }

    private static byte[] mutated(Random random) throws IOException {
        ControlMessage.Stage good = new ControlMessage.Stage(
                random.nextInt(ControlMessage.LANES),
                random.nextInt(),
                SHUFFLE,
                new long[] {MAP, MAP},
                new long[] {random.nextInt(100_000), 5},
                new int[] {1 + random.nextInt(5000), 7});
        byte[] bytes = encoded(good);
        for (int i = random.nextInt(3); i > 0; i--) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
        }
        return random.nextInt(8) == 0 ? Arrays.copyOf(bytes, 1 + random.nextInt(bytes.length)) : bytes;
    }

    private static byte[] encoded(ControlMessage message) {
        ByteBuffer buffer = ByteBuffer.allocate(ControlMessage.MAX_BYTES);
        ControlMessage.encode(message, buffer);
        return Arrays.copyOf(buffer.array(), buffer.limit());
    }
}
