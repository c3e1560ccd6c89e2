/* Conversions that the JNI files share. Nothing here or there calls back into Java or decides about
 * verbs. */
#ifndef JNI_UTIL_H
#define JNI_UTIL_H

#include <arpa/inet.h>
#include <errno.h>
#include <jni.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "rs_verbs.h"

/* The name under which Java finds a method of io.rdmashuffle.verbs.Native. */
#define RS_NATIVE(type, method) JNIEXPORT type JNICALL Java_io_rdmashuffle_verbs_Native_##method

/* User-space addresses are positive as jlong on Linux. */
static inline jlong to_handle(const void *pointer) { return (jlong)(intptr_t)pointer; }

static inline void *from_handle(jlong handle) { return (void *)(intptr_t)handle; }

/* Copies at most RS_PRIVATE_DATA_BYTES; returns their number or -EINVAL. */
static inline int copy_private_data(JNIEnv *env, jbyteArray array, uint8_t *out) {
    jsize length = (*env)->GetArrayLength(env, array);
    if (length > RS_PRIVATE_DATA_BYTES) return -EINVAL;
    (*env)->GetByteArrayRegion(env, array, 0, length, (jbyte *)out);
    return length;
}

/* From the 4 or 16 bytes of an InetAddress. */
static inline struct sockaddr_storage to_sockaddr(JNIEnv *env, jbyteArray address, jint scope_id,
                                                  jint port) {
    struct sockaddr_storage storage = {0};
    uint8_t bytes[16] = {0};
    jsize length = (*env)->GetArrayLength(env, address);
    (*env)->GetByteArrayRegion(env, address, 0, length > 16 ? 16 : length, (jbyte *)bytes);
    if (length == 4) {
        struct sockaddr_in *in = (struct sockaddr_in *)&storage;
        in->sin_family = AF_INET;
        in->sin_port = htons((uint16_t)port);
        memcpy(&in->sin_addr, bytes, 4);
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons((uint16_t)port);
        in6->sin6_scope_id = (uint32_t)scope_id;
        memcpy(&in6->sin6_addr, bytes, 16);
    }
    return storage;
}

#endif
