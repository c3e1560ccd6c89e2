package io.rdmashuffle.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Tells from what the kernel shows in the file system why rdma_cm gives no device. */
final class DeviceAbsence {
    private static final String IN_CONTAINER = ", and pass /dev/infiniband into a container";

    private final Path sysDevices;
    private final Path devNodes;

    /**
     * @param sysDevices where the kernel lists RDMA devices: /sys/class/infiniband
     * @param devNodes where their device nodes are: /dev/infiniband
     */
    DeviceAbsence(Path sysDevices, Path devNodes) {
        this.sysDevices = sysDevices;
        this.devNodes = devNodes;
    }

    /** @param failure what the libraries said, to be quoted when the file system explains nothing */
    Unavailability explain(String failure) {
        List<String> devices = entries(sysDevices);
        if (devices.isEmpty()) {
            return noDevice(
                    "no RDMA device found, the kernel lists none in " + sysDevices,
                    "install the adapter's driver, or 'rdma link add' a soft-RoCE device");
        }
        Path cm = devNodes.resolve("rdma_cm");
        if (!Files.exists(cm)) {
            return noConnectionManager(cm + " does not exist", "run 'modprobe rdma_ucm'" + IN_CONTAINER);
        }
        if (!usable(cm)) {
            return noConnectionManager(cm + " may not be opened by this user", "allow reading and writing it");
        }
        List<Path> verbsNodes = entries(devNodes).stream()
                .filter(name -> name.startsWith("uverbs"))
                .map(devNodes::resolve)
                .toList();
        if (verbsNodes.isEmpty()) {
            return noDevice(
                    "devices " + devices + " have no " + devNodes + "/uverbs node",
                    "run 'modprobe ib_uverbs'" + IN_CONTAINER);
        }
        if (verbsNodes.stream().noneMatch(DeviceAbsence::usable)) {
            return noDevice(verbsNodes + " may not be opened by this user", "allow reading and writing them");
        }
        return noDevice(
                "devices " + devices + " cannot be opened (" + failure + ")",
                "install their provider library, package ibverbs-providers");
    }

    private static Unavailability noDevice(String cause, String remedy) {
        return new Unavailability(Unavailability.Step.DEVICE, cause, remedy);
    }

    private static Unavailability noConnectionManager(String cause, String remedy) {
        return new Unavailability(Unavailability.Step.CONNECTION_MANAGER, cause, remedy);
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
