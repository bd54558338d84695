#include "check.h"

static void an_error_tells_code_text_and_whether_to_retry(void) {
  uc_error_t *error = NULL;
  CHECK(uc_config_new(NULL, &error) == UC_ERR_INVALID_ARGUMENT);
  REQUIRE(error != NULL);
  const char *text = NULL;
  size_t len = 0;
  CHECK(uc_error_code(error) == UC_ERR_INVALID_ARGUMENT);
  CHECK(uc_error_is_retriable(error) == 0);
  CHECK(uc_error_message(error, &text, &len) == UC_OK);
  CHECK(len == strlen("config_out is null") && memcmp(text, "config_out is null", len) == 0);
  CHECK(uc_error_message(error, NULL, &len) == UC_ERR_INVALID_ARGUMENT);
  CHECK(uc_error_message(error, &text, NULL) == UC_ERR_INVALID_ARGUMENT);
  uc_error_free(error);
  CHECK(uc_error_code(error) == UC_ERR_CLOSED);
  CHECK(uc_error_is_retriable(error) == 0);
  CHECK(uc_error_message(error, &text, &len) == UC_ERR_CLOSED);
  uc_error_free(error);
}

static void a_timeout_is_retriable(void) {
  uc_cq_t *cq = NULL;
  uc_error_t *error = NULL;
  CHECK(uc_cq_new(&cq, NULL) == UC_OK);
  uc_event_t event = {.struct_size = sizeof event};
  CHECK(uc_cq_next(cq, 0, &event, &error) == UC_ERR_TIMEOUT);
  CHECK(uc_error_is_retriable(error) == 1);
  uc_error_free(error);
  uc_cq_free(cq);
}

static void success_clears_the_error(void) {
  uc_error_t *error = (uc_error_t *)(uintptr_t)0x1234;
  uc_config_t *config = NULL;
  CHECK(uc_config_new(&config, &error) == UC_OK);
  CHECK(error == NULL);
  uc_config_free(config);
}

void test_error(void) {
  RUN(an_error_tells_code_text_and_whether_to_retry);
  RUN(a_timeout_is_retriable);
  RUN(success_clears_the_error);
}
