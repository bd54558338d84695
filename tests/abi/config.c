#include "check.h"
#include "fixture.h"

static int contains(uc_buf_t *buf, const char *text) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  size_t wanted = strlen(text);
  if (uc_buf_view(buf, &bytes, &len) != UC_OK) { return 0; }
  for (size_t i = 0; i + wanted <= len; i++) {
    if (memcmp(bytes + i, text, wanted) == 0) { return 1; }
  }
  return 0;
}

static void an_unknown_key_is_a_warning_that_knows_the_near_one(void) {
  const char *const pairs[] = {"storage.backend.clas", "filesystem", NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_buf_t *warnings = NULL;
  EXPECT(UC_OK, uc_config_check(config, UC_SIDE_STORAGE, &warnings, &error));
  CHECK(contains(warnings, "\"key\":\"storage.backend.clas\""));
  CHECK(contains(warnings, "\"did_you_mean\":\"storage.backend.class\""));
  uc_buf_free(warnings);
  EXPECT(UC_OK, uc_config_check(config, UC_SIDE_STORAGE, NULL, &error));
  uc_config_free(config);
}

static void keys_of_a_client_are_nobodys_to_warn_of(void) {
  const char *const pairs[] = {"remote.log.metadata.common.client.a", "1", "remote.log.metadata.admin.b",    "2",
                               "remote.log.metadata.producer.c",      "3", "remote.log.metadata.consumer.d", "4",
                               NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_buf_t *warnings = NULL;
  EXPECT(UC_OK, uc_config_check(config, UC_SIDE_METADATA, &warnings, &error));
  CHECK(contains(warnings, "[]"));
  uc_buf_free(warnings);
  uc_config_free(config);
}

static void a_bad_value_is_named_with_key_and_range(void) {
  const char *const pairs[] = {"undercroft.metadata.log", "stone tablets", NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_error_t *error = NULL;
  CHECK(uc_config_check(config, UC_SIDE_METADATA, NULL, &error) == UC_ERR_CONFIG);
  const char *text = "";
  size_t len = 0;
  uc_error_message(error, &text, &len);
  char copy[512];
  snprintf(copy, sizeof copy, "%.*s", (int)len, text);
  CHECK(strstr(copy, "undercroft.metadata.log") != NULL);
  CHECK(strstr(copy, "stone tablets") != NULL);
  CHECK(strstr(copy, "embedded") != NULL);
  uc_error_free(error);
  uc_metadata_t *metadata = NULL;
  EXPECT(UC_ERR_CONFIG, uc_metadata_open(config, &metadata, &error));
  CHECK(metadata == NULL);
  uc_config_free(config);
}

static void wrong_calls_are_refused(void) {
  uc_config_t *config = NULL;
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_new(NULL, &error));
  EXPECT(UC_OK, uc_config_new(&config, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_set(config, NULL, 3, TEXT("v"), &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_set(config, TEXT("k"), NULL, 3, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_set(config, TEXT(""), TEXT("v"), &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_set(config, "\xff\xfe", 2, TEXT("v"), &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_set(config, "k", SIZE_MAX, TEXT("v"), &error));
  EXPECT(UC_OK, uc_config_set(config, TEXT("k"), NULL, 0, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_check(config, 2, NULL, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_check(config, -1, NULL, &error));
  EXPECT(UC_ERR_CLOSED, uc_config_check(NULL, UC_SIDE_STORAGE, NULL, &error));
  EXPECT(UC_ERR_CLOSED, uc_config_set(NULL, TEXT("k"), TEXT("v"), &error));
  uc_config_free(config);
  EXPECT(UC_ERR_CLOSED, uc_config_set(config, TEXT("k"), TEXT("v"), &error));
}

static void the_reference_names_every_side(void) {
  uc_buf_t *markdown = NULL;
  EXPECT(UC_OK, uc_config_reference(&markdown, &error));
  CHECK(contains(markdown, "storage.backend.class"));
  CHECK(contains(markdown, "undercroft.metadata.log"));
  uc_buf_t *second = NULL;
  EXPECT(UC_OK, uc_buf_clone(markdown, &second, &error));
  uc_buf_free(markdown);
  CHECK(contains(second, "storage.backend.class"));
  uc_buf_free(second);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_config_reference(NULL, &error));
}

void test_config(void) {
  RUN(an_unknown_key_is_a_warning_that_knows_the_near_one);
  RUN(keys_of_a_client_are_nobodys_to_warn_of);
  RUN(a_bad_value_is_named_with_key_and_range);
  RUN(wrong_calls_are_refused);
  RUN(the_reference_names_every_side);
}
