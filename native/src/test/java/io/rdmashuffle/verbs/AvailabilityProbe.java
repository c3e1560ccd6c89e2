package io.rdmashuffle.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Run in a JVM of its own: prints what this process finds out about RDMA. */
final class AvailabilityProbe {
    private AvailabilityProbe() {}

    public static void main(String[] args) throws IOException {
        useWhatNeedsNoLibrary();
        System.out.println("loaded early: " + libraryIsMapped());
        System.out.println("available: " + Rdma.isAvailable());
        System.out.println("cause: " + Rdma.unavailabilityCause());
        System.out.println("devices: " + Rdma.devices());
        System.out.println("loaded: " + libraryIsMapped());
    }

    private static void useWhatNeedsNoLibrary() {
        new ReadBatch(1).add(1, 2, 3, 4, 5, 6, WcStatus.of(0) == WcStatus.SUCCESS);
        new EventBatch(1, 1).emptied();
        HostLimits.memlockExempt();
    }

    private static boolean libraryIsMapped() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .anyMatch(line -> line.contains("librdmashuffle_verbs"));
    }
}
