/* Folders, files and segments for the tests. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "undercroft.h"

#define LOG_BYTES (5u * 1024u * 1024u + 123u)

/* A folder of its own for this run; 0 if it could be made. */
int fixture_open(void);
void fixture_close(void);

/* A new, empty folder within it; the text is there until the end. */
const char *fixture_folder(void);
/* Objects of segments, whole or half, under a folder at any depth. */
int fixture_count_files(const char *folder);
/* Prints them; 1 if there are `expected`. */
int fixture_has_files(const char *folder, int expected);
int fixture_threads(void);
/* Those whose name begins so. */
int fixture_threads_named(const char *prefix);
/* How many there are when no manager is open: waits for those that a test before left to the kernel. */
int fixture_threads_at_rest(void);
/* 1 if there are `expected` threads; prints their names if not. The kernel forgets a joined thread a moment later. */
int fixture_has_threads(int expected);
void fixture_sleep_ms(int ms);
int64_t fixture_now_ms(void);

/* Byte `i` of every segment's log. */
uint8_t fixture_log_byte(size_t i);
/* What each index holds. */
const char *fixture_index_text(int32_t index_type);
/* Files of a segment, written once. */
uc_segment_files_t fixture_files(void);
/* Segment number `n` of the partition: offsets n*100 to n*100+99, in state COPY_SEGMENT_STARTED. */
uc_segment_t fixture_segment(uint8_t n);
uc_partition_t fixture_partition(void);
uc_segment_update_t fixture_update(const uc_segment_t *segment, int32_t state);

/* Copies it and lets it carry what the copy answered. */
void fixture_copy(const uc_storage_t *storage, uc_segment_t *segment);

/* Null-terminated pairs of key and value. */
uc_config_t *fixture_config(const char *const *pairs);
/* Managers on a folder; null, and a failed check, if they do not open. */
uc_storage_t *fixture_storage(const char *folder);
uc_metadata_t *fixture_metadata(const char *folder);
/* Leads the partition and waits until it is ready; 0 if it is. */
int fixture_lead(const uc_metadata_t *metadata);

#endif
