/* Stands for the library of another version: all it has in common with ours is its name. */
#include <jni.h>

JNIEXPORT jintArray JNICALL Java_io_rdmashuffle_verbs_Native_abi(JNIEnv *env, jclass class) {
    (void)class;
    return (*env)->NewIntArray(env, 1); /* version 0 */
}
