package io.rdmashuffle.verbs;

import static io.rdmashuffle.verbs.FailureScope.CONNECTION;
import static io.rdmashuffle.verbs.FailureScope.DEVICE;

/**
 * Kind of an asynchronous device event: {@code enum ibv_event_type}, in its order (checked against the C header when the
 * native library is loaded).
 */
public enum AsyncEventType {
    /** The completion queue, which all connections of the endpoint share, has overrun. */
    CQ_ERR(DEVICE),
    QP_FATAL(CONNECTION),
    QP_REQ_ERR(CONNECTION),
    QP_ACCESS_ERR(CONNECTION),
    COMM_EST(null),
    SQ_DRAINED(null),
    PATH_MIG(null),
    PATH_MIG_ERR(CONNECTION),
    DEVICE_FATAL(DEVICE),
    PORT_ACTIVE(null),
    PORT_ERR(DEVICE),
    LID_CHANGE(null),
    PKEY_CHANGE(null),
    SM_CHANGE(null),
    SRQ_ERR(DEVICE),
    SRQ_LIMIT_REACHED(null),
    QP_LAST_WQE_REACHED(null),
    CLIENT_REREGISTER(null),
    GID_CHANGE(null),
    WQ_FATAL(CONNECTION),
    /** A kind that this version does not know; to be ignored. */
    UNKNOWN(null);

    private static final AsyncEventType[] BY_CODE = values();

    private final FailureScope scope;

    AsyncEventType(FailureScope scope) {
        this.scope = scope;
    }

    /** What the event says is damaged; null when it only informs. */
    public FailureScope scope() {
        return scope;
    }

    /** The event type for a verbs code; {@link #UNKNOWN} for a code that this version does not know. */
    public static AsyncEventType of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? BY_CODE[code] : UNKNOWN;
    }
}
