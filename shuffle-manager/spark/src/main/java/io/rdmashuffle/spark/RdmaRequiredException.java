package io.rdmashuffle.spark;

import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;

/** {@code spark.shuffle.rdma.mode=required}, and something would have had to go over TCP. */
public final class RdmaRequiredException extends IOException {

    private static final long serialVersionUID = 1L;

    RdmaRequiredException(FallbackReason reason, String detail) {
        super("spark.shuffle.rdma.mode=required, but " + reason + ": " + reason.meaning()
                + (detail.isEmpty() ? "" : " (" + detail + ")"));
    }
}
