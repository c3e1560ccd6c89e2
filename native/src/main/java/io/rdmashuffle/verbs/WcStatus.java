package io.rdmashuffle.verbs;

import static io.rdmashuffle.verbs.FailureScope.BUG;
import static io.rdmashuffle.verbs.FailureScope.CONNECTION;
import static io.rdmashuffle.verbs.FailureScope.DEVICE;

/**
 * Status of a work completion: {@code enum ibv_wc_status}, in its order (checked against the C header when the native
 * library is loaded).
 *
 * <p>On a reliable connection any failed request puts the queue pair into its error state, so no status has the scope
 * {@link FailureScope#REQUEST}. The first failed completion is the cause; {@link #WR_FLUSH_ERR} is its consequence.
 */
public enum WcStatus {
    SUCCESS(null),
    LOC_LEN_ERR(BUG),
    LOC_QP_OP_ERR(BUG),
    LOC_EEC_OP_ERR(BUG),
    LOC_PROT_ERR(BUG),
    WR_FLUSH_ERR(CONNECTION),
    MW_BIND_ERR(BUG),
    BAD_RESP_ERR(CONNECTION),
    LOC_ACCESS_ERR(BUG),
    REM_INV_REQ_ERR(CONNECTION),
    REM_ACCESS_ERR(CONNECTION),
    REM_OP_ERR(CONNECTION),
    RETRY_EXC_ERR(CONNECTION),
    RNR_RETRY_EXC_ERR(CONNECTION),
    LOC_RDD_VIOL_ERR(BUG),
    REM_INV_RD_REQ_ERR(BUG),
    REM_ABORT_ERR(CONNECTION),
    INV_EECN_ERR(BUG),
    INV_EEC_STATE_ERR(BUG),
    FATAL_ERR(DEVICE),
    RESP_TIMEOUT_ERR(CONNECTION),
    GENERAL_ERR(CONNECTION),
    TM_ERR(BUG),
    TM_RNDV_INCOMPLETE(BUG);

    private static final WcStatus[] BY_CODE = values();

    private final FailureScope scope;

    WcStatus(FailureScope scope) {
        this.scope = scope;
    }

    /** What the failure has damaged; null for {@link #SUCCESS}. */
    public FailureScope scope() {
        return scope;
    }

    /** The status for a verbs code; a code that this version does not know is a {@link #GENERAL_ERR}. */
    public static WcStatus of(int code) {
        return code >= 0 && code < BY_CODE.length ? BY_CODE[code] : GENERAL_ERR;
    }
}
