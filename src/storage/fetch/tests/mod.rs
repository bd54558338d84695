//! Reads as a broker makes them, from a store that takes its time.

mod ahead;
mod disk;
mod ground;
mod many;
