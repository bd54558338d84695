//! What is printed from the table.

use std::fmt::Write as _;

use super::{Key, Side};

const INTRODUCTION: &str = "<!-- Generated from the key table by `make docs`; do not edit. -->
# Configuration

A stock broker hands each side the keys that begin with its prefix, and takes the prefix off: `rsm.config.` for the
storage side, `rlmm.config.` for the metadata side, unless `remote.log.storage.manager.impl.prefix` or
`remote.log.metadata.manager.impl.prefix` say otherwise. Other hosts set the keys as they stand here. A key that is not
listed is ignored, with one warning in the log; a value outside of its range is an error. `undercroft config` prints
this reference in a terminal.
";

/// The reference of all keys as Markdown: `docs/CONFIG.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    for side in Side::ALL {
        let _ = write!(out, "\n{}", markdown_of(side));
    }
    out
}

/// One side's section of [`markdown`].
#[must_use]
pub fn markdown_of(side: Side) -> String {
    let title = match side {
        Side::Storage => "Storage side",
        Side::Metadata => "Metadata side",
    };
    let mut out = format!("## {title}\n\n| key | type | default | range | meaning |\n|---|---|---|---|---|\n");
    for key in super::all().into_iter().filter(|key| key.side == side) {
        let default = match key.default {
            None => "none".to_owned(),
            Some("") => "empty".to_owned(),
            Some(default) => format!("`{}`", cell(default)),
        };
        let (range, text) = (cell(&key.range()), cell(key.text));
        let _ = writeln!(out, "| `{}` | {} | {default} | {range} | {text} |", key.name, key.kind);
    }
    if side == Side::Metadata {
        let _ = write!(out, "\n{}", super::clients::markdown());
    }
    out
}

/// Text that stays in its cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The key of `side` that `name` was probably meant to be.
#[must_use]
pub fn near_miss(name: &str, side: Side) -> Option<&'static str> {
    nearest(name, side, &super::all())
}

/// A key with a broker's prefix still on it, a part too many or too few in front, or a typing error in each five
/// characters at most; the one with the fewest differences.
pub(super) fn nearest(name: &str, side: Side, known: &[&'static Key]) -> Option<&'static str> {
    let name = Side::ALL.iter().find_map(|side| name.strip_prefix(side.broker_prefix())).unwrap_or(name);
    let is_part_of = |a: &str, b: &str| a.strip_suffix(b).is_some_and(|front| front.is_empty() || front.ends_with('.'));
    known
        .iter()
        .filter(|key| key.side == side)
        .filter_map(|key| {
            let steps = if is_part_of(name, key.name) || is_part_of(key.name, name) {
                name.len().abs_diff(key.name.len())
            } else {
                distance(name, key.name, key.name.len() / 5)?
            };
            Some((steps, key.name))
        })
        .min()
        .map(|(_, known)| known)
}

/// Edits (insert, delete, replace a byte) that turn `a` into `b`, if there are at most `max`. What is more is not counted: a file may
/// have many names that are like none.
fn distance(a: &str, b: &str, max: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > max {
        return None;
    }
    // Cells further than `max` from the diagonal need more edits than that.
    let far = max + 1;
    let mut row: Vec<usize> = (0..=b.len()).map(|j| j.min(far)).collect();
    for (i, x) in a.bytes().enumerate() {
        let (from, to) = (i.saturating_sub(max), b.len().min(i + max + 1));
        let mut diagonal = row[from];
        row[from] = if from == 0 { (i + 1).min(far) } else { far };
        for j in from..to {
            let replaced = diagonal + usize::from(x != b.as_bytes()[j]);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1).min(far);
        }
        if row[from..=to].iter().all(|&edits| edits == far) {
            return None;
        }
    }
    Some(row[b.len()]).filter(|&edits| edits <= max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Kind, all};

    static PREFIX: Key = key("key.prefix", Side::Storage);
    static ROOT: Key = key("storage.root", Side::Storage);
    static PREFETCH: Key = key("fetch.chunk.cache.prefetch.max.size", Side::Storage);
    static WAIT: Key = key("remote.log.metadata.consume.wait.ms", Side::Metadata);
    static TABLE: [&Key; 4] = [&PREFIX, &ROOT, &PREFETCH, &WAIT];

    const fn key(name: &'static str, side: Side) -> Key {
        Key { name, side, kind: Kind::Text, default: None, text: "" }
    }

    #[test]
    fn a_key_that_is_nearly_right_is_recognised() {
        for (name, side, meant) in [
            ("storage.rot", Side::Storage, Some("storage.root")),
            ("storage-root", Side::Storage, Some("storage.root")),
            ("rsm.config.storage.root", Side::Storage, Some("storage.root")),
            ("rlmm.config.storage.root", Side::Storage, Some("storage.root")),
            // Two spellings from the files of users of Aiven's plugin.
            ("storage.key.prefix", Side::Storage, Some("key.prefix")),
            ("fetch.chunk.cache.prefetching.size", Side::Storage, Some("fetch.chunk.cache.prefetch.max.size")),
            ("consume.wait.ms", Side::Metadata, Some("remote.log.metadata.consume.wait.ms")),
            ("storage.rot", Side::Metadata, None),
            ("prefix", Side::Storage, Some("key.prefix")),
            ("fix", Side::Storage, None),
            ("", Side::Storage, None),
            ("zażółć gęślą jaźń", Side::Storage, None),
        ] {
            assert_eq!(nearest(name, side, &TABLE), meant, "{name}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        for (a, b, edits) in [("", "", 0), ("abc", "", 3), ("", "abc", 3), ("kitten", "sitting", 3), ("a.b", "a-b", 1)]
        {
            assert_eq!(distance(a, b, 10), Some(edits), "{a} {b}");
            for max in 0..edits {
                assert_eq!(distance(a, b, max), None, "{a} {b} {max}");
            }
        }
    }

    #[test]
    fn every_key_of_the_table_is_sound() {
        let keys = all();
        for (i, key) in keys.iter().enumerate() {
            assert!(!key.text.is_empty() && key.text.ends_with('.'), "{}: the text is whole sentences", key.name);
            assert!(!keys[..i].iter().any(|k| (k.name, k.side) == (key.name, key.side)), "{} stands twice", key.name);
            assert!(!key.name.starts_with(key.side.broker_prefix()), "{}: the broker takes its prefix off", key.name);
            let mut config = Config::new();
            if let Some(default) = key.default {
                config.set(key.name, default);
                assert_eq!(
                    config.check(key.side, &[]),
                    Ok(Vec::new()),
                    "{}: the default is in its own range",
                    key.name
                );
            }
        }
    }

    #[test]
    fn the_reference_has_a_row_for_each_key() {
        let markdown = markdown();
        for key in all() {
            assert!(markdown.contains(&format!("\n| `{}` |", key.name)), "{}", key.name);
        }
        assert!(markdown.starts_with("<!-- Generated"));
    }

    #[test]
    fn a_text_with_a_bar_stays_in_its_cell() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
    }
}
