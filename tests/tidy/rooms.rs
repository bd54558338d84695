//! Which room may use which.

use crate::rust::{code_of, line_at, names_at, words};

/// Room, and the rooms that it may use. Everything beside `src/<room>` may use all.
const ROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("wire", &["model"]),
    ("config", &["model"]),
    ("metrics", &["model"]),
    ("metadata", &["model", "wire", "config", "metrics", "tiering"]),
    ("storage", &["model", "wire", "config", "metrics"]),
    ("tiering", &["config"]),
    ("diskless", &["model", "config", "metrics"]),
    ("ffi", &["model", "wire", "config", "metrics", "metadata", "storage", "tiering", "diskless"]),
    // A crate of its own, which sees the library from outside.
    ("bin", &[]),
];

/// Folders of decisions: functions of values.
const PURE: &[&str] = &[
    "src/model/",
    "src/wire/",
    "src/config/",
    "src/metrics/",
    "src/metadata/partition/",
    "src/metadata/plan/",
    "src/storage/layout/",
    "src/tiering/",
];

/// What only a shell names.
const SHELL_WORDS: &[&str] =
    &["tokio", "opendal", "rdkafka", "reqwest", "fs", "net", "thread", "Instant", "SystemTime"];

/// Folders that call foreign code.
const UNSAFE: &[&str] = &["src/ffi/", "src/metadata/log/kafka/"];

/// Uses of rooms that aren't in the row of `path`'s room, and rooms without a row.
pub fn complaints(path: &str, text: &str) -> Vec<String> {
    let Some((room, rest)) = path.strip_prefix("src/").and_then(|path| path.split_once('/')) else {
        return Vec::new();
    };
    let Some((_, allowed)) = ROWS.iter().find(|(name, _)| *name == room) else {
        return vec![format!("{path}: the room `{room}` has no row in tests/tidy/rooms.rs")];
    };
    if room == "bin" {
        return Vec::new();
    }
    let code = code_of(text);
    let is_refused = |name: &str| name != room && !allowed.contains(&name) && ROWS.iter().any(|(r, _)| *r == name);
    // `src/a/b/c.rs` is three modules deep, `src/a/b/mod.rs` two: so many times `super` is the crate.
    let depth = rest.split('/').count() + usize::from(!rest.ends_with("mod.rs"));
    let from_crate = words(&code, "crate").filter(|&at| code[at..].starts_with("crate::")).map(|at| at + 7);
    let from_super = words(&code, "super").filter_map(|at| {
        let chain = code[at..].split("super::").take_while(|between| between.is_empty()).count();
        (chain > depth || (chain == depth && depth > 0)).then_some(at + chain * 7)
    });
    let mut found: Vec<_> = from_crate
        .chain(from_super)
        .flat_map(|at| names_at(&code, at).into_iter().map(move |name| (at, name)))
        .filter(|(_, name)| is_refused(name))
        .map(|(at, name)| format!("{path}:{}: `{room}` may not use `{name}`", line_at(&code, at)))
        .collect();
    found.dedup();
    found
}

/// Words of shells in folders of decisions. Tests may have any.
pub fn shell_complaints(path: &str, text: &str) -> Vec<String> {
    if !PURE.iter().any(|folder| path.starts_with(folder)) || path.ends_with("tests.rs") {
        return Vec::new();
    }
    let code = code_of(text);
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_path = |at: usize, word: &str| code[..at].ends_with("::") || code[at + word.len()..].starts_with("::");
    let named = SHELL_WORDS.iter().flat_map(|word| words(code, word).map(move |at| (at, *word)));
    named
        .filter(|&(at, word)| is_path(at, word))
        .map(|(at, word)| format!("{path}:{}: `{word}` belongs to a shell", line_at(code, at)))
        .collect()
}

/// `unsafe` elsewhere than where foreign code is called.
pub fn unsafe_complaints(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("src/") || !path.ends_with(".rs") || UNSAFE.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let code = code_of(text);
    words(&code, "unsafe").map(|at| format!("{path}:{}: `unsafe` outside of {UNSAFE:?}", line_at(&code, at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_outside_of_the_row_is_found() {
        for (path, text) in [
            ("src/model/ids.rs", "use crate::wire::Reader;"),
            ("src/wire/key/mod.rs", "fn f() { crate::config::all(); }"),
            ("src/storage/mod.rs", "use crate::{model::Offset, metadata::MetadataManager};"),
            ("src/metadata/plan/keys.rs", "use crate::{\n    model::{Offset, KafkaUuid},\n    storage,\n};"),
            ("src/metadata/manager.rs", "use super::super::storage::StorageManager;"),
            ("src/metadata/mod.rs", "use super::storage::StorageManager;"),
            ("src/metrics/registry.rs", "pub(in crate::ffi) fn f() {}"),
        ] {
            assert_eq!(complaints(path, text).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn an_import_of_the_row_is_fine() {
        for (path, text) in [
            ("src/wire/key/mod.rs", "use crate::model::Offset; // not crate::config"),
            ("src/storage/mod.rs", "use crate::storage::layout; use crate::{model, wire::{self, Reader}};"),
            ("src/storage/layout/place.rs", "use super::compact; use super::super::store;"),
            (
                "src/storage/mod.rs",
                "/// [`crate::metadata`] has the rest.\npub fn f() -> &'static str { \"crate::ffi\" }",
            ),
            ("src/ffi/mod.rs", "use crate::{metadata, storage};"),
            ("src/bin/undercroft/main.rs", "use crate::config; use undercroft::storage;"),
            ("src/lib.rs", "pub mod storage; use crate::ffi;"),
            ("tests/tidy/main.rs", "use crate::storage;"),
        ] {
            assert_eq!(complaints(path, text), Vec::<String>::new(), "{path}: {text}");
        }
    }

    #[test]
    fn a_room_without_a_row_is_found() {
        assert_eq!(complaints("src/attic/mod.rs", "").len(), 1);
    }

    #[test]
    fn a_complaint_has_file_and_line() {
        let found = complaints("src/wire/key.rs", "//! x\n\nuse crate::ffi;\n");
        assert_eq!(found, ["src/wire/key.rs:3: `wire` may not use `ffi`"]);
    }

    #[test]
    fn a_shell_in_a_pure_folder_is_found() {
        for text in ["use std::fs::File;", "tokio::spawn(x);", "use std::time::Instant;", "std::thread::spawn(f);"] {
            assert_eq!(shell_complaints("src/metadata/plan/keys.rs", text).len(), 1, "{text}");
            assert!(shell_complaints("src/metadata/manager.rs", text).is_empty());
            assert!(shell_complaints("src/metadata/plan/keys/tests.rs", text).is_empty());
        }
        assert!(shell_complaints("src/wire/key.rs", "let fs = 1; // std::fs\n").is_empty());
        assert!(shell_complaints("src/wire/key.rs", "#[cfg(test)]\nmod tests {\n use std::fs::File;\n}").is_empty());
    }

    #[test]
    fn unsafe_outside_of_its_folders_is_found() {
        assert_eq!(unsafe_complaints("src/storage/fetch.rs", "unsafe { x() }").len(), 1);
        assert!(unsafe_complaints("src/ffi/buf.rs", "unsafe { x() }").is_empty());
        assert!(unsafe_complaints("src/storage/fetch.rs", "// unsafe\n#![deny(unsafe_code)]").is_empty());
    }
}
