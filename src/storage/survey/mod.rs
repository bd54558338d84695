//! What lies in a store, whoever wrote it: found page by page, and checked.
//!
//! In: a configuration, and which part of the store is meant. Out: segments of both layouts, also half ones, and what is
//! wrong with each. Never: a write to the store, a list of all there is, "missing" for what nobody could tell.
//!
//! `names` and `gather` (pure) make segments of a listing, `repeats` (pure) notices one that has no end, `segments` reads
//! it, `verify` checks a segment, `surveyor` is what the outside calls.

mod batches;
mod finding;
mod gather;
mod names;
mod repeats;
mod segments;
mod surveyor;
#[cfg(test)]
mod tests;
mod verify;

pub use finding::{Finding, Severity};
pub use gather::{Found, FoundSegment, Objects};
pub use names::{Part, SegmentName};
pub use segments::Segments;
pub use surveyor::{Description, Progress, Progressed, Scope, Surveyor, Tally};
pub use verify::{Checked, Depth};
