package io.rdmashuffle.core.doctor;

/**
 * What one check found.
 *
 * @param check name of the check; docs/troubleshooting.md has a section of the same name for each that can go wrong
 * @param value what is there, one line
 * @param remedy what helps, one line; null unless the status is WARN or FAIL
 */
public record Finding(String check, Status status, String value, String remedy) {

    /** How it stands. */
    public enum Status {
        OK,
        /** RDMA works, but less well than it could. */
        WARN,
        /** RDMA cannot be used. */
        FAIL,
        /** Not looked at; the value says why. */
        SKIP
    }

    static Finding ok(String check, String value) {
        return new Finding(check, Status.OK, value, null);
    }

    static Finding warn(String check, String value, String remedy) {
        return new Finding(check, Status.WARN, value, remedy);
    }

    static Finding fail(String check, String value, String remedy) {
        return new Finding(check, Status.FAIL, value, remedy);
    }

    static Finding skip(String check, String why) {
        return new Finding(check, Status.SKIP, why, null);
    }
}
