//! Keys of the storage side. Names that Aiven's plugin has mean here what they mean there.

use super::{Key, Kind, Side};

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>, text: &'static str) -> Key {
    Key { name, side: Side::Storage, kind, default, text }
}

const fn at_least(min: i64) -> Kind {
    Kind::Integer { min, max: i64::MAX }
}

const MILLIS: Kind = Kind::Integer { min: 1, max: 86_400_000 };
const MIB: i64 = 1 << 20;

/// Chooses the store.
pub static BACKEND: Key = key(
    "storage.backend.class",
    Kind::Text,
    None,
    "Where segments are kept: `filesystem`, `s3`, `gcs` or `azure`. The class names of Aiven's plugin for these are understood too. A further service of OpenDAL by its name (`oss`, `b2`, `cos`) if it was built in. Required.",
);
/// Put in front of every object's name.
pub static KEY_PREFIX: Key = key(
    "key.prefix",
    Kind::Text,
    Some(""),
    "Put in front of every object's name as it stands here, without a separator; only slashes in front, and all but one of several in a row, are left out. May change while segments exist; one longer than about 90 bytes may not, nor one of segments in the layout `aiven` without OBJECT_PREFIX in `custom.metadata.fields.include`.",
);
/// Folder of the file system store.
pub static ROOT: Key = key(
    "storage.root",
    Kind::Text,
    None,
    "Folder of the `filesystem` store. It must exist and be writable: it is never created, so that a disk that isn't mounted is noticed. Required there.",
);
/// Bucket of the S3 store.
pub static S3_BUCKET: Key =
    key("storage.s3.bucket.name", Kind::Text, None, "Bucket of the `s3` store. It must exist. Required there.");
/// Region of the bucket.
pub static S3_REGION: Key = key(
    "storage.s3.region",
    Kind::Text,
    None,
    "Region of the bucket. Required unless `storage.s3.endpoint.url` is set; then `us-east-1`.",
);
/// Endpoint of a relative of S3.
pub static S3_ENDPOINT: Key = key(
    "storage.s3.endpoint.url",
    Kind::Text,
    None,
    "Endpoint with scheme, such as `https://minio.example.org:9000`. Without it, Amazon's endpoint of the region.",
);
/// How the bucket is addressed.
pub static S3_PATH_STYLE: Key = key(
    "storage.s3.path.style.access.enabled",
    Kind::Boolean,
    None,
    "`true` puts the bucket into the path of a URL, `false` into the host's name. Without it: the path if an endpoint is set or the bucket has a dot in its name, else the host.",
);
/// Size of the parts of a multipart upload.
pub static S3_PART_SIZE: Key = key(
    "storage.s3.multipart.upload.part.size",
    Kind::Integer { min: 5 * MIB, max: 2_147_483_639 },
    Some("8388608"),
    "Bytes in a part of an upload, rounded up to whole blocks. An object that isn't larger goes up in one request.",
);
/// Storage class of new objects.
pub static S3_STORAGE_CLASS: Key =
    key("storage.s3.storage.class", Kind::Text, None, "Storage class of new objects, any that the store knows.");
/// Bound of a call to the store.
pub static S3_CALL_TIMEOUT: Key = key(
    "storage.s3.api.call.timeout",
    MILLIS,
    Some("60000"),
    "Milliseconds for a call to the store with all its retries. Holds for every store.",
);
/// Bound of one request.
pub static S3_ATTEMPT_TIMEOUT: Key = key(
    "storage.s3.api.call.attempt.timeout",
    MILLIS,
    Some("20000"),
    "Milliseconds for one attempt: until the answer begins (plus a second per MiB sent), and then between any two pieces of it. Holds for every store over HTTP.",
);
/// Access key.
pub static AWS_ACCESS_KEY: Key = key(
    "storage.aws.access.key.id",
    Kind::Password,
    None,
    "Access key. Without it, see `storage.aws.credentials.provider.class`.",
);
/// Secret key.
pub static AWS_SECRET_KEY: Key =
    key("storage.aws.secret.access.key", Kind::Password, None, "Secret of `storage.aws.access.key.id`.");
/// Whether certificates are checked.
pub static AWS_CERTIFICATE_CHECK: Key = key(
    "storage.aws.certificate.check.enabled",
    Kind::Boolean,
    Some("true"),
    "`false` accepts any certificate of the endpoint. For tests only.",
);
/// How long connecting may take.
pub static CONNECT_TIMEOUT: Key =
    key("storage.connect.timeout.ms", MILLIS, Some("5000"), "Milliseconds until a connection stands, TLS included.");
/// Connections kept open.
pub static IDLE_CONNECTIONS: Key = key(
    "storage.connections.idle.max",
    Kind::Integer { min: 0, max: 10_000 },
    Some("64"),
    "Idle connections per endpoint that are kept open.",
);
/// How often a call is tried.
pub static RETRY_ATTEMPTS: Key = key(
    "storage.retry.attempts.max",
    Kind::Integer { min: 1, max: 100 },
    Some("4"),
    "Attempts of a call whose failure may pass, the first one included.",
);
/// Pause before the second attempt.
pub static RETRY_DELAY: Key = key(
    "storage.retry.delay.ms",
    Kind::Integer { min: 0, max: 60_000 },
    Some("100"),
    "Milliseconds before the second attempt; doubled before each further one, at most 5000.",
);
/// Parts of one copy on the wire.
pub static PARTS_IN_FLIGHT: Key = key(
    "upload.parts.in.flight",
    Kind::Integer { min: 1, max: 128 },
    Some("4"),
    "Parts of one copy that are sent at once. A copy has two more parts in memory: one being read, one waiting.",
);
/// Memory of all copies.
pub static UPLOAD_MEMORY: Key = key(
    "upload.memory.bytes.max",
    at_least(16 * MIB),
    Some("268435456"),
    "Bytes of part buffers and indexes of all copies of this manager together. Copies wait for each other when it is used up; it is raised to three parts if it is smaller. A copy that needs more than this on its own runs alone.",
);
/// Bound of a whole copy.
pub static UPLOAD_TIMEOUT: Key = key(
    "upload.timeout.ms",
    Kind::Integer { min: 1, max: 604_800_000 },
    Some("3600000"),
    "Milliseconds for the copy of one segment, waiting for memory included.",
);
/// Bound of standing still.
pub static UPLOAD_NO_PROGRESS: Key = key(
    "upload.no.progress.timeout.ms",
    MILLIS,
    Some("120000"),
    "Milliseconds in which a copy must have handed over a part. Then it fails and is cleaned up.",
);
/// Bound of cleaning up.
pub static CLEANUP_TIMEOUT: Key = key(
    "upload.cleanup.timeout.ms",
    MILLIS,
    Some("30000"),
    "Milliseconds for which a failed or cancelled copy tries to remove what it left in the store. It does so once more after `storage.s3.api.call.attempt.timeout`, since the store may still do what it was asked for. Closing waits for the first, and a second or two for the other.",
);
/// Limit of the bytes sent.
pub static UPLOAD_RATE: Key = key(
    "upload.rate.limit.bytes.per.second",
    at_least(65_536),
    None,
    "Bytes per second that all copies of this manager send together, indexes and manifests included, repeated requests not. They take turns, part by part. Without it, no limit.",
);
/// Failures that make an outage.
pub static OUTAGE_FAILURES: Key = key(
    "upload.outage.failures",
    Kind::Integer { min: 0, max: 1000 },
    Some("5"),
    "Copies that fail one after the other because the store does not answer, has trouble or wants fewer requests. Then new copies wait, without an error in the log and without a trace in the metadata topic, until one succeeds. Needs the metadata side of Undercroft in the same process. 0 lets each copy find out by itself.",
);
/// Time in which these failures must be.
pub static OUTAGE_WINDOW: Key = key(
    "upload.outage.window.ms",
    MILLIS,
    Some("600000"),
    "Milliseconds within which the failures of `upload.outage.failures` must be.",
);
/// How often a copy is let through during an outage.
pub static OUTAGE_INTERVAL: Key = key(
    "upload.outage.retry.interval.ms",
    MILLIS,
    Some("30000"),
    "Milliseconds after which one copy is let through while others wait, to find out whether the store is back.",
);
/// How long a delete is waited for.
pub static DELETE_HANDOVER: Key = key(
    "delete.handover.ms",
    MILLIS,
    Some("3000"),
    "Milliseconds after which a delete that is not done is handed to the metadata side, which does it later, and counts as done. Without the metadata side of Undercroft in the same process a delete takes as long as the store may.",
);
/// How segments lie in their objects.
pub static LAYOUT: Key = key(
    "storage.layout",
    Kind::Choice(&["compact", "aiven"]),
    Some("compact"),
    "How new segments lie in the store. `compact`: one object each, every byte under a checksum. `aiven`: the three objects that Aiven's plugin writes and reads. Both are always read and deleted, so it may change at any time.",
);
/// What custom metadata of Aiven's layout says.
pub static FIELDS: Key = key(
    "custom.metadata.fields.include",
    Kind::Text,
    Some(""),
    "For `storage.layout=aiven`: which of REMOTE_SIZE, OBJECT_PREFIX and OBJECT_KEY, separated by commas, are kept in the metadata topic. With OBJECT_PREFIX, `key.prefix` may change while segments exist. Beyond 128 bytes, which a broker refuses by default, OBJECT_KEY is left out, then OBJECT_PREFIX.",
);
/// Whether segments are compressed.
pub static COMPRESSION: Key = key(
    "compression.enabled",
    Kind::Boolean,
    Some("false"),
    "`true` compresses new segments with zstd, chunk by chunk. Readers find out per segment, so it may change at any time.",
);
/// How hard zstd tries.
pub static COMPRESSION_LEVEL: Key = key(
    "compression.level",
    Kind::Integer { min: 1, max: 22 },
    Some("3"),
    "zstd level. Each one up costs more CPU time than it saves bytes; from about 10 on, much more.",
);
/// Whether segments that are compressed already stay so.
pub static COMPRESSION_HEURISTIC: Key = key(
    "compression.heuristic.enabled",
    Kind::Boolean,
    Some("true"),
    "`true` leaves a segment as it is if the producers compressed its batches; some batches from its beginning to its end are looked at. Nothing would be won by compressing them again, at many times the CPU time. Needs `compression.enabled`.",
);
/// Whether segments are encrypted.
pub static ENCRYPTION: Key = key(
    "encryption.enabled",
    Kind::Boolean,
    Some("false"),
    "`true` encrypts new segments and their indexes with AES-256-GCM, each segment under a key of its own, which is wrapped with the key pair `encryption.key.pair.id`. May be switched off while there are encrypted segments, as long as their pairs stay in `encryption.key.pairs`.",
);
/// Key pair for new segments.
pub static KEY_PAIR: Key = key(
    "encryption.key.pair.id",
    Kind::Text,
    None,
    "Id of the key pair for new segments, one of `encryption.key.pairs`. It is tried out at the start. Required if `encryption.enabled`.",
);
/// Bytes that are transformed at once.
pub static CHUNK_SIZE: Key = key(
    "chunk.size",
    Kind::Integer { min: 1, max: (1 << 30) - 1 },
    Some("131072"),
    "Bytes of a segment that are compressed or encrypted, and therefore read, as one. The compact layout rounds it down to a power of two from 4096 to 16777216; the `aiven` layout takes any, and 4194304 if it isn't set. A reader that wants 1 MiB from somewhere gets 1.1 MiB with the default, 5 MiB with chunks of 4 MiB. Segments that are neither compressed nor encrypted are read by exact ranges, whatever it says.",
);
/// Threads that transform.
pub static TRANSFORM_THREADS: Key = key(
    "upload.transform.threads",
    Kind::Integer { min: 0, max: 1024 },
    Some("0"),
    "Pieces of segments (1 MiB, or a chunk if that is more) that are compressed and encrypted at once for all copies of this manager. 0 is the number of processors.",
);
/// Number of the broker.
pub static BROKER_ID: Key = key(
    "broker.id",
    Kind::Integer { min: -1, max: i32::MAX as i64 },
    None,
    "Number of the broker. Passed by the broker. Storage and metadata side of one number in one process work together.",
);
/// Number of the broker, as Kafka 4.4 passes it beside the other.
pub static NODE_ID: Key = key(
    "node.id",
    Kind::Integer { min: -1, max: i32::MAX as i64 },
    None,
    "Number of the broker, used if `broker.id` is not set. Passed by brokers from 4.4 on.",
);
/// Memory for data read.
pub static CHUNK_CACHE_SIZE: Key = key(
    "fetch.chunk.cache.size",
    at_least(-1),
    Some("134217728"),
    "Bytes of data that are kept in memory for later reads. -1 has no bound. A few MiB per consumer that reads old data are what matters; reading ahead has half of it. Less than 16 times `fetch.window.bytes.min`, 0 too, counts as that: what a broker gave up waiting for must be there when it asks again. Where `fetch.chunk.cache.class` is Aiven's `DiskChunkCache` it means bytes on disk, as there, and 64 MiB are kept in memory.",
);
/// Folder of chunks on disk.
pub static CHUNK_CACHE_PATH: Key = key(
    "fetch.chunk.cache.path",
    Kind::Text,
    None,
    "Folder for a cache of chunks on disk beside the one in memory; without it there is none. It survives restarts and holds chunks as the store has them, so encrypted ones encrypted. Its files are in `undercroft-chunks` there, which one manager may use at a time. A folder that can't be used is warned of once, and reading goes on without it.",
);
/// Size of chunks on disk.
pub static CHUNK_CACHE_DISK_SIZE: Key = key(
    "fetch.chunk.cache.disk.size",
    at_least(0),
    Some("10737418240"),
    "Bytes of the cache on disk that `fetch.chunk.cache.path` switches on, at least 64 MiB; the oldest chunks go first. 0 switches it off. Needs some 50 MiB of memory. Another size than before makes it start empty.",
);
/// Aiven's name for where chunks are kept.
pub static CHUNK_CACHE_CLASS: Key = key(
    "fetch.chunk.cache.class",
    Kind::Text,
    None,
    "A class name of a cache of Aiven's plugin. With that of `DiskChunkCache`, `fetch.chunk.cache.size` is the size on disk if `fetch.chunk.cache.disk.size` isn't set, and `fetch.chunk.cache.path` is required. Not needed.",
);
/// Memory for indexes read.
pub static INDEX_CACHE_SIZE: Key = key(
    "fetch.indexes.cache.size",
    at_least(-1),
    Some("16777216"),
    "Bytes of indexes that are kept in memory. All indexes of a segment come in one request; a broker asks for them one by one. Less than 1 MiB, 0 too, counts as that.",
);
/// Memory for manifests.
pub static MANIFEST_CACHE_SIZE: Key = key(
    "fetch.manifest.cache.size",
    at_least(-1),
    Some("1000"),
    "Manifests of segments written by Aiven's plugin that are kept in memory; one longer than usual counts as several. -1 has no bound. Less than 64, 0 too, counts as that.",
);
/// Ids of the key pairs.
pub static KEY_PAIRS: Key = key(
    "encryption.key.pairs",
    Kind::Text,
    None,
    "Ids of RSA key pairs, separated by commas, that data keys of encrypted segments are wrapped with. Each has its files (PEM) in `encryption.key.pairs.<id>.private.key.file` and `encryption.key.pairs.<id>.public.key.file`; reading and writing need the private one. Keep the pairs of encrypted segments as long as there are any. A file that can't be used is warned of at the start.",
);
/// Memory of all reads under way.
pub static FETCH_MEMORY: Key = key(
    "fetch.memory.bytes.max",
    at_least(MIB),
    Some("134217728"),
    "Bytes of segments that are under way from the store for all reads of this manager together; beyond that, reads wait for each other. Raised to the largest request if it is smaller.",
);
/// First request of a read.
pub static WINDOW_MIN: Key = key(
    "fetch.window.bytes.min",
    Kind::Integer { min: 4096, max: 1 << 30 },
    Some("1114112"),
    "Bytes of the first request of a read, rounded up to whole blocks. The default is what a consumer takes at once (1 MiB) and some batches to pass over.",
);
/// Largest request of a read.
pub static WINDOW_MAX: Key = key(
    "fetch.window.bytes.max",
    Kind::Integer { min: 4096, max: 1 << 30 },
    Some("8388608"),
    "Bytes to which the requests of one read grow while it goes on and on, and those of reading ahead.",
);
/// Read-ahead of one stream.
pub static READ_AHEAD_MAX: Key = key(
    "fetch.read.ahead.bytes.max",
    Kind::Integer { min: 0, max: 1 << 30 },
    Some("33554432"),
    "Bytes to have ready, or under way, behind a reader that goes on and on, over its broker's separate reads and over the end of a segment. It grows from 1 MiB to that, is less while many readers share half of `fetch.chunk.cache.size`, and 0 for reads at random. 0 switches it off. `fetch.chunk.cache.prefetch.max.size`, as Aiven's plugin calls it, is taken if this isn't set.",
);
/// Aiven's name for the read-ahead of one stream.
pub static PREFETCH_MAX: Key = key(
    "fetch.chunk.cache.prefetch.max.size",
    Kind::Integer { min: 0, max: i32::MAX as i64 },
    None,
    "Taken as `fetch.read.ahead.bytes.max` if that isn't set.",
);
/// Limit of the bytes read.
pub static FETCH_RATE: Key = key(
    "fetch.rate.limit.bytes.per.second",
    at_least(65_536),
    None,
    "Bytes per second of segments that all reads of this manager get together from the store, read-ahead included; indexes and what comes from a cache don't count. Consumers of old data then wait. Without it, no limit.",
);
/// Pause before a read fails.
pub static FAILURE_DELAY: Key = key(
    "fetch.failure.delay.ms",
    Kind::Integer { min: 0, max: 60_000 },
    Some("200"),
    "Milliseconds that a failing read waits before it fails, so that a consumer that asks again and again doesn't fill the log.",
);

/// Keys of Aiven's plugin that change nothing here: name, and why.
pub static WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("key.prefix.mask", "object names are written to the log in full"),
    ("fetch.chunk.cache.retention.ms", "the cache is bounded by its size alone"),
    ("fetch.chunk.cache.get.timeout.ms", "`storage.s3.api.call.timeout` bounds a read"),
    ("fetch.chunk.cache.thread.pool.size", "no thread is held by a read"),
    ("fetch.indexes.cache.retention.ms", "the cache is bounded by its size alone"),
    ("fetch.indexes.cache.get.timeout.ms", "`storage.s3.api.call.timeout` bounds a read"),
    ("fetch.indexes.cache.thread.pool.size", "no thread is held by a read"),
    ("fetch.manifest.cache.retention.ms", "the cache is bounded by its size alone"),
    ("fetch.manifest.cache.get.timeout.ms", "`storage.s3.api.call.timeout` bounds a read"),
    ("fetch.manifest.cache.thread.pool.size", "no thread is held by a read"),
    ("metrics.num.samples", "metrics have no samples"),
    ("metrics.sample.window.ms", "metrics have no samples"),
    ("metrics.recording.level", "all metrics are always recorded"),
    ("storage.overwrite.enabled", "an object is replaced as a whole"),
    (
        "storage.s3.legacy.md5.plugin.enabled",
        "a checksum is sent only if `storage.aws.checksum.check.enabled` asks for it",
    ),
    ("storage.key.prefix", "the key is `key.prefix`"),
];

/// Keys of Aiven's plugin that must not be passed over: name, the one value that can be honoured, and why.
pub static NOT_YET: &[(&str, &str, &str)] = &[("segment.format", "kafka", "only Kafka's own format is written")];

/// Whether there are metrics of each topic.
pub static METRICS_OF_TOPICS: Key = key(
    "metrics.topics.enabled",
    Kind::Boolean,
    Some("false"),
    "Also counts copies, reads and deletes of each topic by itself. Off by default: each topic adds 11 values, for as long as the broker runs.",
);
/// Whether metrics are there under the names of Aiven's plugin too. The Java side reads it.
pub static METRICS_AIVEN_NAMES: Key = key(
    "metrics.aiven.names",
    Kind::Boolean,
    Some("false"),
    "In a broker, publishes metrics in JMX under the names of Aiven's plugin too, so that dashboards made for it go on working. docs/METRICS.md lists them, and those that there is nothing for.",
);

/// What stands before the id and the name of a file in the keys of [`KEY_PAIRS`].
pub const KEY_PAIR_PREFIX: &str = "encryption.key.pairs.";

/// Prefix of what is handed to the store's driver as it is.
pub const DRIVER_PREFIX: &str = "storage.opendal.";

/// All of them, in the order of the reference.
pub static ALL: &[&Key] = &[
    &BACKEND,
    &KEY_PREFIX,
    &ROOT,
    &S3_BUCKET,
    &S3_REGION,
    &S3_ENDPOINT,
    &S3_PATH_STYLE,
    &S3_PART_SIZE,
    &S3_STORAGE_CLASS,
    &S3_CALL_TIMEOUT,
    &S3_ATTEMPT_TIMEOUT,
    &AWS_ACCESS_KEY,
    &AWS_SECRET_KEY,
    &AWS_CERTIFICATE_CHECK,
    &CONNECT_TIMEOUT,
    &IDLE_CONNECTIONS,
    &RETRY_ATTEMPTS,
    &RETRY_DELAY,
    &PARTS_IN_FLIGHT,
    &UPLOAD_MEMORY,
    &UPLOAD_TIMEOUT,
    &UPLOAD_NO_PROGRESS,
    &CLEANUP_TIMEOUT,
    &UPLOAD_RATE,
    &LAYOUT,
    &FIELDS,
    &COMPRESSION,
    &COMPRESSION_LEVEL,
    &COMPRESSION_HEURISTIC,
    &ENCRYPTION,
    &KEY_PAIR,
    &KEY_PAIRS,
    &CHUNK_SIZE,
    &TRANSFORM_THREADS,
    &OUTAGE_FAILURES,
    &OUTAGE_WINDOW,
    &OUTAGE_INTERVAL,
    &DELETE_HANDOVER,
    &CHUNK_CACHE_SIZE,
    &CHUNK_CACHE_PATH,
    &CHUNK_CACHE_DISK_SIZE,
    &CHUNK_CACHE_CLASS,
    &INDEX_CACHE_SIZE,
    &MANIFEST_CACHE_SIZE,
    &FETCH_MEMORY,
    &WINDOW_MIN,
    &WINDOW_MAX,
    &READ_AHEAD_MAX,
    &PREFETCH_MAX,
    &FETCH_RATE,
    &FAILURE_DELAY,
    &METRICS_OF_TOPICS,
    &METRICS_AIVEN_NAMES,
    &BROKER_ID,
    &NODE_ID,
];
