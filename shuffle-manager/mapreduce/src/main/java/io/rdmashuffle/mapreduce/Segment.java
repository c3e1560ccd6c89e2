package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.metrics.FallbackReason;

/**
 * One reducer's partition of one map output: where its bytes can be read, or why they cannot. The key is a bearer right to memory,
 * so {@link #toString} leaves it out.
 *
 * @param partLength bytes in the file: the IFile segment with its checksum, and before it the initialization vector if encrypted
 * @param rawLength bytes when decompressed, as the index says
 * @param whyNot null when it can be read
 * @param detail what happened, one phrase; may be empty
 */
record Segment(long address, int rkey, long partLength, long rawLength, FallbackReason whyNot, String detail) {

    static Segment readable(long address, int rkey, long partLength, long rawLength) {
        return new Segment(address, rkey, partLength, rawLength, null, "");
    }

    static Segment unreadable(FallbackReason whyNot, String detail) {
        return new Segment(0, 0, 0, 0, whyNot, detail);
    }

    @Override
    public String toString() {
        return "Segment[" + (whyNot == null ? partLength + " bytes" : whyNot) + "]";
    }
}
