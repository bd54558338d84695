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
    let backtrace = Backtrace::force_capture();
    let at = place.as_deref().unwrap_or("an unknown place");
    tracing::error!(target: "undercroft::ffi", "panic at {at}: {text}; this is a defect, please report it\n{backtrace}");
    PLACE.set(place);
}
