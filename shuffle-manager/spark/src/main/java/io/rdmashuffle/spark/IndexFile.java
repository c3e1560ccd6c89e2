package io.rdmashuffle.spark;

import java.io.IOException;
import java.nio.ByteBuffer;

/** An index file of Spark's sort shuffle: R+1 offsets into the data file, eight bytes each, big-endian (IndexShuffleBlockResolver). */
final class IndexFile {

    private IndexFile() {}

    /**
     * The R+1 offsets.
     *
     * @throws IOException when the bytes are no index file
     */
    static long[] offsets(byte[] bytes) throws IOException {
        if (bytes.length < 2 * Long.BYTES || bytes.length % Long.BYTES != 0) {
            throw new IOException("an index file cannot have " + bytes.length + " bytes");
        }
        long[] offsets = new long[bytes.length / Long.BYTES];
        ByteBuffer.wrap(bytes).asLongBuffer().get(offsets);
        return offsets;
    }
}
