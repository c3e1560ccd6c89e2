package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.channel.FileRegion;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.SparkConf;
import org.apache.spark.network.buffer.FileSegmentManagedBuffer;
import org.apache.spark.network.buffer.ManagedBuffer;
import org.apache.spark.network.util.TransportConf;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServedOutputsTest {

    private static final TransportConf CONF = SparkSettings.transport(new SparkConf(false));
    private static final long INDEX_BYTES = 4 * Long.BYTES;

    @TempDir
    Path dir;

    private File data;
    private File index;

    @BeforeEach
    void write_a_map_output_of_three_partitions() throws IOException {
        data = Files.write(dir.resolve("data"), new byte[] {1, 2, 3, 4, 5}).toFile();
        index = index(0, 2, 2, 5);
    }

    @Test
    void a_small_block_is_sent_from_the_kept_file_though_its_name_is_gone() throws IOException {
        ServedOutput output = new ServedOutputs(INDEX_BYTES).load(1, 7, index, data);
        assertArrayEquals(new byte[] {1, 2}, sent(output.segment(CONF, 0, 1)));
        Files.delete(data.toPath());
        assertArrayEquals(new byte[] {3, 4, 5}, sent(output.segment(CONF, 2, 3)));
        assertArrayEquals(new byte[] {1, 2, 3, 4, 5}, sent(output.segment(CONF, 0, 3)));
    }

    @Test
    void a_block_that_is_being_sent_when_its_shuffle_is_removed_comes_whole() throws IOException {
        ServedOutputs outputs = new ServedOutputs(INDEX_BYTES);
        ServedOutput output = outputs.load(1, 7, index, data);
        FileRegion region = (FileRegion) output.segment(CONF, 2, 3).convertToNetty();
        outputs.remove(1, 7);
        assertNull(outputs.find(1, 7));
        assertArrayEquals(new byte[] {3, 4, 5}, sent(region));
        assertArrayEquals(new byte[] {1, 2}, sent(output.segment(CONF, 0, 1)), "opens the file for itself");
    }

    @Test
    void long_blocks_are_sparks_own_so_that_they_are_sent_within_the_kernel() throws IOException {
        index = index(0, 1 << 20);
        ServedOutput output = new ServedOutputs(INDEX_BYTES).load(1, 7, index, data);
        assertInstanceOf(FileSegmentManagedBuffer.class, output.segment(CONF, 0, 1));
    }

    @Test
    void the_same_output_is_kept_once() throws IOException {
        ServedOutputs outputs = new ServedOutputs(INDEX_BYTES);
        ServedOutput output = outputs.load(1, 7, index, data);
        assertSame(output, outputs.find(1, 7));
        assertNull(outputs.find(1, 8));
        assertNull(outputs.find(2, 7));
    }

    @Test
    void the_coldest_other_shuffle_gives_way_and_within_one_shuffle_the_first_stay() throws IOException {
        ServedOutputs outputs = new ServedOutputs(2 * INDEX_BYTES);
        outputs.load(1, 7, index, data);
        outputs.load(2, 8, index, data);
        assertNotNull(outputs.find(1, 7), "used last");
        assertNotNull(outputs.load(3, 9, index, data));
        assertNull(outputs.find(2, 8));
        assertNotNull(outputs.load(3, 10, index, data));
        assertNull(outputs.find(1, 7));
        assertNull(outputs.load(3, 11, index, data));
        assertNotNull(outputs.find(3, 9));
    }

    @Test
    void an_index_longer_than_all_that_may_be_kept_is_not() throws IOException {
        assertNull(new ServedOutputs(INDEX_BYTES - 1).load(1, 7, index, data));
    }

    @Test
    void what_is_no_index_is_an_error() throws IOException {
        ServedOutputs outputs = new ServedOutputs(1 << 20);
        File torn = Files.write(dir.resolve("torn"), new byte[13]).toFile();
        assertThrows(IOException.class, () -> outputs.load(1, 7, torn, data));
        assertThrows(IOException.class, () -> outputs.load(1, 7, new File(dir.toFile(), "none"), data));
        assertNull(outputs.find(1, 7));
    }

    private File index(long... offsets) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES * offsets.length);
        bytes.asLongBuffer().put(offsets);
        return Files.write(dir.resolve("index"), bytes.array()).toFile();
    }

    private static byte[] sent(ManagedBuffer buffer) throws IOException {
        FileRegion region = (FileRegion) buffer.convertToNetty();
        assertEquals(buffer.size(), region.count());
        return sent(region);
    }

    private static byte[] sent(FileRegion region) throws IOException {
        var out = new ByteArrayOutputStream();
        assertEquals(region.count(), region.transferTo(Channels.newChannel(out), 0));
        region.release();
        return out.toByteArray();
    }
}
