package io.rdmashuffle.core.directory;

import java.util.concurrent.CompletableFuture;

/**
 * How messages reach the driver's directory, in the order in which they were sent, whether they have an answer or not; the engine
 * provides it over its own authenticated RPC. Any thread.
 */
public interface DriverChannel {

    /** Sends a message; the future ends with the answer, or with an error when there is none in time. */
    CompletableFuture<byte[]> ask(byte[] message);

    /** Sends a message that has no answer. */
    void send(byte[] message);
}
