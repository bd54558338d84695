//! What should be written, decided without writing it.
//!
//! In: what the state knows, what a caller wants, and where the writer stands. Out: records, or why there is none.
//! Never: I/O, clocks, randomness.

mod backfill;
pub mod dangling;
mod draft;
mod keys;
mod laws;
mod level;
#[cfg(test)]
mod tests;
mod tombstones;
mod write;

pub use backfill::backfill;
pub use dangling::{Cleanup, Delays, Evidence, OwnCopy, Stage, Store, Verdict, judge};
pub use draft::{Denied, Draft, DraftBody, Standing, Step};
pub use keys::{add_key, partition_delete_key, update_key};
#[doc(hidden)]
pub use laws::Laws;
pub use level::Level;
pub use tombstones::tombstones;
pub use write::{add, claim, partition_delete, update, why_never, why_never_to};
