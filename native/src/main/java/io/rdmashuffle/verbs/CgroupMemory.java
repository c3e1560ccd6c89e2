package io.rdmashuffle.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Memory limits of the control groups that this process is in, versions 1 and 2 (cgroups(7), kernel documentation cgroup-v2).
 * Pinned pages count there and cannot be reclaimed: a container that pins beyond its limit is killed. Any thread.
 */
public final class CgroupMemory {

    /** The files of one version of the interface. */
    private enum Version {
        V1("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
        V2("", "memory.max", "memory.current", "inactive_file ");

        private final String mount; // below /sys/fs/cgroup
        private final String limit;
        private final String usage;
        private final String reclaimable; // line of memory.stat

        Version(String mount, String limit, String usage, String reclaimable) {
            this.mount = mount;
            this.limit = limit;
            this.usage = usage;
            this.reclaimable = reclaimable;
        }
    }

    /** Version 1 says "no limit" by a number near the largest page-aligned long. */
    private static final long NO_LIMIT = Long.MAX_VALUE >> 1;

    private final List<Group> groups;

    private record Group(long limitBytes, long usedBytes) {}

    private CgroupMemory(List<Group> groups) {
        this.groups = groups;
    }

    /** Reads the present state. Where nothing can be read there is no limit. */
    public static CgroupMemory read() {
        return read(Path.of("/"));
    }

    /** Smallest limit of the group and those above it, in bytes; {@link Long#MAX_VALUE} is none. */
    public long limitBytes() {
        return groups.stream().mapToLong(Group::limitBytes).min().orElse(Long.MAX_VALUE);
    }

    /**
     * Bytes that may still be taken before one of the limits is reached, with file cache that is not in use counted as free;
     * {@link Long#MAX_VALUE} without a limit.
     */
    public long headroomBytes() {
        return groups.stream()
                .mapToLong(group -> Math.max(0, group.limitBytes - group.usedBytes))
                .min()
                .orElse(Long.MAX_VALUE);
    }

    /**
     * The same elsewhere, for tests.
     *
     * @param root directory that holds proc and sys
     */
    public static CgroupMemory read(Path root) {
        List<Group> groups = new ArrayList<>();
        for (String line : lines(root.resolve("proc/self/cgroup"))) {
            String[] fields = line.split(":", 3); // hierarchy, controllers, path
            if (fields.length < 3) {
                continue;
            }
            if (fields[1].isEmpty()) {
                readUpwards(root, Version.V2, fields[2], groups);
            } else if (List.of(fields[1].split(",")).contains("memory")) {
                readUpwards(root, Version.V1, fields[2], groups);
            }
        }
        return new CgroupMemory(groups);
    }

    /** A container may see its own group as the root although its path is longer: directories that are not there are passed over. */
    private static void readUpwards(Path root, Version version, String path, List<Group> out) {
        Path mount = root.resolve("sys/fs/cgroup").resolve(version.mount);
        Path group = mount.resolve(path.substring(1)).normalize();
        while (group != null && group.startsWith(mount)) {
            read(group, version).ifPresent(out::add);
            group = group.getParent();
        }
    }

    private static Optional<Group> read(Path group, Version version) {
        long limit = number(lines(group.resolve(version.limit)));
        if (limit > NO_LIMIT) {
            return Optional.empty();
        }
        long reclaimable = number(lines(group.resolve("memory.stat")).stream()
                .filter(line -> line.startsWith(version.reclaimable))
                .map(line -> line.substring(version.reclaimable.length()))
                .toList());
        long used = number(lines(group.resolve(version.usage)));
        return Optional.of(new Group(limit, orZero(used) - orZero(reclaimable)));
    }

    private static long orZero(long bytes) {
        return bytes == Long.MAX_VALUE ? 0 : bytes;
    }

    /** The first line as a number; "max" and what cannot be read are none. */
    private static long number(List<String> lines) {
        return lines.isEmpty() || lines.get(0).equals("max")
                ? Long.MAX_VALUE
                : Long.parseLong(lines.get(0).strip());
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of();
        }
    }
}
