//! Durations and lists in words.

/// A length of time as people say it, in its two biggest units.
#[must_use]
pub fn duration(ms: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s")];
    let ms = ms.max(0);
    let Some(at) = UNITS.iter().position(|&(unit, _)| ms >= unit) else { return format!("{ms} ms") };
    let (unit, name) = UNITS[at];
    let rest = UNITS.get(at + 1).map(|&(next, next_name)| (ms % unit / next, next_name)).filter(|&(rest, _)| rest > 0);
    match rest {
        Some((rest, rest_name)) => format!("{} {name} {rest} {rest_name}", ms / unit),
        None => format!("{} {name}", ms / unit),
    }
}

/// A number and its noun.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The first few of many, with commas.
pub(super) fn some(all: impl IntoIterator<Item = String>) -> String {
    const SHOWN_MAX: usize = 8;
    let all: Vec<_> = all.into_iter().collect();
    let shown = all[..all.len().min(SHOWN_MAX)].join(", ");
    if all.len() > SHOWN_MAX { format!("{shown} and {} more", all.len() - SHOWN_MAX) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        for (ms, text) in [
            (-5, "0 ms"),
            (999, "999 ms"),
            (61_000, "1 min 1 s"),
            (3_600_000, "1 h"),
            (3_659_000, "1 h"),
            (1_209_600_000, "14 d"),
            (90_000_000, "1 d 1 h"),
        ] {
            assert_eq!(duration(ms), text);
        }
    }

    #[test]
    fn of_many_the_first_are_shown() {
        assert_eq!(some((0..9).map(|n| n.to_string())), "0, 1, 2, 3, 4, 5, 6, 7 and 1 more");
        assert_eq!(some(["a".to_owned()]), "a");
    }
}
