package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Buffer that the native half describes one device in; the layout is that of {@code struct rs_device} in rs_verbs.h. */
final class DeviceInfo {
    private static final int NAME = 0;
    private static final int NAME_BYTES = 64;
    private static final int MAX_MR_BYTES = NAME + NAME_BYTES;
    private static final int MAX_MESSAGE_BYTES = MAX_MR_BYTES + Long.BYTES;
    private static final int TRANSPORT = MAX_MESSAGE_BYTES + Long.BYTES;
    private static final int LINK_LAYER = TRANSPORT + Integer.BYTES;
    private static final int PORT_ACTIVE = LINK_LAYER + Integer.BYTES;
    private static final int MAX_QP = PORT_ACTIVE + Integer.BYTES;
    private static final int MAX_QP_WR = MAX_QP + Integer.BYTES;
    private static final int MAX_CQE = MAX_QP_WR + Integer.BYTES;
    private static final int MAX_MR = MAX_CQE + Integer.BYTES;
    private static final int MAX_SGE = MAX_MR + Integer.BYTES;
    private static final int MAX_READ_DEPTH_OUT = MAX_SGE + Integer.BYTES;
    private static final int MAX_READ_DEPTH_IN = MAX_READ_DEPTH_OUT + Integer.BYTES;
    private static final int ACTIVE_MTU_BYTES = MAX_READ_DEPTH_IN + Integer.BYTES;
    private static final int ODP = ACTIVE_MTU_BYTES + Integer.BYTES;
    static final int BYTES = ODP + Integer.BYTES;

    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BYTES).order(ByteOrder.nativeOrder());

    /** The buffer to hand to the native call. */
    ByteBuffer buffer() {
        return buffer;
    }

    /** What the native call wrote. */
    RdmaDevice toDevice() {
        return new RdmaDevice(
                name(),
                RdmaDevice.Transport.values()[buffer.getInt(TRANSPORT)],
                RdmaDevice.LinkLayer.values()[buffer.getInt(LINK_LAYER)],
                buffer.getInt(PORT_ACTIVE) != 0,
                buffer.getInt(MAX_QP),
                buffer.getInt(MAX_QP_WR),
                buffer.getInt(MAX_CQE),
                buffer.getInt(MAX_MR),
                buffer.getLong(MAX_MR_BYTES),
                buffer.getInt(MAX_SGE),
                buffer.getInt(MAX_READ_DEPTH_OUT),
                buffer.getInt(MAX_READ_DEPTH_IN),
                buffer.getLong(MAX_MESSAGE_BYTES),
                buffer.getInt(ACTIVE_MTU_BYTES),
                buffer.getInt(ODP) != 0);
    }

    private String name() {
        byte[] bytes = new byte[NAME_BYTES];
        buffer.get(NAME, bytes);
        return new String(bytes, StandardCharsets.US_ASCII).trim();
    }
}
