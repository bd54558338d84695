//! What is printed from the table.

use std::fmt::Write as _;

use super::Side;

/// The reference of all keys as Markdown: `docs/CONFIG.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from("<!-- Generated from the key table by `make docs`; do not edit. -->\n# Configuration\n");
    for (side, title) in [(Side::Storage, "Storage side"), (Side::Metadata, "Metadata side")] {
        let _ = writeln!(out, "\n## {title}\n\n| key | type | default | range | meaning |\n|---|---|---|---|---|");
        for key in super::all().into_iter().filter(|key| key.side == side) {
            let default = key.default.map_or_else(|| "none".to_owned(), |d| format!("`{d}`"));
            let _ = writeln!(out, "| `{}` | {} | {default} | {} | {} |", key.name, key.kind, key.range(), key.text);
        }
    }
    out
}

/// The key of `side` that `name` was probably meant to be.
#[must_use]
pub fn near_miss(name: &str, side: Side) -> Option<&'static str> {
    let candidates = super::all().into_iter().filter(|key| key.side == side);
    candidates
        .map(|key| (distance(name, key.name), key.name))
        .filter(|&(steps, known)| steps * 5 <= known.len())
        .min()
        .map(|(_, known)| known)
}

/// Edits (insert, delete, replace a byte) that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
