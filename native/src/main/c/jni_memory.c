/* Natives of MappedFile and NativeMemory. */
#include <limits.h>

#include "jni_util.h"

RS_NATIVE(jlong, mapFile)
(JNIEnv *env, jclass class, jbyteArray path, jboolean writable, jlongArray length_and_uid_out) {
    (void)class;
    char name[PATH_MAX];
    jsize name_length = (*env)->GetArrayLength(env, path);
    if (name_length >= PATH_MAX) return -ENAMETOOLONG;
    (*env)->GetByteArrayRegion(env, path, 0, name_length, (jbyte *)name);
    if ((*env)->ExceptionCheck(env)) return -EINVAL;
    name[name_length] = '\0';

    void *address;
    uint64_t length_bytes;
    uint32_t owner_uid;
    int rc = rs_map_file(name, writable, &address, &length_bytes, &owner_uid);
    if (rc) return rc;
    const jlong out[] = {(jlong)length_bytes, owner_uid};
    (*env)->SetLongArrayRegion(env, length_and_uid_out, 0, 2, out);
    return to_handle(address);
}

RS_NATIVE(jlong, allocate)(JNIEnv *env, jclass class, jlong bytes) {
    (void)env, (void)class;
    void *address;
    int rc = rs_allocate((uint64_t)bytes, &address);
    return rc ? rc : to_handle(address);
}

RS_NATIVE(void, unmap)(JNIEnv *env, jclass class, jlong address, jlong length_bytes) {
    (void)env, (void)class;
    rs_unmap(from_handle(address), (uint64_t)length_bytes);
}

RS_NATIVE(jobject, view)(JNIEnv *env, jclass class, jlong address, jint length_bytes) {
    (void)class;
    return (*env)->NewDirectByteBuffer(env, from_handle(address), length_bytes);
}
