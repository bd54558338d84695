#include "check.h"
#include "fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

enum { MANY = 500 };

/* Takes events until none comes for a while; counts how often each tag below `tags` came. */
static int drain(const uc_cq_t *cq, int *seen, int tags, int expected) {
  int count = 0;
  uc_event_t event = {.struct_size = sizeof event};
  while (uc_cq_next(cq, count < expected ? 10000 : 50, &event, NULL) == UC_OK) {
    if (event.tag < (uint64_t)tags) { seen[event.tag]++; }
    CHECK((event.status == UC_OK) == (event.error == NULL));
    CHECK(event.status == UC_OK || uc_error_code(event.error) == event.status);
    uc_error_free(event.error);
    uc_buf_free(event.result);
    count++;
  }
  return count;
}

static void each_submission_gives_exactly_one_event(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_t segment = fixture_segment(0);
  int seen[MANY] = {0};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  for (int i = 0; i < MANY; i++) {
    switch (i % 3) {
      case 0: EXPECT(UC_OK, uc_storage_fetch_index_submit(storage, &segment, i % 5, cq, (uint64_t)i, &error)); break;
      case 1: EXPECT(UC_OK, uc_storage_delete_submit(storage, &segment, 1, cq, (uint64_t)i, &error)); break;
      default: EXPECT(UC_OK, uc_storage_delete_submit(storage, NULL, 0, cq, (uint64_t)i, &error)); break;
    }
    if (i % 7 == 0) { EXPECT(UC_OK, uc_cq_cancel(cq, (uint64_t)i, &error)); }
  }
  CHECK(drain(cq, seen, MANY, MANY) == MANY);
  for (int i = 0; i < MANY; i++) { CHECK(seen[i] == 1); }
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void a_refused_submission_gives_no_event(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_t segment = fixture_segment(0);
  int seen[1] = {0};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_fetch_index_submit(storage, &segment, 9, cq, 0, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_storage_delete_submit(storage, NULL, 1, cq, 0, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_delete_submit(storage, &segment, 1, NULL, 0, &error));
  CHECK(drain(cq, seen, 1, 0) == 0);
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void a_cancelled_copy_says_so_once_and_leaves_no_object(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_OK, uc_storage_copy_submit(storage, &segment, &files, cq, 7, &error));
  EXPECT(UC_OK, uc_cq_cancel(cq, 7, &error));
  EXPECT(UC_OK, uc_cq_cancel(cq, 7, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.tag == 7 && event.result == NULL);
  CHECK(event.status == UC_ERR_CANCELLED);
  uc_error_free(event.error);
  EXPECT(UC_ERR_TIMEOUT, uc_cq_next(cq, 50, &event, &error));
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  CHECK(fixture_has_files(folder, 0));
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void the_descriptor_is_readable_while_there_is_an_event(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  int32_t fd = -1;
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_OK, uc_cq_fd(cq, &fd, &error));
  struct pollfd wait = {.fd = fd, .events = POLLIN};
  CHECK(poll(&wait, 1, 0) == 0);
  EXPECT(UC_OK, uc_storage_delete_submit(storage, NULL, 0, cq, 1, &error));
  EXPECT(UC_OK, uc_storage_delete_submit(storage, NULL, 0, cq, 2, &error));
  for (int i = 0; i < 2; i++) {
    CHECK(poll(&wait, 1, 10000) == 1);
    EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
    CHECK(event.status == UC_OK);
  }
  CHECK(poll(&wait, 1, 0) == 0);
  uc_cq_wake(cq);
  CHECK(poll(&wait, 1, 0) == 1);
  EXPECT(UC_ERR_TIMEOUT, uc_cq_next(cq, NO_BOUND, &event, &error));
  CHECK(poll(&wait, 1, 0) == 0);
  uc_storage_free(storage);
  uc_cq_free(cq);
}

static void *wait_for_an_event(void *cq) {
  uc_event_t event = {.struct_size = sizeof event};
  return (void *)(intptr_t)uc_cq_next(cq, NO_BOUND, &event, NULL);
}

static void a_free_or_a_wake_ends_the_waiting(void) {
  uc_cq_t *cq = NULL;
  pthread_t threads[3];
  void *status = NULL;
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  pthread_create(&threads[0], NULL, wait_for_an_event, cq);
  fixture_sleep_ms(50);
  uc_cq_wake(cq);
  pthread_join(threads[0], &status);
  CHECK((intptr_t)status == UC_ERR_TIMEOUT);
  for (int i = 0; i < 3; i++) { pthread_create(&threads[i], NULL, wait_for_an_event, cq); }
  fixture_sleep_ms(50);
  uc_cq_free(cq);
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], &status);
    CHECK((intptr_t)status == UC_ERR_CLOSED);
  }
}

static void a_queue_may_go_before_its_submissions(void) {
  const char *folder = fixture_folder();
  uc_storage_t *storage = fixture_storage(folder);
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_segment_files_t files = fixture_files();
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  for (uint8_t i = 0; i < 4; i++) {
    uc_segment_t segment = fixture_segment(i);
    EXPECT(UC_OK, uc_storage_copy_submit(storage, &segment, &files, cq, i, &error));
  }
  uc_cq_free(cq);
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  uc_storage_free(storage);
  CHECK(fixture_has_files(folder, 0));
}

static void an_event_is_not_lost_to_a_wrong_struct(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_cq_t *cq = NULL;
  uc_event_t event = {.struct_size = 16};
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_OK, uc_storage_delete_submit(storage, NULL, 0, cq, 5, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_cq_next(cq, 10000, &event, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_cq_next(cq, 10000, NULL, &error));
  event.struct_size = sizeof event;
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.tag == 5);
  uc_storage_free(storage);
  uc_cq_free(cq);
}

void test_cq(void) {
  RUN(each_submission_gives_exactly_one_event);
  RUN(a_refused_submission_gives_no_event);
  RUN(a_cancelled_copy_says_so_once_and_leaves_no_object);
  RUN(the_descriptor_is_readable_while_there_is_an_event);
  RUN(a_free_or_a_wake_ends_the_waiting);
  RUN(a_queue_may_go_before_its_submissions);
  RUN(an_event_is_not_lost_to_a_wrong_struct);
}
