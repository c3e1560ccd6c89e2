package io.rdmashuffle.core.publish;

import io.rdmashuffle.core.memory.PinnedBudget;
import io.rdmashuffle.core.metrics.FallbackReason;
import java.io.IOException;
import java.util.concurrent.CompletionException;

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

    /** @param e what a publication ended with, or the directory's client */
    public static NotPublishedException of(Throwable e) {
        Throwable cause = e instanceof CompletionException ? e.getCause() : e;
        return cause instanceof NotPublishedException known
                ? known
                : new NotPublishedException(FallbackReason.PUBLISH_FAILED, cause.getMessage(), cause);
    }

    public FallbackReason reason() {
        return reason;
    }
}
