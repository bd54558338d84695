/* A core that does what the name of a topic says, so that tests of the shim can cause every failure at will.
 *
 *   sync-CODE-RETRIABLE   the call fails with that status
 *   fail-CODE-RETRIABLE   the call is accepted and its completion (or the first read) fails
 *   late-CODE-RETRIABLE   a reader gives 100,000 bytes, then fails
 *   stall                 a reader gives 100,000 bytes, then behaves as `slow`
 *   slow                  nothing happens until it is cancelled or closed
 *   fast                  a reader gives bytes without writing any: what is left is the cost of the shim
 *   stubborn              nothing happens until it is cancelled, and then it turns out to be done
 *   dangling              segments that are looked up are in state 4
 *   soon                  it is not ready before `uc_metadata_is_ready` was asked four times
 *   none                  fetch_index and copy give no bytes
 *   sealed                fetch_index and copy give bytes that cannot be looked at
 *   anything else         it works: byte i of a segment is (i * 31) & 0xff
 *
 *   beans-COUNT-0         once it is led, there are metrics of topics called t0, t1, â¦, COUNT of them
 *
 * Handles are plain pointers that nothing checks: a use after free of the shim's shows as a crash.
 * Its metrics tell how many readers and how many other handles are open.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "undercroft.h"

#define PUBLIC __attribute__((visibility("default")))

static atomic_int open_readers;
static atomic_int open_handles;

struct uc_error_t { uc_status_t code; bool retriable; char message[128]; };
struct uc_buf_t { size_t len; bool sealed; uint8_t bytes[]; };
struct uc_config_t { bool bad; };
struct uc_log_t { int level; };
struct uc_metrics_t { int unused; };
typedef struct event { struct event *next; uint64_t tag; uc_error_t *error; uc_buf_t *result; bool ready, stubborn; void *owner; } event_t;
struct uc_cq_t { event_t *first; };
struct uc_storage_t { bool closed; };
struct uc_reader_t { char script[64]; uint64_t at, end; bool cancelled; };
struct uc_metadata_t { bool closed; bool known; uc_segment_t segment; char topic[64]; uc_leader_epoch_t epochs[8]; uint8_t custom[128]; };
struct uc_segments_t { size_t count; const uc_metadata_t *of; int32_t state; };

static uc_cq_t *last_queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool record_pending;

static void *make(size_t size) { open_handles++; return calloc(1, size); }
static void unmake(void *handle) { if (handle != NULL) { open_handles--; free(handle); } }

static uc_status_t fail(uc_error_t **error_out, uc_status_t code, bool retriable, const char *what) {
    if (error_out != NULL) {
        uc_error_t *error = make(sizeof *error);
        error->code = code;
        error->retriable = retriable;
        snprintf(error->message, sizeof error->message, "scripted: %s \xe2\x80\x93 %d", what, (int)code);
        *error_out = error;
    }
    return code;
}

static uc_buf_t *buf_of(const void *bytes, size_t len) {
    uc_buf_t *buf = make(sizeof *buf + len);
    buf->len = len;
    memcpy(buf->bytes, bytes, len);
    return buf;
}

static void copy_name(char *to, const char *name, size_t len) {
    size_t kept = len < 63 ? len : 63;
    memcpy(to, name, kept);
    to[kept] = 0;
}

static bool says(const char *topic, size_t len, const char *word, int *code, int *retriable) {
    char name[64];
    char format[32];
    copy_name(name, topic, len);
    snprintf(format, sizeof format, "%s-%%d-%%d", word);
    return sscanf(name, format, code, retriable) == 2;
}

static bool is(const char *topic, size_t len, const char *word) { return len == strlen(word) && memcmp(topic, word, len) == 0; }

static struct timespec deadline_in(uint32_t ms) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) { at.tv_sec++; at.tv_nsec -= 1000000000; }
    return at;
}

PUBLIC uint32_t uc_abi_version(void) { return UC_ABI_VERSION; }
#ifdef OTHER_VERSION
PUBLIC const char *uc_version(void) { return OTHER_VERSION; }
#else
PUBLIC const char *uc_version(void) { return UNDERCROFT_VERSION; }
#endif
PUBLIC const char *uc_build_id(void) { return UC_BUILD_ID; }
PUBLIC const char *uc_status_name(uc_status_t status) { return status == UC_OK ? "UC_OK" : "UC_ERR"; }

PUBLIC uc_status_t uc_error_code(const uc_error_t *error) { return error->code; }
PUBLIC int32_t uc_error_is_retriable(const uc_error_t *error) { return error->retriable; }
PUBLIC uc_status_t uc_error_message(const uc_error_t *error, const char **ptr, size_t *len) { *ptr = error->message; *len = strlen(error->message); return UC_OK; }
PUBLIC void uc_error_free(uc_error_t *error) { unmake(error); }
PUBLIC uc_status_t uc_buf_view(const uc_buf_t *buf, const uint8_t **ptr, size_t *len) { *ptr = buf->bytes; *len = buf->len; return buf->sealed ? UC_ERR_INTERNAL : UC_OK; }
PUBLIC void uc_buf_free(uc_buf_t *buf) { unmake(buf); }

PUBLIC uc_status_t uc_config_new(uc_config_t **out, uc_error_t **error_out) { (void)error_out; *out = make(sizeof **out); return UC_OK; }
PUBLIC uc_status_t uc_config_set(uc_config_t *config, const char *key, size_t key_len, const char *value, size_t value_len, uc_error_t **error_out) {
    (void)value; (void)value_len; (void)error_out;
    if (is(key, key_len, "bad.key")) config->bad = true;
    return UC_OK;
}
PUBLIC uc_status_t uc_config_check(const uc_config_t *config, int32_t side, uc_buf_t **warnings, uc_error_t **error_out) {
    (void)side;
    static const char json[] = "[{\"key\":\"unknown.key\",\"did_you_mean\":null},{\"key\":\"storge.\\u00e9\",\"did_you_mean\":\"storage\"}]";
    if (config->bad) return fail(error_out, UC_ERR_CONFIG, false, "bad.key = `x`: expected: 1 to 3");
    *warnings = buf_of(json, sizeof json - 1);
    return UC_OK;
}
PUBLIC void uc_config_free(uc_config_t *config) { unmake(config); }

PUBLIC uc_status_t uc_log_open(int32_t level, size_t capacity, uc_log_t **out, uc_error_t **error_out) { (void)error_out; (void)capacity; *out = make(sizeof **out); (*out)->level = level; return UC_OK; }
PUBLIC uc_status_t uc_log_set_level(const uc_log_t *log, int32_t level, uc_error_t **error_out) { (void)error_out; (void)log; (void)level; return UC_OK; }
PUBLIC uc_status_t uc_log_next(uc_log_t *log, uint32_t timeout_ms, uc_log_record_t *out, uc_error_t **error_out) {
    static const char target[] = "undercroft::storage::manager", message[] = "scripted core is open";
    (void)log; (void)timeout_ms;
    if (!record_pending) return fail(error_out, UC_ERR_TIMEOUT, true, "no record");
    record_pending = false;
    out->level = 2; out->timestamp_ms = 1; out->dropped = 0;
    out->target = target; out->target_len = sizeof target - 1; out->message = message; out->message_len = sizeof message - 1;
    return UC_OK;
}
PUBLIC void uc_log_free(uc_log_t *log) { unmake(log); }

PUBLIC uc_status_t uc_cq_new(uc_cq_t **out, uc_error_t **error_out) { (void)error_out; *out = make(sizeof **out); return UC_OK; }
PUBLIC uc_status_t uc_cq_next(const uc_cq_t *queue, uint32_t timeout_ms, uc_event_t *out, uc_error_t **error_out) {
    uc_cq_t *cq = (uc_cq_t *)queue;
    struct timespec until = deadline_in(timeout_ms);
    pthread_mutex_lock(&lock);
    for (;;) {
        for (event_t **at = &cq->first; *at != NULL; at = &(*at)->next) {
            event_t *event = *at;
            if (event->ready) {
                *at = event->next;
                out->tag = event->tag;
                out->error = event->error;
                out->result = event->result;
                out->status = event->error == NULL ? UC_OK : event->error->code;
                free(event);
                pthread_mutex_unlock(&lock);
                return UC_OK;
            }
        }
        if (pthread_cond_timedwait(&changed, &lock, &until) != 0) break;
    }
    pthread_mutex_unlock(&lock);
    return fail(error_out, UC_ERR_TIMEOUT, true, "no event");
}
/* Ends what `owner` (or, if it is null, `tag`) has under way. */
static void end(const uc_cq_t *cq, const void *owner, uint64_t tag, uc_status_t code) {
    pthread_mutex_lock(&lock);
    for (event_t *event = cq->first; event != NULL; event = event->next) {
        if (!event->ready && (owner == NULL ? event->tag == tag : event->owner == owner)) {
            if (!event->stubborn) fail(&event->error, code, false, "ended");
            event->ready = true;
        }
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
PUBLIC uc_status_t uc_cq_cancel(const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) { (void)error_out; end(cq, NULL, tag, UC_ERR_CANCELLED); return UC_OK; }
PUBLIC void uc_cq_free(uc_cq_t *cq) {
    if (last_queue == cq) last_queue = NULL;
    unmake(cq);
}

static uc_status_t submit(void *owner, bool closed, const char *topic, size_t topic_len, const uc_cq_t *queue, uint64_t tag, uc_buf_t *result, uc_error_t **error_out) {
    uc_cq_t *cq = (uc_cq_t *)queue;
    int code = 0, retriable = 0;
    if (closed || says(topic, topic_len, "sync", &code, &retriable)) {
        uc_buf_free(result);
        return fail(error_out, closed ? UC_ERR_CLOSED : code, retriable != 0, closed ? "closed" : "sync");
    }
    event_t *event = calloc(1, sizeof *event);
    event->tag = tag;
    event->owner = owner;
    event->stubborn = is(topic, topic_len, "stubborn");
    if (result != NULL) result->sealed = is(topic, topic_len, "sealed");
    event->ready = !event->stubborn && !is(topic, topic_len, "slow");
    if (says(topic, topic_len, "fail", &code, &retriable)) {
        fail(&event->error, code, retriable != 0, "fail");
        uc_buf_free(result);
    } else if (event->ready || event->stubborn) {
        event->result = result;
    } else {
        uc_buf_free(result);
    }
    pthread_mutex_lock(&lock);
    last_queue = cq;
    event->next = cq->first;
    cq->first = event;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return UC_OK;
}

#ifndef OTHER_LACKS_FUNCTIONS
PUBLIC uc_status_t uc_storage_metrics(const uc_storage_t *storage, uc_metrics_t **out, uc_error_t **error_out) { (void)storage; (void)error_out; *out = make(sizeof **out); return UC_OK; }
#endif
PUBLIC uc_status_t uc_metadata_metrics(const uc_metadata_t *metadata, uc_metrics_t **out, uc_error_t **error_out) { (void)metadata; (void)error_out; *out = make(sizeof **out); return UC_OK; }
static atomic_int topics, generation;
PUBLIC uc_status_t uc_metrics_describe(const uc_metrics_t *metrics, uc_buf_t **json, uc_error_t **error_out) {
    char text[4096];
    int len = snprintf(text, sizeof text, "[{\"group\":\"test\",\"name\":\"open-readers\",\"kind\":\"gauge\",\"text\":\"a \\\"reader\\\"\"},"
                       "{\"group\":\"test\",\"name\":\"open-handles\",\"kind\":\"gauge\",\"text\":\"\"}");
    for (int i = 0; i < topics; i++) {
        len += snprintf(text + len, sizeof text - (size_t)len, ",{\"group\":\"test\",\"name\":\"dangling\",\"kind\":\"gauge\",\"text\":\"of a topic\","
                        "\"label\":{\"name\":\"topic\",\"value\":\"t%d\"},\"mbean\":\"kafka.server:type=BrokerTopicMetrics,name=DanglingRemoteLogCount\"}", i);
        len += snprintf(text + len, sizeof text - (size_t)len, ",{\"group\":\"test\",\"name\":\"other\",\"kind\":\"gauge\",\"text\":\"\","
                        "\"label\":{\"name\":\"topic\",\"value\":\"t%d\"}}", i);
    }
    len += snprintf(text + len, sizeof text - (size_t)len, "]");
    (void)metrics; (void)error_out;
    *json = buf_of(text, (size_t)len);
    return UC_OK;
}
PUBLIC uc_status_t uc_metrics_generation(const uc_metrics_t *metrics, uint64_t *out, uc_error_t **error_out) {
    (void)metrics; (void)error_out;
    *out = (uint64_t)generation;
    return UC_OK;
}
PUBLIC uc_status_t uc_metrics_read(const uc_metrics_t *metrics, double *values, size_t capacity, size_t *count, uc_error_t **error_out) {
    (void)metrics; (void)error_out;
    if (capacity >= 2) { values[0] = open_readers; values[1] = open_handles; }
    for (size_t i = 2; i < capacity; i++) values[i] = (double)(100 + i);
    *count = 2 + 2 * (size_t)topics;
    return UC_OK;
}
PUBLIC void uc_metrics_free(uc_metrics_t *metrics) { unmake(metrics); }

PUBLIC uc_status_t uc_storage_open(const uc_config_t *config, uc_storage_t **out, uc_error_t **error_out) {
    (void)config; (void)error_out;
    *out = make(sizeof **out);
    record_pending = true;
    return UC_OK;
}
PUBLIC uc_status_t uc_storage_copy_submit(const uc_storage_t *storage, const uc_segment_t *segment, const uc_segment_files_t *files, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    /* Custom metadata says what arrived: paths, and the leader epochs' length. */
    char custom[128];
    int len = snprintf(custom, sizeof custom, "%.*s|%s|%zu", (int)files->log_len, files->log, files->transaction_index == NULL ? "no txn" : "txn", files->leader_epochs_len);
    uc_buf_t *result = is(segment->topic, segment->topic_len, "none") ? NULL : buf_of(custom, (size_t)len);
    return submit((void *)storage, storage->closed, segment->topic, segment->topic_len, cq, tag, result, error_out);
}
PUBLIC uc_status_t uc_storage_fetch_index_submit(const uc_storage_t *storage, const uc_segment_t *segment, int32_t type, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    uint8_t bytes[2] = {(uint8_t)type, 7};
    uc_buf_t *result = is(segment->topic, segment->topic_len, "none") ? NULL : buf_of(bytes, sizeof bytes);
    return submit((void *)storage, storage->closed, segment->topic, segment->topic_len, cq, tag, result, error_out);
}
PUBLIC uc_status_t uc_storage_delete_submit(const uc_storage_t *storage, const uc_segment_t *segments, size_t count, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    if (count != 1) return fail(error_out, UC_ERR_INVALID_ARGUMENT, false, "count");
    return submit((void *)storage, storage->closed, segments->topic, segments->topic_len, cq, tag, NULL, error_out);
}
PUBLIC uc_status_t uc_storage_fetch(const uc_storage_t *storage, const uc_segment_t *segment, uint64_t start, uint64_t end_inclusive, uc_reader_t **out, uc_error_t **error_out) {
    int code = 0, retriable = 0;
    if (storage->closed) return fail(error_out, UC_ERR_CLOSED, false, "closed");
    if (says(segment->topic, segment->topic_len, "sync", &code, &retriable)) return fail(error_out, code, retriable != 0, "sync");
    uc_reader_t *reader = calloc(1, sizeof *reader);
    open_readers++;
    copy_name(reader->script, segment->topic, segment->topic_len);
    reader->at = start;
    reader->end = (uint64_t)segment->size_bytes;
    if (end_inclusive < reader->end) reader->end = end_inclusive + 1;
    *out = reader;
    return UC_OK;
}
PUBLIC uc_status_t uc_storage_close(const uc_storage_t *storage, uint32_t timeout_ms, uc_error_t **error_out) {
    (void)timeout_ms; (void)error_out;
    ((uc_storage_t *)storage)->closed = true;
    if (last_queue != NULL) end(last_queue, storage, 0, UC_ERR_CLOSED);
    return UC_OK;
}
PUBLIC void uc_storage_free(uc_storage_t *storage) { unmake(storage); }

PUBLIC uc_status_t uc_reader_read(uc_reader_t *reader, uint8_t *dst, size_t len, uint32_t timeout_ms, size_t *read_out, uc_error_t **error_out) {
    int code = 0, retriable = 0;
    size_t name = strlen(reader->script);
    bool stalls = is(reader->script, name, "stall");
    if (is(reader->script, name, "slow") || (stalls && reader->at >= 100000)) {
        struct timespec until = deadline_in(timeout_ms);
        pthread_mutex_lock(&lock);
        while (!reader->cancelled && pthread_cond_timedwait(&changed, &lock, &until) == 0) {}
        bool cancelled = reader->cancelled;
        pthread_mutex_unlock(&lock);
        if (!cancelled) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* Two clocks: never early. */
        return cancelled ? fail(error_out, UC_ERR_CANCELLED, false, "cancelled") : fail(error_out, UC_ERR_TIMEOUT, true, "slow");
    }
    if (says(reader->script, name, "fail", &code, &retriable) || (says(reader->script, name, "late", &code, &retriable) && reader->at >= 100000))
        return fail(error_out, code, retriable != 0, "read");
    uint64_t left = reader->at < reader->end ? reader->end - reader->at : 0;
    if ((stalls || says(reader->script, name, "late", &code, &retriable)) && left > 100000 - reader->at) left = 100000 - reader->at;
    size_t count = left < len ? (size_t)left : len;
    if (!is(reader->script, name, "fast"))
        for (size_t i = 0; i < count; i++) dst[i] = (uint8_t)((reader->at + i) * 31);
    reader->at += count;
    *read_out = count;
    return UC_OK;
}
PUBLIC void uc_reader_cancel(const uc_reader_t *reader) {
    pthread_mutex_lock(&lock);
    ((uc_reader_t *)reader)->cancelled = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}
PUBLIC void uc_reader_free(uc_reader_t *reader) { if (reader != NULL) { open_readers--; free(reader); } }

PUBLIC uc_status_t uc_metadata_open(const uc_config_t *config, uc_metadata_t **out, uc_error_t **error_out) { (void)config; (void)error_out; *out = make(sizeof **out); return UC_OK; }
PUBLIC uc_status_t uc_metadata_lead_and_follow(const uc_metadata_t *m, const uc_partition_t *leaders, size_t leaders_len, const uc_partition_t *followers, size_t followers_len, uc_error_t **error_out) {
    (void)m; (void)followers; (void)error_out;
    int count = 0, none = 0;
    for (size_t i = 0; i < leaders_len; i++)
        if (says(leaders[i].topic, leaders[i].topic_len, "beans", &count, &none)) { topics = count; generation++; }
    for (size_t i = 0; i < leaders_len; i++)
        if (is(leaders[i].topic, leaders[i].topic_len, "sync-106-0") || followers_len > 100) return fail(error_out, UC_ERR_INTERNAL, false, "lead");
    return UC_OK;
}
PUBLIC uc_status_t uc_metadata_stop(const uc_metadata_t *m, const uc_partition_t *partitions, size_t count, uc_error_t **error_out) { (void)m; (void)partitions; (void)count; (void)error_out; return UC_OK; }
/* How often it was asked whether the topic `soon` is ready. */
static atomic_int soon;
static uc_status_t asked(const uc_metadata_t *m, const uc_partition_t *p, uc_error_t **error_out) {
    int code = 0, retriable = 0;
    if (m->closed) return fail(error_out, UC_ERR_CLOSED, false, "closed");
    if (is(p->topic, p->topic_len, "soon") && soon < 4) return fail(error_out, UC_ERR_NOT_READY, true, "soon");
    return says(p->topic, p->topic_len, "sync", &code, &retriable) ? fail(error_out, code, retriable != 0, "sync") : UC_OK;
}
PUBLIC uc_status_t uc_metadata_is_ready(const uc_metadata_t *m, const uc_partition_t *p, int32_t *out, uc_error_t **error_out) {
    if (is(p->topic, p->topic_len, "sync-300-1")) { *out = 0; return UC_OK; }
    if (is(p->topic, p->topic_len, "soon")) { *out = ++soon >= 4; return UC_OK; }
    *out = 1;
    return asked(m, p, error_out);
}
PUBLIC uc_status_t uc_metadata_add(const uc_metadata_t *metadata, const uc_segment_t *segment, uint32_t admission_ms, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    uc_metadata_t *m = (uc_metadata_t *)metadata;
    (void)admission_ms;
    if (segment->leader_epochs_len <= 8 && segment->custom_metadata_len <= sizeof m->custom) {
        m->segment = *segment;
        copy_name(m->topic, segment->topic, segment->topic_len);
        memcpy(m->epochs, segment->leader_epochs, segment->leader_epochs_len * sizeof m->epochs[0]);
        if (segment->custom_metadata_len > 0) memcpy(m->custom, segment->custom_metadata, segment->custom_metadata_len);
        m->segment.topic = m->topic;
        m->segment.leader_epochs = m->epochs;
        m->segment.custom_metadata = m->custom;
        m->known = true;
    }
    return submit(m, m->closed, segment->topic, segment->topic_len, cq, tag, NULL, error_out);
}
PUBLIC uc_status_t uc_metadata_update(const uc_metadata_t *m, const uc_segment_update_t *update, uint32_t admission_ms, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    (void)admission_ms;
    return submit((void *)m, m->closed, update->topic, update->topic_len, cq, tag, NULL, error_out);
}
PUBLIC uc_status_t uc_metadata_put_partition_delete(const uc_metadata_t *m, const uc_partition_t *p, int32_t broker_id, int64_t event_timestamp_ms, int32_t state, uint32_t admission_ms, const uc_cq_t *cq, uint64_t tag, uc_error_t **error_out) {
    (void)broker_id; (void)event_timestamp_ms; (void)state; (void)admission_ms;
    return submit((void *)m, m->closed, p->topic, p->topic_len, cq, tag, NULL, error_out);
}
static uc_status_t found(const uc_metadata_t *m, const uc_partition_t *p, uc_segments_t **out, uc_error_t **error_out) {
    uc_status_t status = asked(m, p, error_out);
    if (status != UC_OK) return status;
    uc_segments_t *segments = make(sizeof *segments);
    segments->of = m;
    segments->count = m->known && is(p->topic, p->topic_len, m->topic) ? 1 : 0;
    segments->state = is(p->topic, p->topic_len, "dangling") ? 4 : 1;
    *out = segments;
    return UC_OK;
}
PUBLIC uc_status_t uc_metadata_find(const uc_metadata_t *m, const uc_partition_t *p, int32_t epoch, int64_t offset, uc_segments_t **out, uc_error_t **error_out) { (void)epoch; (void)offset; return found(m, p, out, error_out); }
PUBLIC uc_status_t uc_metadata_next_with_txn_index(const uc_metadata_t *m, const uc_partition_t *p, int32_t epoch, int64_t offset, uc_segments_t **out, uc_error_t **error_out) { (void)epoch; (void)offset; return found(m, p, out, error_out); }
PUBLIC uc_status_t uc_metadata_list(const uc_metadata_t *m, const uc_partition_t *p, int32_t epoch, uc_segments_t **out, uc_error_t **error_out) { (void)epoch; return found(m, p, out, error_out); }
PUBLIC uc_status_t uc_metadata_list_stamp(const uc_metadata_t *m, const uc_partition_t *p, uint64_t *out, uc_error_t **error_out) { *out = 0; return asked(m, p, error_out); }
PUBLIC uc_status_t uc_metadata_highest_offset(const uc_metadata_t *m, const uc_partition_t *p, int32_t epoch, int64_t *out, uc_error_t **error_out) { *out = epoch == 0 ? -1 : 99; return asked(m, p, error_out); }
PUBLIC uc_status_t uc_metadata_size(const uc_metadata_t *m, const uc_partition_t *p, int32_t epoch, uint64_t *out, uc_error_t **error_out) { (void)epoch; *out = 1234; return asked(m, p, error_out); }
PUBLIC uc_status_t uc_metadata_close(const uc_metadata_t *m, uint32_t timeout_ms, uc_error_t **error_out) {
    (void)timeout_ms; (void)error_out;
    ((uc_metadata_t *)m)->closed = true;
    if (last_queue != NULL) end(last_queue, m, 0, UC_ERR_CLOSED);
    return UC_OK;
}
PUBLIC void uc_metadata_free(uc_metadata_t *metadata) { unmake(metadata); }
PUBLIC uc_status_t uc_segments_len(const uc_segments_t *segments, size_t *out) { *out = segments->count; return UC_OK; }
PUBLIC uc_status_t uc_segments_read(const uc_segments_t *segments, size_t i, uc_segment_t *out, size_t count, uc_error_t **error_out) {
    if (i + count > segments->count) return fail(error_out, UC_ERR_INVALID_ARGUMENT, false, "index");
    for (; count > 0; count--, out++) {
        *out = segments->of->segment;
        out->state = segments->state;
    }
    return UC_OK;
}
PUBLIC void uc_segments_free(uc_segments_t *segments) { unmake(segments); }
