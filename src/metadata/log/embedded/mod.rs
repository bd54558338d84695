//! A local append-only file: the default for hosts without Kafka. (being built)
