//! librdkafka's error codes.

use std::ffi::CStr;
use std::fmt;

use rdkafka::bindings as rd;
pub(in super::super) use rdkafka::bindings::rd_kafka_resp_err_t as RespErr;

/// A code of librdkafka (negative) or of a broker (positive). Kept as a number, as a broker may send one that the
/// bindings' enum has no variant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Code(pub i32);

impl Code {
    /// The code of one of the enum's variants.
    pub fn of(code: RespErr) -> Self {
        Self(code as i32)
    }

    pub fn is(self, code: RespErr) -> bool {
        self == Self::of(code)
    }

    pub fn is_ok(self) -> bool {
        self.0 == 0
    }

    pub fn is_any(self, codes: &[RespErr]) -> bool {
        codes.iter().any(|&code| self.is(code))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: without arguments; the table lives as long as the process, its length comes with it, and each row's
        // texts are null or static C strings. (`rd_kafka_err2str` would need an enum value, which a number from
        // outside need not be.)
        let table = unsafe {
            let (mut rows, mut count) = (std::ptr::null(), 0);
            rd::rd_kafka_get_err_descs(&raw mut rows, &raw mut count);
            std::slice::from_raw_parts(rows.cast::<ErrDesc>(), count)
        };
        match table.iter().find(|row| row.code == self.0 && !row.desc.is_null()) {
            // SAFETY: not null, thus a static C string of the table.
            Some(row) => f.write_str(&unsafe { CStr::from_ptr(row.desc) }.to_string_lossy()),
            None => write!(f, "error {}", self.0),
        }
    }
}

/// `struct rd_kafka_err_desc` with its code as a number: unused rows of the table hold numbers that are no variant.
#[repr(C)]
struct ErrDesc {
    code: i32,
    name: *const std::ffi::c_char,
    desc: *const std::ffi::c_char,
}

const _: () = assert!(size_of::<ErrDesc>() == size_of::<rd::rd_kafka_err_desc>());

/// A C string as text; empty for null.
///
/// # Safety
/// `text` is null or a C string that is valid during the call.
pub(super) unsafe fn text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and a C string as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}

/// Reads a code out of a place typed as the enum without making an enum value of it.
///
/// # Safety
/// `place` is valid for reads.
pub(super) unsafe fn read(place: *const RespErr) -> Code {
    // SAFETY: valid for reads as the caller promises; the enum is `repr(i32)`.
    Code(unsafe { place.cast::<i32>().read() })
}

const _: () = assert!(size_of::<RespErr>() == size_of::<i32>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_texts_and_unknown_ones_a_number() {
        assert_eq!(
            Code::of(RespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).to_string(),
            "Broker: Unknown topic or partition"
        );
        assert_eq!(Code(31_000).to_string(), "error 31000");
    }
}
