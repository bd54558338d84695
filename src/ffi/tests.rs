//! Misuse that needs no host: handles, pointers, structs, panics. All but the last group runs under Miri.

mod borrow;
mod boundary;
mod completion;
mod handle;
mod joint;
