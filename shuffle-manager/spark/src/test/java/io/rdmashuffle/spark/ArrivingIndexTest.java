package io.rdmashuffle.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.network.client.StreamCallbackWithID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ArrivingIndexTest {

    private final List<String> done = new ArrayList<>();

    @Test
    void a_map_output_is_published_before_its_index_is_stored() throws IOException {
        arrive(
                new ArrivingIndex(new Store(), lengths -> done.add("published " + Arrays.toString(lengths))),
                0,
                7,
                7,
                12);
        assertEquals(List.of("wrote 20", "wrote 12", "published [7, 0, 5]", "stored"), done);
    }

    @Test
    void what_cannot_be_published_is_refused_and_leaves_nothing() {
        ArrivingIndex index = new ArrivingIndex(new Store(), lengths -> {
            throw new IllegalStateException("mode=required");
        });
        assertThrows(IllegalStateException.class, () -> arrive(index, 0, 7));
        assertEquals(List.of("wrote 16", "removed"), done);
    }

    @Test
    void bytes_that_are_no_index_are_refused() {
        ArrivingIndex index = new ArrivingIndex(new Store(), lengths -> done.add("published"));
        assertThrows(IOException.class, () -> index.onComplete(""));
        assertEquals(List.of("removed"), done);
    }

    /** In pieces, as a network delivers it. */
    private static void arrive(ArrivingIndex index, long... offsets) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES * offsets.length);
        Arrays.stream(offsets).forEach(bytes::putLong);
        bytes.flip();
        while (bytes.hasRemaining()) {
            int length = Math.min(20, bytes.remaining());
            index.onData("", bytes.slice(bytes.position(), length));
            bytes.position(bytes.position() + length);
        }
        index.onComplete("");
    }

    private final class Store implements StreamCallbackWithID {

        @Override
        public String getID() {
            return "";
        }

        @Override
        public void onData(String streamId, ByteBuffer bytes) {
            done.add("wrote " + bytes.remaining());
            bytes.position(bytes.limit());
        }

        @Override
        public void onComplete(String streamId) {
            done.add("stored");
        }

        @Override
        public void onFailure(String streamId, Throwable cause) {
            done.add("removed");
        }
    }
}
