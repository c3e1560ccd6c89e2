package io.rdmashuffle.core.directory;

/** How the bytes of a published map output become readable remotely, best first. The order is part of the wire format. */
public enum Placement {
    /** The data file is registered: one-sided READs, pinned pages. */
    DIRECT,
    /** The data file is registered for on-demand paging: one-sided READs, nothing pinned. */
    ODP,
    /** Not registered: on request the owner copies the bytes into a registered buffer, which the reader READs. */
    STAGED
}
