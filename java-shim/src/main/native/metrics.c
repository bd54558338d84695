#include "boundary.h"

#include <stdlib.h>

/* Names and meanings as JSON, in the order of `read`. */
JNIEXPORT jbyteArray JNICALL UC_JNI(NativeMetrics, describe)(JNIEnv *env, jclass cls, jlong metrics) {
    (void)cls;
    uc_buf_t *json = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metrics_describe(HANDLE(uc_metrics_t, metrics), &json, &error);
    return succeeded(env, status, error) ? take_buf(env, json) : NULL;
}

/* Fills `values` as far as it is long. */
JNIEXPORT void JNICALL UC_JNI(NativeMetrics, read)(JNIEnv *env, jclass cls, jlong metrics, jdoubleArray values) {
    (void)cls;
    jsize capacity = (*env)->GetArrayLength(env, values);
    double *now = calloc((size_t)capacity + 1, sizeof *now);
    if (now == NULL) {
        throw_message(env, UC_ERR_INTERNAL, "out of native memory");
        return;
    }
    size_t count = 0;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metrics_read(HANDLE(uc_metrics_t, metrics), now, (size_t)capacity, &count, &error);
    if (succeeded(env, status, error)) {
        (*env)->SetDoubleArrayRegion(env, values, 0, count < (size_t)capacity ? (jsize)count : capacity, now);
    }
    free(now);
}

JNIEXPORT jlong JNICALL UC_JNI(NativeMetrics, generation)(JNIEnv *env, jclass cls, jlong metrics) {
    (void)cls;
    uint64_t generation = 0;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metrics_generation(HANDLE(uc_metrics_t, metrics), &generation, &error);
    return succeeded(env, status, error) ? (jlong)generation : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeMetrics, free)(JNIEnv *env, jclass cls, jlong metrics) {
    (void)env;
    (void)cls;
    uc_metrics_free(HANDLE(uc_metrics_t, metrics));
}
