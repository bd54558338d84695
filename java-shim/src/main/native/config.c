#include "boundary.h"

JNIEXPORT jlong JNICALL UC_JNI(NativeConfig, create)(JNIEnv *env, jclass cls) {
    (void)cls;
    uc_config_t *config = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_config_new(&config, &error);
    return succeeded(env, status, error) ? AS_LONG(config) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeConfig, set)(JNIEnv *env, jclass cls, jlong config, jbyteArray key, jbyteArray value) {
    (void)cls;
    borrowed_t k = {0};
    borrowed_t v = {0};
    if (borrow(env, key, &k) && borrow(env, value, &v)) {
        uc_error_t *error = NULL;
        uc_status_t status =
            uc_config_set(HANDLE(uc_config_t, config), (const char *)k.data, k.len, (const char *)v.data, v.len, &error);
        succeeded(env, status, error);
    }
    give_back(env, &v);
    give_back(env, &k);
}

/* Warnings as JSON; `side` is 0 for storage and 1 for metadata. */
JNIEXPORT jbyteArray JNICALL UC_JNI(NativeConfig, check)(JNIEnv *env, jclass cls, jlong config, jint side) {
    (void)cls;
    uc_buf_t *warnings = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_config_check(HANDLE(uc_config_t, config), side, &warnings, &error);
    return succeeded(env, status, error) ? take_buf(env, warnings) : NULL;
}

JNIEXPORT void JNICALL UC_JNI(NativeConfig, free)(JNIEnv *env, jclass cls, jlong config) {
    (void)env;
    (void)cls;
    uc_config_free(HANDLE(uc_config_t, config));
}
