package io.rdmashuffle.mapreduce;

import io.rdmashuffle.core.connection.Owner;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * A NodeManager's answer. Layout in docs/wire-format.md.
 *
 * @param owner what to connect to; null when nothing here can be read over RDMA now, which every segment then says
 * @param segments one for each map output asked for, in that order
 */
record LookupReply(Owner owner, List<Segment> segments) {

    static final int MAX_BYTES = 64 << 10;

    private static final int MAGIC = 0x5253484c; // "RSHL"
    private static final int MAX_DETAIL_CHARS = 200;

    /** An answer that is the same for all: none can be read. */
    static LookupReply unreadable(int maps, FallbackReason whyNot, String detail) {
        Segment segment = Segment.unreadable(whyNot, detail);
        return new LookupReply(null, Collections.nCopies(maps, segment));
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(MAGIC);
            out.writeByte(LookupRequest.VERSION);
            out.writeBoolean(owner != null);
            if (owner != null) {
                owner.encode(out);
            }
            out.writeShort(segments.size());
            for (Segment segment : segments) {
                encode(segment, out);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** @throws IOException when these are not the bytes of an answer about so many map outputs */
    static LookupReply decode(byte[] bytes, int maps) throws IOException {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            if (in.readInt() != MAGIC || in.readByte() != LookupRequest.VERSION) {
                throw new IOException("not the answer to a lookup");
            }
            Owner owner = in.readBoolean() ? Owner.decode(in) : null;
            if (in.readUnsignedShort() != maps) {
                throw new IOException("an answer about other map outputs");
            }
            List<Segment> segments = new ArrayList<>(maps);
            for (int i = 0; i < maps; i++) {
                segments.add(decodeSegment(in, owner != null));
            }
            if (in.read() >= 0) {
                throw new IOException("an answer with bytes after its end");
            }
            return new LookupReply(owner, segments);
        }
    }

    private static void encode(Segment segment, DataOutputStream out) throws IOException {
        out.writeUTF(segment.whyNot() == null ? "" : segment.whyNot().name());
        if (segment.whyNot() == null) {
            out.writeLong(segment.address());
            out.writeInt(segment.rkey());
            out.writeLong(segment.partLength());
            out.writeLong(segment.rawLength());
        } else {
            String detail = segment.detail();
            out.writeUTF(detail.substring(0, Math.min(MAX_DETAIL_CHARS, detail.length())));
        }
    }

    private static Segment decodeSegment(DataInputStream in, boolean hasOwner) throws IOException {
        String reason = in.readUTF();
        if (!reason.isEmpty()) {
            return Segment.unreadable(reasonOf(reason), in.readUTF());
        }
        Segment segment = Segment.readable(in.readLong(), in.readInt(), in.readLong(), in.readLong());
        if (!hasOwner || segment.partLength() <= 0 || segment.rawLength() < 0) {
            throw new IOException("an answer that makes no sense");
        }
        return segment;
    }

    /** A newer NodeManager may have reasons that are not known here. */
    private static FallbackReason reasonOf(String name) {
        return Arrays.stream(FallbackReason.values())
                .filter(reason -> reason.name().equals(name))
                .findFirst()
                .orElse(FallbackReason.NOT_PUBLISHED);
    }
}
