package io.rdmashuffle.core.directory;

import io.rdmashuffle.core.HmacSha256;
import io.rdmashuffle.core.MalformedMessageException;
import io.rdmashuffle.core.metrics.Snapshot;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** An executor's side of the conversation with the directory. Any thread. */
public final class DirectoryClient {

    private static final byte[] PURPOSE = "rdma-shuffle membership".getBytes(StandardCharsets.US_ASCII);

    private final DriverChannel channel;
    private final long incarnation;
    private final long timeoutMillis;
    private final byte[] engineSecret;

    public DirectoryClient(DriverChannel channel, long incarnation, long timeoutMillis) {
        this(channel, incarnation, timeoutMillis, new byte[0]);
    }

    /** @param engineSecret what the engine's processes authenticate with and never send; empty when they do not authenticate */
    public DirectoryClient(DriverChannel channel, long incarnation, long timeoutMillis, byte[] engineSecret) {
        this.channel = channel;
        this.incarnation = incarnation;
        this.timeoutMillis = timeoutMillis;
        this.engineSecret = engineSecret;
    }

    /**
     * Introduces this process and waits for the driver's secret.
     *
     * @return the application's secret: that one, or with an engine's secret what is derived from both, so that the answer alone is
     *     worth nothing to whoever saw it on its way
     */
    public byte[] hello(Message.Hello hello) throws IOException {
        byte[] secret = await(ask(hello, Message.Welcome.class)).secret();
        return engineSecret.length == 0
                ? secret
                : new HmacSha256(engineSecret).of(ByteBuffer.wrap(PURPOSE), ByteBuffer.wrap(secret));
    }

    /**
     * Publishes. What this process sends to the driver later, by any way of the channel's, the driver sees later; so who learns from such
     * a message that the map output exists finds the entry.
     *
     * @return ends when the directory has taken it, or with an {@link IOException}, but the entry may be there then too; on any thread,
     *     within the time-out
     */
    public CompletableFuture<Void> publish(int shuffleId, MapOutputLocation location) {
        return ask(new Message.Publish(shuffleId, incarnation, location), Message.Ack.class)
                .thenCompose(answer -> answer.accepted()
                        ? CompletableFuture.completedFuture(null)
                        : CompletableFuture.failedFuture(new IOException("refused")));
    }

    public void withdraw(int shuffleId, long mapId) {
        channel.send(MessageCodec.encode(new Message.Withdraw(shuffleId, incarnation, mapId)));
    }

    /** Says that what this process has of a shuffle is not registered any more. */
    public void unpin(int shuffleId) {
        channel.send(MessageCodec.encode(new Message.Unpin(shuffleId, incarnation)));
    }

    public void report(Snapshot figures) {
        channel.send(MessageCodec.encode(new Message.Report(incarnation, figures.toArray())));
    }

    /** Asks for all locations of a shuffle; the future ends on any thread, within the time-out. */
    CompletableFuture<Message.Locations> locate(int shuffleId) {
        return ask(new Message.Locate(shuffleId), Message.Locations.class);
    }

    private <T extends Message> CompletableFuture<T> ask(Message message, Class<T> answerType) {
        return channel.ask(MessageCodec.encode(message))
                .orTimeout(timeoutMillis, TimeUnit.MILLISECONDS)
                .thenCompose(bytes -> {
                    try {
                        return CompletableFuture.completedFuture(answerType.cast(MessageCodec.decode(bytes)));
                    } catch (MalformedMessageException | ClassCastException e) {
                        return CompletableFuture.failedFuture(e);
                    }
                })
                .exceptionallyCompose(e -> CompletableFuture.failedFuture(readable(e)));
    }

    private static IOException readable(Throwable e) {
        Throwable cause = e instanceof CompletionException ? e.getCause() : e;
        return new IOException(
                cause instanceof TimeoutException ? "the driver's directory did not answer in time" : cause.toString(),
                cause);
    }

    private static <T> T await(CompletableFuture<T> answer) throws IOException {
        try {
            return answer.get();
        } catch (ExecutionException e) {
            throw new IOException(e.getCause().getMessage(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while waiting for the driver's directory", e);
        }
    }
}
