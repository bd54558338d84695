//! Handles: numbers that look like pointers to C and are looked up in a table, never dereferenced.
//!
//! ```text
//! bit 63      56 55             24 23        0
//!     kind       generation        slot            kind >= 0xC0: no address of a user process looks like that
//! ```
//! A slot that is used again has another generation, so a freed handle is never taken for its successor; a slot whose
//! generations are used up is not used again. Any value whatever may be looked up: it is found or it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;

use super::error::Failure;

const SHARDS: u32 = 16;
const SLOT_BITS: u32 = 24;
const GENERATION_BITS: u32 = 32;
const ENTRIES_MAX: u32 = (1 << SLOT_BITS) / SHARDS;

/// All open handles of one noun.
pub struct Table<T> {
    kind: u8,
    shards: [RwLock<Shard<T>>; SHARDS as usize],
    next_shard: AtomicU32,
}

struct Shard<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    value: Option<Arc<T>>,
}

impl<T> Table<T> {
    /// `kind` is the noun's own number, 0xC0 or above.
    pub const fn new(kind: u8) -> Self {
        Self {
            kind,
            shards: [const { RwLock::new(Shard { entries: Vec::new(), free: Vec::new() }) }; SHARDS as usize],
            next_shard: AtomicU32::new(0),
        }
    }

    /// A handle for `value`; `None` if a million of this shard are open.
    pub fn insert(&self, value: Arc<T>) -> Option<usize> {
        let shard_index = self.next_shard.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let mut shard = self.shards[shard_index as usize].write();
        let index = match shard.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(shard.entries.len()).ok().filter(|&index| index < ENTRIES_MAX)?;
                shard.entries.push(Entry { generation: 1, value: None });
                index
            }
        };
        let entry = shard.entries.get_mut(index as usize)?;
        entry.value = Some(value);
        Some(encode(self.kind, entry.generation, index * SHARDS + shard_index))
    }

    /// What the handle stands for, if it is open and of this noun.
    pub fn get(&self, handle: usize) -> Option<Arc<T>> {
        let (generation, slot) = decode(self.kind, handle)?;
        let shard = self.shards[(slot % SHARDS) as usize].read();
        let entry = shard.entries.get((slot / SHARDS) as usize)?;
        if entry.generation == generation { entry.value.clone() } else { None }
    }

    /// Closes the handle. What it stood for lives on while somebody else holds it, and is dropped by the last one,
    /// never under a lock of this table.
    pub fn remove(&self, handle: usize) -> Option<Arc<T>> {
        let (generation, slot) = decode(self.kind, handle)?;
        let index = slot / SHARDS;
        let mut shard = self.shards[(slot % SHARDS) as usize].write();
        let entry = shard.entries.get_mut(index as usize)?;
        if entry.generation != generation {
            return None;
        }
        let value = entry.value.take()?;
        if let Some(next) = entry.generation.checked_add(1) {
            entry.generation = next;
            shard.free.push(index);
        }
        Some(value)
    }
}

const fn encode(kind: u8, generation: u32, slot: u32) -> usize {
    ((kind as usize) << (SLOT_BITS + GENERATION_BITS)) | ((generation as usize) << SLOT_BITS) | slot as usize
}

fn decode(kind: u8, handle: usize) -> Option<(u32, u32)> {
    if handle >> (SLOT_BITS + GENERATION_BITS) != usize::from(kind) {
        return None;
    }
    let generation = u32::try_from((handle >> SLOT_BITS) & (u32::MAX as usize)).ok()?;
    let slot = u32::try_from(handle & ((1 << SLOT_BITS) - 1)).ok()?;
    Some((generation, slot))
}

/// A type of the library that C holds by a handle.
pub trait Noun: Send + Sync + Sized + 'static {
    /// The opaque type of the header.
    type Opaque;
    /// Its name in C.
    const NAME: &'static str;
    fn table() -> &'static Table<Self>;
}

/// Ties a type to the opaque type of the header and to its table: `noun!(Reader, uc_reader_t, 0xC8)`.
macro_rules! noun {
    ($noun:ty, $opaque:ident, $kind:literal) => {
        impl $crate::ffi::handle::Noun for $noun {
            type Opaque = $opaque;
            const NAME: &'static str = stringify!($opaque);
            fn table() -> &'static $crate::ffi::handle::Table<Self> {
                static TABLE: $crate::ffi::handle::Table<$noun> = $crate::ffi::handle::Table::new($kind);
                &TABLE
            }
        }
    };
}
pub(super) use noun;

/// A new handle for `value`.
pub fn open<N: Noun>(value: N) -> Result<*mut N::Opaque, Failure> {
    open_shared(Arc::new(value))
}

/// A new handle for something that the library holds too.
pub fn open_shared<N: Noun>(value: Arc<N>) -> Result<*mut N::Opaque, Failure> {
    let handle = N::table().insert(value).ok_or_else(|| Failure::internal(format!("too many open {}", N::NAME)))?;
    Ok(std::ptr::without_provenance_mut(handle))
}

/// What a handle stands for; UC_ERR_CLOSED for any value that is none.
pub fn find<N: Noun>(handle: *const N::Opaque) -> Result<Arc<N>, Failure> {
    N::table().get(handle.addr()).ok_or_else(|| {
        let why = if handle.is_null() { "a null handle" } else { "no open handle: freed, foreign or never opened" };
        Failure::closed(format!("{}: {why}", N::NAME))
    })
}

/// Closes a handle; `None`, and nothing else happens, if it is none.
pub fn take<N: Noun>(handle: *mut N::Opaque) -> Option<Arc<N>> {
    N::table().remove(handle.addr())
}
