package io.rdmashuffle.verbs;

import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A whole file mapped shared into memory, to be registered and served. Owns the mapping; the file itself may be closed
 * or unlinked meanwhile but must not be truncated or rewritten. Any thread; not to be closed while somebody reads it.
 */
public final class MappedFile implements AutoCloseable {
    /** How the file is opened and mapped. */
    public enum Mode {
        /** The right choice; kernels before 6.2 then refuse to register it (EFAULT). */
        READ_ONLY,
        /** For such kernels; the file must be writable, which nobody uses. */
        READ_WRITE
    }

    private final Path path;
    private final long address;
    private final long lengthBytes;
    private final int ownerUid;
    private final AtomicBoolean closed = new AtomicBoolean();

    private MappedFile(Path path, long address, long lengthBytes, int ownerUid) {
        this.path = path;
        this.address = address;
        this.lengthBytes = lengthBytes;
        this.ownerUid = ownerUid;
    }

    /**
     * Maps the file with its present length.
     *
     * @throws VerbsException EINVAL for an empty file or one that is not regular, and what open(2) and mmap(2) give
     */
    public static MappedFile map(Path path, Mode mode) throws VerbsException {
        NativeLoader.require();
        long[] lengthAndUid = new long[2];
        long address = Native.mapFile(nativeName(path), mode == Mode.READ_WRITE, lengthAndUid);
        if (address < 0) {
            throw VerbsException.ofLastCall(address);
        }
        return new MappedFile(path, address, lengthAndUid[0], (int) lengthAndUid[1]);
    }

    /** First byte. */
    public long address() {
        if (closed.get()) {
            throw new IllegalStateException(path + " is unmapped");
        }
        return address;
    }

    /** Length of the file when it was mapped. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Who owned the file that was mapped, whatever its name stands for by now. */
    public int ownerUid() {
        return ownerUid;
    }

    /** Unmaps; the second call does nothing. */
    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            Native.unmap(address, lengthBytes);
        }
    }

    @Override
    public String toString() {
        return "MappedFile[" + path + ", " + lengthBytes + " bytes]";
    }

    /** The name in the encoding in which Java itself talks to the file system. */
    private static byte[] nativeName(Path path) {
        String encoding = Objects.requireNonNullElse(System.getProperty("sun.jnu.encoding"), "UTF-8");
        return path.toString().getBytes(Charset.forName(encoding));
    }
}
