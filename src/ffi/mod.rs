//! The C ABI: what `include/undercroft.h` declares, and nothing else.
//!
//! In: pointers, lengths and handles of a host that may be wrong about any of them. Out: a status, and values through
//! pointers. Never: a decision about segments, a panic that leaves it, a handle that is dereferenced, a callback into
//! the host. The law that a host may rely on is `docs/ABI.md`.
//!
//! Plumbing: `code`, `error`, `boundary`, `borrow`, `handle`, `hook`, `signal`, `runtime`, `gate`, `managed`, `joint`. Everything else is
//! one noun of the header each, and each of its functions has three steps: borrow, call one safe function, hand out.
#![allow(clippy::disallowed_methods, reason = "shell: waits for hosts' time-outs and owns the runtime's threads")]
#![allow(non_camel_case_types, reason = "types of the header carry C's names")]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles of the C ABI hold tag, generation and slot in a 64-bit pointer");

mod borrow;
mod boundary;
mod gate;
mod handle;
mod hook;
mod joint;
mod limit;
mod managed;
mod runtime;
mod signal;

pub mod buf;
pub mod code;
pub mod config;
pub mod cq;
pub mod error;
pub mod log;
pub mod metadata;
pub mod metrics;
pub mod partition;
pub mod reader;
pub mod segment;
pub mod segments;
pub mod storage;
pub mod tiering;
pub mod version;

#[cfg(test)]
mod tests;
