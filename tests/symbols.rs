//! What the built library shows to a loader: the header's functions, its name, and that it stays where it is.
#![allow(clippy::expect_used, clippy::panic, reason = "a test ends where its premise fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The library that cargo built for this very test run: beside the test's own program. (The one a folder further up is
/// of the last `cargo build`.)
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a program");
    let library = program.with_file_name("libundercroft.so");
    assert!(library.exists(), "{} is not there, though cargo builds it for every test", library.display());
    library
}

fn run(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .arg(library())
        .output()
        .unwrap_or_else(|e| panic!("`{tool}` cannot be started ({e}): install binutils"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("binutils print ASCII")
}

/// Names that stand before a `(` at the beginning of a declaration.
fn declared() -> BTreeSet<String> {
    let header =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/include/undercroft.h")).expect("the header is there");
    let code = header.lines().filter(|line| !line.trim_start().starts_with(['*', '/', '#', ' ']));
    code.filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next())
        .filter(|name| name.starts_with("uc_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_library_exports_the_headers_functions_and_nothing_else() {
    let table = run("nm", &["-D", "--defined-only"]);
    let exported: BTreeSet<_> =
        table.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
    let declared = declared();
    assert!(declared.len() > 50, "the header was not understood: {declared:?}");
    let unknown: Vec<_> = exported.difference(&declared).collect();
    let missing: Vec<_> = declared.difference(&exported).collect();
    assert!(
        unknown.is_empty() && missing.is_empty(),
        "exported without a declaration: {unknown:?}; declared only: {missing:?}"
    );
}

#[test]
fn the_library_has_its_soname_and_is_never_unloaded() {
    let dynamic = run("readelf", &["-d"]);
    assert!(dynamic.contains("[libundercroft.so.0]"), "SONAME: {dynamic}");
    assert!(dynamic.lines().any(|line| line.contains("FLAGS_1") && line.contains("NODELETE")), "NODELETE: {dynamic}");
}
