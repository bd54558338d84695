//! Log records on their way to the host.

use std::collections::VecDeque;
use std::ffi::c_char;
use std::fmt::{self, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::{Condvar, Mutex};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::borrow::{self, Growing, Out};
use super::boundary::{boundary, quietly};
use super::code::uc_status_t;
use super::error::{Failure, uc_error_t};
use super::gate::deadline;
use super::handle::{self, noun};
use super::limit::Limit;

/// A reader of the library's log. While none is open, nothing is kept.
///
/// Several may be open (one for each class loader, say): each record goes to one of them, and the library logs as much
/// as the most talkative of them wants.
///
/// ```c
/// uc_log_t *log = NULL;
/// uc_log_open(UC_LOG_INFO, 0, &log, NULL);
/// uc_log_record_t record = {.struct_size = sizeof record};
/// while (uc_log_next(log, UINT32_MAX, &record, NULL) == UC_OK) {
///   printf("%.*s: %.*s\n", (int)record.target_len, record.target, (int)record.message_len, record.message);
/// }
/// uc_log_free(log);
/// ```
pub struct uc_log_t {
    _private: [u8; 0],
}

/// How much is logged; each level includes those before it.
#[repr(i32)]
pub enum uc_log_level {
    UC_LOG_OFF = 0,
    UC_LOG_ERROR = 1,
    UC_LOG_WARN = 2,
    UC_LOG_INFO = 3,
    UC_LOG_DEBUG = 4,
    UC_LOG_TRACE = 5,
}

/// One record. Set `struct_size` to `sizeof(uc_log_record_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_log_record_t {
    pub struct_size: u32,
    /// A number of `uc_log_level`.
    pub level: i32,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// Who says it, such as "undercroft::storage".
    pub target: *const c_char,
    pub target_len: usize,
    /// UTF-8; fields stand behind the text as ` key=value`.
    pub message: *const c_char,
    pub message_len: usize,
    /// Records lost before this one because nobody read in time.
    pub dropped: u64,
}

// SAFETY: repr(C), begins with a u32 size; numbers and raw pointers are valid with any bytes.
unsafe impl Growing for uc_log_record_t {
    const NAME: &'static str = "uc_log_record_t";
    const SIZE_MIN: usize = 56;
}

const CAPACITY_DEFAULT: usize = 8192;
const CAPACITY_MAX: usize = 1 << 20;
/// A longer message is cut.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// The queue of the process and who reads it.
static SINK: Sink = Sink {
    queue: Mutex::new(Queue { records: VecDeque::new(), readers: Vec::new(), dropped: 0 }),
    changed: Condvar::new(),
    level: AtomicUsize::new(0),
};
static LIMIT: Mutex<Limit> = Mutex::new(Limit::new());
static NEXT_READER: AtomicU64 = AtomicU64::new(0);

struct Sink {
    queue: Mutex<Queue>,
    changed: Condvar,
    /// What the most talkative reader wants, as a number of `uc_log_level`; read for every event.
    level: AtomicUsize,
}

struct Queue {
    records: VecDeque<Record>,
    readers: Vec<Wish>,
    dropped: u64,
}

/// What one open `uc_log_t` asked for.
struct Wish {
    reader: u64,
    level: usize,
    capacity: usize,
}

#[derive(Debug)]
struct Record {
    level: i32,
    timestamp_ms: i64,
    target: String,
    message: String,
    dropped: u64,
}

/// See [`uc_log_t`].
pub struct Log {
    reader: u64,
    /// What the host's pointers point into.
    current: Mutex<Option<Record>>,
}

noun!(Log, uc_log_t, 0xC9);

impl Sink {
    fn change(&self, change: impl FnOnce(&mut Queue)) {
        let mut queue = self.queue.lock();
        change(&mut queue);
        let level = queue.readers.iter().map(|wish| wish.level).max().unwrap_or(0);
        let left_over = if queue.readers.is_empty() { std::mem::take(&mut queue.records) } else { VecDeque::new() };
        self.level.store(level, Ordering::Relaxed);
        drop(queue);
        drop(left_over);
        self.changed.notify_all();
        // Call sites remember whether they are wanted.
        tracing::callsite::rebuild_interest_cache();
    }

    fn put(&self, mut record: Record) {
        let mut queue = self.queue.lock();
        let Some(capacity) = queue.readers.iter().map(|wish| wish.capacity).max() else { return };
        while queue.records.len() >= capacity {
            queue.dropped += 1 + queue.records.pop_front().map_or(0, |oldest| oldest.dropped);
        }
        record.dropped = 0;
        queue.records.push_back(record);
        drop(queue);
        self.changed.notify_one();
    }
}

impl Log {
    fn open(level: usize, capacity: usize) -> Self {
        install();
        let capacity = if capacity == 0 { CAPACITY_DEFAULT } else { capacity.min(CAPACITY_MAX) };
        let reader = NEXT_READER.fetch_add(1, Ordering::Relaxed);
        SINK.change(|queue| queue.readers.push(Wish { reader, level, capacity }));
        Self { reader, current: Mutex::new(None) }
    }

    fn next(&self, timeout_ms: u32) -> Result<Record, Failure> {
        let deadline = deadline(timeout_ms);
        let mut queue = SINK.queue.lock();
        loop {
            if !queue.readers.iter().any(|wish| wish.reader == self.reader) {
                return Err(Failure::closed("uc_log_t: freed"));
            }
            if let Some(mut record) = queue.records.pop_front() {
                record.dropped = std::mem::take(&mut queue.dropped);
                return Ok(record);
            }
            let timed_out = match deadline {
                Some(deadline) => SINK.changed.wait_until(&mut queue, deadline).timed_out(),
                None => {
                    SINK.changed.wait(&mut queue);
                    false
                }
            };
            if timed_out && queue.records.is_empty() {
                return Err(Failure::timeout("uc_log_next", timeout_ms));
            }
        }
    }

    fn set_level(&self, level: usize) {
        SINK.change(|queue| {
            if let Some(wish) = queue.readers.iter_mut().find(|wish| wish.reader == self.reader) {
                wish.level = level;
            }
        });
    }

    fn close(&self) {
        SINK.change(|queue| queue.readers.retain(|wish| wish.reader != self.reader));
    }
}

/// Makes the library's log come here, unless the program that it is linked into has a subscriber of its own.
fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let ours = tracing_subscriber::registry().with(ToSink);
        let _ = tracing::subscriber::set_global_default(ours);
    });
}

struct ToSink;

impl<S: Subscriber> Layer<S> for ToSink {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> tracing::subscriber::Interest {
        if is_wanted(metadata) {
            tracing::subscriber::Interest::always()
        } else {
            tracing::subscriber::Interest::never()
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(filter(SINK.level.load(Ordering::Relaxed)))
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let (timestamp_ms, is_everything) = (now_ms(), SINK.level.load(Ordering::Relaxed) >= 5);
        let is_limited = Limit::is_of(metadata.target()) && !is_everything;
        let admitted = if is_limited { LIMIT.lock().admit(metadata.target(), timestamp_ms) } else { Some(0) };
        let Some(left_out) = admitted else { return };
        let mut text = Text::default();
        event.record(&mut text);
        if left_out > 0 {
            let _ = write!(text.fields, " left_out_before={left_out}");
        }
        SINK.put(Record {
            level: number(*metadata.level()),
            timestamp_ms,
            target: short(metadata.target()).to_owned(),
            message: text.finish(),
            dropped: 0,
        });
    }
}

/// Other people's crates are only heard when something is wrong, or when everything is asked for.
fn is_wanted(metadata: &Metadata<'_>) -> bool {
    let level = SINK.level.load(Ordering::Relaxed);
    let is_ours = metadata.target().split("::").next() == Some("undercroft");
    let limit = if is_ours || level >= 5 { filter(level) } else { filter(level.min(2)) };
    *metadata.level() <= limit
}

fn filter(level: usize) -> LevelFilter {
    match level {
        0 => LevelFilter::OFF,
        1 => LevelFilter::ERROR,
        2 => LevelFilter::WARN,
        3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

fn number(level: Level) -> i32 {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        _ => 5,
    }
}

/// The room of a module: files inside of a room are nobody's business.
fn short(target: &str) -> &str {
    match target.match_indices("::").nth(1) {
        Some((end, _)) => target.get(..end).unwrap_or(target),
        None => target,
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The message of an event with its fields behind it.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn finish(self) -> String {
        let mut text = self.message + &self.fields;
        if text.len() > MESSAGE_BYTES_MAX {
            let end = (0..=MESSAGE_BYTES_MAX).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
            text.truncate(end);
        }
        text
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() != "message" && (value.is_empty() || value.contains(char::is_whitespace)) {
            self.record_debug(field, &value);
        } else {
            self.record_debug(field, &format_args!("{value}"));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

fn level_of(number: i32) -> Result<usize, Failure> {
    usize::try_from(number)
        .ok()
        .filter(|&level| level <= 5)
        .ok_or_else(|| Failure::argument(format!("level is {number}; known are 0 (off) to 5 (trace)")))
}

/// Opens a reader of the log at a level (`uc_log_level`). At most `capacity` records wait for it (0 = 8192); the oldest is
/// dropped for a new one, and counted.
///
/// Ownership: `*log_out` is the caller's to free with `uc_log_free`, `*error_out`, if set, with `uc_error_free`.
/// Threads: any. Errors: UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `log_out` and `error_out` are null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_log_open(
    level: i32,
    capacity: usize,
    log_out: *mut *mut uc_log_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        // SAFETY: null or valid for one write (# Safety).
        let log_out = unsafe { Out::required(log_out, "log_out")? };
        log_out.set(handle::open(Log::open(level_of(level)?, capacity))?);
        Ok(())
    })
}

/// Changes the level of a reader, for records from now on.
///
/// Threads: any. Errors: UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `error_out` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_log_set_level(
    log: *const uc_log_t,
    level: i32,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let log = handle::find::<Log>(log)?;
        log.set_level(level_of(level)?);
        Ok(())
    })
}

/// Takes the oldest record, waiting up to `timeout_ms` for one (0 = do not wait, UINT32_MAX = for ever).
///
/// Set `record_out->struct_size` before the call; it stays. On any status but UC_OK nothing is written to `*record_out`.
///
/// Ownership: what the struct points to is the reader's, until the next `uc_log_next` with it or `uc_log_free`.
/// Threads: one at a time per reader; `uc_log_free` from any, a waiting call answers UC_ERR_CLOSED then.
/// Errors: UC_ERR_TIMEOUT, UC_ERR_CLOSED, UC_ERR_INVALID_ARGUMENT. Since ABI 1.
///
/// # Safety
/// `record_out` is null or valid for reads and writes of `record_out->struct_size` bytes; `error_out` is null or valid
/// for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uc_log_next(
    log: *mut uc_log_t,
    timeout_ms: u32,
    record_out: *mut uc_log_record_t,
    error_out: *mut *mut uc_error_t,
) -> uc_status_t {
    // SAFETY: null or valid for one write (# Safety).
    let error_out = unsafe { Out::new(error_out) };
    boundary(error_out, || {
        let log = handle::find::<Log>(log)?;
        // SAFETY: null, or readable as its struct_size says (# Safety).
        unsafe { borrow::check_place(record_out)? };
        let record = log.next(timeout_ms)?;
        let mut current = log.current.lock();
        let record = current.insert(record);
        let value = uc_log_record_t {
            struct_size: 0,
            level: record.level,
            timestamp_ms: record.timestamp_ms,
            target: record.target.as_ptr().cast(),
            target_len: record.target.len(),
            message: record.message.as_ptr().cast(),
            message_len: record.message.len(),
            dropped: record.dropped,
        };
        // SAFETY: readable and writable as its struct_size says (# Safety).
        unsafe { borrow::write_back(record_out, &value) }
    })
}

/// Frees a reader of the log; a `uc_log_next` that waits answers UC_ERR_CLOSED. Nothing happens if it is null or freed
/// already.
///
/// Threads: any, once nobody uses what it pointed to. Since ABI 1.
#[unsafe(no_mangle)]
pub extern "C" fn uc_log_free(log: *mut uc_log_t) {
    quietly((), || {
        if let Some(log) = handle::take::<Log>(log) {
            log.close();
        }
    });
}
