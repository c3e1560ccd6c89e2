package io.rdmashuffle.verbs;

/**
 * Kind of a connection-manager event: {@code enum rdma_cm_event_type}, in its order (checked against the C header when
 * the native library is loaded).
 */
public enum CmEventType {
    /** Active side: the peer's address is bound to a device; next {@link VerbsConnection#resolveRoute}. */
    ADDR_RESOLVED,
    ADDR_ERROR,
    /** Active side: a path is known; next {@link VerbsConnection#connect}. */
    ROUTE_RESOLVED,
    ROUTE_ERROR,
    /** Passive side: a peer wants to connect; next {@link VerbsEndpoint#incoming}. */
    CONNECT_REQUEST,
    CONNECT_RESPONSE,
    CONNECT_ERROR,
    UNREACHABLE,
    /** Active side: the peer refused or nobody listens; its private data is in the event. */
    REJECTED,
    /** Both sides: the connection is up. */
    ESTABLISHED,
    /** Both sides: the connection is down; call {@link VerbsConnection#disconnect}, else pending READs may stay. */
    DISCONNECTED,
    DEVICE_REMOVAL,
    MULTICAST_JOIN,
    MULTICAST_ERROR,
    ADDR_CHANGE,
    TIMEWAIT_EXIT,
    /** A kind that this version does not know; to be ignored. */
    UNKNOWN;

    private static final CmEventType[] BY_CODE = values();

    /** The event type for an rdma_cm code; {@link #UNKNOWN} for a code that this version does not know. */
    public static CmEventType of(int code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? BY_CODE[code] : UNKNOWN;
    }
}
