//! Delayed upload: whether a closed segment is to be copied now or stays local only for a while.
//!
//! In: what is configured, what is known of a segment, its log and its topic, and the time. Out: eligible or held back,
//! and why; warnings for what does not do what it seems to. Never: I/O, clocks, the network: what a value costs to
//! learn is the business of whoever hands it in.
//!
//! The rules are those of KIP-1241, which brokers have from 4.4 on.

mod eligibility;
mod policy;

pub use eligibility::{ClosedSegment, CopyLag, HeldBack, LocalRetention, Verdict, judge};
pub use policy::CopyPolicy;
