package io.rdmashuffle.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Page-aligned memory outside the heap, zero-filled, to be registered. Child processes do not inherit it (MADV_DONTFORK),
 * so that a fork cannot part the process from its pinned pages. Owns the memory; any thread.
 */
public final class NativeMemory implements AutoCloseable {
    private final long address;
    private final long lengthBytes;
    private final AtomicBoolean closed = new AtomicBoolean();

    private NativeMemory(long address, long lengthBytes) {
        this.address = address;
        this.lengthBytes = lengthBytes;
    }

    /**
     * Allocates.
     *
     * @param bytes at least 1
     * @throws VerbsException ENOMEM, or when the native library is not loaded
     */
    public static NativeMemory allocate(long bytes) throws VerbsException {
        if (bytes < 1) {
            throw new IllegalArgumentException("bytes " + bytes);
        }
        NativeLoader.require();
        long address = Native.allocate(bytes);
        if (address < 0) {
            throw VerbsException.ofLastCall(address);
        }
        return new NativeMemory(address, bytes);
    }

    /** First byte. */
    public long address() {
        requireOpen();
        return address;
    }

    /** Bytes asked for. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /**
     * A view, big-endian as every new buffer. It owns nothing: using it after {@link #close} is a use of freed memory.
     *
     * @param offset bytes from the start
     * @param length bytes
     */
    public ByteBuffer buffer(long offset, int length) {
        Objects.checkFromIndexSize(offset, (long) length, lengthBytes);
        requireOpen();
        return Native.view(address + offset, length).order(ByteOrder.BIG_ENDIAN);
    }

    /** Frees; the second call does nothing. Regions over it must be closed before. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            Native.unmap(address, lengthBytes);
        }
    }

    @Override
    public String toString() {
        return "NativeMemory[address=0x" + Long.toHexString(address) + ", lengthBytes=" + lengthBytes + "]";
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("memory is freed");
        }
    }
}
