#include "check.h"
#include "fixture.h"

static void metrics_are_described_read_and_printed_also_after_the_close(void) {
  uc_storage_t *storage = fixture_storage(fixture_folder());
  REQUIRE(storage != NULL);
  uc_metrics_t *metrics = NULL;
  uc_buf_t *json = NULL;
  uc_buf_t *text = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  size_t count = 0;
  size_t objects = 0;
  double values[512];
  EXPECT(UC_OK, uc_storage_metrics(storage, &metrics, &error));
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  uc_storage_free(storage);
  EXPECT(UC_OK, uc_metrics_describe(metrics, &json, &error));
  CHECK(uc_buf_view(json, &bytes, &len) == UC_OK && len > 2 && bytes[0] == '[');
  for (size_t i = 0; i + 8 <= len; i++) { objects += memcmp(bytes + i, "\"group\":", 8) == 0; }
  EXPECT(UC_OK, uc_metrics_read(metrics, NULL, 0, &count, &error));
  CHECK(count == objects && count > 0 && count <= 512);
  values[0] = -1, values[1] = -1;
  EXPECT(UC_OK, uc_metrics_read(metrics, values, 1, &count, &error));
  CHECK(count == objects && values[0] >= 0 && values[1] < 0);
  EXPECT(UC_OK, uc_metrics_read(metrics, values, 512, &count, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metrics_read(metrics, NULL, 1, &count, &error));
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metrics_read(metrics, values, 1, NULL, &error));
  uint64_t generation = 99;
  EXPECT(UC_OK, uc_metrics_generation(metrics, &generation, &error));
  uint64_t later = 98;
  EXPECT(UC_OK, uc_metrics_generation(metrics, &later, &error));
  CHECK(generation == later);
  EXPECT(UC_ERR_INVALID_ARGUMENT, uc_metrics_generation(metrics, NULL, &error));
  EXPECT(UC_OK, uc_metrics_prometheus(metrics, &text, &error));
  CHECK(uc_buf_view(text, &bytes, &len) == UC_OK && len > 6 && memcmp(bytes, "# HELP", 6) == 0);
  uc_buf_free(json);
  uc_buf_free(text);
  uc_metrics_free(metrics);
  EXPECT(UC_ERR_CLOSED, uc_metrics_generation(metrics, &generation, &error));
  EXPECT(UC_ERR_CLOSED, uc_metrics_read(metrics, values, 1, &count, &error));
}

void test_metrics(void) { RUN(metrics_are_described_read_and_printed_also_after_the_close); }
