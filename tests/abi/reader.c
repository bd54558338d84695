#include "check.h"
#include "fixture.h"

#include <pthread.h>

static uc_storage_t *storage_with_a_segment(uc_segment_t *segment) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  fixture_copy(storage, segment);
  return storage;
}

static void a_read_that_is_out_of_time_loses_nothing(void) {
  static uint8_t place[64 * 1024];
  uc_segment_t segment = fixture_segment(0);
  uc_storage_t *storage = storage_with_a_segment(&segment);
  uc_reader_t *reader = NULL;
  size_t at = 0;
  int timeouts = 0;
  EXPECT(UC_OK, uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error));
  for (;;) {
    size_t got = SIZE_MAX;
    uc_status_t status = uc_reader_read(reader, place, sizeof place, 0, &got, NULL);
    if (status == UC_ERR_TIMEOUT) {
      CHECK(got == SIZE_MAX);
      REQUIRE(timeouts++ < 100000);
      fixture_sleep_ms(1);
      continue;
    }
    REQUIRE(status == UC_OK);
    if (got == 0) { break; }
    for (size_t i = 0; i < got; i++) { REQUIRE(place[i] == fixture_log_byte(at + i)); }
    at += got;
  }
  CHECK(at == LOG_BYTES);
  CHECK(timeouts > 0);
  uc_reader_free(reader);
  uc_storage_free(storage);
}

static void the_end_stays_the_end(void) {
  uint8_t place[16];
  size_t got = 99;
  uc_segment_t segment = fixture_segment(0);
  uc_storage_t *storage = storage_with_a_segment(&segment);
  uc_reader_t *reader = NULL;
  EXPECT(UC_OK, uc_storage_fetch(storage, &segment, 5, 8, &reader, &error));
  size_t total = 0;
  while (got > 0) {
    got = 0;
    EXPECT(UC_OK, uc_reader_read(reader, place, 1, 10000, &got, &error));
    total += got;
  }
  CHECK(total == 4);
  EXPECT(UC_OK, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
  CHECK(got == 0);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_reader_read(reader, NULL, 0, 0, &got, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_reader_read(reader, NULL, 5, 0, &got, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_reader_read(reader, place, 5, 0, NULL, &error));
  uc_reader_free(reader);
  EXPECT(UC_ERR_CLOSED, uc_reader_read(reader, place, 5, 0, &got, &error));
  uc_storage_free(storage);
}

static void a_cancelled_reader_stays_so(void) {
  uint8_t place[16];
  size_t got = 99;
  uc_segment_t segment = fixture_segment(0);
  uc_storage_t *storage = storage_with_a_segment(&segment);
  uc_reader_t *reader = NULL;
  EXPECT(UC_OK, uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error));
  EXPECT(UC_OK, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
  uc_reader_cancel(reader);
  EXPECT(UC_ERR_CANCELLED, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
  EXPECT(UC_ERR_CANCELLED, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
  uc_reader_free(reader);
  uc_storage_free(storage);
}

static void *read_to_the_end(void *reader) {
  static __thread uint8_t place[512];
  size_t got = 1;
  uc_status_t status = UC_OK;
  while (status == UC_OK && got > 0) { status = uc_reader_read(reader, place, sizeof place, 10000, &got, NULL); }
  return (void *)(intptr_t)status;
}

static void a_free_in_the_middle_of_a_read_is_safe(void) {
  uc_segment_t segment = fixture_segment(0);
  uc_storage_t *storage = storage_with_a_segment(&segment);
  for (int i = 0; i < 20; i++) {
    uc_reader_t *reader = NULL;
    pthread_t thread;
    void *status = NULL;
    EXPECT(UC_OK, uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error));
    pthread_create(&thread, NULL, read_to_the_end, reader);
    if (i % 2 == 0) { fixture_sleep_ms(1); }
    uc_reader_free(reader);
    pthread_join(thread, &status);
    intptr_t s = (intptr_t)status;
    CHECK(s == UC_OK || s == UC_ERR_CANCELLED || s == UC_ERR_CLOSED);
  }
  uc_storage_free(storage);
}

static void a_missing_object_is_an_error_and_no_empty_stream(void) {
  uint8_t place[16];
  size_t got = 99;
  uc_segment_t segment = fixture_segment(0);
  uc_storage_t *storage = storage_with_a_segment(&segment);
  uc_reader_t *reader = NULL;
  EXPECT(UC_OK, uc_storage_delete(storage, &segment, 1, 10000, &error));
  EXPECT(UC_OK, uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error));
  EXPECT(UC_ERR_NOT_FOUND, uc_reader_read(reader, place, sizeof place, 10000, &got, &error));
  CHECK(got == 99);
  uc_reader_free(reader);
  uc_storage_free(storage);
}

void test_reader(void) {
  RUN(a_read_that_is_out_of_time_loses_nothing);
  RUN(the_end_stays_the_end);
  RUN(a_cancelled_reader_stays_so);
  RUN(a_free_in_the_middle_of_a_read_is_safe);
  RUN(a_missing_object_is_an_error_and_no_empty_stream);
}
