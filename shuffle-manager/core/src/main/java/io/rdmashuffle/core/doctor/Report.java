package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.config.Json;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What an examination of one host found.
 *
 * @param checks in the order in which they were made
 * @param devices as named in docs/troubleshooting.md, one map of field to value for each
 * @param registration likewise, for each local directory
 * @param transport what will be used, for people
 */
public record Report(
        List<Finding> checks,
        List<Map<String, Object>> devices,
        List<Map<String, Object>> registration,
        String transport) {

    /** Whether this host can take part over RDMA. */
    public boolean usable() {
        return firstFailure() == null;
    }

    /** The first thing that is in the way, null when usable. */
    public String cause() {
        return usable() ? null : firstFailure().check() + ": " + firstFailure().value();
    }

    /** What helps against the cause, null when usable. */
    public String remedy() {
        return usable() ? null : firstFailure().remedy();
    }

    /** The same for programs; the fields are a contract. */
    public String toJson() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("usable", usable());
        json.put("cause", cause());
        json.put("remedy", remedy());
        json.put("checks", checks.stream().map(Report::fields).toList());
        json.put("devices", devices);
        json.put("registration", registration);
        return Json.write(json);
    }

    private static Map<String, Object> fields(Finding finding) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("name", finding.check());
        fields.put("status", finding.status().toString().toLowerCase(java.util.Locale.ROOT));
        fields.put("value", finding.value());
        fields.put("remedy", finding.remedy());
        return fields;
    }

    private Finding firstFailure() {
        return checks.stream()
                .filter(finding -> finding.status() == Finding.Status.FAIL)
                .findFirst()
                .orElse(null);
    }
}
