/*
 * Copies a file as a segment into a folder and reads it back.
 *
 *   copy_and_read <folder of the store> <file> <where to put what was read>
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "undercroft.h"

/* Ends the program with the message of an error. A status goes into a variable first: as an argument beside `error`,
 * the call might be made after `error` was looked at. */
static void check(uc_status_t status, uc_error_t *error) {
  if (status == UC_OK) { return; }
  const char *text = "";
  size_t len = 0;
  uc_error_message(error, &text, &len);
  fprintf(stderr, "%s: %.*s\n", uc_status_name(status), (int)len, text);
  uc_error_free(error);
  exit(1);
}

static void set(uc_config_t *config, const char *key, const char *value) {
  uc_error_t *error = NULL;
  uc_status_t status = uc_config_set(config, key, strlen(key), value, strlen(value), &error);
  check(status, error);
}

static long size_of(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    exit(1);
  }
  long size = ftell(file);
  fclose(file);
  return size;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s <folder of the store> <file> <where to put what was read>\n", argv[0]);
    return 2;
  }
  if (uc_abi_version() < UC_ABI_VERSION) {
    fprintf(stderr, "the library has ABI %u, this program needs %d\n", uc_abi_version(), UC_ABI_VERSION);
    return 2;
  }
  uc_status_t status = UC_OK;
  uc_error_t *error = NULL;

  /* A manager on a folder. */
  uc_config_t *config = NULL;
  uc_storage_t *storage = NULL;
  status = uc_config_new(&config, &error);
  check(status, error);
  set(config, "storage.backend.class", "filesystem");
  set(config, "storage.root", argv[1]);
  status = uc_storage_open(config, &storage, &error);
  check(status, error);
  uc_config_free(config);

  /* What a broker knows of the segment. The file serves as its own indexes here; a broker has one of each. */
  const char *path = argv[2];
  uc_leader_epoch_t epoch = {.epoch = 0, .start_offset = 0};
  uc_segment_t segment = {.struct_size = sizeof segment, .topic = "orders", .topic_len = strlen("orders")};
  memset(segment.topic_id, 1, sizeof segment.topic_id);
  memset(segment.segment_id, 2, sizeof segment.segment_id);
  segment.end_offset = 999;
  segment.size_bytes = (int32_t)size_of(path);
  segment.leader_epochs = &epoch;
  segment.leader_epochs_len = 1;
  uc_segment_files_t files = {.struct_size = sizeof files};
  files.log = files.offset_index = files.time_index = files.producer_snapshot = path;
  files.log_len = files.offset_index_len = files.time_index_len = files.producer_snapshot_len = strlen(path);
  files.leader_epochs = (const uint8_t *)"0\n1\n0 0\n";
  files.leader_epochs_len = 8;

  /* Copy it. What the copy answers belongs to the segment from now on. */
  uc_buf_t *custom_metadata = NULL;
  status = uc_storage_copy(storage, &segment, &files, 60000, &custom_metadata, &error);
  check(status, error);
  if (custom_metadata != NULL) {
    segment.flags |= UC_SEGMENT_HAS_CUSTOM_METADATA;
    uc_buf_view(custom_metadata, &segment.custom_metadata, &segment.custom_metadata_len);
  }

  /* Read it back. */
  uc_reader_t *reader = NULL;
  status = uc_storage_fetch(storage, &segment, 0, UINT64_MAX, &reader, &error);
  check(status, error);
  FILE *out = fopen(argv[3], "wb");
  if (out == NULL) {
    perror(argv[3]);
    return 1;
  }
  static uint8_t bytes[65536];
  size_t got = 0;
  size_t total = 0;
  do {
    status = uc_reader_read(reader, bytes, sizeof bytes, 30000, &got, &error);
    check(status, error);
    total += fwrite(bytes, 1, got, out);
  } while (got > 0);
  fclose(out);
  printf("%zu bytes copied and read back\n", total);

  uc_reader_free(reader);
  uc_buf_free(custom_metadata);
  status = uc_storage_close(storage, 10000, &error);
  check(status, error);
  uc_storage_free(storage);
  return 0;
}
