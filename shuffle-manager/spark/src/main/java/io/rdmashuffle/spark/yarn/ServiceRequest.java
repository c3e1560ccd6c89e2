package io.rdmashuffle.spark.yarn;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;

/**
 * What an executor asks of the shuffle service of its host, on Spark's own connection to it, between Spark's messages. Layout in
 * docs/wire-format.md.
 */
public sealed interface ServiceRequest {

    /** No message of Spark's shuffle protocol has this type. */
    byte TYPE = (byte) 0xf5;

    byte VERSION = 1;

    int SECRET_BYTES = 32;

    String appId();

    /**
     * Serve this committed map output, also when the executor has left; answered by {@link ServiceAnswer}.
     *
     * @param execId the executor that wrote it, which has registered with the service as Spark's executors do
     * @param secret the application's, for the proofs of readers
     * @param partitions R, the number of reduce partitions
     */
    record Serve(String appId, String execId, byte[] secret, int shuffleId, long mapId, int partitions)
            implements ServiceRequest {
        @Override
        public String toString() {
            return "Serve[" + appId + ", executor " + execId + ", shuffle " + shuffleId + ", map " + mapId + "]";
        }
    }

    /** A shuffle was removed: serve nothing of it any more. The answer is empty. */
    record Forget(String appId, int shuffleId) implements ServiceRequest {}

    /** Whether a message on the shuffle port is one of ours. */
    static boolean isOurs(ByteBuffer message) {
        return message.hasRemaining() && message.get(message.position()) == TYPE;
    }

    default ByteBuffer encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(TYPE);
            out.writeByte(VERSION);
            out.writeBoolean(this instanceof Serve);
            out.writeUTF(appId());
            if (this instanceof Serve serve) {
                out.writeUTF(serve.execId);
                out.write(serve.secret);
                out.writeInt(serve.shuffleId);
                out.writeLong(serve.mapId);
                out.writeInt(serve.partitions);
            } else if (this instanceof Forget forget) {
                out.writeInt(forget.shuffleId);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ByteBuffer.wrap(bytes.toByteArray());
    }

    /** @throws IOException when these are not the bytes of a request of this version */
    static ServiceRequest decode(ByteBuffer message) throws IOException {
        try (DataInputStream in = ServiceAnswer.input(message)) {
            if (in.readByte() != TYPE || in.readByte() != VERSION) {
                throw new IOException("a version that is not served");
            }
            boolean serve = in.readBoolean();
            String appId = in.readUTF();
            ServiceRequest request;
            if (serve) {
                String execId = in.readUTF();
                byte[] secret = new byte[SECRET_BYTES];
                in.readFully(secret);
                request = new Serve(appId, execId, secret, in.readInt(), in.readLong(), in.readInt());
            } else {
                request = new Forget(appId, in.readInt());
            }
            if (in.read() >= 0) {
                throw new IOException("a request with bytes after its end");
            }
            return request;
        }
    }
}
