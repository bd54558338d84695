//! What should be written, decided without writing it.
//!
//! In: what the state knows and what a caller wants. Out: keys and forms of records. Never: I/O, clocks, randomness.

mod keys;
mod level;
#[cfg(test)]
mod tests;

pub use keys::{add_key, key_facts, partition_delete_key, update_key};
pub use level::Level;
