#include "frame.h"

#include <stdlib.h>

JNIEXPORT jlong JNICALL UC_JNI(NativeMetadata, open)(JNIEnv *env, jclass cls, jlong config) {
    (void)cls;
    uc_metadata_t *metadata = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metadata_open(HANDLE(uc_config_t, config), &metadata, &error);
    return succeeded(env, status, error) ? AS_LONG(metadata) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, leadAndFollow)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray leaders,
                                                             jbyteArray followers) {
    (void)cls;
    borrowed_t lead = {0};
    borrowed_t follow = {0};
    uc_partition_t *leading = NULL;
    uc_partition_t *following = NULL;
    size_t leading_len = 0;
    size_t following_len = 0;
    if (borrow(env, leaders, &lead) && borrow(env, followers, &follow) && read_partitions(env, &lead, &leading, &leading_len) &&
        read_partitions(env, &follow, &following, &following_len)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_lead_and_follow(HANDLE(uc_metadata_t, metadata), leading, leading_len, following,
                                                         following_len, &error);
        succeeded(env, status, error);
    }
    free(following);
    free(leading);
    give_back(env, &follow);
    give_back(env, &lead);
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, stop)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partitions) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t *stopped = NULL;
    size_t count = 0;
    if (borrow(env, partitions, &bytes) && read_partitions(env, &bytes, &stopped, &count)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_stop(HANDLE(uc_metadata_t, metadata), stopped, count, &error);
        succeeded(env, status, error);
    }
    free(stopped);
    give_back(env, &bytes);
}

JNIEXPORT jboolean JNICALL UC_JNI(NativeMetadata, isReady)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t asked;
    int32_t ready = 0;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_is_ready(HANDLE(uc_metadata_t, metadata), &asked, &ready, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
    return ready != 0 ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, add)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray segment, jint admission_ms,
                                                   jlong queue, jlong tag) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_segment_t added;
    if (borrow(env, segment, &bytes) && read_segment(env, &bytes, &added)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_add(HANDLE(uc_metadata_t, metadata), &added, (uint32_t)admission_ms, HANDLE(uc_cq_t, queue),
                                             (uint64_t)tag, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, update)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray segment, jint admission_ms,
                                                      jlong queue, jlong tag) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_segment_update_t updated;
    if (borrow(env, segment, &bytes) && read_update(env, &bytes, &updated)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_update(HANDLE(uc_metadata_t, metadata), &updated, (uint32_t)admission_ms,
                                                HANDLE(uc_cq_t, queue), (uint64_t)tag, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, putPartitionDelete)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition,
                                                                  jint broker_id, jlong event_timestamp_ms, jint state,
                                                                  jint admission_ms, jlong queue, jlong tag) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t deleted;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &deleted)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_put_partition_delete(HANDLE(uc_metadata_t, metadata), &deleted, broker_id, event_timestamp_ms,
                                                              state, (uint32_t)admission_ms, HANDLE(uc_cq_t, queue), (uint64_t)tag,
                                                              &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
}

typedef uc_status_t (*find_t)(const uc_metadata_t *, const uc_partition_t *, int32_t, int64_t, uc_segments_t **, uc_error_t **);

static jbyteArray look_up(JNIEnv *env, find_t find, jlong metadata, jbyteArray partition, jint epoch, jlong offset) {
    borrowed_t bytes = {0};
    uc_partition_t asked;
    uc_segments_t *found = NULL;
    jbyteArray frames = NULL;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = find(HANDLE(uc_metadata_t, metadata), &asked, epoch, offset, &found, &error);
        if (succeeded(env, status, error)) {
            frames = take_segments(env, found);
        }
    }
    give_back(env, &bytes);
    return frames;
}

JNIEXPORT jbyteArray JNICALL UC_JNI(NativeMetadata, find)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition, jint epoch,
                                                          jlong offset) {
    (void)cls;
    return look_up(env, uc_metadata_find, metadata, partition, epoch, offset);
}

JNIEXPORT jbyteArray JNICALL UC_JNI(NativeMetadata, nextWithTxnIndex)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition,
                                                                      jint epoch, jlong offset) {
    (void)cls;
    return look_up(env, uc_metadata_next_with_txn_index, metadata, partition, epoch, offset);
}

/* All segments of an epoch; -1 as `epoch` means of all epochs. */
JNIEXPORT jbyteArray JNICALL UC_JNI(NativeMetadata, list)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition, jint epoch) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t asked;
    uc_segments_t *found = NULL;
    jbyteArray frames = NULL;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_list(HANDLE(uc_metadata_t, metadata), &asked, epoch, &found, &error);
        if (succeeded(env, status, error)) {
            frames = take_segments(env, found);
        }
    }
    give_back(env, &bytes);
    return frames;
}

/* 0 if lists are not to be kept. */
JNIEXPORT jlong JNICALL UC_JNI(NativeMetadata, listStamp)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t asked;
    uint64_t stamp = 0;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_list_stamp(HANDLE(uc_metadata_t, metadata), &asked, &stamp, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
    return (jlong)stamp;
}

/* -1 if the epoch has none. */
JNIEXPORT jlong JNICALL UC_JNI(NativeMetadata, highestOffset)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition, jint epoch) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t asked;
    int64_t offset = -1;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_highest_offset(HANDLE(uc_metadata_t, metadata), &asked, epoch, &offset, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
    return offset;
}

JNIEXPORT jlong JNICALL UC_JNI(NativeMetadata, size)(JNIEnv *env, jclass cls, jlong metadata, jbyteArray partition, jint epoch) {
    (void)cls;
    borrowed_t bytes = {0};
    uc_partition_t asked;
    uint64_t size = 0;
    if (borrow(env, partition, &bytes) && read_partition(env, &bytes, &asked)) {
        uc_error_t *error = NULL;
        uc_status_t status = uc_metadata_size(HANDLE(uc_metadata_t, metadata), &asked, epoch, &size, &error);
        succeeded(env, status, error);
    }
    give_back(env, &bytes);
    return size > INT64_MAX ? INT64_MAX : (jlong)size;
}

JNIEXPORT jlong JNICALL UC_JNI(NativeMetadata, metrics)(JNIEnv *env, jclass cls, jlong metadata) {
    (void)cls;
    uc_metrics_t *metrics = NULL;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metadata_metrics(HANDLE(uc_metadata_t, metadata), &metrics, &error);
    return succeeded(env, status, error) ? AS_LONG(metrics) : 0;
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, close)(JNIEnv *env, jclass cls, jlong metadata, jint timeout_ms) {
    (void)cls;
    uc_error_t *error = NULL;
    uc_status_t status = uc_metadata_close(HANDLE(uc_metadata_t, metadata), (uint32_t)timeout_ms, &error);
    succeeded(env, status, error);
}

JNIEXPORT void JNICALL UC_JNI(NativeMetadata, free)(JNIEnv *env, jclass cls, jlong metadata) {
    (void)env;
    (void)cls;
    uc_metadata_free(HANDLE(uc_metadata_t, metadata));
}
