package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.RdmaConfig;
import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.doctor.Check.Need;
import io.rdmashuffle.core.metrics.FallbackReason;
import io.rdmashuffle.core.publish.DirectoryProbe;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.core.publish.ProbedDirectory.Mode;
import io.rdmashuffle.verbs.VerbsException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** What a shuffle does with a device, tried: an address to listen on, map outputs to register, a READ. */
final class PathChecks {

    private static final int READS = 21;

    static final List<Check> ALL = List.of(
            new Check("address", Need.DEVICE, PathChecks::address),
            new Check("registration", Need.ENDPOINT, PathChecks::registration),
            new Check("loopback_read", Need.ENDPOINT, PathChecks::loopbackRead));

    private PathChecks() {}

    private static Finding address(String name, Examination host) {
        String remedy = "give the interface of an RDMA device an IP address; 'rdma link' shows which it is";
        if (host.endpoint() == null) {
            VerbsException why = host.noEndpoint();
            return Finding.fail(
                    name,
                    why == null ? "this host has no address that other hosts know" : why.problem(),
                    why == null || why.remedy().isEmpty() ? remedy : why.remedy());
        }
        LocalAddress used = host.local();
        String value = host.deviceByAddress().entrySet().stream()
                .filter(entry ->
                        entry.getKey().equals(used) || !entry.getKey().address().isLoopbackAddress())
                .map(entry -> entry.getKey() + " on " + entry.getValue())
                .collect(Collectors.joining(", also "));
        return used.address().isLoopbackAddress()
                ? Finding.warn(name, value + " only: other hosts cannot reach it", remedy)
                : Finding.ok(name, value);
    }

    private static Finding registration(String name, Examination host) {
        DirectoryProbe probe =
                new DirectoryProbe(host.endpoint(), host.settings().config().get(RdmaConfig.ODP));
        host.settings().localDirectories().forEach(dir -> host.registrations().add(probe.probe(dir)));
        String value = host.registrations().stream()
                .map(probed ->
                        probed.dir() + " (" + probed.fs() + ") " + probed.mode().text())
                .collect(Collectors.joining(", "));
        List<Mode> modes =
                host.registrations().stream().map(ProbedDirectory::mode).toList();
        boolean staging = host.settings().config().get(RdmaConfig.STAGING_MAX_BYTES) > 0;
        return registration(name, value, modes, staging);
    }

    /** @param staging whether what cannot be registered is copied on request, and not read over TCP */
    static Finding registration(String name, String value, List<Mode> modes, boolean staging) {
        String remedy = "let spark.local.dir be a writable directory on ext4, xfs or tmpfs, and see memlock";
        if (modes.stream().allMatch(mode -> mode == Mode.NONE || (mode == Mode.STAGED && !staging))) {
            return Finding.fail(name, value, remedy);
        }
        return modes.contains(Mode.NONE) || modes.contains(Mode.STAGED)
                ? Finding.warn(name, value, remedy)
                : Finding.ok(name, value);
    }

    private static Finding loopbackRead(String name, Examination host) {
        byte[] secret = new byte[32];
        new SecureRandom().nextBytes(secret);
        try (ReadProbe probe = new ReadProbe("itself", host.endpoint(), host.local(), secret)) {
            return Finding.ok(name, measure(probe, probe.target()));
        } catch (VerbsException e) {
            return Finding.fail(
                    name, e.problem(), e.remedy().isEmpty() ? remedy(FallbackReason.READ_FAILED) : e.remedy());
        } catch (ReadProbe.ReadFailure e) {
            return Finding.fail(name, e.getMessage(), remedy(e.reason()));
        }
    }

    /** Makes the connection, then reads some times; says the latency of the median READ. */
    static String measure(ReadProbe probe, ReadProbe.Target target) throws VerbsException, ReadProbe.ReadFailure {
        probe.readNanos(target);
        long[] nanos = new long[READS];
        for (int i = 0; i < READS; i++) {
            nanos[i] = probe.readNanos(target);
        }
        Arrays.sort(nanos);
        return ReadProbe.BYTES + " bytes right, median latency " + Quantity.micros(nanos[READS / 2]);
    }

    static String remedy(FallbackReason reason) {
        return switch (reason) {
            case CONNECT_FAILED ->
                "let packets pass between the RDMA interfaces of both hosts (RoCE: UDP port 4791; iWARP: TCP), in one network";
            case CONNECT_REJECTED -> "give both sides the same secret and the same version of rdma-shuffle";
            default -> "look for lost packets: flow control (PFC) for RoCE, and one MTU on hosts and switches";
        };
    }
}
