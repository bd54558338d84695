//! Chunks on a local disk, over restarts.
//!
//! In: chunks as the object store has them, so encrypted ones stay encrypted. Out: the same bytes, or nothing. Never: an
//! error. A disk that can't be used is warned of once, and everything goes on without it.
#![allow(
    clippy::disallowed_methods,
    reason = "shell: opens the cache in the background, and looks whether writes arrive"
)]

mod disk;
mod engine;
mod folder;
#[cfg(test)]
mod tests;

pub(super) use disk::{ChunkKey, DiskCache, DiskMeters, DiskPatience, DiskSettings};
