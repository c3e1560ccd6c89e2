package io.rdmashuffle.verbs;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What this process may pin, read from /proc (proc(5)) so that it can be told without the native library. Where /proc does
 * not say, there is no limit and pages have 4096 bytes. Any thread.
 */
public final class HostLimits {
    private static final Path PROC = Path.of("/proc/self");
    private static final int CAP_IPC_LOCK = 14; // capability.h
    private static final long AT_PAGESZ = 6; // elf.h, auxiliary vector
    private static final int DEFAULT_PAGE_SIZE_BYTES = 4096;

    private HostLimits() {}

    /** Soft RLIMIT_MEMLOCK in bytes; {@link Long#MAX_VALUE} is unlimited. */
    public static long memlockSoftBytes() {
        return memlock(PROC, 0);
    }

    /** Hard RLIMIT_MEMLOCK in bytes; {@link Long#MAX_VALUE} is unlimited. */
    public static long memlockHardBytes() {
        return memlock(PROC, 1);
    }

    /**
     * Whether CAP_IPC_LOCK is effective, which lifts RLIMIT_MEMLOCK on most devices; soft-iWARP counts all the same.
     */
    public static boolean memlockExempt() {
        return memlockExempt(PROC);
    }

    /** Size of a page in bytes: 4096, on some arm64 kernels 16384 or 65536. */
    public static int pageSizeBytes() {
        return pageSizeBytes(PROC);
    }

    static long memlock(Path proc, int column) {
        return lineValue(proc.resolve("limits"), "Max locked memory")
                .map(value -> value.split("\\s+")[column])
                .map(value -> value.equals("unlimited") ? Long.MAX_VALUE : Long.parseLong(value))
                .orElse(Long.MAX_VALUE);
    }

    static boolean memlockExempt(Path proc) {
        return lineValue(proc.resolve("status"), "CapEff:")
                .map(hex -> (Long.parseUnsignedLong(hex, 16) >>> CAP_IPC_LOCK & 1) == 1)
                .orElse(false);
    }

    static int pageSizeBytes(Path proc) {
        try {
            ByteBuffer auxv =
                    ByteBuffer.wrap(Files.readAllBytes(proc.resolve("auxv"))).order(ByteOrder.nativeOrder());
            while (auxv.remaining() >= 2 * Long.BYTES) {
                long type = auxv.getLong();
                long value = auxv.getLong();
                if (type == AT_PAGESZ) {
                    return Math.toIntExact(value);
                }
            }
        } catch (IOException e) {
            return DEFAULT_PAGE_SIZE_BYTES;
        }
        return DEFAULT_PAGE_SIZE_BYTES;
    }

    private static Optional<String> lineValue(Path file, String key) {
        try {
            return Files.readAllLines(file).stream()
                    .filter(line -> line.startsWith(key))
                    .map(line -> line.substring(key.length()).strip())
                    .findFirst();
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
