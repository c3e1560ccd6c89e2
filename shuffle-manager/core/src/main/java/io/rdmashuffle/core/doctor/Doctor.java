package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.connection.LocalAddress;
import io.rdmashuffle.core.connection.LocalAddresses;
import io.rdmashuffle.core.publish.ProbedDirectory;
import io.rdmashuffle.verbs.RdmaDevice;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** Examines the host and process that it runs in. */
public final class Doctor {

    private Doctor() {}

    /**
     * Runs all checks. Takes a second or two; opens devices for the life of the process.
     *
     * @param host the engine's name of this host, whose addresses are tried first
     * @param settings what the engine is set to
     * @param progress told each finding at once
     */
    public static Report examine(String host, EngineSettings settings, Consumer<Finding> progress) {
        try (Examination examination = new Examination(Path.of("/"), candidates(host, settings), settings)) {
            return examine(examination, checks(), progress);
        }
    }

    /**
     * The addresses that an executor would try. None when the settings choose none, or there are link-local ones only: the address
     * check tells.
     */
    static List<LocalAddress> candidates(String host, EngineSettings settings) {
        try {
            return LocalAddresses.bestFirst(host, settings.config());
        } catch (IOException e) {
            return List.of();
        }
    }

    static Report examine(Examination examination, Stream<Check> checks, Consumer<Finding> progress) {
        List<Finding> findings = new ArrayList<>();
        checks.map(check -> check.run(examination)).forEach(finding -> {
            findings.add(finding);
            progress.accept(finding);
        });
        return new Report(findings, devices(examination), registration(examination), transport(examination));
    }

    /** Every check of a host, in order. */
    static Stream<Check> checks() {
        return Stream.of(HostChecks.ALL, DeviceChecks.ALL, PathChecks.ALL, SettingsChecks.ALL)
                .flatMap(List::stream);
    }

    private static List<Map<String, Object>> devices(Examination examination) {
        List<Map<String, Object>> devices = new ArrayList<>();
        for (RdmaDevice device : examination.devices()) {
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("name", device.name());
            fields.put("link_layer", device.linkLayer().toString());
            fields.put("transport", DeviceChecks.protocol(device));
            fields.put("state", DeviceChecks.state(examination, device));
            fields.put("odp", device.odp());
            fields.put("max_qp", device.maxQp());
            fields.put("max_rd_atomic", device.maxReadDepthIn());
            fields.put("active_mtu_bytes", device.activeMtuBytes());
            devices.add(fields);
        }
        return devices;
    }

    private static List<Map<String, Object>> registration(Examination examination) {
        List<Map<String, Object>> directories = new ArrayList<>();
        for (ProbedDirectory probed : examination.registrations()) {
            Map<String, Object> fields = new LinkedHashMap<>();
            fields.put("dir", probed.dir());
            fields.put("fs", probed.fs());
            fields.put("mode", probed.mode().text());
            directories.add(fields);
        }
        return directories;
    }

    private static String transport(Examination examination) {
        if (examination.endpoint() == null) {
            return "tcp";
        }
        return examination.endpoint().device().name() + " at "
                + examination.local().address().getHostAddress();
    }
}
