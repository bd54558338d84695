#define _GNU_SOURCE /* dladdr */
#include "boundary.h"

#include <dlfcn.h>

/* Number of the ABI that this shim was compiled for. */
JNIEXPORT jint JNICALL UC_JNI(NativeVersion, shimAbi)(JNIEnv *env, jclass cls) {
    (void)env;
    (void)cls;
    return UC_ABI_VERSION;
}

JNIEXPORT jstring JNICALL UC_JNI(NativeVersion, shimVersion)(JNIEnv *env, jclass cls) {
    (void)cls;
    return (*env)->NewStringUTF(env, UNDERCROFT_VERSION);
}

JNIEXPORT jint JNICALL UC_JNI(NativeVersion, coreAbi)(JNIEnv *env, jclass cls) {
    (void)env;
    (void)cls;
    return (jint)uc_abi_version();
}

JNIEXPORT jstring JNICALL UC_JNI(NativeVersion, coreVersion)(JNIEnv *env, jclass cls) {
    (void)cls;
    const char *version = uc_version();
    return (*env)->NewStringUTF(env, version == NULL ? "?" : version);
}

/* Build of the header that this shim was compiled with, and of the one that the core was built with. */
JNIEXPORT jstring JNICALL UC_JNI(NativeVersion, shimBuild)(JNIEnv *env, jclass cls) {
    (void)cls;
    return (*env)->NewStringUTF(env, UC_BUILD_ID);
}

JNIEXPORT jstring JNICALL UC_JNI(NativeVersion, coreBuild)(JNIEnv *env, jclass cls) {
    (void)cls;
    const char *build = uc_build_id();
    return (*env)->NewStringUTF(env, build == NULL ? "?" : build);
}

/* File that the core of this process was loaded from: the first one loaded serves all class loaders. */
JNIEXPORT jstring JNICALL UC_JNI(NativeVersion, corePath)(JNIEnv *env, jclass cls) {
    (void)cls;
    Dl_info info;
    union {
        uint32_t (*function)(void);
        void *address;
    } symbol = {.function = uc_abi_version};
    const char *path = dladdr(symbol.address, &info) != 0 ? info.dli_fname : NULL;
    return (*env)->NewStringUTF(env, path == NULL ? "?" : path);
}
