#include "boundary.h"

#include <string.h>

JNIEXPORT jlong JNICALL UC_JNI(NativeQueue, create)(JNIEnv *env, jclass cls) {
    (void)cls;
    uc_cq_t *queue = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_cq_new(&queue, &error);
    return succeeded(env, status, error) ? AS_LONG(queue) : 0;
}

/* Waits for one event. `head` gets { 1 if there is one, tag, status, 1 if retriable }; the bytes are the result of a
 * success (null for none) or the message of a failure. */
JNIEXPORT jbyteArray JNICALL UC_JNI(NativeQueue, next)(JNIEnv *env, jclass cls, jlong queue, jint timeout_ms, jlongArray head) {
    (void)cls;
    uc_event_t event;
    memset(&event, 0, sizeof event);
    event.struct_size = sizeof event;
    uc_error_t *error = NULL;
    uc_status_t status = uc_cq_next(HANDLE(uc_cq_t, queue), (uint32_t)timeout_ms, &event, &error);
    jlong values[4] = {0, 0, 0, 0};
    if (status == UC_ERR_TIMEOUT) {
        uc_error_free(error);
        (*env)->SetLongArrayRegion(env, head, 0, 4, values);
        return NULL;
    }
    if (!succeeded(env, status, error)) {
        return NULL;
    }
    values[0] = 1;
    values[1] = (jlong)event.tag;
    values[2] = event.status;
    values[3] = event.error == NULL ? 0 : uc_error_is_retriable(event.error) != 0;
    (*env)->SetLongArrayRegion(env, head, 0, 4, values);
    if (event.status == UC_OK) {
        uc_error_free(event.error);
        return take_buf(env, event.result);
    }
    const char *message = NULL;
    size_t len = 0;
    if (event.error == NULL || uc_error_message(event.error, &message, &len) != UC_OK) {
        message = uc_status_name(event.status);
        len = message == NULL ? 0 : strlen(message);
    }
    jbyteArray text = new_bytes(env, message, len);
    uc_error_free(event.error);
    uc_buf_free(event.result);
    return text;
}

JNIEXPORT void JNICALL UC_JNI(NativeQueue, cancel)(JNIEnv *env, jclass cls, jlong queue, jlong tag) {
    (void)cls;
    uc_error_t *error = NULL;
    uc_status_t status = uc_cq_cancel(HANDLE(uc_cq_t, queue), (uint64_t)tag, &error);
    succeeded(env, status, error);
}

JNIEXPORT void JNICALL UC_JNI(NativeQueue, free)(JNIEnv *env, jclass cls, jlong queue) {
    (void)env;
    (void)cls;
    uc_cq_free(HANDLE(uc_cq_t, queue));
}
