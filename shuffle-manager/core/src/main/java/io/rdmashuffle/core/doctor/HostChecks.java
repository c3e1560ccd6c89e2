package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.doctor.Check.Need;
import io.rdmashuffle.verbs.CgroupMemory;
import io.rdmashuffle.verbs.HostLimits;
import io.rdmashuffle.verbs.Rdma;
import io.rdmashuffle.verbs.RdmaDevice;
import io.rdmashuffle.verbs.Unavailability;
import io.rdmashuffle.verbs.Version;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/** The host without its devices: kernel, libraries, limits. */
final class HostChecks {

    /** Sinks and map outputs share what may be locked; each takes 1 MiB at the least. */
    private static final long LEAST_LOCKED_BYTES = 2L << 20;

    /** Below this most map outputs of a real job go over TCP. */
    private static final long ROOMY_BYTES = 1L << 30;

    static final List<Check> ALL = List.of(
            new Check("kernel", Need.NOTHING, HostChecks::kernel),
            new Check("page_size", Need.NOTHING, HostChecks::pageSize),
            new Check("native_library", Need.NOTHING, HostChecks::nativeLibrary),
            new Check("rdma_libraries", Need.NOTHING, HostChecks::rdmaLibraries),
            new Check("rdma_cm", Need.NOTHING, HostChecks::connectionManager),
            new Check("memlock", Need.NOTHING, HostChecks::memlock),
            new Check("cgroup_memory", Need.NOTHING, HostChecks::cgroupMemory));

    private HostChecks() {}

    /** How far the search for a device came with this step. */
    static Finding step(String name, Unavailability.Step step) {
        Unavailability missing = Rdma.unavailability();
        if (missing == null || missing.step().compareTo(step) > 0) {
            return Finding.ok(name, "present");
        }
        return missing.step() == step
                ? Finding.fail(name, missing.cause(), missing.remedy())
                : Finding.skip(name, "not reached");
    }

    private static Finding kernel(String name, Examination host) {
        return Finding.ok(
                name,
                String.format(
                        "%s %s, %s, Java %s",
                        System.getProperty("os.name"),
                        System.getProperty("os.version"),
                        System.getProperty("os.arch"),
                        System.getProperty("java.version")));
    }

    private static Finding pageSize(String name, Examination host) {
        return Finding.ok(name, Quantity.bytes(HostLimits.pageSizeBytes()));
    }

    private static Finding nativeLibrary(String name, Examination host) {
        Finding found = step(name, Unavailability.Step.NATIVE_LIBRARY);
        return found.status() == Finding.Status.OK ? Finding.ok(name, "version " + Version.text()) : found;
    }

    /** Without any device its node may be missing too, which is not what is wrong then. */
    private static Finding connectionManager(String name, Examination host) {
        Finding found = step(name, Unavailability.Step.CONNECTION_MANAGER);
        Path node = host.file("dev/infiniband/rdma_cm");
        return found.status() != Finding.Status.OK || Rdma.isAvailable() || Files.exists(node)
                ? found
                : Finding.skip(name, node + " does not exist, needs a device");
    }

    private static Finding rdmaLibraries(String name, Examination host) {
        Finding found = step(name, Unavailability.Step.RDMA_LIBRARIES);
        return found.status() == Finding.Status.OK ? Finding.ok(name, mappedLibraries(host)) : found;
    }

    /** The files that were loaded: their names carry the version, as in libibverbs.so.1.14.44.0 of rdma-core 44. */
    private static String mappedLibraries(Examination host) {
        try {
            List<Path> files = Files.readAllLines(host.file("proc/self/maps")).stream()
                    .filter(line -> line.contains("/libibverbs.so") || line.contains("/librdmacm.so"))
                    .map(line -> Path.of(line.substring(line.indexOf('/'))))
                    .distinct()
                    .toList();
            return files.stream().map(file -> file.getFileName().toString()).collect(Collectors.joining(", ")) + " in "
                    + files.stream()
                            .map(file -> file.getParent().toString())
                            .distinct()
                            .collect(Collectors.joining(", "));
        } catch (IOException e) {
            return "present";
        }
    }

    private static Finding memlock(String name, Examination host) {
        long soft = HostLimits.memlockSoftBytes();
        boolean exempt = HostLimits.memlockExempt()
                && host.devices().stream().noneMatch(device -> device.transport() == RdmaDevice.Transport.IWARP);
        String value = String.format(
                "soft %s, hard %s%s",
                Quantity.limit(soft),
                Quantity.limit(HostLimits.memlockHardBytes()),
                exempt ? ", lifted by the capability IPC_LOCK" : "");
        String remedy = "raise it: memlock in /etc/security/limits.d, LimitMEMLOCK=infinity in a systemd unit,"
                + " the capability IPC_LOCK for a container";
        if (exempt || soft >= ROOMY_BYTES) {
            return Finding.ok(name, value);
        }
        return soft < LEAST_LOCKED_BYTES
                ? Finding.fail(name, value + ": too little to register memory", remedy)
                : Finding.warn(name, value + ": little of a shuffle can be registered", remedy);
    }

    private static Finding cgroupMemory(String name, Examination host) {
        CgroupMemory memory = CgroupMemory.read();
        long headroom = memory.headroomBytes();
        if (memory.limitBytes() == Long.MAX_VALUE) {
            return Finding.ok(name, "no limit");
        }
        String value = Quantity.bytes(memory.limitBytes()) + ", of which free " + Quantity.bytes(headroom);
        return headroom >= ROOMY_BYTES
                ? Finding.ok(name, value)
                : Finding.warn(
                        name,
                        value,
                        "give the container more memory: what is registered counts beside the heap"
                                + " (spark.executor.memoryOverhead)");
    }

    /** Names below a directory, sorted; none when it cannot be read. */
    static List<String> entries(Path directory) {
        try (var entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
