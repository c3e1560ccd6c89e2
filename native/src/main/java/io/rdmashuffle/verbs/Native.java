package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;

/**
 * Every native method there is. Unless stated otherwise they return a value ≥ 0 (pointers as positive longs) or
 * {@code -errno}, whose failing call {@link #lastStep} then names for the same thread. They take pointers on trust:
 * only the classes that own them call these. Valid once {@link NativeLoader} has loaded the library.
 */
final class Native {
    /** Version of the interface between the two halves; raised with any change to it (RS_ABI_VERSION in rs_verbs.h). */
    static final int ABI_VERSION = 3;

    private Native() {}

    /** Interface version, struct sizes and verbs constants of the C half, in {@link NativeLoader}'s order. */
    static native int[] abi();

    /** Text of a positive errno. */
    static native String strerror(int errno);

    /** The call that failed last on this thread; after {@link #openLibraries} with the dynamic linker's reason. */
    static native String lastStep();

    /** Opens libibverbs.so.1 and librdmacm.so.1 for the life of the process. */
    static native int openLibraries();

    /** Opens all devices by rdma_cm for the life of the process and returns their number. */
    static native int openDevices();

    static native int device(int index, ByteBuffer deviceOut);

    static native long endpointOpen(byte[] address, int scopeId, int backlog, int cqEntries);

    static native int endpointDevice(long endpoint, ByteBuffer deviceOut);

    static native int endpointPort(long endpoint);

    /** Listens on one more address of the same device; the port. */
    static native int endpointListen(long endpoint, byte[] address, int scopeId, int backlog);

    static native int poll(long endpoint, ByteBuffer events, int timeoutMillis, int spinMicros);

    static native int wake(long endpoint);

    static native void endpointClose(long endpoint);

    static native long register(long endpoint, long address, long lengthBytes, int access);

    /** Any 32-bit value. */
    static native int lkey(long region);

    /** Any 32-bit value. */
    static native int rkey(long region);

    static native void deregister(long region);

    static native long resolve(
            long endpoint,
            byte[] localAddress,
            int localScopeId,
            byte[] address,
            int scopeId,
            int port,
            int timeoutMillis);

    static native long connectionId(long connection);

    static native int qpNumber(long connection);

    static native int resolveRoute(long connection, int timeoutMillis);

    static native int connect(
            long connection,
            byte[] privateData,
            int sendQueueDepth,
            long receiveAddress,
            int receiveLkey,
            int slots,
            int slotBytes);

    static native int accept(
            long connection,
            byte[] privateData,
            int sendQueueDepth,
            long receiveAddress,
            int receiveLkey,
            int slots,
            int slotBytes,
            int initiatorDepth,
            int responderResources);

    static native int reject(long connection, byte[] privateData);

    static native int post(long connection, ByteBuffer reads, int from, int count);

    static native int send(long connection, long wrId, long address, int lkey, int lengthBytes);

    static native int postReceives(long connection, int first, int count);

    static native int disconnect(long connection);

    static native void destroyQp(long connection);

    static native void connectionClose(long connection);

    /** Maps a whole file; its length and its owner's uid go to {@code lengthAndUidOut}. */
    static native long mapFile(byte[] path, boolean writable, long[] lengthAndUidOut);

    static native long allocate(long bytes);

    static native void unmap(long address, long lengthBytes);

    /** A direct buffer over foreign memory; null when the JVM cannot make one. */
    static native ByteBuffer view(long address, int lengthBytes);
}
