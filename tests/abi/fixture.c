#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "fixture.h"
#include "check.h"

#include <dirent.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char root[512];
static char folders[128][600];
static int folder_count;
static char paths[5][700];
static int count;

static const char *const INDEX_TEXTS[] = {"offsets of records", "timestamps of records", "what producers did last",
                                          "aborted transactions", "0\n1\n0 0\n"};
static const char *const FILE_NAMES[] = {"seg.index", "seg.timeindex", "seg.snapshot", "seg.txnindex", "seg.log"};
static const uc_leader_epoch_t EPOCHS[256] = {{0, 0, 0}};

static int write_file(const char *path, const void *bytes, size_t len) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) { return -1; }
  size_t written = fwrite(bytes, 1, len, file);
  return fclose(file) == 0 && written == len ? 0 : -1;
}

uint8_t fixture_log_byte(size_t i) { return (uint8_t)((i * 2654435761u) >> 13); }

const char *fixture_index_text(int32_t index_type) { return INDEX_TEXTS[index_type]; }

int fixture_open(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/undercroft-abi-XXXXXX", tmp != NULL ? tmp : "/tmp");
  if (mkdtemp(root) == NULL) { return -1; }
  uint8_t *log = malloc(LOG_BYTES);
  if (log == NULL) { return -1; }
  for (size_t i = 0; i < LOG_BYTES; i++) { log[i] = fixture_log_byte(i); }
  int outcome = 0;
  for (int i = 0; i < 5; i++) {
    snprintf(paths[i], sizeof paths[i], "%s/%s", root, FILE_NAMES[i]);
    outcome |= i == 4 ? write_file(paths[i], log, LOG_BYTES) : write_file(paths[i], INDEX_TEXTS[i], strlen(INDEX_TEXTS[i]));
  }
  free(log);
  return outcome;
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at) {
  (void)s, (void)type, (void)at;
  return remove(path);
}

void fixture_close(void) { nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

const char *fixture_folder(void) {
  char *folder = folders[folder_count];
  snprintf(folder, sizeof folders[0], "%s/folder-%d", root, folder_count);
  folder_count++;
  if (mkdir(folder, 0755) != 0) { check_fail(__FILE__, __LINE__, "a folder can be made"); }
  return folder;
}

static int count_one(const char *path, const struct stat *s, int type, struct FTW *at) {
  (void)path, (void)s, (void)at;
  count += type == FTW_F;
  return 0;
}

int fixture_count_files(const char *folder) {
  count = 0;
  nftw(folder, count_one, 16, FTW_PHYS);
  return count;
}

static int print_one(const char *path, const struct stat *s, int type, struct FTW *at) {
  (void)s, (void)at;
  if (type == FTW_F) { fprintf(stderr, "  there is %s\n", path); }
  return 0;
}

int fixture_has_files(const char *folder, int expected) {
  /* An open store may be trying whether it can write: its object is gone in a moment. */
  for (int i = 0; i < 100; i++) {
    if (fixture_count_files(folder) == expected) { return 1; }
    usleep(20000);
  }
  nftw(folder, print_one, 16, FTW_PHYS);
  return 0;
}

/* Calls `each` with the name of every thread; answers how many times that was not 0. */
static int count_threads(int (*each)(const char *name, const char *argument), const char *argument) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) { return -1; }
  for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
    char path[300];
    char name[32] = "";
    if (entry->d_name[0] == '.') { continue; }
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(name, sizeof name, file) == NULL) { name[0] = '\0'; }
    if (file != NULL) { fclose(file); }
    count += each(name, argument);
  }
  closedir(tasks);
  return count;
}

static int is_any(const char *name, const char *argument) {
  (void)name;
  (void)argument;
  return 1;
}

static int begins_so(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static int print_thread(const char *name, const char *argument) {
  (void)argument;
  fprintf(stderr, "  there is thread %s\n", name);
  return 1;
}

int fixture_threads(void) { return count_threads(is_any, NULL); }

int fixture_threads_named(const char *prefix) { return count_threads(begins_so, prefix); }

int fixture_threads_at_rest(void) {
  int last = -1;
  for (int i = 0; i < 500; i++) {
    int now = fixture_threads();
    if (now == last && fixture_threads_named("undercroft-") == 0) { break; }
    last = now;
    fixture_sleep_ms(10);
  }
  return last;
}

int fixture_has_threads(int expected) {
  for (int i = 0; i < 100; i++) {
    if (fixture_threads() == expected) { return 1; }
    fixture_sleep_ms(1);
  }
  count_threads(print_thread, NULL);
  return 0;
}

void fixture_sleep_ms(int ms) {
  struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

int64_t fixture_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uc_segment_files_t fixture_files(void) {
  uc_segment_files_t files = {.struct_size = sizeof files};
  files.log = paths[4], files.log_len = strlen(paths[4]);
  files.offset_index = paths[0], files.offset_index_len = strlen(paths[0]);
  files.time_index = paths[1], files.time_index_len = strlen(paths[1]);
  files.transaction_index = paths[3], files.transaction_index_len = strlen(paths[3]);
  files.producer_snapshot = paths[2], files.producer_snapshot_len = strlen(paths[2]);
  files.leader_epochs = (const uint8_t *)INDEX_TEXTS[4], files.leader_epochs_len = strlen(INDEX_TEXTS[4]);
  return files;
}

uc_partition_t fixture_partition(void) {
  uc_partition_t partition = {.struct_size = sizeof partition, .partition = 3, .topic = "orders", .topic_len = 6};
  memset(partition.topic_id, 0x11, 16);
  return partition;
}

uc_segment_t fixture_segment(uint8_t n) {
  static uc_leader_epoch_t epochs[256];
  uc_partition_t partition = fixture_partition();
  uc_segment_t segment = {.struct_size = sizeof segment, .partition = partition.partition};
  memcpy(segment.topic_id, partition.topic_id, 16);
  memset(segment.segment_id, n + 1, 16);
  segment.topic = partition.topic, segment.topic_len = partition.topic_len;
  segment.start_offset = n * 100, segment.end_offset = n * 100 + 99;
  segment.max_timestamp_ms = 1700000000000, segment.event_timestamp_ms = 1700000000001;
  segment.broker_id = 1, segment.size_bytes = (int32_t)LOG_BYTES, segment.state = UC_COPY_SEGMENT_STARTED;
  epochs[n] = EPOCHS[0];
  epochs[n].start_offset = segment.start_offset;
  segment.leader_epochs = &epochs[n], segment.leader_epochs_len = 1;
  return segment;
}

void fixture_copy(const uc_storage_t *storage, uc_segment_t *segment) {
  static uint8_t kept[256][128];
  static int kept_count;
  uc_segment_files_t files = fixture_files();
  uc_buf_t *custom = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  EXPECT(UC_OK, uc_storage_copy(storage, segment, &files, 60000, &custom, &error));
  if (custom == NULL) { return; }
  CHECK(uc_buf_view(custom, &bytes, &len) == UC_OK);
  REQUIRE(len <= 128 && kept_count < 256);
  memcpy(kept[kept_count], bytes, len);
  uc_buf_free(custom);
  segment->flags |= UC_SEGMENT_HAS_CUSTOM_METADATA;
  segment->custom_metadata = kept[kept_count++], segment->custom_metadata_len = len;
}

uc_segment_update_t fixture_update(const uc_segment_t *segment, int32_t state) {
  uc_segment_update_t update = {.struct_size = sizeof update, .partition = segment->partition};
  memcpy(update.topic_id, segment->topic_id, 16);
  memcpy(update.segment_id, segment->segment_id, 16);
  update.topic = segment->topic, update.topic_len = segment->topic_len;
  update.event_timestamp_ms = segment->event_timestamp_ms + state, update.broker_id = 1, update.state = state;
  return update;
}

uc_config_t *fixture_config(const char *const *pairs) {
  uc_config_t *config = NULL;
  EXPECT(UC_OK, uc_config_new(&config, &error));
  for (size_t i = 0; pairs[i] != NULL; i += 2) {
    EXPECT(UC_OK, uc_config_set(config, pairs[i], strlen(pairs[i]), pairs[i + 1], strlen(pairs[i + 1]), &error));
  }
  return config;
}

uc_storage_t *fixture_storage(const char *folder) {
  const char *const pairs[] = {"storage.backend.class", "filesystem", "storage.root", folder, NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_storage_t *storage = NULL;
  EXPECT(UC_OK, uc_storage_open(config, &storage, &error));
  uc_config_free(config);
  return storage;
}

uc_metadata_t *fixture_metadata(const char *folder) {
  const char *const pairs[] = {"undercroft.metadata.log", "embedded", "undercroft.metadata.embedded.path", folder,
                               "broker.id", "1", "log.dir", "/no/kafka-logs", "cluster.id", "abi-tests", NULL};
  uc_config_t *config = fixture_config(pairs);
  uc_metadata_t *metadata = NULL;
  EXPECT(UC_OK, uc_metadata_open(config, &metadata, &error));
  uc_config_free(config);
  return metadata;
}

int fixture_lead(const uc_metadata_t *metadata) {
  uc_partition_t partition = fixture_partition();
  EXPECT(UC_OK, uc_metadata_lead_and_follow(metadata, &partition, 1, NULL, 0, &error));
  for (int i = 0; i < 1000; i++) {
    int32_t is_ready = 0;
    EXPECT(UC_OK, uc_metadata_is_ready(metadata, &partition, &is_ready, &error));
    if (is_ready) { return 0; }
    fixture_sleep_ms(10);
  }
  check_fail(__FILE__, __LINE__, "the partition is ready within ten seconds");
  return -1;
}
