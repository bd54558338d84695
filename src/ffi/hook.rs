//! Panics of the library go to its log, with a backtrace, and not to the host's standard error.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::panic::PanicHookInfo;
use std::sync::Once;

/// All threads that the library starts have names that begin so, in every room.
pub const THREAD_PREFIX: &str = "undercroft-";

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Marks this thread as being inside of the library until the guard is dropped; installs the hook at first use.
pub fn enter() -> Inside {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(install);
    DEPTH.set(DEPTH.get() + 1);
    Inside
}

pub struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Where this thread panicked last; asked for once.
pub fn take_place() -> Option<String> {
    PLACE.take()
}

fn install() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| if is_ours() { report(info) } else { previous(info) }));
}

/// The C library has a standard library of its own, so every panic is ours there. A Rust program that links the crate
/// shares the hook, and keeps its own for its own threads.
fn is_ours() -> bool {
    DEPTH.get() > 0 || std::thread::current().name().is_some_and(|name| name.starts_with(THREAD_PREFIX))
}

fn report(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let text = info.payload_as_str().unwrap_or("no message");
    let at = place.as_deref().unwrap_or("an unknown place");
    if is_of_disk_engine(at) {
        tracing::warn!(target: "foyer::panic", "panic at {at}: {text}; the disk cache is switched off, nothing else ends by it");
        PLACE.set(place);
        return;
    }
    let backtrace = Backtrace::force_capture();
    tracing::error!(target: "undercroft::ffi", "panic at {at}: {text}; this is a defect, please report it\n{backtrace}");
    PLACE.set(place);
}

/// The disk cache's engine panics when the disk fails it. That is how it says so, and no defect of ours.
fn is_of_disk_engine(place: &str) -> bool {
    place.split('/').any(|folder| folder.strip_prefix("foyer-").is_some_and(|rest| rest.contains('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_the_disk_engine_is_told_from_all_others() {
        let registry = "/home/b/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f";
        for (place, is_engine) in [
            (format!("{registry}/foyer-storage-0.22.6/src/engine/block/flusher.rs:412:38"), true),
            (format!("{registry}/foyer-0.22.6/src/hybrid/cache.rs:1:1"), true),
            (format!("{registry}/tokio-1.52.3/src/runtime/mod.rs:1:1"), false),
            ("src/storage/cache/disk.rs:100:9".to_owned(), false),
            ("/home/foyer-user/undercroft/src/storage/cache/engine.rs:100:9".to_owned(), false),
            ("an unknown place".to_owned(), false),
        ] {
            assert_eq!(is_of_disk_engine(&place), is_engine, "{place}");
        }
    }
}
