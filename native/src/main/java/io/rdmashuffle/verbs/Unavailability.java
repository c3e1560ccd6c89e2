package io.rdmashuffle.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Tells from what the kernel shows in the file system why rdma_cm gives no device. Each answer is one line. */
final class Unavailability {
    private final Path sysDevices;
    private final Path devNodes;

    /**
     * @param sysDevices where the kernel lists RDMA devices: /sys/class/infiniband
     * @param devNodes where their device nodes are: /dev/infiniband
     */
    Unavailability(Path sysDevices, Path devNodes) {
        this.sysDevices = sysDevices;
        this.devNodes = devNodes;
    }

    /** @param failure what the libraries said, to be quoted when the file system explains nothing */
    String cause(String failure) {
        List<String> devices = entries(sysDevices);
        if (devices.isEmpty()) {
            return "no RDMA device found: the kernel lists none in " + sysDevices
                    + " (install the adapter's driver, or 'rdma link add' a soft-RoCE device)";
        }
        Path cm = devNodes.resolve("rdma_cm");
        if (!Files.exists(cm)) {
            return cm + " does not exist: run 'modprobe rdma_ucm'" + inContainer();
        }
        if (!usable(cm)) {
            return cm + " may not be opened by this user: allow reading and writing it";
        }
        List<Path> verbsNodes = entries(devNodes).stream()
                .filter(name -> name.startsWith("uverbs"))
                .map(devNodes::resolve)
                .toList();
        if (verbsNodes.isEmpty()) {
            return "devices " + devices + " have no " + devNodes + "/uverbs node: run 'modprobe ib_uverbs'"
                    + inContainer();
        }
        if (verbsNodes.stream().noneMatch(Unavailability::usable)) {
            return verbsNodes + " may not be opened by this user: allow reading and writing them";
        }
        return "devices " + devices + " cannot be opened (" + failure
                + "): install their provider library, package ibverbs-providers";
    }

    private static String inContainer() {
        return ", and pass /dev/infiniband into a container";
    }

    private static boolean usable(Path node) {
        return Files.isReadable(node) && Files.isWritable(node);
    }

    private static List<String> entries(Path directory) {
        try (Stream<Path> entries = Files.list(directory)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
