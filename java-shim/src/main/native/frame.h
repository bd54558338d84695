/* Frames: how segments and partitions cross between Java and C. One layout in both directions; the other half is
 * `SegmentCodec.java`. Numbers are in the machine's byte order (little-endian on every platform served).
 *
 *   segment (also an update, whose offsets, size and epochs are 0):
 *     0 i32 partition      4 i32 broker id     8 i32 size bytes   12 i32 state
 *    16 i32 flags         20 i32 topic length 24 i32 epochs       28 i32 custom metadata length, -1 = none
 *    32 i64 start offset  40 i64 end offset   48 i64 max timestamp ms   56 i64 event timestamp ms
 *    64 topic id (16)     80 segment id (16)
 *    96 epochs: { i32 epoch, i32 0, i64 start offset } each, then topic, then custom metadata
 *
 *   partition:
 *     0 i32 partition      4 i32 leader epoch, -1 = not known   8 i32 topic length   12 i32 0
 *    16 topic id (16)     32 topic, padded with 0 to a multiple of 8
 */
#ifndef UNDERCROFT_JNI_FRAME_H
#define UNDERCROFT_JNI_FRAME_H

#include "boundary.h"

/* Reads a frame in place: pointers of `*out` lead into `bytes`. False with a pending exception if it is malformed. */
bool read_segment(JNIEnv *env, const borrowed_t *bytes, uc_segment_t *out);
bool read_update(JNIEnv *env, const borrowed_t *bytes, uc_segment_update_t *out);
bool read_partition(JNIEnv *env, const borrowed_t *bytes, uc_partition_t *out);

/* Reads frames that follow each other; `*out` is the caller's to free (null if there are none). */
bool read_partitions(JNIEnv *env, const borrowed_t *bytes, uc_partition_t **out, size_t *count_out);

/* Frames of all `segments`, one after the other; consumes them. */
jbyteArray take_segments(JNIEnv *env, uc_segments_t *segments);

#endif
