#include "check.h"

enum { NOW = 1000000 };

/* Follows nothing and has no limit of its own: each test sets what it is about. */
static uc_tiering_copy_t copy_of_age(int64_t age_ms) {
  return (uc_tiering_copy_t){.struct_size = sizeof(uc_tiering_copy_t),
                             .now_ms = NOW,
                             .max_timestamp_ms = NOW - age_ms,
                             .bytes_behind = 50,
                             .lag_ms = 100,
                             .lag_bytes = -1,
                             .local_retention_ms = -2,
                             .local_retention_bytes = -2,
                             .retention_ms = -1,
                             .retention_bytes = -1};
}

static int32_t eligible(uc_tiering_copy_t copy) {
  int32_t is_eligible = 7;
  EXPECT(UC_OK, uc_tiering_copy_eligible(&copy, &is_eligible, &error));
  return is_eligible;
}

static void a_segment_is_held_back_until_one_of_its_limits_is_reached(void) {
  CHECK(eligible(copy_of_age(99)) == 0);
  CHECK(eligible(copy_of_age(100)) == 1);
  uc_tiering_copy_t copy = copy_of_age(0);
  copy.lag_bytes = 51;
  CHECK(eligible(copy) == 0);
  copy.lag_bytes = 50;
  CHECK(eligible(copy) == 1);
}

static void no_limit_is_above_the_local_retention_and_minus_one_follows_it(void) {
  uc_tiering_copy_t copy = copy_of_age(60);
  copy.local_retention_ms = 60;
  CHECK(eligible(copy) == 1);
  copy.lag_ms = -1;
  CHECK(eligible(copy) == 1);
  copy.local_retention_ms = 61;
  CHECK(eligible(copy) == 0);
  copy.local_retention_ms = -2, copy.retention_ms = 60;
  CHECK(eligible(copy) == 1);
  copy.retention_ms = -1;
  CHECK(eligible(copy) == 0);
}

static void what_is_zero_or_not_known_is_eligible(void) {
  uc_tiering_copy_t copy = {.struct_size = sizeof copy};
  CHECK(eligible(copy) == 1);
  copy = copy_of_age(0);
  copy.lag_bytes = 0;
  CHECK(eligible(copy) == 1);
  copy = copy_of_age(0);
  copy.max_timestamp_ms = -1;
  CHECK(eligible(copy) == 1);
  copy = copy_of_age(0);
  copy.lag_bytes = 100, copy.bytes_behind = -1;
  CHECK(eligible(copy) == 1);
}

static void what_is_not_allowed_is_said_and_nothing_is_written(void) {
  int32_t is_eligible = 7;
  uc_tiering_copy_t copy = copy_of_age(0);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_tiering_copy_eligible(NULL, &is_eligible, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_tiering_copy_eligible(&copy, NULL, &error));
  CHECK(uc_tiering_copy_eligible(NULL, NULL, NULL) == UC_ERR_INVALID_ARGUMENT);
  copy.struct_size = sizeof copy - 1;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_tiering_copy_eligible(&copy, &is_eligible, &error));
  int64_t too_small[] = {-2, -2, -3, -3, -2, -2};
  for (int i = 0; i < 6; i++) {
    copy = copy_of_age(0);
    int64_t *fields[] = {&copy.lag_ms,         &copy.lag_bytes,    &copy.local_retention_ms, &copy.local_retention_bytes,
                         &copy.retention_ms, &copy.retention_bytes};
    *fields[i] = too_small[i];
    EXPECT(UC_ERR_INVALID_ARGUMENT, uc_tiering_copy_eligible(&copy, &is_eligible, &error));
  }
  CHECK(is_eligible == 7);
}

void test_tiering(void) {
  RUN(a_segment_is_held_back_until_one_of_its_limits_is_reached);
  RUN(no_limit_is_above_the_local_retention_and_minus_one_follows_it);
  RUN(what_is_zero_or_not_known_is_eligible);
  RUN(what_is_not_allowed_is_said_and_nothing_is_written);
}
