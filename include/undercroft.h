/* Generated from src/ffi by `make header`; do not edit. */

/*
 * Undercroft: Kafka tiered storage as one native library.
 *
 * Conventions, which hold unless a function says otherwise (in full, with reasons: docs/ABI.md):
 *
 * - Handles (uc_<noun>_t *) are numbers in pointers' clothes. They are looked up, never dereferenced: a null, freed,
 *   foreign or made-up one answers UC_ERR_CLOSED, and freeing it does nothing.
 * - A function that can fail returns a uc_status_t and takes `error_out` as its last parameter. It may be null. It is
 *   written on every call: null on UC_OK, otherwise an error that is the caller's to free with uc_error_free.
 * - Other outputs, `..._out`, are written on UC_OK only. They must not be null unless the function says so.
 * - Text and bytes are pointer and length. Text is UTF-8 and not NUL-terminated. Null with length 0 is empty.
 * - Structs begin with `uint32_t struct_size`, which the caller sets to sizeof the struct before each call. In arrays
 *   all elements have the same one. Fields named `reserved` are 0.
 * - Time-outs are milliseconds: 0 does not wait, UINT32_MAX sets no bound.
 * - A handle passed as a pointer to const may be used by many threads at once; one passed as a plain pointer by one at
 *   a time.
 * - The library never calls back into the host, and no thread of it is left when the last manager is closed.
 */


#ifndef UNDERCROFT_H
#define UNDERCROFT_H

#include <stddef.h>
#include <stdint.h>

/** The release that this header belongs to; `uc_version` tells the library's. */
#define UNDERCROFT_VERSION "0.1.0"
#define UNDERCROFT_VERSION_MAJOR 0
#define UNDERCROFT_VERSION_MINOR 1
#define UNDERCROFT_VERSION_PATCH 0

/** The ABI that this header describes; a library needs an `uc_abi_version` of at least that. */
#define UC_ABI_VERSION 2

/** Release, ABI and text of this header; equal to `uc_build_id` if the library was built with this very header. */
#define UC_BUILD_ID "0.1.0-abi2-049a57916afdc3fa"

/**
 * The segment has no aborted transactions, so no transaction index is kept of it.
 */
#define UC_SEGMENT_TXN_INDEX_EMPTY 1

/**
 * `custom_metadata` counts, also with length 0; without this flag the segment has none.
 */
#define UC_SEGMENT_HAS_CUSTOM_METADATA 2

/**
 * Outcomes. Numbers are never given a second meaning; retired ones stay here as comments.
 */
enum uc_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It was done.
   */
  UC_OK = 0,
  /**
   * The call is wrong: a null pointer, a number out of range, a struct that is too small. It will never succeed.
   */
  UC_ERR_INVALID_ARGUMENT = 100,
  /**
   * A configuration value is missing or out of range; the message names key, value and range.
   */
  UC_ERR_CONFIG = 101,
  /**
   * The handle is null, freed, closed or not of this type.
   */
  UC_ERR_CLOSED = 102,
  /**
   * It did not happen within the time that was given.
   */
  UC_ERR_TIMEOUT = 103,
  /**
   * Somebody cancelled it.
   */
  UC_ERR_CANCELLED = 104,
  /**
   * This build, this log or this version cannot do it.
   */
  UC_ERR_UNSUPPORTED = 105,
  /**
   * A defect of the library: report it.
   */
  UC_ERR_INTERNAL = 106,
  /**
   * The store answered that the object is not there.
   */
  UC_ERR_NOT_FOUND = 200,
  /**
   * Bytes are there and wrong: keep the object, tell the operator.
   */
  UC_ERR_CORRUPT = 201,
  /**
   * The store or the metadata log did not answer, or is in trouble: try again later.
   */
  UC_ERR_UNREACHABLE = 202,
  /**
   * The store or the metadata log refused: mend login or access rights.
   */
  UC_ERR_REFUSED = 203,
  /**
   * The bucket or folder is not there, not writable or elsewhere: an operator has to act.
   */
  UC_ERR_MISCONFIGURED = 204,
  /**
   * A local file of the segment cannot be read or is not what its metadata says.
   */
  UC_ERR_SOURCE = 205,
  /**
   * Nothing was written and nothing is known yet: ask again later.
   */
  UC_ERR_NOT_READY = 300,
  /**
   * This manager was not told to lead or follow the partition.
   */
  UC_ERR_NOT_ASSIGNED = 301,
  /**
   * No record speaks of the segment, or its deletion has ended.
   */
  UC_ERR_UNKNOWN_SEGMENT = 302,
  /**
   * The state of the segment does not allow this step.
   */
  UC_ERR_ILLEGAL_TRANSITION = 303,
  /**
   * The metadata log is not the one that it must be: a person has to look.
   */
  UC_ERR_LOG_MISMATCH = 304,
  /**
   * Delayed upload: the segment stays local only for now, and nothing was written. Ask again later.
   */
  UC_ERR_TOO_YOUNG = 305,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_code uc_code;
#else
typedef int32_t uc_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Which manager a configuration is for.
 */
enum uc_side
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Keys of `uc_storage_open`.
   */
  UC_SIDE_STORAGE = 0,
  /**
   * Keys of `uc_metadata_open`.
   */
  UC_SIDE_METADATA = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_side uc_side;
#else
typedef int32_t uc_side;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How much is logged; each level includes those before it.
 */
enum uc_log_level
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  UC_LOG_OFF = 0,
  UC_LOG_ERROR = 1,
  UC_LOG_WARN = 2,
  UC_LOG_INFO = 3,
  UC_LOG_DEBUG = 4,
  UC_LOG_TRACE = 5,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_log_level uc_log_level;
#else
typedef int32_t uc_log_level;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * States of a segment: Kafka's numbers, and DANGLING, which a stock broker does not know.
 */
enum uc_segment_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  UC_COPY_SEGMENT_STARTED = 0,
  UC_COPY_SEGMENT_FINISHED = 1,
  UC_DELETE_SEGMENT_STARTED = 2,
  UC_DELETE_SEGMENT_FINISHED = 3,
  /**
   * An attempt that failed and whose objects may still be there. For Kafka: DELETE_SEGMENT_STARTED.
   */
  UC_SEGMENT_DANGLING = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_segment_state uc_segment_state;
#else
typedef int32_t uc_segment_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Kinds of side files of a segment.
 */
enum uc_index_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  UC_INDEX_OFFSET = 0,
  UC_INDEX_TIMESTAMP = 1,
  UC_INDEX_PRODUCER_SNAPSHOT = 2,
  UC_INDEX_TRANSACTION = 3,
  UC_INDEX_LEADER_EPOCH = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_index_type uc_index_type;
#else
typedef int32_t uc_index_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * States of the deletion of a whole partition, Kafka's numbers.
 */
enum uc_partition_delete_state
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  UC_DELETE_PARTITION_MARKED = 0,
  UC_DELETE_PARTITION_STARTED = 1,
  UC_DELETE_PARTITION_FINISHED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum uc_partition_delete_state uc_partition_delete_state;
#else
typedef int32_t uc_partition_delete_state;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Bytes that the library made, reference counted and never changed. May be read by many threads at once.
 *
 * ```c
 * const uint8_t *bytes = NULL;
 * size_t len = 0;
 * if (uc_buf_view(buf, &bytes, &len) == UC_OK) { fwrite(bytes, 1, len, stdout); }
 * uc_buf_free(buf);
 * ```
 */
typedef struct uc_buf_t uc_buf_t;

/**
 * Pairs of key and value for one manager, as Kafka has them; `docs/CONFIG.md` lists the keys.
 *
 * A manager takes a copy when it is opened: later changes do not reach it.
 *
 * ```c
 * uc_config_t *config = NULL;
 * uc_config_new(&config, NULL);
 * uc_config_set(config, "storage.backend.class", 21, "filesystem", 10, NULL);
 * uc_storage_open(config, &storage, &error);
 * uc_config_free(config);
 * ```
 */
typedef struct uc_config_t uc_config_t;

/**
 * A completion queue. Each submission that was accepted (UC_OK) puts exactly one event into it, whatever happens.
 *
 * Read it with `uc_cq_next` on a thread of the host, or wait for `uc_cq_fd` in the host's own loop and then read with
 * time-out 0. The library never calls the host.
 *
 * ```c
 * uc_event_t event = {.struct_size = sizeof event};
 * while (uc_cq_next(cq, UINT32_MAX, &event, NULL) == UC_OK) {
 *   complete(event.tag, event.status, event.result, event.error);
 *   uc_buf_free(event.result);
 *   uc_error_free(event.error);
 * }
 * ```
 */
typedef struct uc_cq_t uc_cq_t;

/**
 * What went wrong: code, message and whether to try again. It never changes and may be read by many threads at once.
 *
 * ```c
 * uc_error_t *error = NULL;
 * if (uc_storage_check(storage, 5000, &error) != UC_OK) {
 *   const char *text = NULL;
 *   size_t len = 0;
 *   uc_error_message(error, &text, &len);
 *   fprintf(stderr, "%.*s\n", (int)len, text);
 *   uc_error_free(error);
 * }
 * ```
 */
typedef struct uc_error_t uc_error_t;

/**
 * A reader of the library's log. While none is open, nothing is kept.
 *
 * Several may be open (one for each class loader, say): each record goes to one of them, and the library logs as much
 * as the most talkative of them wants.
 *
 * ```c
 * uc_log_t *log = NULL;
 * uc_log_open(UC_LOG_INFO, 0, &log, NULL);
 * uc_log_record_t record = {.struct_size = sizeof record};
 * while (uc_log_next(log, UINT32_MAX, &record, NULL) == UC_OK) {
 *   printf("%.*s: %.*s\n", (int)record.target_len, record.target, (int)record.message_len, record.message);
 * }
 * uc_log_free(log);
 * ```
 */
typedef struct uc_log_t uc_log_t;

/**
 * A metadata manager: knows which remote segment holds which offsets, and tells the other brokers.
 *
 * May be used by many threads at once, also while one of them closes it. No function here waits for the network,
 * but `uc_metadata_add`, `uc_metadata_update` and `uc_metadata_put_partition_delete` for at most their `admission_ms`.
 *
 * ```c
 * uc_metadata_t *metadata = NULL;
 * uc_metadata_open(config, &metadata, &error);
 * uc_metadata_lead_and_follow(metadata, leaders, 1, NULL, 0, &error);
 * uc_metadata_add(metadata, &segment, 1000, cq, 42, &error);
 * uc_metadata_find(metadata, &leaders[0], epoch, offset, &segments, &error);
 * uc_metadata_close(metadata, 10000, &error);
 * uc_metadata_free(metadata);
 * ```
 */
typedef struct uc_metadata_t uc_metadata_t;

/**
 * The metrics of one manager. Good after the manager is closed, too.
 *
 * Some exist once for each topic, and come and go with it. So ask for the names again when the generation is another one,
 * which is seldom; values read between two equal generations are those of the names:
 * ```c
 * uc_metrics_generation(metrics, &generation, NULL);
 * uc_metrics_describe(metrics, &json, NULL);
 * for (;;) {
 *   double values[256];
 *   size_t count = 0;
 *   uint64_t now = 0;
 *   uc_metrics_read(metrics, values, 256, &count, NULL);
 *   uc_metrics_generation(metrics, &now, NULL);
 *   if (now != generation) { break; }
 *   show(json, values, count);
 * }
 * ```
 */
typedef struct uc_metrics_t uc_metrics_t;

/**
 * Reads a range of a segment from front to back.
 *
 * One thread at a time reads; `uc_reader_cancel` and `uc_reader_free` may come from any, also during a read.
 *
 * ```c
 * uc_reader_t *reader = NULL;
 * uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error);
 * size_t n = 0;
 * while (uc_reader_read(reader, buffer, sizeof buffer, 30000, &n, &error) == UC_OK && n > 0) { use(buffer, n); }
 * uc_reader_free(reader);
 * ```
 */
typedef struct uc_reader_t uc_reader_t;

/**
 * A list of segments as it was when it was asked for. May be read by many threads at once.
 *
 * ```c
 * size_t count = 0;
 * uc_segments_len(segments, &count);
 * for (size_t i = 0; i < count; i++) {
 *   uc_segment_t segment = {.struct_size = sizeof segment};
 *   uc_segments_get(segments, i, &segment, NULL);
 * }
 * uc_segments_free(segments);
 * ```
 * `uc_segments_read` hands out many in one call.
 */
typedef struct uc_segments_t uc_segments_t;

/**
 * A storage manager: copies closed segments to an object store, reads them back and deletes them.
 *
 * May be used by many threads at once, also while one of them closes it.
 *
 * ```c
 * uc_storage_t *storage = NULL;
 * uc_storage_open(config, &storage, &error);
 * uc_storage_copy(storage, &segment, &files, 60000, &custom_metadata, &error);
 * uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error);
 * uc_storage_close(storage, 10000, &error);
 * uc_storage_free(storage);
 * ```
 */
typedef struct uc_storage_t uc_storage_t;

/**
 * What a function answers: a number of `uc_code`. It is an `int32_t` and no enum, because a newer library may answer
 * with numbers that this header does not know: treat those as UC_ERR_INTERNAL.
 */
typedef int32_t uc_status_t;

/**
 * One record. Set `struct_size` to `sizeof(uc_log_record_t)`.
 */
typedef struct uc_log_record_t {
  uint32_t struct_size;
  /**
   * A number of `uc_log_level`.
   */
  int32_t level;
  /**
   * Milliseconds since 1970.
   */
  int64_t timestamp_ms;
  /**
   * Who says it, such as "undercroft::storage".
   */
  const char *target;
  size_t target_len;
  /**
   * UTF-8; fields stand behind the text as ` key=value`.
   */
  const char *message;
  size_t message_len;
  /**
   * Records lost before this one because nobody read in time.
   */
  uint64_t dropped;
} uc_log_record_t;

/**
 * How one submission ended. Set `struct_size` to `sizeof(uc_event_t)`.
 */
typedef struct uc_event_t {
  uint32_t struct_size;
  uc_status_t status;
  /**
   * What the submission was given.
   */
  uint64_t tag;
  /**
   * Null if `status` is UC_OK. The receiver's to free with `uc_error_free`.
   */
  struct uc_error_t *error;
  /**
   * What the submission answers, or null: custom metadata of a copy, bytes of an index. The receiver's to free with
   * `uc_buf_free`.
   */
  struct uc_buf_t *result;
} uc_event_t;

/**
 * A leader epoch and its first offset in the segment. This struct never changes.
 */
typedef struct uc_leader_epoch_t {
  int32_t epoch;
  /**
   * 0.
   */
  int32_t reserved;
  int64_t start_offset;
} uc_leader_epoch_t;

/**
 * Everything that is known of one remote segment. Set `struct_size` to `sizeof(uc_segment_t)`.
 */
typedef struct uc_segment_t {
  uint32_t struct_size;
  int32_t partition;
  /**
   * The topic's id, most significant byte first.
   */
  uint8_t topic_id[16];
  /**
   * Id of the attempt to copy, most significant byte first.
   */
  uint8_t segment_id[16];
  /**
   * The topic's name, one that Kafka allows.
   */
  const char *topic;
  size_t topic_len;
  int64_t start_offset;
  /**
   * Offset of the last record, inclusive.
   */
  int64_t end_offset;
  int64_t max_timestamp_ms;
  /**
   * When the latest event was written, milliseconds since 1970.
   */
  int64_t event_timestamp_ms;
  /**
   * Broker that wrote the latest event.
   */
  int32_t broker_id;
  /**
   * Size of the segment as the broker wrote it.
   */
  int32_t size_bytes;
  /**
   * A number of `uc_segment_state`.
   */
  int32_t state;
  /**
   * UC_SEGMENT_TXN_INDEX_EMPTY, UC_SEGMENT_HAS_CUSTOM_METADATA.
   */
  uint32_t flags;
  /**
   * At least one.
   */
  const struct uc_leader_epoch_t *leader_epochs;
  size_t leader_epochs_len;
  /**
   * What `uc_storage_copy` answered.
   */
  const uint8_t *custom_metadata;
  size_t custom_metadata_len;
} uc_segment_t;

/**
 * Local files of a closed segment, as paths of the file system. Set `struct_size` to `sizeof(uc_segment_files_t)`.
 */
typedef struct uc_segment_files_t {
  uint32_t struct_size;
  /**
   * 0.
   */
  uint32_t reserved;
  const char *log;
  size_t log_len;
  const char *offset_index;
  size_t offset_index_len;
  const char *time_index;
  size_t time_index_len;
  /**
   * Null if the segment has none.
   */
  const char *transaction_index;
  size_t transaction_index_len;
  const char *producer_snapshot;
  size_t producer_snapshot_len;
  /**
   * The leader epoch checkpoint, as bytes: Kafka has it in memory.
   */
  const uint8_t *leader_epochs;
  size_t leader_epochs_len;
} uc_segment_files_t;

/**
 * A partition of one incarnation of a topic. Set `struct_size` to `sizeof(uc_partition_t)`.
 */
typedef struct uc_partition_t {
  uint32_t struct_size;
  int32_t partition;
  /**
   * The topic's id, most significant byte first.
   */
  uint8_t topic_id[16];
  /**
   * The topic's name, one that Kafka allows.
   */
  const char *topic;
  size_t topic_len;
  /**
   * Epoch of the leadership, for `uc_metadata_lead_and_follow`; -1 if the host does not know it.
   */
  int32_t leader_epoch;
  /**
   * 0.
   */
  int32_t reserved;
} uc_partition_t;

/**
 * A later event of a segment. Set `struct_size` to `sizeof(uc_segment_update_t)`.
 */
typedef struct uc_segment_update_t {
  uint32_t struct_size;
  int32_t partition;
  /**
   * The topic's id, most significant byte first.
   */
  uint8_t topic_id[16];
  /**
   * Id of the attempt to copy, most significant byte first.
   */
  uint8_t segment_id[16];
  /**
   * The topic's name, one that Kafka allows.
   */
  const char *topic;
  size_t topic_len;
  int64_t event_timestamp_ms;
  int32_t broker_id;
  /**
   * A number of `uc_segment_state`.
   */
  int32_t state;
  /**
   * UC_SEGMENT_HAS_CUSTOM_METADATA.
   */
  uint32_t flags;
  /**
   * 0.
   */
  uint32_t reserved;
  /**
   * Replaces what was known, also by length 0; without the flag that stays.
   */
  const uint8_t *custom_metadata;
  size_t custom_metadata_len;
} uc_segment_update_t;

/**
 * A closed segment, its log and its topic, as far as they decide whether the segment is copied now. Times are
 * milliseconds since 1970. Set `struct_size` to `sizeof(uc_tiering_copy_t)`.
 *
 * All zero but for the size is eligible, as in Kafka `remote.copy.lag.ms` is 0 if it isn't set.
 */
typedef struct uc_tiering_copy_t {
  uint32_t struct_size;
  /**
   * 0.
   */
  uint32_t reserved;
  int64_t now_ms;
  /**
   * Time of the segment's newest record; negative if that is not known.
   */
  int64_t max_timestamp_ms;
  /**
   * Size of the log behind the segment, the active segment included; negative if that is not known.
   */
  int64_t bytes_behind;
  /**
   * `remote.copy.lag.ms`: 0 copies at once, -1 follows the local retention.
   */
  int64_t lag_ms;
  /**
   * `remote.copy.lag.bytes`: 0 copies at once, -1 follows the local retention.
   */
  int64_t lag_bytes;
  /**
   * `local.retention.ms`: -1 without limit, -2 as `retention_ms`.
   */
  int64_t local_retention_ms;
  /**
   * `local.retention.bytes`: -1 without limit, -2 as `retention_bytes`.
   */
  int64_t local_retention_bytes;
  /**
   * `retention.ms`: -1 without limit.
   */
  int64_t retention_ms;
  /**
   * `retention.bytes`: -1 without limit.
   */
  int64_t retention_bytes;
} uc_tiering_copy_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Number of the ABI that the library has; a program compiled against UC_ABI_VERSION needs at least that one.
 *
 * Threads: any. Since ABI 1.
 */
uint32_t uc_abi_version(void);

/**
 * Version of the library, such as "0.1.0": the UNDERCROFT_VERSION of its header. Static, NUL-terminated, never null.
 *
 * Threads: any. Since ABI 1.
 */
const char *uc_version(void);

/**
 * The UC_BUILD_ID of the header that the library was built with. Equal strings mean: same release, same header text.
 *
 * For parts that are shipped together (the JNI shim and its core). Others compare `uc_abi_version`.
 * Static, NUL-terminated, never null. Threads: any. Since ABI 1.
 */
const char *uc_build_id(void);

/**
 * Name of a status, such as "UC_ERR_CORRUPT"; "UC_ERR_?" for a number that this library does not know.
 *
 * Static, NUL-terminated, never null. Threads: any. Since ABI 1.
 */
const char *uc_status_name(uc_status_t status);

/**
 * The code of an error.
 *
 * Threads: any. Errors: UC_ERR_CLOSED if `error` is null or freed. Since ABI 1.
 */
uc_status_t uc_error_code(const struct uc_error_t *error);

/**
 * 1 if the same call may succeed later without anybody's help, else 0; 0 if `error` is null or freed.
 *
 * Threads: any. Since ABI 1.
 */
int32_t uc_error_is_retriable(const struct uc_error_t *error);

/**
 * Shows the message of an error: what was tried, on what, what happened, and the remedy if there is one. UTF-8, not
 * NUL-terminated.
 *
 * Ownership: the text is the error's; it is there until `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `ptr_out` and `len_out` are null or valid for writes. Nobody frees `error` while the text is used.
 */
uc_status_t uc_error_message(const struct uc_error_t *error, const char **ptr_out, size_t *len_out);

/**
 * Frees an error. Nothing happens if it is null or freed already.
 *
 * Threads: any, once nobody uses its message. Since ABI 1.
 */
void uc_error_free(struct uc_error_t *error);

/**
 * Shows the bytes. An empty buffer may show null.
 *
 * Ownership: the bytes are the buffer's; they are there until `uc_buf_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `ptr_out` and `len_out` are null or valid for writes. Nobody frees `buf` while the bytes are used.
 */
uc_status_t uc_buf_view(const struct uc_buf_t *buf, const uint8_t **ptr_out, size_t *len_out);

/**
 * A second handle for the same bytes, without a copy; each handle is freed on its own.
 *
 * Ownership: `*buf_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `buf_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_buf_clone(const struct uc_buf_t *buf, struct uc_buf_t **buf_out, struct uc_error_t **error_out);

/**
 * Frees a buffer. Nothing happens if it is null or freed already.
 *
 * Threads: any, once nobody uses its bytes. Since ABI 1.
 */
void uc_buf_free(struct uc_buf_t *buf);

/**
 * An empty configuration.
 *
 * Ownership: `*config_out` is the caller's to free with `uc_config_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `config_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_config_new(struct uc_config_t **config_out, struct uc_error_t **error_out);

/**
 * Sets a key; the last value wins. Any key is taken: values are checked by `uc_config_check` and when a manager opens.
 *
 * Ownership: key and value stay the caller's and are copied.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (null, not UTF-8), UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `key` and `value` are null or valid for reads of their lengths; `error_out` is null or valid for writes.
 */
uc_status_t uc_config_set(struct uc_config_t *config,
                          const char *key,
                          size_t key_len,
                          const char *value,
                          size_t value_len,
                          struct uc_error_t **error_out);

/**
 * Checks all values for one manager (`uc_side`).
 *
 * `*warnings_json_out` becomes a JSON array of the keys that nobody reads: `[{"key":"…","did_you_mean":"…" or null}]`.
 *
 * Ownership: `*warnings_json_out` is the caller's to free with `uc_buf_free`; the pointer may be null if nobody wants
 * it. `*error_out`, if set, is the caller's to free with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CONFIG (names key, value and range), UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `warnings_json_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_config_check(const struct uc_config_t *config,
                            int32_t side,
                            struct uc_buf_t **warnings_json_out,
                            struct uc_error_t **error_out);

/**
 * The reference of all keys, as Markdown.
 *
 * Ownership: `*markdown_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `markdown_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_config_reference(struct uc_buf_t **markdown_out, struct uc_error_t **error_out);

/**
 * Frees a configuration. Nothing happens if it is null or freed already. Managers opened with it are not touched.
 *
 * Threads: any. Since ABI 1.
 */
void uc_config_free(struct uc_config_t *config);

/**
 * Opens a reader of the log at a level (`uc_log_level`). At most `capacity` records wait for it (0 = 8192); the oldest is
 * dropped for a new one, and counted.
 *
 * Ownership: `*log_out` is the caller's to free with `uc_log_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `log_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_log_open(int32_t level,
                        size_t capacity,
                        struct uc_log_t **log_out,
                        struct uc_error_t **error_out);

/**
 * Changes the level of a reader, for records from now on.
 *
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_log_set_level(const struct uc_log_t *log, int32_t level, struct uc_error_t **error_out);

/**
 * Takes the oldest record, waiting up to `timeout_ms` for one (0 = do not wait, UINT32_MAX = for ever).
 *
 * Set `record_out->struct_size` before the call; it stays. On any status but UC_OK nothing is written to `*record_out`.
 *
 * Ownership: what the struct points to is the reader's, until the next `uc_log_next` with it or `uc_log_free`.
 * Threads: one at a time per reader; `uc_log_free` from any, a waiting call answers UC_ERR_CLOSED then.
 * Errors: UC_ERR_TIMEOUT, UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `record_out` is null or valid for reads and writes of `record_out->struct_size` bytes; `error_out` is null or valid
 * for writes.
 */
uc_status_t uc_log_next(struct uc_log_t *log,
                        uint32_t timeout_ms,
                        struct uc_log_record_t *record_out,
                        struct uc_error_t **error_out);

/**
 * Frees a reader of the log; a `uc_log_next` that waits answers UC_ERR_CLOSED. Nothing happens if it is null or freed
 * already.
 *
 * Threads: any, once nobody uses what it pointed to. Since ABI 1.
 */
void uc_log_free(struct uc_log_t *log);

/**
 * A new, empty queue. One may serve any number of managers.
 *
 * Ownership: `*cq_out` is the caller's to free with `uc_cq_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `cq_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_cq_new(struct uc_cq_t **cq_out, struct uc_error_t **error_out);

/**
 * Takes the oldest event, waiting up to `timeout_ms` for one (0 = do not wait, UINT32_MAX = for ever).
 *
 * Set `event_out->struct_size` before the call; it stays. On any status but UC_OK nothing is written to `*event_out`, and
 * no event is lost.
 *
 * Ownership: `event_out->error` and `event_out->result` are the caller's to free, as is `*error_out`, if set.
 * Threads: any number at once; each event goes to one of them.
 * Errors: UC_ERR_TIMEOUT (also after `uc_cq_wake`), UC_ERR_CLOSED (freed, also during the wait),
 * UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `event_out` is null or valid for reads and writes of `event_out->struct_size` bytes; `error_out` is null or valid for
 * writes.
 */
uc_status_t uc_cq_next(const struct uc_cq_t *cq,
                       uint32_t timeout_ms,
                       struct uc_event_t *event_out,
                       struct uc_error_t **error_out);

/**
 * A descriptor that is readable while the queue has an event, for the host's own loop (epoll, poll, select).
 *
 * Never read from it, write to it or close it: take events with `uc_cq_next` and time-out 0 until UC_ERR_TIMEOUT.
 *
 * Ownership: the descriptor is the queue's and is closed by `uc_cq_free`; take it out of the loop before.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT, UC_ERR_INTERNAL (no descriptor left). Since ABI 1.
 *
 * # Safety
 * `fd_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_cq_fd(const struct uc_cq_t *cq, int32_t *fd_out, struct uc_error_t **error_out);

/**
 * Makes one `uc_cq_next` that waits, or else the next one, return UC_ERR_TIMEOUT at once if there is no event.
 *
 * Threads: any. Nothing happens if `cq` is null or freed. Since ABI 1.
 */
void uc_cq_wake(const struct uc_cq_t *cq);

/**
 * Cancels every submission in flight that has this tag. Each still gives its one event: UC_ERR_CANCELLED, or how it
 * ended if it was faster. UC_OK also if none has the tag.
 *
 * A cancelled metadata event may be in the log already and counts then; a cancelled copy leaves no object.
 *
 * Threads: any. Errors: UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_cq_cancel(const struct uc_cq_t *cq, uint64_t tag, struct uc_error_t **error_out);

/**
 * Frees a queue. What is in flight on it is cancelled without an event, events that nobody took are freed, and every
 * `uc_cq_next` that waits answers UC_ERR_CLOSED. Nothing happens if it is null or freed already.
 *
 * Threads: any. Since ABI 1.
 */
void uc_cq_free(struct uc_cq_t *cq);

/**
 * What the values are: a JSON array in the order of `uc_metrics_read`, with objects of `group` (`storage` or
 * `metadata`), `name`, `kind` (`counter` or `gauge`) and `text`.
 *
 * One that exists once for each topic (or whatever its label is) also has `label`, an object of `name` (`topic`) and
 * `value`; and if Kafka has a name in JMX for such a metric, `mbean`, without the label.
 *
 * Ownership: `*json_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `json_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metrics_describe(const struct uc_metrics_t *metrics,
                                struct uc_buf_t **json_out,
                                struct uc_error_t **error_out);

/**
 * Values as of now. `*count_out` becomes the number of metrics; at most `capacity` values are written.
 *
 * Ownership: `values` stays the caller's; null with capacity 0 asks for the number alone.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `values` is null or valid for writes of `capacity` doubles; `count_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metrics_read(const struct uc_metrics_t *metrics,
                            double *values,
                            size_t capacity,
                            size_t *count_out,
                            struct uc_error_t **error_out);

/**
 * Another number than before once a metric has come or gone, so that the values have another order. Cheap.
 *
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 2.
 *
 * # Safety
 * `generation_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metrics_generation(const struct uc_metrics_t *metrics,
                                  uint64_t *generation_out,
                                  struct uc_error_t **error_out);

/**
 * All values as text for Prometheus (format 0.0.4).
 *
 * Ownership: `*text_out` is the caller's to free with `uc_buf_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `text_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metrics_prometheus(const struct uc_metrics_t *metrics,
                                  struct uc_buf_t **text_out,
                                  struct uc_error_t **error_out);

/**
 * Frees the handle; the manager goes on counting. Nothing happens if it is null or freed already.
 *
 * Threads: any. Since ABI 1.
 */
void uc_metrics_free(struct uc_metrics_t *metrics);

/**
 * Opens a manager on the store that `config` names. Does not wait for the network: whether the store can be reached is
 * found out in the background, and a warning in the log says if not. `uc_storage_check` asks.
 *
 * Ownership: `config` stays the caller's. `*storage_out` is the caller's to free with `uc_storage_free`, `*error_out`, if
 * set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CONFIG, UC_ERR_MISCONFIGURED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `storage_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_storage_open(const struct uc_config_t *config,
                            struct uc_storage_t **storage_out,
                            struct uc_error_t **error_out);

/**
 * Copies a segment with its indexes to the store and waits for it.
 *
 * `*custom_metadata_out` becomes what must be kept and given back with the segment in every later call; null if that
 * is nothing. If the call fails, is timed out or the manager is closed, no object is left if the store can be reached.
 *
 * Ownership: `segment` and `files` stay the caller's. `*custom_metadata_out` is the caller's to free with
 * `uc_buf_free` (the pointer may be null if nobody wants it), `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_SOURCE, UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT,
 * UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `segment` and `files` are null or valid for reads of their struct_size, and so is what they point to;
 * `custom_metadata_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_storage_copy(const struct uc_storage_t *storage,
                            const struct uc_segment_t *segment,
                            const struct uc_segment_files_t *files,
                            uint32_t timeout_ms,
                            struct uc_buf_t **custom_metadata_out,
                            struct uc_error_t **error_out);

/**
 * Begins to copy a segment. On UC_OK one event with `tag` follows in `cq`; its `result` is the custom metadata or null.
 *
 * Ownership: `segment` and `files` stay the caller's and are copied; the files themselves must stay until the event.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_copy`, and
 * UC_ERR_CANCELLED. Since ABI 1.
 *
 * # Safety
 * `segment` and `files` are null or valid for reads of their struct_size, and so is what they point to; `error_out` is
 * null or valid for writes.
 */
uc_status_t uc_storage_copy_submit(const struct uc_storage_t *storage,
                                   const struct uc_segment_t *segment,
                                   const struct uc_segment_files_t *files,
                                   const struct uc_cq_t *cq,
                                   uint64_t tag,
                                   struct uc_error_t **error_out);

/**
 * Opens a reader of the segment's bytes from `start` to `end_inclusive` (UINT64_MAX = to the end). Nothing is asked of
 * the store before the first read.
 *
 * Ownership: `segment` stays the caller's. `*reader_out` is the caller's to free with `uc_reader_free`, `*error_out`,
 * if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (`start` behind the end), UC_ERR_UNSUPPORTED, UC_ERR_CORRUPT and
 * UC_ERR_MISCONFIGURED (all three if the segment's metadata says so; else reads do), UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `segment` is null or valid for reads of its struct_size, and so is what it points to; `reader_out` and `error_out`
 * are null or valid for writes.
 */
uc_status_t uc_storage_fetch(const struct uc_storage_t *storage,
                             const struct uc_segment_t *segment,
                             uint64_t start,
                             uint64_t end_inclusive,
                             struct uc_reader_t **reader_out,
                             struct uc_error_t **error_out);

/**
 * Reads one side file of a segment (`uc_index_type`) and waits for it.
 *
 * Ownership: `segment` stays the caller's. `*bytes_out` is the caller's to free with `uc_buf_free`, `*error_out`, if
 * set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_NOT_FOUND (also a segment without that index), UC_ERR_CORRUPT, UC_ERR_UNREACHABLE,
 * UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_UNSUPPORTED, UC_ERR_TIMEOUT, UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT.
 * Since ABI 1.
 *
 * # Safety
 * `segment` is null or valid for reads of its struct_size, and so is what it points to; `bytes_out` and `error_out`
 * are null or valid for writes.
 */
uc_status_t uc_storage_fetch_index(const struct uc_storage_t *storage,
                                   const struct uc_segment_t *segment,
                                   int32_t index_type,
                                   uint32_t timeout_ms,
                                   struct uc_buf_t **bytes_out,
                                   struct uc_error_t **error_out);

/**
 * Begins to read one side file. On UC_OK one event with `tag` follows in `cq`; its `result` is the bytes.
 *
 * Ownership: `segment` stays the caller's and is copied.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_fetch_index`, and
 * UC_ERR_CANCELLED. Since ABI 1.
 *
 * # Safety
 * `segment` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
 * for writes.
 */
uc_status_t uc_storage_fetch_index_submit(const struct uc_storage_t *storage,
                                          const struct uc_segment_t *segment,
                                          int32_t index_type,
                                          const struct uc_cq_t *cq,
                                          uint64_t tag,
                                          struct uc_error_t **error_out);

/**
 * Deletes all objects of some segments and waits for it. Objects that are not there count as deleted.
 *
 * Ownership: `segments` stay the caller's.
 * Threads: any. Errors: UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT, UC_ERR_CLOSED,
 * UC_ERR_INVALID_ARGUMENT; some may be deleted then. Since ABI 1.
 *
 * # Safety
 * `segments` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
 * what they point to; `error_out` is null or valid for writes.
 */
uc_status_t uc_storage_delete(const struct uc_storage_t *storage,
                              const struct uc_segment_t *segments,
                              size_t count,
                              uint32_t timeout_ms,
                              struct uc_error_t **error_out);

/**
 * Begins to delete all objects of some segments. On UC_OK one event with `tag` follows in `cq`.
 *
 * Ownership: `segments` stay the caller's and are copied.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT; in the event as `uc_storage_delete`, and
 * UC_ERR_CANCELLED. Since ABI 1.
 *
 * # Safety
 * `segments` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
 * what they point to; `error_out` is null or valid for writes.
 */
uc_status_t uc_storage_delete_submit(const struct uc_storage_t *storage,
                                     const struct uc_segment_t *segments,
                                     size_t count,
                                     const struct uc_cq_t *cq,
                                     uint64_t tag,
                                     struct uc_error_t **error_out);

/**
 * Asks the store whether it can be used as it is configured, and waits for the answer.
 *
 * Threads: any. Errors: UC_ERR_UNREACHABLE, UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_TIMEOUT, UC_ERR_CLOSED.
 * Since ABI 1.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_storage_check(const struct uc_storage_t *storage, uint32_t timeout_ms, struct uc_error_t **error_out);

/**
 * The metrics of the manager. They may outlive it.
 *
 * Ownership: `*metrics_out` is the caller's to free with `uc_metrics_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED (freed), UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `metrics_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_storage_metrics(const struct uc_storage_t *storage,
                               struct uc_metrics_t **metrics_out,
                               struct uc_error_t **error_out);

/**
 * Closes the manager: new calls and reads answer UC_ERR_CLOSED, those under way are cancelled and answer
 * UC_ERR_CLOSED or UC_ERR_CANCELLED, submissions give their events. Waits up to `timeout_ms` for all of that, and for
 * the library's threads if no other manager is open. A second close does nothing.
 *
 * The handle stays valid until `uc_storage_free`.
 * Threads: any. Errors: UC_ERR_TIMEOUT (it is closed; what was not done in time ends in the background),
 * UC_ERR_CLOSED (no handle). Since ABI 1.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_storage_close(const struct uc_storage_t *storage, uint32_t timeout_ms, struct uc_error_t **error_out);

/**
 * Frees a manager, closing it first (waiting up to ten seconds) if nobody did. Readers of it answer UC_ERR_CLOSED from
 * then on and are freed on their own. Nothing happens if it is null or freed already.
 *
 * Threads: any. Since ABI 1.
 */
void uc_storage_free(struct uc_storage_t *storage);

/**
 * Reads the next bytes of a segment into `dst`.
 *
 * Blocks until at least one byte is there, the stream ends, `timeout_ms` (0 = do not wait, UINT32_MAX = no bound) passes
 * or the reader is cancelled; it does not wait until `dst` is full. At the end of the stream `*read_out` is 0 and the
 * status UC_OK. On any other status nothing is written to `*read_out`. After UC_ERR_TIMEOUT or UC_ERR_UNREACHABLE the
 * same call goes on where it was; no byte is lost or read twice.
 *
 * Ownership: `dst` stays the caller's. `*error_out`, if set, is the caller's to free with `uc_error_free`.
 * Threads: one thread at a time per reader; `uc_reader_cancel` and `uc_reader_free` from any.
 * Errors: UC_ERR_TIMEOUT and UC_ERR_UNREACHABLE (retriable), UC_ERR_CANCELLED, UC_ERR_NOT_FOUND, UC_ERR_CORRUPT,
 * UC_ERR_REFUSED, UC_ERR_MISCONFIGURED, UC_ERR_UNSUPPORTED, UC_ERR_CLOSED (also: its manager is closed),
 * UC_ERR_INVALID_ARGUMENT (also: `dst_len` is 0, which could not be told from the end). Since ABI 1.
 *
 * # Safety
 * `dst` is null or valid for writes of `dst_len` bytes; `read_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_reader_read(struct uc_reader_t *reader,
                           uint8_t *dst,
                           size_t dst_len,
                           uint32_t timeout_ms,
                           size_t *read_out,
                           struct uc_error_t **error_out);

/**
 * Ends the reading: a read under way and every later one answer UC_ERR_CANCELLED, at once.
 *
 * Threads: any. Nothing happens if `reader` is null or freed. Since ABI 1.
 */
void uc_reader_cancel(const struct uc_reader_t *reader);

/**
 * Frees a reader; a read under way answers UC_ERR_CANCELLED. Nothing happens if it is null or freed already.
 *
 * Threads: any. Since ABI 1.
 */
void uc_reader_free(struct uc_reader_t *reader);

/**
 * Opens a manager. Returns at once: a log that is not there yet is tried again and again, for ever.
 *
 * The configuration has the keys of the metadata side and those that a broker adds: `broker.id`, `log.dir`,
 * `cluster.id`.
 *
 * Ownership: `config` stays the caller's. `*metadata_out` is the caller's to free with `uc_metadata_free`,
 * `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CONFIG, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `metadata_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_open(const struct uc_config_t *config,
                             struct uc_metadata_t **metadata_out,
                             struct uc_error_t **error_out);

/**
 * Tells which partitions this broker leads and which it follows from now on, beside those told before. Never waits.
 *
 * Ownership: the arrays stay the caller's.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `leaders` and `followers` are null or have as many structs as said, as far apart as the first one's struct_size,
 * valid for reads, and so is what they point to; `error_out` is null or valid for writes.
 */
uc_status_t uc_metadata_lead_and_follow(const struct uc_metadata_t *metadata,
                                        const struct uc_partition_t *leaders,
                                        size_t leaders_len,
                                        const struct uc_partition_t *followers,
                                        size_t followers_len,
                                        struct uc_error_t **error_out);

/**
 * Tells which partitions this broker neither leads nor follows any more.
 *
 * Ownership: the array stays the caller's.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partitions` is null or has `count` structs, as far apart as the first one's struct_size, valid for reads, and so is
 * what they point to; `error_out` is null or valid for writes.
 */
uc_status_t uc_metadata_stop(const struct uc_metadata_t *metadata,
                             const struct uc_partition_t *partitions,
                             size_t count,
                             struct uc_error_t **error_out);

/**
 * Whether everything that the log says of the partition is known here: `*is_ready_out` becomes 1 or 0. Cheap.
 *
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `is_ready_out` and
 * `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_is_ready(const struct uc_metadata_t *metadata,
                                 const struct uc_partition_t *partition,
                                 int32_t *is_ready_out,
                                 struct uc_error_t **error_out);

/**
 * Adds a segment, in state COPY_SEGMENT_STARTED. Whether it may be added is decided within `admission_ms`, in the
 * call; on UC_OK one event with `tag` follows in `cq`, when this manager has read the record back.
 *
 * Ownership: `segment` stays the caller's and is copied.
 * Threads: any. Errors: UC_ERR_NOT_READY and UC_ERR_TOO_YOUNG (nothing was written; try again), UC_ERR_NOT_ASSIGNED,
 * UC_ERR_ILLEGAL_TRANSITION, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED; in the event also UC_ERR_UNREACHABLE,
 * UC_ERR_REFUSED, UC_ERR_TIMEOUT, UC_ERR_CANCELLED. Since ABI 1.
 *
 * # Safety
 * `segment` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
 * for writes.
 */
uc_status_t uc_metadata_add(const struct uc_metadata_t *metadata,
                            const struct uc_segment_t *segment,
                            uint32_t admission_ms,
                            const struct uc_cq_t *cq,
                            uint64_t tag,
                            struct uc_error_t **error_out);

/**
 * Tells a later state of a segment; otherwise as `uc_metadata_add`.
 *
 * Ownership: `update` stays the caller's and is copied.
 * Threads: any. Errors: as `uc_metadata_add`, and UC_ERR_UNKNOWN_SEGMENT. Since ABI 1.
 *
 * # Safety
 * `update` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
 * for writes.
 */
uc_status_t uc_metadata_update(const struct uc_metadata_t *metadata,
                               const struct uc_segment_update_t *update,
                               uint32_t admission_ms,
                               const struct uc_cq_t *cq,
                               uint64_t tag,
                               struct uc_error_t **error_out);

/**
 * Tells a state of the deletion of a whole partition (`uc_partition_delete_state`); otherwise as `uc_metadata_add`.
 *
 * Ownership: `partition` stays the caller's and is copied.
 * Threads: any. Errors: as `uc_metadata_add`. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `error_out` is null or valid
 * for writes.
 */
uc_status_t uc_metadata_put_partition_delete(const struct uc_metadata_t *metadata,
                                             const struct uc_partition_t *partition,
                                             int32_t broker_id,
                                             int64_t event_timestamp_ms,
                                             int32_t state,
                                             uint32_t admission_ms,
                                             const struct uc_cq_t *cq,
                                             uint64_t tag,
                                             struct uc_error_t **error_out);

/**
 * The segment that holds `offset` of leader epoch `epoch`: a list of one, or of none if there is no such segment.
 *
 * Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
 * `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_find(const struct uc_metadata_t *metadata,
                             const struct uc_partition_t *partition,
                             int32_t epoch,
                             int64_t offset,
                             struct uc_segments_t **segments_out,
                             struct uc_error_t **error_out);

/**
 * The first segment from `offset` of leader epoch `epoch` on that has aborted transactions: a list of one or none.
 *
 * Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
 * `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_next_with_txn_index(const struct uc_metadata_t *metadata,
                                            const struct uc_partition_t *partition,
                                            int32_t epoch,
                                            int64_t offset,
                                            struct uc_segments_t **segments_out,
                                            struct uc_error_t **error_out);

/**
 * The highest offset of leader epoch `epoch` that is in a remote segment; -1 if there is none.
 *
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `offset_out` and `error_out`
 * are null or valid for writes.
 */
uc_status_t uc_metadata_highest_offset(const struct uc_metadata_t *metadata,
                                       const struct uc_partition_t *partition,
                                       int32_t epoch,
                                       int64_t *offset_out,
                                       struct uc_error_t **error_out);

/**
 * All segments of a partition (`epoch` -1), or those with offsets of one leader epoch, in whatever state.
 *
 * Ownership: `*segments_out` is the caller's to free with `uc_segments_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `segments_out` and
 * `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_list(const struct uc_metadata_t *metadata,
                             const struct uc_partition_t *partition,
                             int32_t epoch,
                             struct uc_segments_t **segments_out,
                             struct uc_error_t **error_out);

/**
 * What tells that the lists of a partition have not changed: while `*stamp_out` is the same and not 0,
 * `uc_metadata_list` answers the same, for every epoch. 0 says nothing. Compare only what was told since the partition was
 * assigned. To keep a list, ask before and after it, and keep it if both answers are equal.
 *
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 2.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `stamp_out` and `error_out`
 * are null or valid for writes.
 */
uc_status_t uc_metadata_list_stamp(const struct uc_metadata_t *metadata,
                                   const struct uc_partition_t *partition,
                                   uint64_t *stamp_out,
                                   struct uc_error_t **error_out);

/**
 * Bytes in remote segments with offsets of one leader epoch, as the broker wrote them.
 *
 * Threads: any. Errors: UC_ERR_NOT_READY, UC_ERR_NOT_ASSIGNED, UC_ERR_INVALID_ARGUMENT, UC_ERR_CLOSED. Since ABI 1.
 *
 * # Safety
 * `partition` is null or valid for reads of its struct_size, and so is what it points to; `size_bytes_out` and
 * `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_size(const struct uc_metadata_t *metadata,
                             const struct uc_partition_t *partition,
                             int32_t epoch,
                             uint64_t *size_bytes_out,
                             struct uc_error_t **error_out);

/**
 * Lets a metadata and a storage manager of this process work together: attempts that failed are cleaned up, none begins
 * while the store is down, and a delete that can't be done now is done later. Ends what either was joined with before.
 *
 * Not needed for two managers whose configurations have the same `broker.id`: they are joined when both are open, unless
 * the process has more than one of them that is not joined. The close of one of them parts them; neither keeps the other,
 * and they may be closed and freed in any order.
 *
 * Ownership: both handles stay the caller's.
 * Threads: any. Errors: UC_ERR_CLOSED. Since ABI 2.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_metadata_join(const struct uc_metadata_t *metadata,
                             const struct uc_storage_t *storage,
                             struct uc_error_t **error_out);

/**
 * The metrics of the manager. They may outlive it.
 *
 * Ownership: `*metrics_out` is the caller's to free with `uc_metrics_free`, `*error_out`, if set, with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_CLOSED (freed), UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `metrics_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_metadata_metrics(const struct uc_metadata_t *metadata,
                                struct uc_metrics_t **metrics_out,
                                struct uc_error_t **error_out);

/**
 * Closes the manager: new calls answer UC_ERR_CLOSED, submissions give their events. Waits up to `timeout_ms` for that,
 * and for the library's threads if no other manager is open. A second close does nothing.
 *
 * The handle stays valid until `uc_metadata_free`.
 * Threads: any. Errors: UC_ERR_TIMEOUT (it is closed; what was not done in time ends in the background),
 * UC_ERR_CLOSED (no handle). Since ABI 1.
 *
 * # Safety
 * `error_out` is null or valid for writes.
 */
uc_status_t uc_metadata_close(const struct uc_metadata_t *metadata, uint32_t timeout_ms, struct uc_error_t **error_out);

/**
 * Frees a manager, closing it first (waiting up to ten seconds) if nobody did. Nothing happens if it is null or freed
 * already.
 *
 * Threads: any. Since ABI 1.
 */
void uc_metadata_free(struct uc_metadata_t *metadata);

/**
 * How many there are.
 *
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
 *
 * # Safety
 * `len_out` is null or valid for writes.
 */
uc_status_t uc_segments_len(const struct uc_segments_t *segments, size_t *len_out);

/**
 * The segment at `index`, from 0. Set `segment_out->struct_size` before the call; it stays.
 *
 * Ownership: what the struct points to is the list's; it is there until `uc_segments_free`.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT (no such index, struct_size). Since ABI 1.
 *
 * # Safety
 * `segment_out` is null or valid for reads and writes of `segment_out->struct_size` bytes; `error_out` is null or valid
 * for writes. Nobody frees `segments` while the struct is used.
 */
uc_status_t uc_segments_get(const struct uc_segments_t *segments,
                            size_t index,
                            struct uc_segment_t *segment_out,
                            struct uc_error_t **error_out);

/**
 * `count` segments from `index` on, as many calls of `uc_segments_get`. Set `segments_out->struct_size` of the first
 * struct before the call: all lie as far apart, and get it.
 *
 * Ownership: as `uc_segments_get`. On a failure some may have been written.
 * Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT (not so many, struct_size). Since ABI 2.
 *
 * # Safety
 * `segments_out` is null or valid for reads and writes of `count` structs of `segments_out->struct_size` bytes each;
 * `error_out` is null or valid for writes. Nobody frees `segments` while the structs are used.
 */
uc_status_t uc_segments_read(const struct uc_segments_t *segments,
                             size_t index,
                             struct uc_segment_t *segments_out,
                             size_t count,
                             struct uc_error_t **error_out);

/**
 * Frees a list. Nothing happens if it is null or freed already.
 *
 * Threads: any, once nobody uses what it pointed to. Since ABI 1.
 */
void uc_segments_free(struct uc_segments_t *segments);

/**
 * Tells whether a closed segment may be copied now (1), or stays local only for a while yet (0).
 *
 * It is the decision that `uc_metadata_add` makes on brokers without one of their own, and that of KIP-1241: a segment is
 * held back while neither its age nor the size of the log behind it has reached its limit. A limit above the local
 * retention counts as that, one that is without limit never passes, one of 0 copies at once, and so does a value
 * that would decide and is not known. A host goes through the closed segments of a log from the oldest on and ends at the
 * first that is held back.
 *
 * Ownership: `copy` stays the caller's. `*error_out`, if set, is the caller's to free with `uc_error_free`.
 * Threads: any. Errors: UC_ERR_INVALID_ARGUMENT (null, a struct that is too small, a lag or a retention below its
 * least value). Since ABI 1.
 *
 * # Safety
 * `copy` is null or a struct as its type says; `eligible_out` and `error_out` are null or valid for writes.
 */
uc_status_t uc_tiering_copy_eligible(const struct uc_tiering_copy_t *copy,
                                     int32_t *eligible_out,
                                     struct uc_error_t **error_out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* UNDERCROFT_H */
