package io.rdmashuffle.core.connection;

import io.rdmashuffle.core.MalformedMessageException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * What reader and owner say to each other over their connection. A request belongs to one of the {@value #LANES} lanes of the
 * connection, and a lane has one request at a time, which bounds how many messages can be under way (see {@link MessageChannel}).
 * The layout stands in docs/wire-format.md and is held by a golden-bytes test.
 */
sealed interface ControlMessage {

    int VERSION = 1;
    int LANES = 4;
    /** Longest message. */
    int MAX_BYTES = 1024;

    // header, of all messages
    int VERSION_AT = 0; // byte
    int TYPE_AT = VERSION_AT + 1; // byte
    int LANE_AT = TYPE_AT + 1; // short
    int NUMBER_AT = LANE_AT + 2; // int
    int HEADER_BYTES = NUMBER_AT + 4;

    int EXTENT_BYTES = 8 + 8 + 4;
    /** Most extents of one {@link Stage}. */
    int MAX_EXTENTS = (MAX_BYTES - HEADER_BYTES - 8) / EXTENT_BYTES;

    int MAX_SHUFFLES = (MAX_BYTES - HEADER_BYTES - 4) / 4;

    /** The first message on a connection, of the reader: iWARP wants the side that connected to speak first. */
    record Hello() implements ControlMessage {}

    /**
     * A reader asks for bytes of map outputs that are not registered.
     *
     * @param number of the request on its lane, rising
     * @param offsets into the data file of each map output
     * @param lengths at least 1 each
     */
    record Stage(int lane, int number, int shuffleId, long[] mapIds, long[] offsets, int[] lengths)
            implements ControlMessage {}

    /** The first so many bytes of what was asked for lie there, one extent behind the other, until released. */
    record Staged(int lane, int number, long address, int rkey, int lengthBytes) implements ControlMessage {
        @Override
        public String toString() {
            return "Staged[lane=" + lane + ", number=" + number + ", lengthBytes=" + lengthBytes + "]";
        }
    }

    /** What was asked for cannot be staged. */
    record Refused(int lane, int number, Refusal refusal) implements ControlMessage {}

    /** The reader does not need any more what was staged. */
    record Release(int lane, int number) implements ControlMessage {}

    /** An owner says that its map outputs of these shuffles are about to be deregistered. Acknowledged. */
    record Withdrawn(int[] shuffleIds) implements ControlMessage {}

    /** A reader has taken note of a {@link Withdrawn}. */
    record Noted() implements ControlMessage {}

    /** Why an owner did not stage. The order is part of the wire format. */
    enum Refusal {
        /** It has not published what was asked for, or not so many bytes of it. */
        UNKNOWN,
        /** No buffer became free in time. */
        BUSY,
        /** The file cannot be read. */
        UNREADABLE
    }

    /** Types on the wire, in the order of their numbers from 1. */
    enum Type {
        HELLO,
        STAGE,
        STAGED,
        REFUSED,
        RELEASE,
        WITHDRAWN,
        NOTED
    }

    /** Writes a message from position 0 on and flips the buffer. */
    static void encode(ControlMessage message, ByteBuffer out) {
        if (message instanceof Hello) {
            header(out, Type.HELLO, 0, 0);
        } else if (message instanceof Stage stage) {
            encodeStage(stage, out);
        } else if (message instanceof Staged staged) {
            header(out, Type.STAGED, staged.lane, staged.number);
            out.putLong(staged.address).putInt(staged.rkey).putInt(staged.lengthBytes);
        } else if (message instanceof Refused refused) {
            header(out, Type.REFUSED, refused.lane, refused.number);
            out.putInt(refused.refusal.ordinal());
        } else if (message instanceof Release release) {
            header(out, Type.RELEASE, release.lane, release.number);
        } else if (message instanceof Withdrawn withdrawn) {
            header(out, Type.WITHDRAWN, 0, 0);
            out.putInt(withdrawn.shuffleIds.length);
            for (int shuffleId : withdrawn.shuffleIds) {
                out.putInt(shuffleId);
            }
        } else {
            header(out, Type.NOTED, 0, 0);
        }
        out.flip();
    }

    /**
     * Reads a message, which must end where the buffer ends.
     *
     * @throws MalformedMessageException when it is none of this version; nothing in it is to be trusted then
     */
    static ControlMessage decode(ByteBuffer in) throws MalformedMessageException {
        try {
            int version = in.get(VERSION_AT);
            if (version != VERSION) {
                throw new MalformedMessageException("control message of version " + version, null);
            }
            ControlMessage message = decode(in, in.get(TYPE_AT), in.getShort(LANE_AT), in.getInt(NUMBER_AT));
            if (in.hasRemaining()) {
                throw new MalformedMessageException("control message with a surplus", null);
            }
            return message;
        } catch (BufferUnderflowException | IndexOutOfBoundsException e) {
            throw new MalformedMessageException("control message too short", e);
        }
    }

    private static ControlMessage decode(ByteBuffer in, int type, int lane, int number)
            throws MalformedMessageException {
        require(type >= 1 && type <= Type.values().length, "type");
        require(lane >= 0 && lane < LANES, "lane");
        in.position(HEADER_BYTES);
        return switch (Type.values()[type - 1]) {
            case HELLO -> new Hello();
            case STAGE -> decodeStage(in, lane, number);
            case STAGED -> decodeStaged(in, lane, number);
            case REFUSED -> {
                int refusal = in.getInt();
                require(refusal >= 0 && refusal < Refusal.values().length, "refusal");
                yield new Refused(lane, number, Refusal.values()[refusal]);
            }
            case RELEASE -> new Release(lane, number);
            case WITHDRAWN -> {
                int count = in.getInt();
                require(count >= 0 && count <= MAX_SHUFFLES, "number of shuffles");
                int[] shuffleIds = new int[count];
                for (int i = 0; i < count; i++) {
                    shuffleIds[i] = in.getInt();
                }
                yield new Withdrawn(shuffleIds);
            }
            case NOTED -> new Noted();
        };
    }

    private static void encodeStage(Stage stage, ByteBuffer out) {
        header(out, Type.STAGE, stage.lane, stage.number);
        out.putInt(stage.shuffleId).putInt(stage.mapIds.length);
        for (int i = 0; i < stage.mapIds.length; i++) {
            out.putLong(stage.mapIds[i]).putLong(stage.offsets[i]).putInt(stage.lengths[i]);
        }
    }

    private static Stage decodeStage(ByteBuffer in, int lane, int number) throws MalformedMessageException {
        int shuffleId = in.getInt();
        int extents = in.getInt();
        require(extents >= 1 && extents <= MAX_EXTENTS, "number of extents");
        Stage stage = new Stage(lane, number, shuffleId, new long[extents], new long[extents], new int[extents]);
        for (int i = 0; i < extents; i++) {
            stage.mapIds[i] = in.getLong();
            stage.offsets[i] = in.getLong();
            stage.lengths[i] = in.getInt();
            require(stage.offsets[i] >= 0 && stage.lengths[i] >= 1, "extent");
        }
        return stage;
    }

    private static Staged decodeStaged(ByteBuffer in, int lane, int number) throws MalformedMessageException {
        Staged staged = new Staged(lane, number, in.getLong(), in.getInt(), in.getInt());
        require(staged.lengthBytes >= 1, "length");
        return staged;
    }

    private static void header(ByteBuffer out, Type type, int lane, int number) {
        out.clear();
        out.put((byte) VERSION)
                .put((byte) (type.ordinal() + 1))
                .putShort((short) lane)
                .putInt(number);
    }

    private static void require(boolean sound, String what) throws MalformedMessageException {
        if (!sound) {
            throw new MalformedMessageException("control message with a wrong " + what, null);
        }
    }
}
