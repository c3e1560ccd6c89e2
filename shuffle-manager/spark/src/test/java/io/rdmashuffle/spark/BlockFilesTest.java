package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmashuffle.core.read.SliceListener.Slice;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.buffer.NioManagedBuffer;
import org.apache.spark.network.shuffle.BlockFetchingListener;
import org.apache.spark.network.shuffle.DownloadFile;
import org.apache.spark.network.shuffle.DownloadFileManager;
import org.apache.spark.network.shuffle.DownloadFileWritableChannel;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.Test;

/** On a disk made of memory, with room for a few bytes. */
class BlockFilesTest {

    private final Disk disk = new Disk();
    private final Map<String, byte[]> delivered = new HashMap<>();
    private final List<Long> counted = new ArrayList<>();
    private final BlockFiles files = new BlockFiles(
            disk,
            new TransportConf("shuffle", MapConfigProvider.EMPTY),
            new BlockFetchingListener() {
                @Override
                public void onBlockFetchSuccess(String blockId, ManagedBuffer data) {
                    try {
                        delivered.put(blockId, data.createInputStream().readAllBytes());
                    } catch (IOException e) {
                        throw new AssertionError(e);
                    }
                }

                @Override
                public void onBlockFetchFailure(String blockId, Throwable exception) {
                    throw new AssertionError(blockId, exception);
                }
            },
            Runnable::run);

    private FakeSlice write(String blockId, boolean last, int... bytes) {
        byte[] content = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            content[i] = (byte) bytes[i];
        }
        FakeSlice slice = new FakeSlice(content, last);
        files.write(blockId, slice, counted::add);
        return slice;
    }

    @Test
    void slices_become_one_file_that_spark_cleans_up() {
        assertEquals("consumed", write("a", false, 1, 2).end);
        assertTrue(delivered.isEmpty());
        assertEquals("consumed", write("a", true, 3).end);
        assertEquals("consumed", write("b", true, 4).end);
        assertArrayEquals(new byte[] {1, 2, 3}, delivered.get("a"));
        assertArrayEquals(new byte[] {4}, delivered.get("b"));
        assertEquals(List.of(3L, 1L), counted);
        assertEquals(2, disk.toClean);
        assertEquals(0, disk.deleted);
    }

    @Test
    void a_file_that_spark_does_not_take_any_more_is_deleted() {
        disk.takesFiles = false;
        write("a", true, 1);
        assertEquals(1, disk.deleted);
    }

    @Test
    void when_the_disk_is_full_the_block_fails_its_file_is_deleted_and_later_slices_are_dropped() {
        disk.room = 3;
        write("a", false, 1, 2);
        assertTrue(write("a", false, 3, 4).end.contains("No space left"));
        assertEquals("consumed", write("a", true, 5).end);
        assertFalse(delivered.containsKey("a"));
        assertEquals(1, disk.deleted);
        disk.room = 10;
        write("b", true, 6);
        assertArrayEquals(new byte[] {6}, delivered.get("b"));
    }

    @Test
    void when_no_file_can_be_made_the_block_fails() {
        disk.full = true;
        assertTrue(write("a", true, 1).end.contains("no local dir"));
        assertTrue(delivered.isEmpty());
    }

    @Test
    void a_block_given_up_leaves_no_file_and_its_next_step_comes_after() {
        write("a", false, 1);
        List<Integer> deletedBefore = new ArrayList<>();
        files.giveUp(new String[] {"a"}, () -> deletedBefore.add(disk.deleted));
        assertEquals(List.of(1), deletedBefore);
        assertEquals("consumed", write("a", true, 2).end);
        assertTrue(delivered.isEmpty());
    }

    @Test
    void a_block_is_given_up_too_when_nothing_came_of_it_nor_of_any_before_it() {
        List<String> next = new ArrayList<>();
        files.giveUp(new String[] {"a"}, () -> next.add("a falls back"));
        assertEquals(List.of("a falls back"), next);
    }

    @Test
    void giving_up_another_block_changes_nothing() {
        write("a", false, 1);
        files.giveUp(new String[] {"b"}, () -> {});
        write("a", true, 2);
        assertArrayEquals(new byte[] {1, 2}, delivered.get("a"));
    }

    @Test
    void work_that_fails_does_not_stop_the_work_after_it() {
        files.giveUp(new String[] {"b"}, () -> {
            throw new IllegalStateException("scripted");
        });
        write("a", true, 1);
        assertArrayEquals(new byte[] {1}, delivered.get("a"));
    }

    private static final class FakeSlice implements Slice {

        private final byte[] bytes;
        private final boolean last;
        private String end = "";

        FakeSlice(byte[] bytes, boolean last) {
            this.bytes = bytes;
            this.last = last;
        }

        @Override
        public ByteBuffer bytes() {
            return ByteBuffer.wrap(bytes);
        }

        @Override
        public boolean isLast() {
            return last;
        }

        @Override
        public void consumed() {
            end += "consumed";
        }

        @Override
        public void failed(String detail) {
            end += detail;
        }
    }

    private static final class Disk implements DownloadFileManager {

        private int room = 100;
        private boolean full;
        private boolean takesFiles = true;
        private int toClean;
        private int deleted;

        @Override
        public DownloadFile createTempFile(TransportConf conf) {
            if (full) {
                throw new IllegalStateException("no local dir");
            }
            return new DownloadFile() {
                @Override
                public boolean delete() {
                    deleted++;
                    return true;
                }

                @Override
                public DownloadFileWritableChannel openForWriting() {
                    return new MemoryChannel();
                }

                @Override
                public String path() {
                    return "memory";
                }
            };
        }

        @Override
        public boolean registerTempFileToClean(DownloadFile file) {
            toClean += takesFiles ? 1 : 0;
            return takesFiles;
        }

        private final class MemoryChannel implements DownloadFileWritableChannel {

            private final ByteArrayOutputStream content = new ByteArrayOutputStream();

            @Override
            public int write(ByteBuffer bytes) throws IOException {
                if (room == 0) {
                    throw new IOException("No space left on device");
                }
                room--;
                content.write(bytes.get()); // one at a time, as a channel may
                return 1;
            }

            @Override
            public ManagedBuffer closeAndRead() {
                return new NioManagedBuffer(ByteBuffer.wrap(content.toByteArray()));
            }

            @Override
            public boolean isOpen() {
                return true;
            }

            @Override
            public void close() {}
        }
    }
}
