//! What is done to bytes on their way into objects and back: compression and encryption.
//!
//! In: bytes, keys, and how many bytes must come out. Out: these bytes, or why not. Never: objects, layouts, more memory
//! than the caller said. Key files are read once, when the manager is set up.

mod aes;
mod contexts;
mod key_ring;
mod pem;
mod zstd;

pub(super) use aes::{AES_OVERHEAD, DATA_KEY_LENGTH, DataKey, NONCE_LENGTH, random, random_data_key};
pub(super) use contexts::Contexts;
pub(super) use key_ring::{KeyPairFiles, KeyRing, KeyRingError};
pub(super) use zstd::{compress_table, compressed_length_max, decompress, decompress_at_most};
