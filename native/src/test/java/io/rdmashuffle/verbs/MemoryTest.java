package io.rdmashuffle.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class MemoryTest {
    @TempDir
    Path directory;

    @Test
    void native_memory_is_page_aligned_and_zero() throws VerbsException {
        try (NativeMemory memory = NativeMemory.allocate(100_000)) {
            assertEquals(0, memory.address() % HostLimits.pageSizeBytes());
            assertEquals(100_000, memory.lengthBytes());
            ByteBuffer all = memory.buffer(0, 100_000);
            assertEquals(ByteOrder.BIG_ENDIAN, all.order());
            assertTrue(all.isDirect());
            while (all.hasRemaining()) {
                assertEquals(0, all.get());
            }
        }
    }

    @Test
    void views_share_the_memory() throws VerbsException {
        try (NativeMemory memory = NativeMemory.allocate(4096)) {
            memory.buffer(1000, 8).putLong(42);
            assertEquals(42, memory.buffer(0, 4096).getLong(1000));
            assertEquals(0, memory.buffer(4096, 0).capacity());
        }
    }

    @Test
    void views_stay_within_the_memory() throws VerbsException {
        try (NativeMemory memory = NativeMemory.allocate(4096)) {
            assertThrows(IndexOutOfBoundsException.class, () -> memory.buffer(4000, 97));
            assertThrows(IndexOutOfBoundsException.class, () -> memory.buffer(-1, 1));
            assertThrows(IndexOutOfBoundsException.class, () -> memory.buffer(0, -1));
        }
    }

    @Test
    void native_memory_over_2_gib_is_addressed_by_long_offsets() throws VerbsException {
        long bytes = 5L << 30;
        try (NativeMemory memory = NativeMemory.allocate(bytes)) {
            memory.buffer(bytes - 8, 8).putLong(7);
            assertEquals(7, memory.buffer(bytes - 16, 16).getLong(8));
        }
    }

    @Test
    void freed_memory_is_refused() throws VerbsException {
        NativeMemory memory = NativeMemory.allocate(4096);
        memory.close();
        memory.close();
        assertThrows(IllegalStateException.class, memory::address);
        assertThrows(IllegalStateException.class, () -> memory.buffer(0, 1));
    }

    @Test
    void memory_that_is_not_there_is_refused() {
        VerbsException failure = assertThrows(VerbsException.class, () -> NativeMemory.allocate(1L << 56));
        assertEquals(VerbsException.ENOMEM, failure.errno());
        assertThrows(IllegalArgumentException.class, () -> NativeMemory.allocate(0));
    }

    @ParameterizedTest
    @EnumSource
    void a_file_is_mapped_whole(MappedFile.Mode mode) throws IOException {
        Path file = Files.write(directory.resolve("a name with blanks"), new byte[12_345]);
        try (MappedFile mapped = MappedFile.map(file, mode)) {
            assertEquals(12_345, mapped.lengthBytes());
            assertEquals(0, mapped.address() % HostLimits.pageSizeBytes());
        }
    }

    @Test
    void a_file_is_found_by_a_name_beyond_ascii() throws IOException {
        assumeTrue("UTF-8".equals(System.getProperty("sun.jnu.encoding")), "needs a UTF-8 locale");
        Path file = Files.write(directory.resolve("d\u00e4t\u00e4-\ud83d\ude80"), new byte[10]);
        MappedFile.map(file, MappedFile.Mode.READ_ONLY).close();
    }

    @Test
    void an_empty_file_cannot_be_mapped() throws IOException {
        Path file = Files.createFile(directory.resolve("empty"));
        VerbsException failure =
                assertThrows(VerbsException.class, () -> MappedFile.map(file, MappedFile.Mode.READ_ONLY));
        assertEquals(VerbsException.EINVAL, failure.errno());
    }

    @Test
    void what_is_no_file_cannot_be_mapped() {
        VerbsException directoryFailure =
                assertThrows(VerbsException.class, () -> MappedFile.map(directory, MappedFile.Mode.READ_ONLY));
        assertEquals(VerbsException.EINVAL, directoryFailure.errno());
        VerbsException missing = assertThrows(
                VerbsException.class, () -> MappedFile.map(directory.resolve("none"), MappedFile.Mode.READ_ONLY));
        assertEquals("open", missing.step());
        assertThrows(
                VerbsException.class, () -> MappedFile.map(Path.of("/" + "x".repeat(5000)), MappedFile.Mode.READ_ONLY));
    }

    @Test
    void an_unmapped_file_is_refused() throws IOException {
        MappedFile mapped =
                MappedFile.map(Files.write(directory.resolve("data"), new byte[10]), MappedFile.Mode.READ_ONLY);
        mapped.close();
        mapped.close();
        assertThrows(IllegalStateException.class, mapped::address);
    }
}
