//! What C hands in, as values that safe code can use: the only place that reads or writes through a host's pointers.

use std::ffi::c_char;
use std::mem::{MaybeUninit, size_of};
use std::ptr::NonNull;

use super::error::Failure;

/// A place of the caller's for one value, or nowhere.
pub struct Out<T>(Option<NonNull<T>>);

impl<T> Out<T> {
    /// # Safety
    /// `ptr` is null or valid for one write of a `T`, of any alignment, as long as this value lives.
    pub unsafe fn new(ptr: *mut T) -> Self {
        Self(NonNull::new(ptr))
    }

    /// As [`Out::new`], but null is the caller's mistake; `name` is the parameter's.
    ///
    /// # Safety
    /// As [`Out::new`].
    pub unsafe fn required(ptr: *mut T, name: &str) -> Result<Self, Failure> {
        let ptr = NonNull::new(ptr).ok_or_else(|| Failure::argument(format!("{name} is null")))?;
        Ok(Self(Some(ptr)))
    }

    pub fn nowhere() -> Self {
        Self(None)
    }

    pub fn is_wanted(&self) -> bool {
        self.0.is_some()
    }

    pub fn set(&self, value: T) {
        if let Some(place) = self.0 {
            // SAFETY: valid for one write of any alignment, promised to `new` or `required`.
            unsafe { place.as_ptr().write_unaligned(value) }
        }
    }
}

/// `len` bytes at `ptr`; null with length 0 is an empty slice. `name` is the parameter's.
///
/// # Safety
/// `ptr` is null or valid for reads of `len` bytes, unchanged for as long as the caller of this function chooses `'a`.
pub unsafe fn bytes<'a>(ptr: *const u8, len: usize, name: &str) -> Result<&'a [u8], Failure> {
    check_span(ptr.is_null(), len, name)?;
    if len == 0 {
        return Ok(&[]);
    }
    // SAFETY: not null, not longer than isize::MAX (checked above), readable (# Safety); u8 has no alignment.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// As [`bytes`], for a place to write to.
///
/// # Safety
/// `ptr` is null or valid for writes of `len` bytes, which nobody else uses for `'a`.
pub unsafe fn bytes_mut<'a>(ptr: *mut u8, len: usize, name: &str) -> Result<&'a mut [MaybeUninit<u8>], Failure> {
    check_span(ptr.is_null(), len, name)?;
    if len == 0 {
        return Ok(&mut []);
    }
    // SAFETY: not null, not longer than isize::MAX (checked above), writable and not shared (# Safety). It may be
    // uninitialised, so the element type says so.
    Ok(unsafe { std::slice::from_raw_parts_mut(ptr.cast(), len) })
}

/// UTF-8 text of `len` bytes at `ptr`; null with length 0 is empty.
///
/// # Safety
/// As [`bytes`].
pub unsafe fn text<'a>(ptr: *const c_char, len: usize, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: promised by the caller in the same words.
    let bytes = unsafe { bytes(ptr.cast(), len, name)? };
    std::str::from_utf8(bytes).map_err(|e| Failure::argument(format!("{name} is not UTF-8 ({e})")))
}

fn check_span(is_null: bool, len: usize, name: &str) -> Result<(), Failure> {
    if is_null && len > 0 {
        return Err(Failure::argument(format!("{name} is null, and its length is {len}")));
    }
    if isize::try_from(len).is_err() {
        return Err(Failure::argument(format!("{name}: a length of {len} is more than memory has")));
    }
    Ok(())
}

/// A struct of the header whose first field is its size as the host was compiled.
///
/// # Safety
/// `repr(C)`, begins with a `u32` size, and any bytes, zeroes included, are a valid value.
pub unsafe trait Growing: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Its size in the first ABI that had it.
    const SIZE_MIN: usize;
}

/// Reads one struct; `None` if `ptr` is null. Fields that an older host does not have are zero, fields that a newer
/// one has are not looked at.
///
/// # Safety
/// `ptr` is null or valid for reads of as many bytes as its first four bytes, a `u32`, say.
pub unsafe fn optional<T: Growing>(ptr: *const T) -> Result<Option<T>, Failure> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: not null; promised by the caller in the same words.
    unsafe { read(ptr).map(Some) }
}

/// As [`optional`], but null is the caller's mistake.
///
/// # Safety
/// As [`optional`].
pub unsafe fn one<T: Growing>(ptr: *const T) -> Result<T, Failure> {
    // SAFETY: promised by the caller in the same words.
    unsafe { optional(ptr)? }.ok_or_else(|| Failure::argument(format!("{} is null", T::NAME)))
}

/// Reads `count` structs that lie side by side, as far apart as the first one says that it is long.
///
/// # Safety
/// `ptr` is null or valid for reads of `count` structs of the size that the first four bytes, a `u32`, say.
pub unsafe fn many<T: Growing>(ptr: *const T, count: usize) -> Result<Vec<T>, Failure> {
    check_span(ptr.is_null(), count, T::NAME)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: not null, and the first struct is readable (# Safety).
    let stride = unsafe { check_size(ptr)? };
    if isize::try_from(stride.saturating_mul(count)).is_err() {
        return Err(Failure::argument(format!("{count} of {} are more than memory has", T::NAME)));
    }
    let mut values = Vec::with_capacity(count.min(1024));
    for i in 0..count {
        // SAFETY: the array has `count` structs of `stride` bytes (# Safety), which is no more than isize::MAX bytes.
        let element = unsafe { ptr.byte_add(i * stride) };
        // SAFETY: within the array, so its first four bytes are readable; all of it is, as its size is the stride.
        let size = unsafe { check_size(element)? };
        if size != stride {
            return Err(Failure::argument(format!(
                "{}: struct_size of element {i} is {size}, of the first it is {stride}",
                T::NAME
            )));
        }
        // SAFETY: `stride` bytes are readable, and that is what its first field says.
        values.push(unsafe { read(element)? });
    }
    Ok(values)
}

/// Writes as much of `value` as the caller's struct has room for; the caller has set `struct_size`, which stays.
///
/// # Safety
/// `ptr` is null or valid for reads and writes of as many bytes as its first four bytes, a `u32`, say.
pub unsafe fn write_back<T: Growing>(ptr: *mut T, value: &T) -> Result<(), Failure> {
    if ptr.is_null() {
        return Err(Failure::argument(format!("{} is null", T::NAME)));
    }
    // SAFETY: not null, and its first four bytes are readable (# Safety).
    let size = unsafe { check_size(ptr)? }.min(size_of::<T>());
    let head = size_of::<u32>();
    // SAFETY: both have `size` bytes and do not overlap; bytes have no alignment; the size field is left out.
    unsafe {
        let from = std::ptr::from_ref(value).cast::<u8>().add(head);
        std::ptr::copy_nonoverlapping(from, ptr.cast::<u8>().add(head), size - head);
    }
    Ok(())
}

/// As [`write_back`], to structs that lie side by side, as far apart as the first one says that it is long; each gets its
/// size, too. Nothing is looked at if there are no values.
///
/// # Safety
/// `ptr` is null or valid for reads and writes of as many structs as there are values, of the size that the first four
/// bytes, a `u32`, say.
pub unsafe fn write_all<T: Growing>(ptr: *mut T, values: impl Iterator<Item = T>) -> Result<(), Failure> {
    let mut stride = None;
    for (i, value) in values.enumerate() {
        let stride = match stride {
            Some(stride) => stride,
            None => {
                // SAFETY: null, or its first four bytes are readable (# Safety).
                unsafe { check_place(ptr)? };
                // SAFETY: not null (checked above), and its first four bytes are readable (# Safety).
                *stride.insert(unsafe { ptr.cast::<u32>().read_unaligned() })
            }
        };
        // SAFETY: the array has a struct of `stride` bytes at this place (# Safety).
        let place = unsafe { ptr.byte_add(i * stride as usize) };
        // SAFETY: as above; four bytes are less than the size, which was checked.
        unsafe { place.cast::<u32>().write_unaligned(stride) };
        // SAFETY: its size was set above to what is there.
        unsafe { write_back(place, &value)? };
    }
    Ok(())
}

/// Whether `ptr` is a struct that [`write_back`] could write to; asked before anything is taken that could be lost.
///
/// # Safety
/// As [`write_back`].
pub unsafe fn check_place<T: Growing>(ptr: *const T) -> Result<(), Failure> {
    if ptr.is_null() {
        return Err(Failure::argument(format!("{} is null", T::NAME)));
    }
    // SAFETY: not null, and its first four bytes are readable (# Safety).
    unsafe { check_size(ptr) }.map(drop)
}

/// # Safety
/// `ptr` is valid for reads of as many bytes as its first four bytes say.
unsafe fn read<T: Growing>(ptr: *const T) -> Result<T, Failure> {
    // SAFETY: its first four bytes are readable (# Safety).
    let size = unsafe { check_size(ptr)? }.min(size_of::<T>());
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes are readable (# Safety) and fit into a `T`; bytes have no alignment.
    unsafe { std::ptr::copy_nonoverlapping(ptr.cast::<u8>(), value.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: any bytes are a valid `T` (`Growing`), and all of them are set.
    Ok(unsafe { value.assume_init() })
}

/// # Safety
/// `ptr` is valid for reads of four bytes.
unsafe fn check_size<T: Growing>(ptr: *const T) -> Result<usize, Failure> {
    const { assert!(T::SIZE_MIN <= size_of::<T>(), "a struct never shrinks") };
    // SAFETY: four bytes are readable (# Safety); no alignment is assumed.
    let size = unsafe { ptr.cast::<u32>().read_unaligned() } as usize;
    if size < T::SIZE_MIN {
        return Err(Failure::argument(format!(
            "{}: struct_size is {size}, and it has at least {} bytes; set it to sizeof({})",
            T::NAME,
            T::SIZE_MIN,
            T::NAME
        )));
    }
    Ok(size)
}
