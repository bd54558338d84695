#include "check.h"
#include "fixture.h"

#include <stdlib.h>
#include <time.h>

static int failures_of_test;
static int passed;
static int failed;

/* What is wrong in a loop is said a few times. */
enum { SAID_MAX = 20 };

void check_fail(const char *file, int line, const char *what) {
  if (__atomic_add_fetch(&failures_of_test, 1, __ATOMIC_SEQ_CST) > SAID_MAX) { return; }
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
}

int check_status(const char *file, int line, const char *call, uc_status_t expected, uc_status_t status,
                 uc_error_t *error) {
  int is_right = status == expected;
  if (!is_right) {
    const char *text = "";
    size_t len = 0;
    if (error != NULL) { uc_error_message(error, &text, &len); }
    if (__atomic_add_fetch(&failures_of_test, 1, __ATOMIC_SEQ_CST) <= SAID_MAX) {
      fprintf(stderr, "%s:%d: %s is %s, not %s: %.*s\n", file, line, call, uc_status_name(status),
              uc_status_name(expected), (int)len, text);
    }
  }
  /* An error comes with every status but UC_OK, and says the same. */
  if ((status == UC_OK) != (error == NULL)) { check_fail(file, line, "an error comes with a failure alone"); }
  if (error != NULL && uc_error_code(error) != status) { check_fail(file, line, "error and status agree"); }
  uc_error_free(error);
  return is_right;
}

void check_run(const char *name, void (*test)(void)) {
  struct timespec from;
  struct timespec to;
  failures_of_test = 0;
  clock_gettime(CLOCK_MONOTONIC, &from);
  test();
  clock_gettime(CLOCK_MONOTONIC, &to);
  long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
  printf("%s %s (%ld ms)\n", failures_of_test == 0 ? "ok    " : "FAILED", name, ms);
  fflush(stdout);
  if (failures_of_test == 0) {
    passed++;
  } else {
    failed++;
  }
}

int check_report(void) {
  printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;
}

int main(void) {
  if (fixture_open() != 0) {
    fprintf(stderr, "no folder for the tests to be had under %s\n", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    return 2;
  }
  test_version();
  test_error();
  test_config();
  test_handle();
  test_log();
  test_cq();
  test_metrics();
  test_storage();
  test_reader();
  test_metadata();
  test_joint();
  test_tiering();
  test_close();
  fixture_close();
  return check_report();
}
