//! The law of the metadata log, proved by random histories.
//!
//! Whatever brokers do, whoever dies between any two steps, and wherever the log cleaner has been: a reader of what is
//! left knows what a reader of everything knows, but for segments that are deleted. Nothing that matters is forgotten, no
//! object of a live segment is ever deleted, and every object is in the end a live segment's or deleted.
//!
//! `SEED=` and `OPS=` choose the run (`make test-model`). A history that fails is shrunk and printed as a test for
//! `kept.rs`. The pure core is driven with values: no threads, no clocks, so that one seed is one history.

#![allow(clippy::expect_used, clippy::panic, reason = "a test: whoever runs it is told")]

mod admin;
mod broker;
mod checks;
mod directed;
mod end;
mod exhaustive;
mod fault;
mod history;
mod kept;
mod log;
mod network;
mod op;
mod random;
mod reference;
mod run;
mod shrink;
mod store;
mod table;
mod tasks;
mod upkeep;
mod world;
