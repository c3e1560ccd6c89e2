package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;

/** A map output could not be made readable remotely; it is read over TCP. */
public final class NotPublishedException extends IOException {

    private static final long serialVersionUID = 1L;

    private final FallbackReason reason;

    public NotPublishedException(FallbackReason reason, String detail, Throwable cause) {
        super(detail.isEmpty() ? reason.meaning() : reason.meaning() + ": " + detail, cause);
        this.reason = reason;
    }

    static NotPublishedException overBudget(PinnedBudget budget, long bytes) {
        return new NotPublishedException(
                FallbackReason.OVER_BUDGET,
                budget.usedBytes() + " of " + budget.maxBytes() + " bytes in use, " + bytes + " more wanted",
                null);
    }

    public FallbackReason reason() {
        return reason;
    }
}
