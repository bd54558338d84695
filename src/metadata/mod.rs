//! Which remote segment holds which offsets: the semantics of Kafka's RemoteLogMetadataManager.

pub mod log;
