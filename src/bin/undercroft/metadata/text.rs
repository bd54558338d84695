//! Times, sizes and places in words.

use std::io::{self, Write as _};

use serde_json::{Value, json};
use undercroft::config::{visible, visible_lines};
use undercroft::metadata::survey::{Place, Places};
use undercroft::model::TopicIdPartition;

use crate::Failure;

/// A time in UTC, to the second as ISO 8601 has it. `-` for none.
pub fn time(ms: i64) -> String {
    if ms < 0 {
        return "-".to_owned();
    }
    let (days, seconds) = (ms / 86_400_000, ms / 1000 % 86_400);
    // Days since 0000-03-01, in eras of 400 years: the day that leaps is the last of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A number of bytes as people say it.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut tenths = u128::from(count) * 10;
    let mut unit = "B";
    for next in UNITS {
        if tenths < 10_240 {
            break;
        }
        (tenths, unit) = (tenths / 1024, next);
    }
    if unit == "B" { format!("{count} B") } else { format!("{}.{} {unit}", tenths / 10, tenths % 10) }
}

/// Bytes as hexadecimal digits; of many only the first.
pub fn hex(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 32;
    let digits: String = bytes.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > SHOWN_MAX { format!("{digits}… ({} bytes)", bytes.len()) } else { digits }
}

/// A user partition as Kafka's tools print it.
pub fn partition(partition: &TopicIdPartition) -> String {
    format!("{}-{}", visible(&partition.topic), partition.partition)
}

/// `3/1205`: metadata partition and offset.
pub fn place(place: Place) -> String {
    format!("{}/{}", place.partition, place.offset)
}

/// The first places of records, with their metadata partition.
pub fn places(places: &Places) -> String {
    let first: Vec<_> = places.first.iter().copied().map(place).collect();
    let more = places.count.saturating_sub(u64::try_from(first.len()).unwrap_or(u64::MAX));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

/// A place in JSON.
pub fn place_json(place: Place) -> Value {
    json!({ "metadataPartition": place.partition, "offset": place.offset, "timestampMs": place.timestamp_ms })
}

/// Writes to standard output. False if its reader has seen enough. Whoever may write to a log or a store must not be able to
/// steer a terminal: nothing but ends of lines gets there unseen, and values with these are made visible where they are put
/// into a line.
pub fn put(text: &str) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(visible_lines(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure(format!("standard output cannot be written: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399_999, "2000-02-28T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_709_251_199_000, "2024-02-29T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1, "-"),
        ] {
            assert_eq!(time(ms), text);
        }
    }

    #[test]
    fn sizes_have_one_decimal_behind_the_first_unit() {
        for (count, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_073_741_824, "1.0 GiB"),
            (u64::MAX, "15.9 EiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
