#include "boundary.h"

#include <string.h>

bool borrow(JNIEnv *env, jbyteArray array, borrowed_t *out) {
    out->array = array;
    out->data = NULL;
    out->len = 0;
    if (array == NULL) {
        return true;
    }
    jsize len = (*env)->GetArrayLength(env, array);
    out->len = (size_t)len;
    if (out->len <= sizeof out->small) {
        (*env)->GetByteArrayRegion(env, array, 0, len, out->small);
        out->data = out->small;
        return true;
    }
    out->data = (*env)->GetByteArrayElements(env, array, NULL);
    return out->data != NULL;
}

void give_back(JNIEnv *env, borrowed_t *bytes) {
    if (bytes->data != NULL && bytes->data != bytes->small) {
        (*env)->ReleaseByteArrayElements(env, bytes->array, bytes->data, JNI_ABORT);
    }
    bytes->data = NULL;
}

jbyteArray new_bytes(JNIEnv *env, const void *data, size_t len) {
    if (len > INT32_MAX) {
        throw_message(env, UC_ERR_INTERNAL, "more than 2 GiB of bytes for one Java array");
        return NULL;
    }
    jbyteArray array = (*env)->NewByteArray(env, (jsize)len);
    if (array != NULL && len > 0) {
        (*env)->SetByteArrayRegion(env, array, 0, (jsize)len, (const jbyte *)data);
    }
    return array;
}

jbyteArray take_buf(JNIEnv *env, uc_buf_t *buf) {
    if (buf == NULL) {
        return NULL;
    }
    const uint8_t *data = NULL;
    size_t len = 0;
    uc_status_t status = uc_buf_view(buf, &data, &len);
    jbyteArray array = NULL;
    if (status == UC_OK) {
        array = new_bytes(env, data, len);
    } else {
        throw_status(env, status, NULL);
    }
    uc_buf_free(buf);
    return array;
}

static void throw_bytes(JNIEnv *env, uc_status_t status, bool retriable, const char *message, size_t len) {
    if ((*env)->ExceptionCheck(env)) {
        return; /* The first failure is the one to tell. */
    }
    /* Found through the class loader of the calling native method: the plugin's own. */
    jclass cls = (*env)->FindClass(env, "io/undercroft/kafka/NativeException");
    if (cls == NULL) {
        return;
    }
    jmethodID constructor = (*env)->GetMethodID(env, cls, "<init>", "(IZ[B)V");
    jbyteArray text = constructor == NULL ? NULL : new_bytes(env, message, len);
    if (text == NULL) {
        return;
    }
    jobject thrown = (*env)->NewObject(env, cls, constructor, (jint)status, retriable ? JNI_TRUE : JNI_FALSE, text);
    if (thrown != NULL) {
        (*env)->Throw(env, (jthrowable)thrown);
    }
}

void throw_message(JNIEnv *env, uc_status_t status, const char *message) {
    throw_bytes(env, status, false, message, strlen(message));
}

void throw_status(JNIEnv *env, uc_status_t status, uc_error_t *error) {
    const char *message = NULL;
    size_t len = 0;
    bool retriable = false;
    if (error != NULL && uc_error_message(error, &message, &len) == UC_OK) {
        retriable = uc_error_is_retriable(error) != 0;
    } else {
        message = uc_status_name(status);
        len = message == NULL ? 0 : strlen(message);
    }
    throw_bytes(env, status, retriable, message, len);
    uc_error_free(error);
}

bool succeeded(JNIEnv *env, uc_status_t status, uc_error_t *error) {
    if (status == UC_OK) {
        uc_error_free(error);
        return true;
    }
    throw_status(env, status, error);
    return false;
}
