#include "check.h"
#include "fixture.h"

#include <stdlib.h>

/* Lets the segment carry what the copy answered. */
static void keep_custom_metadata(uc_segment_t *segment, uc_buf_t *custom) {
  if (custom == NULL) { return; }
  const uint8_t *bytes = NULL;
  size_t len = 0;
  CHECK(uc_buf_view(custom, &bytes, &len) == UC_OK);
  CHECK(len <= 128);
  segment->flags |= UC_SEGMENT_HAS_CUSTOM_METADATA;
  segment->custom_metadata = bytes, segment->custom_metadata_len = len;
}

static void check_indexes(uc_storage_t *storage, const uc_segment_t *segment) {
  for (int32_t index = UC_INDEX_OFFSET; index <= UC_INDEX_LEADER_EPOCH; index++) {
    uc_buf_t *buf = NULL;
    const uint8_t *bytes = NULL;
    size_t len = 0;
    EXPECT(UC_OK, uc_storage_fetch_index(storage, segment, index, 10000, &buf, &error));
    REQUIRE(uc_buf_view(buf, &bytes, &len) == UC_OK);
    CHECK(len == strlen(fixture_index_text(index)) && memcmp(bytes, fixture_index_text(index), len) == 0);
    uc_buf_free(buf);
  }
}

static void check_range(uc_storage_t *storage, const uc_segment_t *segment, uint64_t start, uint64_t end) {
  static uint8_t place[300007];
  uc_reader_t *reader = NULL;
  uint64_t at = start;
  uint64_t wanted_end = end == UINT64_MAX || end >= LOG_BYTES ? LOG_BYTES : end + 1;
  size_t got = 1;
  EXPECT(UC_OK, uc_storage_fetch(storage, segment, start, end, &reader, &error));
  while (got > 0) {
    got = 0;
    EXPECT(UC_OK, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
    for (size_t i = 0; i < got; i++) {
      if (place[i] != fixture_log_byte((size_t)at + i)) {
        check_fail(__FILE__, __LINE__, "a byte is the segment's");
        break;
      }
    }
    at += got;
  }
  CHECK(at == wanted_end);
  uc_reader_free(reader);
}

static void a_segment_goes_in_comes_back_and_is_deleted(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_segment_t segment = fixture_segment(0);
  EXPECT(UC_OK, uc_storage_check(storage, 10000, &error));
  fixture_copy(storage, &segment);
  CHECK(fixture_has_files(folder, 1));
  check_range(storage, &segment, 0, UINT64_MAX);
  check_range(storage, &segment, 1000, 1999);
  check_range(storage, &segment, LOG_BYTES - 1, UINT64_MAX);
  check_range(storage, &segment, 4 * 1024 * 1024 - 3, 4 * 1024 * 1024 + 3);
  check_range(storage, &segment, 17, LOG_BYTES + 1000);
  check_indexes(storage, &segment);

  /* Another manager on the same folder, as after a restart. */
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  uc_storage_free(storage);
  storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  check_range(storage, &segment, 0, UINT64_MAX);
  check_indexes(storage, &segment);
  EXPECT(UC_OK, uc_storage_delete(storage, &segment, 1, 10000, &error));
  EXPECT(UC_OK, uc_storage_delete(storage, &segment, 1, 10000, &error));
  CHECK(fixture_has_files(folder, 0));
  uc_storage_free(storage);
  storage = fixture_storage(folder);
  uc_buf_t *index = NULL;
  EXPECT(UC_ERR_NOT_FOUND, uc_storage_fetch_index(storage, &segment, UC_INDEX_OFFSET, 10000, &index, &error));
  CHECK(index == NULL);
  uc_storage_free(storage);
}

static void submitted_work_does_the_same(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_t segments[4];
  uc_buf_t *customs[4] = {NULL};
  uc_segment_files_t files = fixture_files();
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  for (uint8_t i = 0; i < 4; i++) {
    segments[i] = fixture_segment(i);
    EXPECT(UC_OK, uc_storage_copy_submit(storage, &segments[i], &files, cq, i, &error));
  }
  for (int i = 0; i < 4; i++) {
    EXPECT(UC_OK, uc_cq_next(cq, 60000, &event, &error));
    CHECK(event.status == UC_OK);
    REQUIRE(event.tag < 4 && customs[event.tag] == NULL);
    customs[event.tag] = event.result;
    keep_custom_metadata(&segments[event.tag], event.result);
    uc_error_free(event.error);
  }
  check_range(storage, &segments[3], 0, UINT64_MAX);
  EXPECT(UC_OK, uc_storage_fetch_index_submit(storage, &segments[2], UC_INDEX_TIMESTAMP, cq, 9, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  const uint8_t *bytes = NULL;
  size_t len = 0;
  CHECK(event.tag == 9 && uc_buf_view(event.result, &bytes, &len) == UC_OK);
  CHECK(len == strlen(fixture_index_text(1)) && memcmp(bytes, fixture_index_text(1), len) == 0);
  uc_buf_free(event.result);
  EXPECT(UC_OK, uc_storage_delete_submit(storage, segments, 4, cq, 10, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.tag == 10 && event.status == UC_OK && event.result == NULL);
  CHECK(fixture_has_files(folder, 0));
  for (int i = 0; i < 4; i++) { uc_buf_free(customs[i]); }
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void a_copy_that_is_out_of_time_leaves_no_object(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  uc_buf_t *custom = NULL;
  EXPECT(UC_ERR_TIMEOUT, uc_storage_copy(storage, &segment, &files, 0, &custom, &error));
  CHECK(custom == NULL);
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  CHECK(fixture_has_files(folder, 0));
  uc_storage_free(storage);
}

static void a_missing_local_file_is_named(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  uc_error_t *error = NULL;
  const char *text = "";
  size_t len = 0;
  char copy[1024];
  files.time_index = "/nonexistent/seg.timeindex", files.time_index_len = 26;
  CHECK(uc_storage_copy(storage, &segment, &files, 10000, NULL, &error) == UC_ERR_SOURCE);
  uc_error_message(error, &text, &len);
  snprintf(copy, sizeof copy, "%.*s", (int)len, text);
  CHECK(strstr(copy, "/nonexistent/seg.timeindex") != NULL);
  uc_error_free(error);
  uc_storage_free(storage);
  CHECK(fixture_has_files(folder, 0));
}

static void wrong_structs_are_refused_by_name(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  uc_reader_t *reader = NULL;
  uc_buf_t *buf = NULL;
  uc_error_t *error = NULL;
  const char *text = "";
  size_t len = 0;
  char copy[256];
  segment.struct_size = 40;
  CHECK(uc_storage_fetch(storage, &segment, 0, 1, &reader, &error) == UC_ERR_INVALID_ARGUMENT);
  uc_error_message(error, &text, &len);
  snprintf(copy, sizeof copy, "%.*s", (int)len, text);
  CHECK(strstr(copy, "uc_segment_t") != NULL && strstr(copy, "40") != NULL);
  uc_error_free(error);
  segment.struct_size = 0;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  segment = fixture_segment(0);
  files.struct_size = 8;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  files = fixture_files();
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, NULL, &files, 0, &buf, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, NULL, 0, &buf, &error));
  segment.leader_epochs_len = 0;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  segment.leader_epochs_len = SIZE_MAX / 8;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  segment = fixture_segment(0);
  segment.state = 5;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  segment = fixture_segment(0);
  segment.topic = NULL;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  segment = fixture_segment(0);
  files.log_len = 0;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_copy(storage, &segment, &files, 0, &buf, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_delete(storage, &segment, SIZE_MAX, 0, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_fetch_index(storage, &segment, 5, 0, &buf, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_fetch_index(storage, &segment, 0, 0, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_fetch(storage, &segment, 0, 1, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_metrics(storage, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_open(NULL, NULL, &error));
  uc_storage_free(storage);
}

/* A host that was compiled against a later header, with one more field. */
typedef struct {
  uc_segment_t known;
  uint64_t later;
} newer_segment_t;

static void structs_of_a_newer_host_are_read_as_far_as_known(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  newer_segment_t segments[3];
  for (uint8_t i = 0; i < 3; i++) {
    segments[i].known = fixture_segment(i);
    segments[i].known.struct_size = sizeof segments[i];
    segments[i].later = UINT64_MAX;
    fixture_copy(storage, &segments[i].known);
  }
  CHECK(fixture_has_files(folder, 3));
  EXPECT(UC_OK, uc_storage_delete(storage, &segments[0].known, 3, 10000, &error));
  CHECK(fixture_has_files(folder, 0));
  segments[1].known.struct_size = sizeof(uc_segment_t);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_delete(storage, &segments[0].known, 3, 10000, &error));
  uc_storage_free(storage);
}

void test_storage(void) {
  RUN(a_segment_goes_in_comes_back_and_is_deleted);
  RUN(submitted_work_does_the_same);
  RUN(a_copy_that_is_out_of_time_leaves_no_object);
  RUN(a_missing_local_file_is_named);
  RUN(wrong_structs_are_refused_by_name);
  RUN(structs_of_a_newer_host_are_read_as_far_as_known);
}
