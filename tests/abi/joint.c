/* A storage and a metadata manager that work together, and how they part. */
#include "check.h"
#include "fixture.h"

typedef struct {
  uc_storage_t *storage;
  uc_metadata_t *metadata;
} pair_t;

/* Both of this broker's number; null for none. */
static pair_t open_pair(const char *broker) {
  pair_t pair = {NULL, NULL};
  const char *const of_storage[] = {"storage.backend.class", "filesystem", "storage.root", fixture_folder(),
                                    broker ? "broker.id" : NULL, broker, NULL};
  const char *const of_metadata[] = {"undercroft.metadata.log", "embedded", "undercroft.metadata.embedded.path",
                                     fixture_folder(), broker ? "broker.id" : NULL, broker, NULL};
  uc_config_t *config = fixture_config(of_storage);
  EXPECT(UC_OK, uc_storage_open(config, &pair.storage, &error));
  uc_config_free(config);
  config = fixture_config(of_metadata);
  EXPECT(UC_OK, uc_metadata_open(config, &pair.metadata, &error));
  uc_config_free(config);
  return pair;
}

static void managers_of_one_broker_end_in_any_order(void) {
  int threads = fixture_threads_at_rest();
  for (int order = 0; order < 4; order++) {
    pair_t pair = open_pair("41");
    REQUIRE(pair.storage != NULL && pair.metadata != NULL);
    /* Once more by hand: that is no harm. */
    EXPECT(UC_OK, uc_metadata_join(pair.metadata, pair.storage, &error));
    switch (order) {
      case 0: uc_storage_free(pair.storage), uc_metadata_free(pair.metadata); break;
      case 1: uc_metadata_free(pair.metadata), uc_storage_free(pair.storage); break;
      case 2:
        EXPECT(UC_OK, uc_storage_close(pair.storage, 10000, &error));
        EXPECT(UC_ERR_CLOSED, uc_metadata_join(pair.metadata, pair.storage, &error));
        EXPECT(UC_OK, uc_metadata_close(pair.metadata, 10000, &error));
        uc_storage_free(pair.storage), uc_metadata_free(pair.metadata);
        break;
      default:
        EXPECT(UC_OK, uc_metadata_close(pair.metadata, 10000, &error));
        EXPECT(UC_ERR_CLOSED, uc_metadata_join(pair.metadata, pair.storage, &error));
        EXPECT(UC_OK, uc_storage_close(pair.storage, 10000, &error));
        uc_metadata_free(pair.metadata), uc_storage_free(pair.storage);
    }
    CHECK(fixture_has_threads(threads));
  }
}

static void a_joined_pair_copies_and_tells_as_ever(void) {
  pair_t pair = open_pair(NULL);
  REQUIRE(pair.storage != NULL && pair.metadata != NULL);
  EXPECT(UC_OK, uc_metadata_join(pair.metadata, pair.storage, &error));
  uc_cq_t *cq = NULL;
  uc_event_t event = {.struct_size = sizeof event};
  uc_segment_t segment = fixture_segment(0);
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  REQUIRE(fixture_lead(pair.metadata) == 0);
  EXPECT(UC_OK, uc_metadata_add(pair.metadata, &segment, 5000, cq, 1, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.status == UC_OK);
  fixture_copy(pair.storage, &segment);
  uc_segment_update_t finished = fixture_update(&segment, UC_COPY_SEGMENT_FINISHED);
  EXPECT(UC_OK, uc_metadata_update(pair.metadata, &finished, 5000, cq, 2, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.status == UC_OK);
  EXPECT(UC_OK, uc_storage_delete(pair.storage, &segment, 1, 10000, &error));
  uc_metadata_free(pair.metadata);
  uc_storage_free(pair.storage);
  uc_cq_free(cq);
}

/* Nobody answers for the store; after one failure it counts as away. */
static void managers_of_one_broker_begin_no_copy_while_the_store_is_away(void) {
  const char *const of_storage[] = {"storage.backend.class", "s3", "storage.s3.bucket.name", "bucket",
                                    "storage.s3.endpoint.url", "http://127.0.0.1:9", "storage.aws.access.key.id", "k",
                                    "storage.aws.secret.access.key", "s", "storage.retry.attempts.max", "1",
                                    "upload.cleanup.timeout.ms", "50", "upload.outage.failures", "1",
                                    "broker.id", "42", NULL};
  const char *const of_metadata[] = {"undercroft.metadata.log", "embedded", "undercroft.metadata.embedded.path",
                                     fixture_folder(), "node.id", "42", NULL};
  uc_storage_t *storage = NULL;
  uc_metadata_t *metadata = NULL;
  uc_config_t *config = fixture_config(of_metadata);
  EXPECT(UC_OK, uc_metadata_open(config, &metadata, &error));
  uc_config_free(config);
  config = fixture_config(of_storage);
  EXPECT(UC_OK, uc_storage_open(config, &storage, &error));
  uc_config_free(config);
  REQUIRE(metadata != NULL && storage != NULL && fixture_lead(metadata) == 0);
  uc_cq_t *cq = NULL;
  uc_event_t event = {.struct_size = sizeof event};
  uc_segment_t segment = fixture_segment(0);
  uc_segment_files_t files = fixture_files();
  EXPECT(UC_OK, uc_cq_new(&cq, &error));
  EXPECT(UC_OK, uc_metadata_add(metadata, &segment, 5000, cq, 1, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  EXPECT(UC_ERR_UNREACHABLE, uc_storage_copy(storage, &segment, &files, 30000, NULL, &error));
  segment = fixture_segment(1);
  EXPECT(UC_ERR_NOT_READY, uc_metadata_add(metadata, &segment, 5000, cq, 2, &error));
  EXPECT(UC_OK, uc_storage_close(storage, 10000, &error));
  uc_storage_free(storage);
  EXPECT(UC_OK, uc_metadata_add(metadata, &segment, 5000, cq, 3, &error));
  EXPECT(UC_OK, uc_cq_next(cq, 10000, &event, &error));
  CHECK(event.tag == 3 && event.status == UC_OK);
  uc_metadata_free(metadata);
  uc_cq_free(cq);
}

static void what_is_no_manager_is_not_joined(void) {
  pair_t pair = open_pair(NULL);
  REQUIRE(pair.storage != NULL && pair.metadata != NULL);
  EXPECT(UC_ERR_CLOSED, uc_metadata_join(NULL, pair.storage, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_join(pair.metadata, NULL, &error));
  EXPECT(UC_ERR_CLOSED, uc_metadata_join((const uc_metadata_t *)(const void *)pair.storage, pair.storage, &error));
  uc_storage_free(pair.storage);
  EXPECT(UC_ERR_CLOSED, uc_metadata_join(pair.metadata, pair.storage, &error));
  uc_metadata_free(pair.metadata);
}

void test_joint(void) {
  RUN(managers_of_one_broker_end_in_any_order);
  RUN(a_joined_pair_copies_and_tells_as_ever);
  RUN(managers_of_one_broker_begin_no_copy_while_the_store_is_away);
  RUN(what_is_no_manager_is_not_joined);
}
