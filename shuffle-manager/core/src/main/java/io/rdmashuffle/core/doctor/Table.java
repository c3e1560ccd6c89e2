package io.rdmashuffle.core.doctor;

import io.rdmashuffle.core.doctor.Finding.Status;
import io.rdmashuffle.verbs.Version;
import java.io.PrintStream;

/** The findings for people: a row for each as soon as it is there, a line below for what helps, a sentence at the end. */
final class Table {

    private static final String TROUBLESHOOTING = "docs/troubleshooting.md#";

    private final PrintStream out;
    private final boolean colours;

    Table(PrintStream out) {
        this.out = out;
        this.colours = System.console() != null && System.getenv("NO_COLOR") == null;
    }

    void title(String host) {
        out.printf("rdma-shuffle doctor %s on %s%n%n", Version.text(), host);
    }

    void row(Finding finding) {
        out.printf("  %s  %-16s  %s%n", status(finding.status()), finding.check(), finding.value());
        if (finding.remedy() != null) {
            out.printf("        %-16s  -> %s%n", "", finding.remedy());
            out.printf("        %-16s     %s%s%n", "", TROUBLESHOOTING, finding.check());
        }
        out.flush();
    }

    void closing(Report report) {
        long warnings = report.checks().stream()
                .filter(finding -> finding.status() == Status.WARN)
                .count();
        out.println();
        if (report.usable()) {
            out.printf(
                    "Usable: blocks go over RDMA, by %s%s.%n",
                    report.transport(), warnings == 0 ? "" : "; warnings: " + warnings);
        } else {
            out.printf("Not usable: blocks go over TCP. Cause: %s. Remedy: %s.%n", report.cause(), report.remedy());
        }
    }

    private String status(Status status) {
        String text = String.format("%-4s", status.toString().toLowerCase(java.util.Locale.ROOT));
        if (!colours || status == Status.SKIP) {
            return text;
        }
        int colour =
                switch (status) {
                    case OK -> 32;
                    case WARN -> 33;
                    case FAIL, SKIP -> 31;
                };
        return "\u001b[" + colour + "m" + text + "\u001b[0m";
    }
}
