#include "boundary.h"

#include <string.h>

JNIEXPORT jlong JNICALL UC_JNI(NativeLog, open)(JNIEnv *env, jclass cls, jint level, jint capacity) {
    (void)cls;
    uc_log_t *log = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_log_open(level, (size_t)capacity, &log, &error);
    return succeeded(env, status, error) ? AS_LONG(log) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeLog, setLevel)(JNIEnv *env, jclass cls, jlong log, jint level) {
    (void)cls;
    uc_error_t *error = NULL;
    uc_status_t status = uc_log_set_level(HANDLE(uc_log_t, log), level, &error);
    succeeded(env, status, error);
}

/* The next record or null, without waiting. `head` gets { level, timestamp ms, dropped before it, length of target };
 * the bytes are target and message, one after the other. */
JNIEXPORT jbyteArray JNICALL UC_JNI(NativeLog, next)(JNIEnv *env, jclass cls, jlong log, jlongArray head) {
    (void)cls;
    uc_log_record_t record;
    memset(&record, 0, sizeof record);
    record.struct_size = sizeof record;
    uc_error_t *error = NULL;
    uc_status_t status = uc_log_next(HANDLE(uc_log_t, log), 0, &record, &error);
    if (status == UC_ERR_TIMEOUT) {
        uc_error_free(error);
        return NULL;
    }
    if (!succeeded(env, status, error)) {
        return NULL;
    }
    jlong values[4] = {record.level, record.timestamp_ms, (jlong)record.dropped, (jlong)record.target_len};
    (*env)->SetLongArrayRegion(env, head, 0, 4, values);
    jsize len = (jsize)(record.target_len + record.message_len);
    jbyteArray text = (*env)->NewByteArray(env, len);
    if (text != NULL) {
        (*env)->SetByteArrayRegion(env, text, 0, (jsize)record.target_len, (const jbyte *)record.target);
        (*env)->SetByteArrayRegion(env, text, (jsize)record.target_len, (jsize)record.message_len, (const jbyte *)record.message);
    }
    return text;
}

JNIEXPORT void JNICALL UC_JNI(NativeLog, free)(JNIEnv *env, jclass cls, jlong log) {
    (void)env;
    (void)cls;
    uc_log_free(HANDLE(uc_log_t, log));
}
