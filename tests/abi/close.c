/* Closing while others are inside, and what is left afterwards. */
#include "check.h"
#include "fixture.h"

#include <pthread.h>

enum { THREADS = 6 };

typedef struct {
  uc_storage_t *storage;
  uc_metadata_t *metadata;
  uc_cq_t *cq;
  uc_segment_t segment;
  int number;
  int calls;
} visitor_t;

static void expect_end(uc_status_t status) {
  if (status != UC_ERR_CLOSED && status != UC_ERR_CANCELLED) {
    fprintf(stderr, "a call that met the close answers %s\n", uc_status_name(status));
    check_fail(__FILE__, __LINE__, "it answers UC_ERR_CLOSED or UC_ERR_CANCELLED");
  }
}

static void *visit_storage(void *argument) {
  visitor_t *me = argument;
  static __thread uint8_t place[4096];
  uc_segment_t segment = me->segment;
  uc_segment_t mine = fixture_segment((uint8_t)(10 + me->number));
  uc_segment_files_t files = fixture_files();
  uc_status_t status = UC_OK;
  while (status == UC_OK) {
    if (me->number % 3 == 0) {
      status = uc_storage_copy(me->storage, &mine, &files, NO_BOUND, NULL, NULL);
    } else if (me->number % 3 == 1) {
      uc_reader_t *reader = NULL;
      size_t got = 1;
      status = uc_storage_fetch(me->storage, &segment, 0, UINT64_MAX, &reader, NULL);
      while (status == UC_OK && got > 0) { status = uc_reader_read(reader, place, sizeof place, NO_BOUND, &got, NULL); }
      uc_reader_free(reader);
    } else {
      uc_buf_t *buf = NULL;
      status = uc_storage_fetch_index(me->storage, &segment, me->calls % 5, NO_BOUND, &buf, NULL);
      uc_buf_free(buf);
    }
    me->calls++;
  }
  expect_end(status);
  return NULL;
}

static void a_storage_closes_under_its_callers(void) {
  const char *folder = fixture_folder();
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  for (int round = 0; round < 3; round++) {
    uc_storage_t *storage = fixture_storage(folder);
    REQUIRE(storage != NULL);
    pthread_t threads[THREADS];
    visitor_t visitors[THREADS];
    fixture_copy(storage, &segment);
    for (int i = 0; i < THREADS; i++) {
      visitors[i] = (visitor_t){.storage = storage, .segment = segment, .number = i};
      pthread_create(&threads[i], NULL, visit_storage, &visitors[i]);
    }
    fixture_sleep_ms(100);
    if (round < 2) { EXPECT(UC_OK, uc_storage_close(storage, 20000, &error)); }
    /* The third time the handle itself goes away under them. */
    if (round == 2) { uc_storage_free(storage); }
    for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
    if (round < 2) {
      EXPECT(UC_ERR_CLOSED, uc_storage_check(storage, 0, &error));
      EXPECT(UC_ERR_CLOSED, uc_storage_copy(storage, &segment, &files, 0, NULL, &error));
      EXPECT(UC_OK, uc_storage_close(storage, 0, &error));
    }
    uc_storage_free(storage);
  }
}

static void *visit_metadata(void *argument) {
  visitor_t *me = argument;
  uc_partition_t partition = fixture_partition();
  uc_segment_t segment = fixture_segment((uint8_t)me->number);
  uc_status_t status = UC_OK;
  while (status == UC_OK) {
    if (me->number == 0) {
      segment.segment_id[0] = (uint8_t)me->calls, segment.segment_id[1] = (uint8_t)(me->calls >> 8);
      status = uc_metadata_add(me->metadata, &segment, 1000, me->cq, (uint64_t)me->calls, NULL);
    } else {
      uc_segments_t *segments = NULL;
      status = uc_metadata_list(me->metadata, &partition, -1, &segments, NULL);
      uc_segments_free(segments);
    }
    me->calls++;
  }
  expect_end(status);
  return NULL;
}

static void a_metadata_closes_under_its_callers_and_owes_no_event(void) {
  uc_metadata_t *metadata = fixture_metadata(fixture_folder());
  uc_cq_t *cq = NULL;
  pthread_t threads[THREADS];
  visitor_t visitors[THREADS];
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  REQUIRE(metadata != NULL && fixture_lead(metadata) == 0);
  for (int i = 0; i < THREADS; i++) {
    visitors[i] = (visitor_t){.metadata = metadata, .cq = cq, .number = i};
    pthread_create(&threads[i], NULL, visit_metadata, &visitors[i]);
  }
  fixture_sleep_ms(50);
  EXPECT(UC_OK, uc_metadata_close(metadata, 20000, &error));
  for (int i = 0; i < THREADS; i++) { pthread_join(threads[i], NULL); }
  /* The last call was refused; each one before has its event by now. */
  int events = 0;
  uc_event_t event = {.struct_size = sizeof event};
  while (uc_cq_next(cq, 0, &event, NULL) == UC_OK) {
    CHECK(event.status == UC_OK || event.status == UC_ERR_CLOSED || event.status == UC_ERR_CANCELLED);
    uc_error_free(event.error);
    events++;
  }
  CHECK(events == visitors[0].calls - 1);
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

static void events_of_a_closed_storage_are_all_there(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  /* Keeps the library's threads alive, so that it isn't their end that brings the events. */
  uc_storage_t *other = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL && other != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_files_t files = fixture_files();
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  for (uint8_t i = 0; i < 8; i++) {
    uc_segment_t segment = fixture_segment(i);
    EXPECT(UC_OK, uc_storage_copy_submit(storage, &segment, &files, cq, i, &error));
  }
  EXPECT(UC_OK, uc_storage_close(storage, 20000, &error));
  int events = 0;
  uc_event_t event = {.struct_size = sizeof event};
  while (uc_cq_next(cq, 0, &event, NULL) == UC_OK) {
    uc_buf_free(event.result);
    uc_error_free(event.error);
    events++;
  }
  CHECK(events == 8);
  uc_storage_free(other);
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void the_last_close_leaves_no_thread(void) {
  int before = fixture_threads_at_rest();
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  uc_metadata_t *metadata = fixture_metadata(folder);
  REQUIRE(storage != NULL && metadata != NULL && fixture_lead(metadata) == 0);
  CHECK(fixture_threads() > before);
  EXPECT(UC_OK, uc_metadata_close(metadata, 20000, &error));
  EXPECT(UC_OK, uc_storage_check(storage, 10000, &error));
  EXPECT(UC_OK, uc_storage_close(storage, 20000, &error));
  CHECK(fixture_has_threads(before));
  uc_storage_free(storage);
  uc_metadata_free(metadata);
}

static void every_thread_has_the_librarys_name(void) {
  int before = fixture_threads_at_rest();
  uc_storage_t *storage = fixture_storage(fixture_folder());
  uc_metadata_t *metadata = fixture_metadata(fixture_folder());
  REQUIRE(storage != NULL && metadata != NULL && fixture_lead(metadata) == 0);
  CHECK(fixture_threads_named("undercroft-") > 0);
  CHECK(fixture_threads() == before + fixture_threads_named("undercroft-"));
  uc_storage_free(storage);
  uc_metadata_free(metadata);
}

static void a_free_without_a_close_leaves_no_thread_either(void) {
  int before = fixture_threads_at_rest();
  for (int i = 0; i < 5; i++) {
    uc_storage_t *storage = fixture_storage(fixture_folder());
    uc_metadata_t *metadata = fixture_metadata(fixture_folder());
    uc_storage_free(storage);
    uc_metadata_free(metadata);
    CHECK(fixture_has_threads(before));
  }
}

void test_close(void) {
  RUN(a_storage_closes_under_its_callers);
  RUN(a_metadata_closes_under_its_callers_and_owes_no_event);
  RUN(events_of_a_closed_storage_are_all_there);
  RUN(the_last_close_leaves_no_thread);
  RUN(every_thread_has_the_librarys_name);
  RUN(a_free_without_a_close_leaves_no_thread_either);
}
