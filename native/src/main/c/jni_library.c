/* Natives about the library and its devices. */
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "jni_util.h"

/* For people: `strings librdmashuffle_verbs.so | grep rdma-shuffle`. */
static const char version[] __attribute__((used)) = "rdma-shuffle " RS_VERSION;

/* In the order of NativeLoader.expectedAbi. */
// clang-format off
static const jint abi[] = {
    RS_ABI_VERSION, sizeof(struct rs_device), sizeof(struct rs_read), sizeof(struct rs_events),
    sizeof(struct rs_completion), sizeof(struct rs_cm_event), sizeof(struct rs_async_event),
    RS_PRIVATE_DATA_BYTES,
    /* Access */
    IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ,
    IBV_ACCESS_ON_DEMAND,
    /* WcStatus */
    IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_EEC_OP_ERR,
    IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,
    IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_RDD_VIOL_ERR,
    IBV_WC_REM_INV_RD_REQ_ERR, IBV_WC_REM_ABORT_ERR, IBV_WC_INV_EECN_ERR,
    IBV_WC_INV_EEC_STATE_ERR, IBV_WC_FATAL_ERR, IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_GENERAL_ERR,
    IBV_WC_TM_ERR, IBV_WC_TM_RNDV_INCOMPLETE,
    /* CmEventType */
    RDMA_CM_EVENT_ADDR_RESOLVED, RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED,
    RDMA_CM_EVENT_ROUTE_ERROR, RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_CONNECT_RESPONSE,
    RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
    RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL,
    RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR, RDMA_CM_EVENT_ADDR_CHANGE,
    RDMA_CM_EVENT_TIMEWAIT_EXIT,
    /* AsyncEventType */
    IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR,
    IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR,
    IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_LID_CHANGE,
    IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_LIMIT_REACHED,
    IBV_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE,
    IBV_EVENT_WQ_FATAL,
};
// clang-format on

RS_NATIVE(jintArray, abi)(JNIEnv *env, jclass class) {
    (void)class;
    jsize length = sizeof(abi) / sizeof(abi[0]);
    jintArray array = (*env)->NewIntArray(env, length);
    if (array) (*env)->SetIntArrayRegion(env, array, 0, length, abi);
    return array;
}

RS_NATIVE(jstring, strerror)(JNIEnv *env, jclass class, jint error) {
    (void)class;
    char text[128];
    return (*env)->NewStringUTF(env, strerror_r(error, text, sizeof(text)));
}

RS_NATIVE(jstring, lastStep)(JNIEnv *env, jclass class) {
    (void)class;
    return (*env)->NewStringUTF(env, rs_last_step());
}

RS_NATIVE(jint, openLibraries)(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return rs_open_libraries();
}

RS_NATIVE(jint, openDevices)(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return rs_open_devices();
}

RS_NATIVE(jint, device)(JNIEnv *env, jclass class, jint index, jobject out) {
    (void)class;
    return rs_device_query(index, (*env)->GetDirectBufferAddress(env, out));
}
