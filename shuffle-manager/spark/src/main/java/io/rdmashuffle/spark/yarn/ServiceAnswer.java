package io.rdmashuffle.spark.yarn;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.directory.MapOutputLocation;
import io.rdmashuffle.core.directory.Placement;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** What the shuffle service answers to {@link ServiceRequest.Serve}. Layout in docs/wire-format.md. */
public sealed interface ServiceAnswer {

    /**
     * The map output can be read.
     *
     * @param owner the service, under the name of the executor that wrote the map output
     */
    record Served(Owner owner, MapOutputLocation location) implements ServiceAnswer {}

    /** The map output is not served over RDMA. */
    record Refused(FallbackReason reason, String detail) implements ServiceAnswer {}

    int MAX_DETAIL_CHARS = 200;

    default ByteBuffer encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeByte(ServiceRequest.VERSION);
            if (this instanceof Served served) {
                out.writeUTF("");
                served.owner.encode(out);
                encode(served.location, out);
            } else if (this instanceof Refused refused) {
                out.writeUTF(refused.reason.name());
                out.writeUTF(refused.detail.substring(0, Math.min(MAX_DETAIL_CHARS, refused.detail.length())));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return ByteBuffer.wrap(bytes.toByteArray());
    }

    /** @throws IOException when these are not the bytes of an answer of this version */
    static ServiceAnswer decode(ByteBuffer message) throws IOException {
        try (DataInputStream in = input(message)) {
            if (in.readByte() != ServiceRequest.VERSION) {
                throw new IOException("an answer of another version");
            }
            String reason = in.readUTF();
            ServiceAnswer answer = reason.isEmpty()
                    ? new Served(Owner.decode(in), decodeLocation(in))
                    : new Refused(reasonOf(reason), in.readUTF());
            if (in.read() >= 0) {
                throw new IOException("an answer with bytes after its end");
            }
            return answer;
        }
    }

    static DataInputStream input(ByteBuffer message) {
        byte[] bytes = new byte[message.remaining()];
        message.duplicate().get(bytes);
        return new DataInputStream(new ByteArrayInputStream(bytes));
    }

    private static void encode(MapOutputLocation location, DataOutputStream out) throws IOException {
        out.writeLong(location.mapId());
        out.writeByte(location.placement().ordinal());
        out.writeLong(location.dataAddress());
        out.writeInt(location.dataRkey());
        out.writeLong(location.dataBytes());
        out.writeLong(location.offsetsAddress());
        out.writeInt(location.offsetsRkey());
        out.writeInt(location.partitions());
    }

    private static MapOutputLocation decodeLocation(DataInputStream in) throws IOException {
        return new MapOutputLocation(
                in.readLong(),
                placementOf(in.readUnsignedByte()),
                in.readLong(),
                in.readInt(),
                in.readLong(),
                in.readLong(),
                in.readInt(),
                in.readInt());
    }

    private static Placement placementOf(int ordinal) throws IOException {
        if (ordinal >= Placement.values().length) {
            throw new IOException("a placement that is not known");
        }
        return Placement.values()[ordinal];
    }

    /** A newer service may have reasons that are not known here. */
    private static FallbackReason reasonOf(String name) {
        return Arrays.stream(FallbackReason.values())
                .filter(reason -> reason.name().equals(name))
                .findFirst()
                .orElse(FallbackReason.NOT_PUBLISHED);
    }
}
