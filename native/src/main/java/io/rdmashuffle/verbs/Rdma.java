package io.rdmashuffle.verbs;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether RDMA can be used in this process. Found out once, at the first use of this class, which loads the native
 * library, libibverbs and librdmacm and opens every device for the life of the process. Never throws; any thread.
 */
public final class Rdma {
    private static final Unavailability UNAVAILABILITY;
    private static final List<RdmaDevice> DEVICES;

    static {
        List<RdmaDevice> devices = List.of();
        Unavailability unavailability;
        try {
            unavailability = open();
            if (unavailability == null) {
                devices = queryDevices();
            }
        } catch (VerbsException | RuntimeException | LinkageError e) {
            unavailability = new Unavailability(
                    Unavailability.Step.DEVICE,
                    "cannot query the RDMA devices (" + e.getMessage() + ")",
                    "update the adapter's driver and rdma-core together");
        }
        UNAVAILABILITY = unavailability;
        DEVICES = devices;
    }

    private Rdma() {}

    /**
     * Whether there is an RDMA device and all that is needed to use it. The memory limit is not looked at: it shows when
     * memory is registered.
     */
    public static boolean isAvailable() {
        return UNAVAILABILITY == null;
    }

    /** Null when available, else one line: the cause and its remedy. */
    public static String unavailabilityCause() {
        return UNAVAILABILITY == null ? null : UNAVAILABILITY.toString();
    }

    /** Null when available. */
    public static Unavailability unavailability() {
        return UNAVAILABILITY;
    }

    /** The devices; empty when unavailable. */
    public static List<RdmaDevice> devices() {
        return DEVICES;
    }

    private static Unavailability open() {
        if (NativeLoader.unavailability() != null) {
            return NativeLoader.unavailability();
        }
        if (Native.openLibraries() < 0) {
            return new Unavailability(
                    Unavailability.Step.RDMA_LIBRARIES,
                    Native.lastStep(),
                    "install rdma-core, ibverbs-providers and librdmacm1 (RPM: libibverbs, librdmacm)");
        }
        int devices = Native.openDevices();
        if (devices > 0) {
            return null;
        }
        String failure = devices < 0 ? VerbsException.ofLastCall(devices).getMessage() : "rdma_cm lists no device";
        return new DeviceAbsence(Path.of("/sys/class/infiniband"), Path.of("/dev/infiniband")).explain(failure);
    }

    private static List<RdmaDevice> queryDevices() throws VerbsException {
        List<RdmaDevice> devices = new ArrayList<>();
        int count = Native.openDevices();
        for (int i = 0; i < count; i++) {
            DeviceInfo info = new DeviceInfo();
            int rc = Native.device(i, info.buffer());
            if (rc < 0) {
                throw VerbsException.ofLastCall(rc);
            }
            devices.add(info.toDevice());
        }
        return List.copyOf(devices);
    }
}
