package io.rdmashuffle.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.stream.IntStream;
import org.apache.spark.network.client.StreamCallbackWithID;

/**
 * The index of a map output that a decommissioned executor hands on to this one. It comes after the data file, and when it is stored Spark
 * makes the driver name this executor as the owner (BlockManagerMasterEndpoint); the map output is published right before, so that
 * no reader looks too early. On the thread of one stream.
 */
final class ArrivingIndex implements StreamCallbackWithID {

    private final StreamCallbackWithID store;
    private final Publication publication;
    private final ByteArrayOutputStream seen = new ByteArrayOutputStream();

    /** Publishes the map output that arrived. */
    interface Publication {
        void publish(long[] partitionLengths);
    }

    /** @param store Spark's, which writes the index file */
    ArrivingIndex(StreamCallbackWithID store, Publication publication) {
        this.store = store;
        this.publication = publication;
    }

    @Override
    public String getID() {
        return store.getID();
    }

    @Override
    public ByteBuffer getCompletionResponse() {
        return store.getCompletionResponse();
    }

    @Override
    public void onData(String streamId, ByteBuffer bytes) throws IOException {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        seen.writeBytes(copy);
        store.onData(streamId, bytes);
    }

    @Override
    public void onComplete(String streamId) throws IOException {
        try {
            publication.publish(partitionLengths());
        } catch (IOException | RuntimeException e) {
            store.onFailure(streamId, e); // nobody else tells it; the sender turns to another executor
            throw e;
        }
        store.onComplete(streamId);
    }

    @Override
    public void onFailure(String streamId, Throwable cause) throws IOException {
        store.onFailure(streamId, cause);
    }

    private long[] partitionLengths() throws IOException {
        long[] offsets = IndexFile.offsets(seen.toByteArray());
        return IntStream.range(0, offsets.length - 1)
                .mapToLong(partition -> offsets[partition + 1] - offsets[partition])
                .toArray();
    }
}
