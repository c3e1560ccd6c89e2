package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The owner is another process, which may die. */
@Timeout(180)
class TwoProcessesTest {
    private static final int FILE_BYTES = 4 << 20;

    @TempDir
    Path directory;

    private final byte[] content = new byte[FILE_BYTES];
    private Path path;

    @BeforeEach
    void a_file() throws Exception {
        TestDevice.require();
        new Random(11).nextBytes(content);
        path = Files.write(directory.resolve("shuffle.data"), content);
    }

    /** What the server printed, and the READs of its file. */
    private record Served(InetSocketAddress address, long source, int rkey) {
        static Served by(ChildJvm server) throws Exception {
            String[] words = server.awaitLine("serving ").split(" ");
            InetSocketAddress address = new InetSocketAddress(TestDevice.address(), Integer.parseInt(words[0]));
            return new Served(address, Long.parseLong(words[1]), Integer.parseInt(words[2]));
        }

        ReadBatch reads(int count, MemoryRegion sink) {
            ReadBatch batch = new ReadBatch(count);
            for (int i = 0; i < count; i++) {
                batch.add(i, sink.address(), sink.lkey(), source, rkey, FILE_BYTES, true);
            }
            return batch;
        }
    }

    private static VerbsConnection connect(VerbsPeer reader, Served served) throws VerbsException {
        VerbsConnection connection = reader.request(served.address(), new byte[0]);
        VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.ESTABLISHED), reader);
        return connection;
    }

    @Test
    void a_file_of_another_process_arrives_byte_for_byte() throws Exception {
        try (ChildJvm server = ChildJvm.start(FileServer.class, path.toString(), "once");
                NativeMemory memory = NativeMemory.allocate(FILE_BYTES);
                VerbsPeer reader = new VerbsPeer();
                MemoryRegion sink = reader.endpoint.register(
                        memory.address(), FILE_BYTES, Access.LOCAL_WRITE | Access.REMOTE_WRITE)) {
            Served served = Served.by(server);
            VerbsConnection connection = connect(reader, served);
            connection.post(served.reads(1, sink), 0, 1);
            VerbsPeer.pump(() -> !reader.completions.isEmpty(), reader);
            assertEquals(WcStatus.SUCCESS, reader.completions.get(0).status());
            byte[] got = new byte[FILE_BYTES];
            memory.buffer(0, FILE_BYTES).get(got);
            assertArrayEquals(content, got);

            connection.disconnect();
            assertEquals("done", server.outputToEnd());
            assertEquals(0, server.exitCode());
        }
    }

    @Test
    void the_death_of_the_owner_is_told_and_ends_what_is_under_way() throws Exception {
        try (ChildJvm server = ChildJvm.start(FileServer.class, path.toString(), "forever");
                NativeMemory memory = NativeMemory.allocate(FILE_BYTES);
                VerbsPeer reader = new VerbsPeer();
                MemoryRegion sink = reader.endpoint.register(
                        memory.address(), FILE_BYTES, Access.LOCAL_WRITE | Access.REMOTE_WRITE)) {
            Served served = Served.by(server);
            VerbsConnection connection = connect(reader, served);
            ReadBatch reads = served.reads(100, sink);
            connection.post(reads, 0, 100);
            server.kill();

            VerbsPeer.pump(() -> reader.saw(connection.id(), CmEventType.DISCONNECTED), reader);
            connection.disconnect(); // soft-RoCE keeps READs pending until told
            VerbsPeer.pump(() -> reader.completions.size() >= 99, reader); // soft-iWARP may lose one
            assertTrue(reader.completions.stream()
                    .allMatch(completion -> completion.status() == WcStatus.SUCCESS
                            || completion.status().scope() == FailureScope.CONNECTION));
        }
    }
}
