package io.rdmashuffle.core.publish;

import java.util.Locale;

/**
 * How files in a local directory can be made readable remotely, found out by trying.
 *
 * @param fs type of its file system, such as ext4
 */
public record ProbedDirectory(String dir, String fs, Mode mode) {

    /** The best that works there. */
    public enum Mode {
        /** Mapped read-only and registered: placement DIRECT. */
        RO,
        /** Mapped read-write, as kernels before 6.2 want it, and registered for reading only: placement DIRECT. */
        RW,
        /** Registered for on-demand paging only: placement ODP. */
        ODP,
        /** Not registered: placement STAGED. */
        STAGED,
        /** No file can be written and mapped there. */
        NONE;

        /** As the doctor prints it. */
        public String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
