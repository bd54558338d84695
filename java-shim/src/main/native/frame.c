#include "frame.h"

#include <stdlib.h>
#include <string.h>

enum { SEGMENT_HEAD = 96, EPOCH_SIZE = 16, PARTITION_HEAD = 32 };

static int32_t i32_at(const uint8_t *at) {
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static int64_t i64_at(const uint8_t *at) {
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool malformed(JNIEnv *env) {
    throw_message(env, UC_ERR_INVALID_ARGUMENT, "malformed frame; the classes and libundercroft_jni.so are of different builds");
    return false;
}

bool read_segment(JNIEnv *env, const borrowed_t *bytes, uc_segment_t *out) {
    const uint8_t *at = (const uint8_t *)bytes->data;
    if (at == NULL || bytes->len < SEGMENT_HEAD) {
        return malformed(env);
    }
    int32_t topic = i32_at(at + 20);
    int32_t epochs = i32_at(at + 24);
    int32_t custom = i32_at(at + 28);
    if (topic < 0 || epochs < 0 || custom < -1) {
        return malformed(env);
    }
    size_t custom_len = custom < 0 ? 0 : (size_t)custom;
    size_t rest = bytes->len - SEGMENT_HEAD;
    if (rest != (size_t)topic + (size_t)epochs * EPOCH_SIZE + custom_len) {
        return malformed(env);
    }
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->partition = i32_at(at);
    out->broker_id = i32_at(at + 4);
    out->size_bytes = i32_at(at + 8);
    out->state = i32_at(at + 12);
    out->flags = (uint32_t)i32_at(at + 16);
    out->start_offset = i64_at(at + 32);
    out->end_offset = i64_at(at + 40);
    out->max_timestamp_ms = i64_at(at + 48);
    out->event_timestamp_ms = i64_at(at + 56);
    memcpy(out->topic_id, at + 64, 16);
    memcpy(out->segment_id, at + 80, 16);
    /* The VM hands out arrays at a multiple of 8, and 96 is one: epochs are aligned. */
    out->leader_epochs = (const uc_leader_epoch_t *)(const void *)(at + SEGMENT_HEAD);
    out->leader_epochs_len = (size_t)epochs;
    out->topic = (const char *)at + SEGMENT_HEAD + (size_t)epochs * EPOCH_SIZE;
    out->topic_len = (size_t)topic;
    if (custom >= 0) {
        out->flags |= UC_SEGMENT_HAS_CUSTOM_METADATA;
        out->custom_metadata = (const uint8_t *)out->topic + topic;
        out->custom_metadata_len = custom_len;
    }
    return true;
}

bool read_update(JNIEnv *env, const borrowed_t *bytes, uc_segment_update_t *out) {
    uc_segment_t segment;
    if (!read_segment(env, bytes, &segment)) {
        return false;
    }
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->partition = segment.partition;
    memcpy(out->topic_id, segment.topic_id, 16);
    memcpy(out->segment_id, segment.segment_id, 16);
    out->topic = segment.topic;
    out->topic_len = segment.topic_len;
    out->event_timestamp_ms = segment.event_timestamp_ms;
    out->broker_id = segment.broker_id;
    out->state = segment.state;
    out->flags = segment.flags;
    out->custom_metadata = segment.custom_metadata;
    out->custom_metadata_len = segment.custom_metadata_len;
    return true;
}

/* Reads the frame at `at` and returns its whole length, or 0 if it is malformed. */
static size_t partition_at(const uint8_t *at, size_t len, uc_partition_t *out) {
    if (at == NULL || len < PARTITION_HEAD) {
        return 0;
    }
    int32_t topic = i32_at(at + 8);
    if (topic < 0 || (size_t)topic > len - PARTITION_HEAD) {
        return 0;
    }
    size_t whole = (PARTITION_HEAD + (size_t)topic + 7) & ~(size_t)7;
    if (whole > len) {
        return 0;
    }
    memset(out, 0, sizeof *out);
    out->struct_size = sizeof *out;
    out->partition = i32_at(at);
    out->leader_epoch = i32_at(at + 4);
    memcpy(out->topic_id, at + 16, 16);
    out->topic = (const char *)at + PARTITION_HEAD;
    out->topic_len = (size_t)topic;
    return whole;
}

bool read_partition(JNIEnv *env, const borrowed_t *bytes, uc_partition_t *out) {
    return partition_at((const uint8_t *)bytes->data, bytes->len, out) == bytes->len && bytes->len > 0 ? true : malformed(env);
}

bool read_partitions(JNIEnv *env, const borrowed_t *bytes, uc_partition_t **out, size_t *count_out) {
    *out = NULL;
    *count_out = 0;
    if (bytes->len == 0) {
        return true;
    }
    size_t capacity = bytes->len / PARTITION_HEAD + 1;
    uc_partition_t *partitions = calloc(capacity, sizeof *partitions);
    if (partitions == NULL) {
        throw_message(env, UC_ERR_INTERNAL, "out of native memory");
        return false;
    }
    size_t count = 0;
    for (size_t from = 0; from < bytes->len; count++) {
        size_t whole = partition_at((const uint8_t *)bytes->data + from, bytes->len - from, &partitions[count]);
        if (whole == 0) {
            free(partitions);
            return malformed(env);
        }
        from += whole;
    }
    *out = partitions;
    *count_out = count;
    return true;
}

static size_t frame_len(const uc_segment_t *segment) {
    return SEGMENT_HEAD + segment->leader_epochs_len * EPOCH_SIZE + segment->topic_len + segment->custom_metadata_len;
}

static uint8_t *write_segment(uint8_t *to, const uc_segment_t *segment) {
    bool has_custom = (segment->flags & UC_SEGMENT_HAS_CUSTOM_METADATA) != 0;
    int32_t head[8] = {
        segment->partition,
        segment->broker_id,
        segment->size_bytes,
        segment->state,
        (int32_t)segment->flags,
        (int32_t)segment->topic_len,
        (int32_t)segment->leader_epochs_len,
        has_custom ? (int32_t)segment->custom_metadata_len : -1,
    };
    int64_t offsets[4] = {segment->start_offset, segment->end_offset, segment->max_timestamp_ms, segment->event_timestamp_ms};
    memcpy(to, head, sizeof head);
    memcpy(to + 32, offsets, sizeof offsets);
    memcpy(to + 64, segment->topic_id, 16);
    memcpy(to + 80, segment->segment_id, 16);
    to += SEGMENT_HEAD;
    for (size_t i = 0; i < segment->leader_epochs_len; i++, to += EPOCH_SIZE) {
        memcpy(to, &segment->leader_epochs[i], EPOCH_SIZE);
    }
    if (segment->topic_len > 0) {
        memcpy(to, segment->topic, segment->topic_len);
    }
    to += segment->topic_len;
    if (segment->custom_metadata_len > 0) {
        memcpy(to, segment->custom_metadata, segment->custom_metadata_len);
    }
    return to + segment->custom_metadata_len;
}

static jbyteArray write_frames(JNIEnv *env, const uc_segment_t *segments, size_t count) {
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += frame_len(&segments[i]);
    }
    uint8_t few[512];
    uint8_t *frames = total <= sizeof few ? few : malloc(total);
    if (frames == NULL) {
        throw_message(env, UC_ERR_INTERNAL, "out of native memory");
        return NULL;
    }
    uint8_t *to = frames;
    for (size_t i = 0; i < count; i++) {
        to = write_segment(to, &segments[i]);
    }
    jbyteArray array = new_bytes(env, frames, total);
    if (frames != few) {
        free(frames);
    }
    return array;
}

/* Null with a pending exception on failure. */
static jbyteArray frames_of(JNIEnv *env, const uc_segments_t *segments) {
    size_t count = 0;
    uc_status_t status = uc_segments_len(segments, &count);
    if (status != UC_OK) {
        throw_status(env, status, NULL);
        return NULL;
    }
    uc_segment_t one;
    uc_segment_t *all = count <= 1 ? &one : calloc(count, sizeof *all);
    if (all == NULL) {
        throw_message(env, UC_ERR_INTERNAL, "out of native memory");
        return NULL;
    }
    all->struct_size = sizeof *all;
    uc_error_t *error = NULL;
    status = uc_segments_read(segments, 0, all, count, &error);
    jbyteArray frames = succeeded(env, status, error) ? write_frames(env, all, count) : NULL;
    if (all != &one) {
        free(all);
    }
    return frames;
}

jbyteArray take_segments(JNIEnv *env, uc_segments_t *segments) {
    jbyteArray array = frames_of(env, segments);
    uc_segments_free(segments);
    return array;
}
