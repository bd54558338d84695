#include "frame.h"

#include <string.h>

JNIEXPORT jlong JNICALL UC_JNI(NativeStorage, open)(JNIEnv *env, jclass cls, jlong config) {
    (void)cls;
    uc_storage_t *storage = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_storage_open(HANDLE(uc_config_t, config), &storage, &error);
    return succeeded(env, status, error) ? AS_LONG(storage) : 0;
}

static void set_path(const borrowed_t *path, const char **ptr_out, size_t *len_out) {
    *ptr_out = (const char *)path->data;
    *len_out = path->len;
}

/* `paths` are log, offset index, time index, transaction index (or null) and producer snapshot. */
JNIEXPORT void JNICALL UC_JNI(NativeStorage, copy)(JNIEnv *env, jclass cls, jlong storage, jbyteArray segment, jbyteArray log_path,
                                                   jbyteArray offset_index, jbyteArray time_index, jbyteArray transaction_index,
                                                   jbyteArray producer_snapshot, jbyteArray leader_epochs, jlong queue, jlong tag) {
    (void)cls;
    jbyteArray arrays[7] = {segment, log_path, offset_index, time_index, transaction_index, producer_snapshot, leader_epochs};
    borrowed_t bytes[7];
    memset(bytes, 0, sizeof bytes);
    bool all = true;
    for (size_t i = 0; i < 7 && all; i++) {
        all = borrow(env, arrays[i], &bytes[i]);
    }
    uc_segment_t described;
    if (all && read_segment(env, &bytes[0], &described)) {
        uc_segment_files_t files;
        memset(&files, 0, sizeof files);
        files.struct_size = sizeof files;
        set_path(&bytes[1], &files.log, &files.log_len);
        set_path(&bytes[2], &files.offset_index, &files.offset_index_len);
        set_path(&bytes[3], &files.time_index, &files.time_index_len);
        set_path(&bytes[4], &files.transaction_index, &files.transaction_index_len);
        set_path(&bytes[5], &files.producer_snapshot, &files.producer_snapshot_len);
        files.leader_epochs = (const uint8_t *)bytes[6].data;
        files.leader_epochs_len = bytes[6].len;
        uc_error_t *error = NULL;
        uc_status_t status = uc_storage_copy_submit(HANDLE(uc_storage_t, storage), &described, &files, HANDLE(uc_cq_t, queue),
                                                    (uint64_t)tag, &error);
        succeeded(env, status, error);
    }
    for (size_t i = 0; i < 7; i++) {
        give_back(env, &bytes[i]);
    }
}

/* A reader of bytes `start` to `end` inclusive; -1 as `end` means to the end of the segment. */
JNIEXPORT jlong JNICALL UC_JNI(NativeStorage, fetch)(JNIEnv *env, jclass cls, jlong storage, jbyteArray segment, jlong start, jlong end) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_segment_t described;
    uc_reader_t *reader = NULL;
    bool opened = false;
    if (borrow(env, segment, &bytes) && read_segment(env, &bytes, &described)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_storage_fetch(HANDLE(uc_storage_t, storage), &described, (uint64_t)start,
                                              end < 0 ? UINT64_MAX : (uint64_t)end, &reader, &error);
        opened = succeeded(env, status, error);
    }
    give_back(env, &bytes);
    return opened ? AS_LONG(reader) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeStorage, fetchIndex)(JNIEnv *env, jclass cls, jlong storage, jbyteArray segment, jint index_type,
                                                         jlong queue, jlong tag) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_segment_t described;
    if (borrow(env, segment, &bytes) && read_segment(env, &bytes, &described)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_storage_fetch_index_submit(HANDLE(uc_storage_t, storage), &described, index_type,
                                                           HANDLE(uc_cq_t, queue), (uint64_t)tag, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
}

JNIEXPORT void JNICALL UC_JNI(NativeStorage, delete)(JNIEnv *env, jclass cls, jlong storage, jbyteArray segment, jlong queue, jlong tag) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_segment_t described;
    if (borrow(env, segment, &bytes) && read_segment(env, &bytes, &described)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_storage_delete_submit(HANDLE(uc_storage_t, storage), &described, 1, HANDLE(uc_cq_t, queue),
                                                      (uint64_t)tag, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
}

JNIEXPORT jlong JNICALL UC_JNI(NativeStorage, metrics)(JNIEnv *env, jclass cls, jlong storage) {
    (void)cls;
    uc_metrics_t *metrics = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_storage_metrics(HANDLE(uc_storage_t, storage), &metrics, &error);
    return succeeded(env, status, error) ? AS_LONG(metrics) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeStorage, close)(JNIEnv *env, jclass cls, jlong storage, jint timeout_ms) {
    (void)cls;
    uc_error_t *error = NULL;
    uc_status_t status = uc_storage_close(HANDLE(uc_storage_t, storage), (uint32_t)timeout_ms, &error);
    succeeded(env, status, error);
}

JNIEXPORT void JNICALL UC_JNI(NativeStorage, free)(JNIEnv *env, jclass cls, jlong storage) {
    (void)env;
    (void)cls;
    uc_storage_free(HANDLE(uc_storage_t, storage));
}
