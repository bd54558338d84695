#include "check.h"

static void the_library_and_the_header_say_the_same_version(void) {
  char expected[64];
  snprintf(expected, sizeof expected, "%d.%d.%d", UNDERCROFT_VERSION_MAJOR, UNDERCROFT_VERSION_MINOR,
           UNDERCROFT_VERSION_PATCH);
  CHECK(strncmp(uc_version(), expected, strlen(expected)) == 0);
  CHECK(strcmp(uc_version(), UNDERCROFT_VERSION) == 0);
  CHECK(uc_abi_version() == UC_ABI_VERSION);
  CHECK(strcmp(uc_build_id(), UC_BUILD_ID) == 0);
}

static void every_status_has_a_name(void) {
  CHECK(strcmp(uc_status_name(UC_OK), "UC_OK") == 0);
  CHECK(strcmp(uc_status_name(UC_ERR_LOG_MISMATCH), "UC_ERR_LOG_MISMATCH") == 0);
  CHECK(strcmp(uc_status_name(-7), "UC_ERR_?") == 0);
  CHECK(strcmp(uc_status_name(INT32_MAX), "UC_ERR_?") == 0);
}

void test_version(void) {
  RUN(the_library_and_the_header_say_the_same_version);
  RUN(every_status_has_a_name);
}
