#![no_main]

#[path = "../entries.rs"]
#[allow(dead_code, reason = "each target has one entry")]
mod entries;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entries::block_table(bytes));
