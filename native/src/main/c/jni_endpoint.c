/* Natives of VerbsEndpoint and MemoryRegion. */
#include "jni_util.h"

RS_NATIVE(jlong, endpointOpen)
(JNIEnv *env, jclass class, jbyteArray address, jint scope_id, jint backlog, jint cq_entries) {
    (void)class;
    struct sockaddr_storage local = to_sockaddr(env, address, scope_id, 0);
    struct rs_endpoint *ep;
    int rc = rs_endpoint_open((struct sockaddr *)&local, backlog, cq_entries, &ep);
    return rc ? rc : to_handle(ep);
}

RS_NATIVE(jint, endpointDevice)(JNIEnv *env, jclass class, jlong endpoint, jobject out) {
    (void)class;
    return rs_endpoint_device(from_handle(endpoint), (*env)->GetDirectBufferAddress(env, out));
}

RS_NATIVE(jint, endpointPort)(JNIEnv *env, jclass class, jlong endpoint) {
    (void)env, (void)class;
    return rs_endpoint_port(from_handle(endpoint));
}

RS_NATIVE(jint, endpointListen)
(JNIEnv *env, jclass class, jlong endpoint, jbyteArray address, jint scope_id, jint backlog) {
    (void)class;
    struct sockaddr_storage local = to_sockaddr(env, address, scope_id, 0);
    return rs_endpoint_listen(from_handle(endpoint), (struct sockaddr *)&local, backlog);
}

RS_NATIVE(jint, poll)
(JNIEnv *env, jclass class, jlong endpoint, jobject events, jint timeout_ms, jint spin_us) {
    (void)class;
    return rs_endpoint_poll(from_handle(endpoint), (*env)->GetDirectBufferAddress(env, events),
                            timeout_ms, spin_us);
}

RS_NATIVE(jint, wake)(JNIEnv *env, jclass class, jlong endpoint) {
    (void)env, (void)class;
    return rs_endpoint_wake(from_handle(endpoint));
}

RS_NATIVE(void, endpointClose)(JNIEnv *env, jclass class, jlong endpoint) {
    (void)env, (void)class;
    rs_endpoint_close(from_handle(endpoint));
}

RS_NATIVE(jlong, register)
(JNIEnv *env, jclass class, jlong endpoint, jlong address, jlong length_bytes, jint access) {
    (void)env, (void)class;
    struct rs_region *region;
    int rc = rs_region_register(from_handle(endpoint), (uint64_t)address, (uint64_t)length_bytes,
                                access, &region);
    return rc ? rc : to_handle(region);
}

RS_NATIVE(jint, lkey)(JNIEnv *env, jclass class, jlong region) {
    (void)env, (void)class;
    return (jint)rs_region_lkey(from_handle(region));
}

RS_NATIVE(jint, rkey)(JNIEnv *env, jclass class, jlong region) {
    (void)env, (void)class;
    return (jint)rs_region_rkey(from_handle(region));
}

RS_NATIVE(void, deregister)(JNIEnv *env, jclass class, jlong region) {
    (void)env, (void)class;
    rs_region_deregister(from_handle(region));
}
