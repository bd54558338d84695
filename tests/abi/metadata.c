#include "check.h"
#include "fixture.h"

enum { MANY = 200 };

static uc_cq_t *new_cq(void) {
  uc_cq_t *cq = NULL;
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  return cq;
}

static void expect_event(const uc_cq_t *cq, uint64_t tag, uc_status_t status) {
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_OK, uc_cq_next(cq, 15000, &event, &error));
  CHECK(event.tag == tag);
  check_status(__FILE__, __LINE__, "an event", status, event.status, event.error);
  CHECK(event.result == NULL);
}

static size_t count_of(uc_segments_t *segments) {
  size_t count = SIZE_MAX;
  CHECK(uc_segments_len(segments, &count) == UC_OK);
  return count;
}

static size_t list_count(const uc_metadata_t *metadata, int32_t epoch) {
  uc_partition_t partition = fixture_partition();
  uc_segments_t *segments = NULL;
  EXPECT(UC_OK, uc_metadata_list(metadata, &partition, epoch, &segments, &error));
  size_t count = count_of(segments);
  uc_segments_free(segments);
  return count;
}

static void add_finished(const uc_metadata_t *metadata, const uc_cq_t *cq, uint8_t n) {
  uc_segment_t segment = fixture_segment(n);
  uc_segment_update_t update = fixture_update(&segment, UC_COPY_SEGMENT_FINISHED);
  update.flags = UC_SEGMENT_HAS_CUSTOM_METADATA;
  update.custom_metadata = (const uint8_t *)"where it is", update.custom_metadata_len = 11;
  EXPECT(UC_OK, uc_metadata_add(metadata, &segment, 5000, cq, 1, &error));
  expect_event(cq, 1, UC_OK);
  EXPECT(UC_OK, uc_metadata_update(metadata, &update, 5000, cq, 2, &error));
  expect_event(cq, 2, UC_OK);
}

static void check_found(const uc_metadata_t *metadata, int64_t offset, uint8_t n) {
  uc_partition_t partition = fixture_partition();
  uc_segments_t *segments = NULL;
  uc_segment_t segment = {.struct_size = sizeof segment};
  uc_segment_t expected = fixture_segment(n);
  EXPECT(UC_OK, uc_metadata_find(metadata, &partition, 0, offset, &segments, &error));
  REQUIRE(count_of(segments) == 1);
  EXPECT(UC_OK, uc_segments_get(segments, 0, &segment, &error));
  CHECK(segment.struct_size == sizeof segment);
  CHECK(segment.partition == 3 && segment.topic_len == 6 && memcmp(segment.topic, "orders", 6) == 0);
  CHECK(memcmp(segment.segment_id, expected.segment_id, 16) == 0);
  CHECK(memcmp(segment.topic_id, expected.topic_id, 16) == 0);
  CHECK(segment.start_offset == expected.start_offset && segment.end_offset == expected.end_offset);
  CHECK(segment.state == UC_COPY_SEGMENT_FINISHED && segment.size_bytes == expected.size_bytes);
  CHECK(segment.max_timestamp_ms == expected.max_timestamp_ms && segment.broker_id == 1);
  CHECK(segment.event_timestamp_ms == expected.event_timestamp_ms + 1);
  CHECK(segment.flags == UC_SEGMENT_HAS_CUSTOM_METADATA);
  CHECK(segment.custom_metadata_len == 11 && memcmp(segment.custom_metadata, "where it is", 11) == 0);
  REQUIRE(segment.leader_epochs_len == 1);
  CHECK(segment.leader_epochs[0].epoch == 0 && segment.leader_epochs[0].start_offset == expected.start_offset);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_segments_get(segments, 1, &segment, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_segments_get(segments, 0, NULL, &error));
  segment.struct_size = 12;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_segments_get(segments, 0, &segment, &error));
  uc_segments_free(segments);
  EXPECT(UC_ERR_CLOSED, uc_segments_get(segments, 0, &segment, &error));
}

static void segments_are_added_found_and_still_there_after_a_restart(void) {
  const char *folder = fixture_folder();
  uc_partition_t partition = fixture_partition();
  uc_cq_t *cq = new_cq();
  uc_segments_t *segments = NULL;
  int64_t highest = 0;
  uint64_t size = 0;
  uc_metadata_t *metadata = fixture_metadata(folder);
  REQUIRE(metadata != NULL && fixture_lead(metadata) == 0);
  CHECK(list_count(metadata, -1) == 0);
  EXPECT(UC_OK, uc_metadata_highest_offset(metadata, &partition, 0, &highest, &error));
  CHECK(highest == -1);
  for (uint8_t n = 0; n < 3; n++) { add_finished(metadata, cq, n); }
  check_found(metadata, 0, 0);
  check_found(metadata, 199, 1);
  EXPECT(UC_OK, uc_metadata_find(metadata, &partition, 0, 300, &segments, &error));
  CHECK(count_of(segments) == 0);
  uc_segments_free(segments);
  EXPECT(UC_OK, uc_metadata_next_with_txn_index(metadata, &partition, 0, 150, &segments, &error));
  CHECK(count_of(segments) == 1);
  uc_segments_free(segments);

  EXPECT(UC_OK, uc_metadata_close(metadata, 10000, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_list(metadata, &partition, -1, &segments, &error));
  uc_metadata_free(metadata);
  metadata = fixture_metadata(folder);
  REQUIRE(metadata != NULL && fixture_lead(metadata) == 0);
  CHECK(list_count(metadata, -1) == 3);
  CHECK(list_count(metadata, 0) == 3);
  CHECK(list_count(metadata, 1) == 0);
  check_found(metadata, 250, 2);
  EXPECT(UC_OK, uc_metadata_highest_offset(metadata, &partition, 0, &highest, &error));
  CHECK(highest == 299);
  EXPECT(UC_OK, uc_metadata_size(metadata, &partition, 0, &size, &error));
  CHECK(size == 3ull * LOG_BYTES);

  for (uint8_t n = 0; n < 3; n++) {
    uc_segment_t segment = fixture_segment(n);
    uc_segment_update_t update = fixture_update(&segment, UC_DELETE_SEGMENT_STARTED);
    EXPECT(UC_OK, uc_metadata_update(metadata, &update, 5000, cq, 3, &error));
    expect_event(cq, 3, UC_OK);
    update = fixture_update(&segment, UC_DELETE_SEGMENT_FINISHED);
    EXPECT(UC_OK, uc_metadata_update(metadata, &update, 5000, cq, 4, &error));
    expect_event(cq, 4, UC_OK);
  }
  CHECK(list_count(metadata, -1) == 0);
  EXPECT(UC_OK, uc_metadata_put_partition_delete(metadata, &partition, 1, 1700000000000, UC_DELETE_PARTITION_MARKED,
                                                 5000, cq, 5, &error));
  expect_event(cq, 5, UC_OK);
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

static void many_in_flight_give_one_event_each(void) {
  uc_cq_t *cq = new_cq();
  int seen[MANY] = {0};
  uc_metadata_t *metadata = fixture_metadata(fixture_folder());
  REQUIRE(metadata != NULL && fixture_lead(metadata) == 0);
  for (int i = 0; i < MANY; i++) {
    uc_segment_t segment = fixture_segment((uint8_t)i);
    EXPECT(UC_OK, uc_metadata_add(metadata, &segment, 5000, cq, (uint64_t)i, &error));
    if (i % 10 == 0) { EXPECT(UC_OK, uc_cq_cancel(cq, (uint64_t)i, &error)); }
  }
  for (int i = 0; i < MANY; i++) {
    uc_event_t event = {.struct_size = sizeof event};
    EXPECT(UC_OK, uc_cq_next(cq, 15000, &event, &error));
    REQUIRE(event.tag < MANY);
    seen[event.tag]++;
    CHECK(event.status == UC_OK || (event.tag % 10 == 0 && event.status == UC_ERR_CANCELLED));
    uc_error_free(event.error);
  }
  for (int i = 0; i < MANY; i++) { CHECK(seen[i] == 1); }
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_ERR_TIMEOUT, uc_cq_next(cq, 50, &event, &error));
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

static void what_is_not_allowed_is_said_in_the_call_and_gives_no_event(void) {
  uc_cq_t *cq = new_cq();
  uc_partition_t partition = fixture_partition();
  uc_segment_t segment = fixture_segment(0);
  uc_segment_update_t update = fixture_update(&segment, UC_COPY_SEGMENT_FINISHED);
  uc_segments_t *segments = NULL;
  int32_t is_ready = 7;
  uc_metadata_t *metadata = fixture_metadata(fixture_folder());
  REQUIRE(metadata != NULL);
  EXPECT(UC_ERR_NOT_ASSIGNED, uc_metadata_list(metadata, &partition, -1, &segments, &error));
  EXPECT(UC_OK, uc_metadata_is_ready(metadata, &partition, &is_ready, &error));
  CHECK(is_ready == 0);
  REQUIRE(fixture_lead(metadata) == 0);
  EXPECT(UC_ERR_UNKNOWN_SEGMENT, uc_metadata_update(metadata, &update, 1000, cq, 1, &error));
  segment.state = UC_COPY_SEGMENT_FINISHED;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_add(metadata, &segment, 1000, cq, 1, &error));
  segment.state = 77;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_add(metadata, &segment, 1000, cq, 1, &error));
  add_finished(metadata, cq, 0);
  segment = fixture_segment(0);
  update = fixture_update(&segment, UC_DELETE_SEGMENT_FINISHED);
  EXPECT(UC_ERR_ILLEGAL_TRANSITION, uc_metadata_update(metadata, &update, 1000, cq, 1, &error));
  update.struct_size = 1;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_update(metadata, &update, 1000, cq, 1, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_update(metadata, NULL, 1000, cq, 1, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_add(metadata, NULL, 1000, cq, 1, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT,
         uc_metadata_put_partition_delete(metadata, &partition, 1, 0, 3, 1000, cq, 1, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_find(metadata, NULL, 0, 0, &segments, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_find(metadata, &partition, 0, 0, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_is_ready(metadata, &partition, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_lead_and_follow(metadata, NULL, 1, NULL, 0, &error));
  EXPECT(UC_OK, uc_metadata_lead_and_follow(metadata, NULL, 0, NULL, 0, &error));
  partition.struct_size = 20;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_stop(metadata, &partition, 1, &error));
  partition = fixture_partition();
  EXPECT(UC_OK, uc_metadata_stop(metadata, &partition, 1, &error));
  EXPECT(UC_ERR_NOT_ASSIGNED, uc_metadata_list(metadata, &partition, -1, &segments, &error));
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_ERR_TIMEOUT, uc_cq_next(cq, 50, &event, &error));
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

static void a_name_that_no_topic_can_have_is_refused(void) {
  static char too_long[251];
  memset(too_long, 'a', sizeof too_long - 1);
  /* A colon stands between the fields of a record's key; a stock broker's reader ends for good at a name beyond 32767. */
  const char *const names[] = {"", ".", "..", "a:0", "a/b", "a b", "\xc3\xbc", too_long};
  uc_metadata_t *metadata = fixture_metadata(fixture_folder());
  uc_cq_t *cq = new_cq();
  REQUIRE(metadata != NULL);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    uc_partition_t partition = fixture_partition();
    uc_segment_t segment = fixture_segment(0);
    partition.topic = segment.topic = names[i];
    partition.topic_len = segment.topic_len = strlen(names[i]);
    EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_lead_and_follow(metadata, &partition, 1, NULL, 0, &error));
    EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metadata_add(metadata, &segment, 0, cq, 1, &error));
  }
  uc_partition_t partition = fixture_partition();
  partition.topic = too_long, partition.topic_len = 249;
  EXPECT(UC_OK, uc_metadata_lead_and_follow(metadata, &partition, 1, NULL, 0, &error));
  partition.topic = "__Az09._-", partition.topic_len = 9;
  EXPECT(UC_OK, uc_metadata_lead_and_follow(metadata, &partition, 1, NULL, 0, &error));
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

void test_metadata(void) {
  RUN(segments_are_added_found_and_still_there_after_a_restart);
  RUN(many_in_flight_give_one_event_each);
  RUN(what_is_not_allowed_is_said_in_the_call_and_gives_no_event);
  RUN(a_name_that_no_topic_can_have_is_refused);
}
