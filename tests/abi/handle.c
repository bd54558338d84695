/* Whatever is passed for a handle, the answer is a status. */
#include "check.h"
#include "fixture.h"

static void call_everything(void *handle) {
  const uint8_t *bytes = NULL;
  const char *text = NULL;
  size_t len = 0;
  double value = 0;
  uc_partition_t partition = fixture_partition();
  uc_segment_t segment = fixture_segment(0);
  uc_segment_update_t update = fixture_update(&segment, UC_COPY_SEGMENT_FINISHED);
  uc_segment_files_t files = fixture_files();
  uc_buf_t *buf = NULL;
  uc_reader_t *reader = NULL;
  uc_segments_t *segments = NULL;
  uc_metrics_t *metrics = NULL;
  uc_storage_t *storage = NULL;
  uc_metadata_t *metadata = NULL;
  uc_event_t event = {.struct_size = sizeof event};
  uc_log_record_t record = {.struct_size = sizeof record};
  int32_t number = 0;
  int64_t offset = 0;
  uint64_t size = 0;
  uint8_t place[8];

  CHECK(uc_error_code(handle) == UC_ERR_CLOSED);
  CHECK(uc_error_is_retriable(handle) == 0);
  CHECK(uc_error_message(handle, &text, &len) == UC_ERR_CLOSED);
  CHECK(uc_buf_view(handle, &bytes, &len) == UC_ERR_CLOSED);
  EXPECT(UC_ERR_CLOSED, uc_buf_clone(handle, &buf, &error));
  EXPECT(UC_ERR_CLOSED, uc_config_set(handle, TEXT("k"), TEXT("v"), &error));
  EXPECT(UC_ERR_CLOSED, uc_config_check(handle, 0, NULL, &error));
  EXPECT(UC_ERR_CLOSED, uc_log_set_level(handle, UC_LOG_INFO, &error));
  EXPECT(UC_ERR_CLOSED, uc_log_next(handle, 0, &record, &error));
  EXPECT(UC_ERR_CLOSED, uc_cq_next(handle, 0, &event, &error));
  EXPECT(UC_ERR_CLOSED, uc_cq_fd(handle, &number, &error));
  EXPECT(UC_ERR_CLOSED, uc_cq_cancel(handle, 1, &error));
  uc_cq_wake(handle);
  EXPECT(UC_ERR_CLOSED, uc_metrics_describe(handle, &buf, &error));
  EXPECT(UC_ERR_CLOSED, uc_metrics_read(handle, &value, 1, &len, &error));
  EXPECT(UC_ERR_CLOSED, uc_metrics_prometheus(handle, &buf, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_open(handle, &storage, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_copy(handle, &segment, &files, 0, &buf, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_copy_submit(handle, &segment, &files, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_fetch(handle, &segment, 0, UINT64_MAX, &reader, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_fetch_index(handle, &segment, 0, 0, &buf, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_fetch_index_submit(handle, &segment, 0, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_delete(handle, &segment, 1, 0, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_delete_submit(handle, &segment, 1, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_check(handle, 0, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_metrics(handle, &metrics, &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_close(handle, 0, &error));
  EXPECT(UC_ERR_CLOSED, uc_reader_read(handle, place, sizeof place, 0, &len, &error));
  uc_reader_cancel(handle);
  EXPECT(UC_ERR_CLOSED, uc_metadata_open(handle, &metadata, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_lead_and_follow(handle, &partition, 1, NULL, 0, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_stop(handle, &partition, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_is_ready(handle, &partition, &number, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_add(handle, &segment, 0, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_update(handle, &update, 0, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_put_partition_delete(handle, &partition, 1, 0, 0, 0, handle, 1, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_find(handle, &partition, 0, 0, &segments, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_next_with_txn_index(handle, &partition, 0, 0, &segments, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_highest_offset(handle, &partition, 0, &offset, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_list(handle, &partition, -1, &segments, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_size(handle, &partition, 0, &size, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_metrics(handle, &metrics, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_close(handle, 0, &error));
  CHECK(uc_segments_len(handle, &len) == UC_ERR_CLOSED);
  EXPECT(UC_ERR_CLOSED, uc_segments_get(handle, 0, &segment, &error));
  CHECK(buf == NULL && reader == NULL && segments == NULL && metrics == NULL && storage == NULL && metadata == NULL);

  uc_error_free(handle);
  uc_buf_free(handle);
  uc_config_free(handle);
  uc_log_free(handle);
  uc_cq_free(handle);
  uc_metrics_free(handle);
  uc_storage_free(handle);
  uc_reader_free(handle);
  uc_metadata_free(handle);
  uc_segments_free(handle);
}

static void null_is_closed_everywhere(void) { call_everything(NULL); }

static void made_up_pointers_are_closed_everywhere(void) {
  int here = 0;
  call_everything(&here);
  call_everything((void *)(uintptr_t)1);
  call_everything((void *)UINTPTR_MAX);
  uint64_t random = 88172645463325252u;
  for (int i = 0; i < 50; i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    call_everything((void *)(uintptr_t)random);
    /* Also such as look right: a kind, a young generation, a low slot. */
    call_everything((void *)(uintptr_t)(((0xC1u + (uint64_t)i % 10) << 56) | (0xFFFFFFFFull << 24) | (unsigned)i));
  }
}

static void a_freed_handle_is_closed_everywhere_also_when_its_slot_is_used_again(void) {
  uc_config_t *old = NULL;
  EXPECT(UC_OK, uc_config_new(&old, &error));
  uc_config_free(old);
  uc_config_t *others[64] = {NULL};
  for (int i = 0; i < 64; i++) { EXPECT(UC_OK, uc_config_new(&others[i], &error)); }
  call_everything(old);
  for (int i = 0; i < 64; i++) {
    CHECK(others[i] != old);
    EXPECT(UC_OK, uc_config_set(others[i], TEXT("k"), TEXT("v"), &error));
    uc_config_free(others[i]);
    uc_config_free(others[i]);
  }
}

static void a_handle_of_another_type_is_closed_and_not_freed(void) {
  uc_cq_t *cq = NULL;
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_ERR_CLOSED, uc_config_set((uc_config_t *)cq, TEXT("k"), TEXT("v"), &error));
  EXPECT(UC_ERR_CLOSED, uc_storage_close((uc_storage_t *)cq, 0, &error));
  uc_config_free((uc_config_t *)cq);
  uc_reader_free((uc_reader_t *)cq);
  uc_storage_free((uc_storage_t *)cq);
  uc_event_t event = {.struct_size = sizeof event};
  EXPECT(UC_ERR_TIMEOUT, uc_cq_next(cq, 0, &event, &error));
  uc_cq_free(cq);
}

void test_handle(void) {
  RUN(null_is_closed_everywhere);
  RUN(made_up_pointers_are_closed_everywhere);
  RUN(a_freed_handle_is_closed_everywhere_also_when_its_slot_is_used_again);
  RUN(a_handle_of_another_type_is_closed_and_not_freed);
}
