package io.rdmashuffle.verbs;

/** The largest thing that a failure has damaged for good; each has one action. */
public enum FailureScope {
    /** Only this request: try it again or serve it another way. */
    REQUEST,
    /** The connection: close it, let its other requests fall back, connect again later. */
    CONNECTION,
    /** The device or port: close everything on it. */
    DEVICE,
    /** Our own program broke a rule of the verbs: report it, do not retry. */
    BUG
}
