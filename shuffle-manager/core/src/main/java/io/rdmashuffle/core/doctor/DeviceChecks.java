package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.doctor.Check.Need;
import io.rdmashuffle.verbs.RdmaDevice;
import io.rdmashuffle.verbs.RdmaDevice.LinkLayer;
import io.rdmashuffle.verbs.RdmaDevice.Transport;
import io.rdmashuffle.verbs.Unavailability;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The devices, as the verbs and sysfs describe them. */
final class DeviceChecks {

    /** Path MTU of RoCE on Ethernet of 1500 bytes; less is a mistake somewhere. */
    private static final int LEAST_MTU_BYTES = 1024;

    static final List<Check> ALL = List.of(
            new Check("devices", Need.NOTHING, DeviceChecks::devices),
            new Check("port_state", Need.DEVICE, DeviceChecks::portState),
            new Check("link_layer", Need.DEVICE, (name, host) -> Finding.ok(name, each(host, DeviceChecks::protocol))),
            new Check("mtu", Need.DEVICE, DeviceChecks::mtu),
            new Check("gids", Need.DEVICE, DeviceChecks::gids),
            new Check("odp", Need.DEVICE, (name, host) -> Finding.ok(name, each(host, DeviceChecks::odp))),
            new Check("queue_pairs", Need.DEVICE, (name, host) -> Finding.ok(name, each(host, DeviceChecks::limits))));

    private DeviceChecks() {}

    private static Finding devices(String name, Examination host) {
        Finding found = HostChecks.step(name, Unavailability.Step.DEVICE);
        if (found.status() != Finding.Status.OK) {
            return found;
        }
        List<String> opened = host.devices().stream().map(RdmaDevice::name).toList();
        List<String> unusable = HostChecks.entries(host.file("sys/class/infiniband")).stream()
                .filter(seen -> !opened.contains(seen))
                .toList();
        String value = String.join(", ", opened);
        return unusable.isEmpty()
                ? Finding.ok(name, value)
                : Finding.warn(
                        name,
                        value + "; not openable: " + String.join(", ", unusable),
                        "allow this user to read and write /dev/infiniband/uverbs*, and install ibverbs-providers");
    }

    private static Finding portState(String name, Examination host) {
        String value = each(host, device -> state(host, device));
        if (host.devices().stream().allMatch(RdmaDevice::portActive)) {
            return Finding.ok(name, value);
        }
        String remedy = value.contains("INIT")
                ? "start a subnet manager in the InfiniBand fabric (opensm, or that of the switch)"
                : "bring up the network interface of the device ('ip link set … up'), check cable and switch";
        return host.devices().stream().anyMatch(RdmaDevice::portActive)
                ? Finding.warn(name, value, remedy)
                : Finding.fail(name, value, remedy);
    }

    /** From sysfs, which tells why a port is not active. */
    static String state(Examination host, RdmaDevice device) {
        if (device.portActive()) {
            return "ACTIVE";
        }
        return Gids.firstPort(host, device.name())
                .flatMap(port -> Gids.line(port.resolve("state")))
                .map(text -> text.replaceAll("^\\d+: ", ""))
                .orElse("DOWN");
    }

    static String protocol(RdmaDevice device) {
        if (device.transport() == Transport.IWARP) {
            return "iWARP";
        }
        return device.linkLayer() == LinkLayer.ETHERNET ? "RoCE" : "InfiniBand";
    }

    private static Finding mtu(String name, Examination host) {
        String value = each(host, device -> device.activeMtuBytes() + " B");
        boolean small = host.devices().stream()
                .anyMatch(device -> device.transport() == Transport.IB
                        && device.portActive()
                        && device.activeMtuBytes() < LEAST_MTU_BYTES);
        return small
                ? Finding.warn(
                        name, value, "set the MTU of the interface to 9000, on all hosts and switches, for 4096 B")
                : Finding.ok(name, value);
    }

    /** On Ethernet, rdma_cm needs an address of the interface, which shows as a GID that is not link-local. */
    private static Finding gids(String name, Examination host) {
        List<Gids> all = host.devices().stream()
                .map(device -> Gids.of(host, device.name()))
                .filter(gids -> !gids.all().isEmpty())
                .toList();
        if (all.isEmpty()) {
            return Finding.skip(name, "sysfs does not list any");
        }
        String value = all.stream().map(Gids::toString).collect(Collectors.joining("; "));
        List<Gids> ethernet =
                all.stream().filter(gids -> ethernet(host, gids.device())).toList();
        if (ethernet.isEmpty() || ethernet.stream().anyMatch(Gids::hasAddress)) {
            return Finding.ok(name, value);
        }
        return Finding.fail(
                name,
                value + "; link-local only",
                "give " + ethernet.get(0).networkDevice() + " an IP address ('ip addr add … dev "
                        + ethernet.get(0).networkDevice() + "'): RDMA connections start from one");
    }

    private static boolean ethernet(Examination host, String deviceName) {
        return host.devices().stream()
                .anyMatch(device -> device.name().equals(deviceName) && device.linkLayer() == LinkLayer.ETHERNET);
    }

    private static String odp(RdmaDevice device) {
        return device.odp() ? "READs from on-demand-paged memory" : "no";
    }

    private static String limits(RdmaDevice device) {
        return String.format("max_qp %d, max_rd_atomic %d", device.maxQp(), device.maxReadDepthIn());
    }

    private static String each(Examination host, Function<RdmaDevice, String> text) {
        return host.devices().stream()
                .map(device -> device.name() + " " + text.apply(device))
                .collect(Collectors.joining("; "));
    }
}
