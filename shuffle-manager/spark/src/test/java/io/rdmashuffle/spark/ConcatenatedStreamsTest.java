package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.ShuffleBlockId;
import org.junit.jupiter.api.Test;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

class ConcatenatedStreamsTest {

    private final List<String> log = new ArrayList<>();

    @Test
    void all_bytes_come_in_order_and_only_the_last_stream_ends_the_whole() throws IOException {
        ConcatenatedStreams streams = concatenated(bytes(1, 2), bytes(), bytes(3), bytes());
        assertArrayEquals(new byte[] {1, 2, 3}, streams.readAllBytes());
        assertEquals(-1, streams.read());
        assertEquals(-1, streams.read(new byte[1]));
    }

    @Test
    void single_bytes_come_across_the_ends_too() throws IOException {
        ConcatenatedStreams streams = concatenated(bytes(), bytes(-1), bytes(7));
        assertEquals(255, streams.read());
        assertEquals(7, streams.read());
        assertEquals(-1, streams.read());
    }

    @Test
    void no_streams_are_an_empty_stream() throws IOException {
        assertEquals(-1, concatenated().read());
    }

    @Test
    void a_stream_is_closed_before_the_next_is_asked_for_so_that_its_bytes_are_released() throws IOException {
        concatenated(bytes(1), bytes(2)).readAllBytes();
        assertEquals(List.of("ask 0", "close 0", "ask 1", "close 1"), log);
    }

    @Test
    void closing_closes_the_stream_that_is_being_read() throws IOException {
        ConcatenatedStreams streams = concatenated(bytes(1, 2), bytes(3));
        streams.read();
        streams.close();
        assertEquals(List.of("ask 0", "close 0"), log);
    }

    @Test
    void what_a_stream_throws_is_thrown() {
        InputStream broken = new InputStream() {
            @Override
            public int read() throws IOException {
                throw new IOException("disk");
            }
        };
        assertThrows(IOException.class, concatenated(broken)::read);
    }

    private ConcatenatedStreams concatenated(InputStream... streams) {
        List<Tuple2<BlockId, InputStream>> blocks = new ArrayList<>();
        for (int i = 0; i < streams.length; i++) {
            blocks.add(new Tuple2<>(new ShuffleBlockId(0, i, 0), logging(i, streams[i])));
        }
        return new ConcatenatedStreams(CollectionConverters.asScala(blocks.stream()
                .peek(block -> log.add("ask " + ((ShuffleBlockId) block._1()).mapId()))
                .iterator()));
    }

    private InputStream logging(int number, InputStream stream) {
        return new java.io.FilterInputStream(stream) {
            @Override
            public void close() throws IOException {
                log.add("close " + number);
                super.close();
            }
        };
    }

    private static InputStream bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return new ByteArrayInputStream(bytes);
    }
}
