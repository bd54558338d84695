#include "check.h"
#include "fixture.h"

#include <pthread.h>

/* Makes the library say something: a missing folder is worth a warning in the background check. */
static void make_noise(void) {
  const char *const pairs[] = {"storage.backend.class", "filesystem", "storage.root", "/nonexistent/undercroft", NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_storage_t *storage = NULL;
  uc_error_t *error = NULL;
  if (uc_storage_open(config, &storage, &error) == UC_OK) {
    uc_error_t *second = NULL;
    uc_storage_check(storage, 5000, &second);
    uc_error_free(second);
    fixture_sleep_ms(100);
    EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  }
  uc_error_free(error);
  uc_storage_free(storage);
  uc_config_free(config);
}

static void a_warning_comes_with_level_time_target_and_text(void) {
  uc_log_t *log = NULL;
  EXPECT(UC_OK, uc_log_open(UC_LOG_WARN, 0, &log, &error));
  make_noise();
  uc_log_record_t record = {.struct_size = sizeof record};
  EXPECT(UC_OK, uc_log_next(log, 5000, &record, &error));
  CHECK(record.struct_size == sizeof record);
  CHECK(record.level == UC_LOG_WARN);
  CHECK(record.timestamp_ms > 1700000000000);
  CHECK(record.target_len == 19 && memcmp(record.target, "undercroft::storage", 19) == 0);
  CHECK(record.message_len > 0 && record.dropped == 0);
  uc_log_free(log);
}

static void nothing_is_kept_while_no_log_is_open_or_its_level_is_off(void) {
  make_noise();
  uc_log_t *log = NULL;
  uc_log_record_t record = {.struct_size = sizeof record};
  EXPECT(UC_OK, uc_log_open(UC_LOG_WARN, 0, &log, &error));
  EXPECT(UC_ERR_TIMEOUT, uc_log_next(log, 0, &record, &error));
  EXPECT(UC_OK, uc_log_set_level(log, UC_LOG_OFF, &error));
  make_noise();
  EXPECT(UC_ERR_TIMEOUT, uc_log_next(log, 0, &record, &error));
  EXPECT(UC_OK, uc_log_set_level(log, UC_LOG_WARN, &error));
  make_noise();
  EXPECT(UC_OK, uc_log_next(log, 5000, &record, &error));
  uc_log_free(log);
}

static void the_oldest_is_dropped_and_counted(void) {
  uc_log_t *log = NULL;
  uc_log_record_t record = {.struct_size = sizeof record};
  EXPECT(UC_OK, uc_log_open(UC_LOG_WARN, 1, &log, &error));
  for (int i = 0; i < 3; i++) { make_noise(); }
  EXPECT(UC_OK, uc_log_next(log, 5000, &record, &error));
  CHECK(record.dropped >= 2);
  EXPECT(UC_ERR_TIMEOUT, uc_log_next(log, 0, &record, &error));
  uc_log_free(log);
}

static void *wait_for_a_record(void *log) {
  uc_log_record_t record = {.struct_size = sizeof record};
  uc_status_t status = uc_log_next(log, NO_BOUND, &record, NULL);
  return (void *)(intptr_t)status;
}

static void a_free_wakes_who_waits(void) {
  uc_log_t *log = NULL;
  pthread_t thread;
  void *status = NULL;
  EXPECT(UC_OK, uc_log_open(UC_LOG_OFF, 0, &log, &error));
  pthread_create(&thread, NULL, wait_for_a_record, log);
  fixture_sleep_ms(50);
  uc_log_free(log);
  pthread_join(thread, &status);
  CHECK((intptr_t)status == UC_ERR_CLOSED);
}

static void wrong_calls_are_refused(void) {
  uc_log_t *log = NULL;
  uc_log_record_t record = {.struct_size = 8};
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_open(6, 0, &log, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_open(-1, 0, &log, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_open(UC_LOG_INFO, 0, NULL, &error));
  EXPECT(UC_OK, uc_log_open(UC_LOG_INFO, 0, &log, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_set_level(log, 17, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_next(log, 0, &record, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_log_next(log, 0, NULL, &error));
  uc_log_free(log);
}

void test_log(void) {
  RUN(a_warning_comes_with_level_time_target_and_text);
  RUN(nothing_is_kept_while_no_log_is_open_or_its_level_is_off);
  RUN(the_oldest_is_dropped_and_counted);
  RUN(a_free_wakes_who_waits);
  RUN(wrong_calls_are_refused);
}
