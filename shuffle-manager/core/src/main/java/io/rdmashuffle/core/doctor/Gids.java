package io.rdmashuffle.core.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The GIDs of a device's first port, from sysfs (Documentation/ABI/stable/sysfs-class-infiniband of the kernel). */
record Gids(String device, List<Gid> all) {

    private static final String EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000";

    /**
     * @param networkDevice the interface whose address it is; empty where the kernel does not say
     * @param type such as "RoCE v2"; empty on kernels that do not say
     */
    record Gid(String text, String networkDevice, String type) {

        boolean isLinkLocal() {
            return text.startsWith("fe80:");
        }

        @Override
        public String toString() {
            return text
                    + (networkDevice.isEmpty() ? "" : " of " + networkDevice)
                    + (type.isEmpty() ? "" : " (" + type + ")");
        }
    }

    static Gids of(Examination host, String device) {
        List<Gid> gids = new ArrayList<>();
        firstPort(host, device)
                .ifPresent(port -> HostChecks.entries(port.resolve("gids"))
                        .forEach(index -> line(port.resolve("gids").resolve(index))
                                .filter(gid -> !gid.equals(EMPTY))
                                .map(gid ->
                                        new Gid(gid, attribute(port, "ndevs", index), attribute(port, "types", index)))
                                .ifPresent(gids::add)));
        return new Gids(device, List.copyOf(gids));
    }

    static Optional<Path> firstPort(Examination host, String device) {
        Path ports = host.file("sys/class/infiniband").resolve(device).resolve("ports");
        return HostChecks.entries(ports).stream().findFirst().map(ports::resolve);
    }

    boolean hasAddress() {
        return all.stream().anyMatch(gid -> !gid.isLinkLocal());
    }

    String networkDevice() {
        return all.stream()
                .map(Gid::networkDevice)
                .filter(name -> !name.isEmpty())
                .findFirst()
                .orElse("the device's interface");
    }

    /** An address comes once for each RoCE version: one is enough for people. */
    @Override
    public String toString() {
        return device + " "
                + all.stream()
                        .filter(gid -> !gid.type().equals("IB/RoCE v1"))
                        .map(Gid::toString)
                        .collect(Collectors.joining(", "));
    }

    /** The first line; the kernel answers EINVAL for entries that are not in use. */
    static Optional<String> line(Path file) {
        try (var lines = Files.lines(file)) {
            return lines.findFirst().map(String::strip);
        } catch (IOException | java.io.UncheckedIOException e) {
            return Optional.empty();
        }
    }

    private static String attribute(Path port, String kind, String index) {
        return line(port.resolve("gid_attrs").resolve(kind).resolve(index)).orElse("");
    }
}
