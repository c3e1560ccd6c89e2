/* Natives of VerbsConnection. */
#include "jni_util.h"

RS_NATIVE(jlong, resolve)
(JNIEnv *env, jclass class, jlong endpoint, jbyteArray local_address, jint local_scope_id,
 jbyteArray address, jint scope_id, jint port, jint timeout_ms) {
    (void)class;
    struct sockaddr_storage local = to_sockaddr(env, local_address, local_scope_id, 0);
    struct sockaddr_storage peer = to_sockaddr(env, address, scope_id, port);
    struct rs_conn *conn;
    int rc = rs_conn_resolve(from_handle(endpoint), (struct sockaddr *)&local,
                             (struct sockaddr *)&peer, timeout_ms, &conn);
    return rc ? rc : to_handle(conn);
}

RS_NATIVE(jlong, connectionId)(JNIEnv *env, jclass class, jlong connection) {
    (void)env, (void)class;
    return (jlong)rs_conn_id(from_handle(connection));
}

RS_NATIVE(jint, qpNumber)(JNIEnv *env, jclass class, jlong connection) {
    (void)env, (void)class;
    return (jint)rs_conn_qp_number(from_handle(connection)); /* 24 bits */
}

RS_NATIVE(jint, resolveRoute)(JNIEnv *env, jclass class, jlong connection, jint timeout_ms) {
    (void)env, (void)class;
    return rs_conn_resolve_route(from_handle(connection), timeout_ms);
}

static struct rs_receives to_receives(jlong address, jint lkey, jint slots, jint slot_bytes) {
    return (struct rs_receives){.address = (uint64_t)address,
                                .lkey = (uint32_t)lkey,
                                .slots = slots,
                                .slot_bytes = slot_bytes};
}

RS_NATIVE(jint, connect)
(JNIEnv *env, jclass class, jlong connection, jbyteArray private_data, jint send_queue_depth,
 jlong receive_address, jint receive_lkey, jint slots, jint slot_bytes) {
    (void)class;
    struct rs_receives receives = to_receives(receive_address, receive_lkey, slots, slot_bytes);
    uint8_t data[RS_PRIVATE_DATA_BYTES];
    int length = copy_private_data(env, private_data, data);
    if (length < 0) return length;
    return rs_conn_connect(from_handle(connection), data, length, send_queue_depth, &receives);
}

RS_NATIVE(jint, accept)
(JNIEnv *env, jclass class, jlong connection, jbyteArray private_data, jint send_queue_depth,
 jlong receive_address, jint receive_lkey, jint slots, jint slot_bytes, jint initiator_depth,
 jint responder_resources) {
    (void)class;
    struct rs_receives receives = to_receives(receive_address, receive_lkey, slots, slot_bytes);
    uint8_t data[RS_PRIVATE_DATA_BYTES];
    int length = copy_private_data(env, private_data, data);
    if (length < 0) return length;
    return rs_conn_accept(from_handle(connection), data, length, send_queue_depth, &receives,
                          initiator_depth, responder_resources);
}

RS_NATIVE(jint, reject)(JNIEnv *env, jclass class, jlong connection, jbyteArray private_data) {
    (void)class;
    uint8_t data[RS_PRIVATE_DATA_BYTES];
    int length = copy_private_data(env, private_data, data);
    if (length < 0) return length;
    return rs_conn_reject(from_handle(connection), data, length);
}

RS_NATIVE(jint, post)
(JNIEnv *env, jclass class, jlong connection, jobject reads, jint from, jint count) {
    (void)class;
    const struct rs_read *first = (*env)->GetDirectBufferAddress(env, reads);
    return rs_conn_post(from_handle(connection), first + from, count);
}

RS_NATIVE(jint, send)
(JNIEnv *env, jclass class, jlong connection, jlong wr_id, jlong address, jint lkey,
 jint length_bytes) {
    (void)env, (void)class;
    return rs_conn_send(from_handle(connection), (uint64_t)wr_id, (uint64_t)address, (uint32_t)lkey,
                        (uint32_t)length_bytes);
}

RS_NATIVE(jint, postReceives)
(JNIEnv *env, jclass class, jlong connection, jint first, jint count) {
    (void)env, (void)class;
    return rs_conn_post_receives(from_handle(connection), first, count);
}

RS_NATIVE(jint, disconnect)(JNIEnv *env, jclass class, jlong connection) {
    (void)env, (void)class;
    return rs_conn_disconnect(from_handle(connection));
}

RS_NATIVE(void, destroyQp)(JNIEnv *env, jclass class, jlong connection) {
    (void)env, (void)class;
    rs_conn_destroy_qp(from_handle(connection));
}

RS_NATIVE(void, connectionClose)(JNIEnv *env, jclass class, jlong connection) {
    (void)env, (void)class;
    rs_conn_close(from_handle(connection));
}
