#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "boundary.h"

#include <stdlib.h>
#include <time.h>

/* Bytes moved per call: the VM stands still for no longer than it takes to copy them. */
enum { SLICE_BYTES = 256 * 1024, READ_TIMED_OUT = -1 };

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Reads up to `len` bytes into `dst` at `off`; waits at most `timeout_ms` for the first. 0 = end, -1 = nothing yet. */
JNIEXPORT jint JNICALL UC_JNI(NativeReader, read)(JNIEnv *env, jclass cls, jlong reader, jbyteArray dst, jint off, jint len,
                                                  jint timeout_ms) {
    (void)cls;
    size_t wanted = (size_t)(len < SLICE_BYTES ? len : SLICE_BYTES);
    uint8_t *slice = malloc(wanted);
    if (slice == NULL) {
        throw_message(env, UC_ERR_INTERNAL, "out of native memory");
        return 0;
    }
    size_t count = 0;
    uc_error_t *error = NULL;
    int64_t give_up_ns = now_ns() + (int64_t)timeout_ms * 1000000;
    uc_status_t status = uc_reader_read(HANDLE(uc_reader_t, reader), slice, wanted, (uint32_t)timeout_ms, &count, &error);
    jint answer;
    /* A time-out before our own time is over is the store's: it has given up, and that is an error. */
    if (status == UC_ERR_TIMEOUT && now_ns() >= give_up_ns) {
        uc_error_free(error);
        answer = READ_TIMED_OUT;
    } else if (succeeded(env, status, error)) {
        (*env)->SetByteArrayRegion(env, dst, off, (jsize)count, (const jbyte *)slice);
        answer = (jint)count;
    } else {
        answer = 0;
    }
    free(slice);
    return answer;
}

JNIEXPORT void JNICALL UC_JNI(NativeReader, cancel)(JNIEnv *env, jclass cls, jlong reader) {
    (void)env;
    (void)cls;
    uc_reader_cancel(HANDLE(uc_reader_t, reader));
}

JNIEXPORT void JNICALL UC_JNI(NativeReader, free)(JNIEnv *env, jclass cls, jlong reader) {
    (void)env;
    (void)cls;
    uc_reader_free(HANDLE(uc_reader_t, reader));
}
