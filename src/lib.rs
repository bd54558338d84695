//! Kafka tiered storage as one native library.
//!
//! Two jobs that Kafka hands to plugins: [`storage`] copies closed log segments to an object store and reads ranges of
//! them back, [`metadata`] knows which remote segment holds which offsets. ([`tiering`] decides when a segment may be
//! copied.) All stand behind the C ABI of `include/undercroft.h`; the JNI shim in `java-shim/` puts them into a broker.
//!
//! Rooms and the way of a segment through them: `docs/ARCHITECTURE.md`.

pub mod config;
pub mod ffi;
pub mod metadata;
pub mod metrics;
pub mod model;
pub mod storage;
pub mod tiering;
pub mod wire;
