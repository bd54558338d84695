/* What every native method of the shim is made of: borrow Java's arrays, call the core, hand out or throw.
 *
 * All natives run on Java threads. The shim starts no thread, calls nothing back into Java but the constructor of an
 * exception, and keeps no global reference, so that it pins no class loader.
 */
#ifndef UNDERCROFT_JNI_BOUNDARY_H
#define UNDERCROFT_JNI_BOUNDARY_H

#include <jni.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "undercroft.h"

/* A name of a native method of class `cls`. */
#define UC_JNI(cls, method) Java_io_undercroft_kafka_##cls##_##method

/* Frames of one partition or one segment fit in here, so that a look-up allocates nothing. */
enum { SMALL_SIZE = 192 };

/* Bytes of a Java array, read only: copied here if they are few, else pinned or copied by the VM. Null arrays give `data`
 * null and `len` 0. `data` may lead into the struct, which is not to be moved. */
typedef struct {
    jbyteArray array;
    jbyte *data;
    size_t len;
    _Alignas(8) jbyte small[SMALL_SIZE];
} borrowed_t;

/* False with a pending OutOfMemoryError if the VM has no room. Always followed by `give_back`. */
bool borrow(JNIEnv *env, jbyteArray array, borrowed_t *out);
void give_back(JNIEnv *env, borrowed_t *bytes);

/* Throws `NativeException` made of a status and its error, and frees the error. */
void throw_status(JNIEnv *env, uc_status_t status, uc_error_t *error);

/* Throws `NativeException` with a message of the shim's own. */
void throw_message(JNIEnv *env, uc_status_t status, const char *message);

/* True if `status` is UC_OK; otherwise throws. `error` is consumed in both cases. */
bool succeeded(JNIEnv *env, uc_status_t status, uc_error_t *error);

/* A new Java array with these bytes, or null with a pending OutOfMemoryError. */
jbyteArray new_bytes(JNIEnv *env, const void *data, size_t len);

/* A new Java array with the bytes of `buf`, which is consumed; null for null. */
jbyteArray take_buf(JNIEnv *env, uc_buf_t *buf);

/* Handles travel as `long`. They are never dereferenced here; the core checks them on every call. */
#define HANDLE(type, value) ((type *)(uintptr_t)(value))
#define AS_LONG(handle) ((jlong)(uintptr_t)(handle))

#endif
