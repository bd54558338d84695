//! The house's rules that no compiler keeps. Each rule is a function from text to complaints, tried on bad samples
//! beside it and applied to the repository here.

#![allow(clippy::expect_used, clippy::panic, reason = "a test's way to fail")]

mod files;
mod papers;
mod rooms;
mod rust;

use std::path::Path;
use std::process::Command;

/// A file of the repository: path from its root with forward slashes, and its text.
struct Source {
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All text files that git tracks or would track.
fn repository() -> Vec<Source> {
    let listing = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root())
        .output()
        .expect("git is installed");
    assert!(listing.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listing.stderr));
    let paths = String::from_utf8(listing.stdout).expect("paths are UTF-8");
    let read = |path: &str| {
        let text = String::from_utf8(std::fs::read(root().join(path)).ok()?).ok()?;
        Some(Source { path: path.to_owned(), text })
    };
    let files: Vec<_> = paths.split_terminator('\0').filter_map(read).collect();
    assert!(files.iter().any(|file| file.path == "src/lib.rs"), "the repository was found");
    files
}

/// Applies a rule to every file and shows all that it has to complain about.
fn hold(rule: impl Fn(&Source) -> Vec<String>) {
    let complaints: Vec<_> = repository().iter().flat_map(rule).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn no_room_imports_what_is_not_in_its_row() {
    hold(|file| rooms::complaints(&file.path, &file.text));
}

#[test]
fn pure_folders_see_no_shell() {
    hold(|file| rooms::shell_complaints(&file.path, &file.text));
}

#[test]
fn unsafe_stands_only_where_foreign_code_is_called() {
    hold(|file| rooms::unsafe_complaints(&file.path, &file.text));
}

#[test]
fn no_file_is_too_long_and_none_has_an_empty_name() {
    hold(|file| files::complaints(&file.path, &file.text));
}

#[test]
fn nothing_names_a_machine() {
    hold(|file| files::machine_complaints(&file.path, &file.text));
}

#[test]
fn papers_name_the_rust_version_of_the_manifest() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let version = papers::rust_version(&manifest).expect("Cargo.toml has a rust-version");
    hold(|file| papers::version_complaints(&file.path, &file.text, &version));
}

#[test]
fn generated_files_say_so() {
    hold(|file| papers::generated_complaints(&file.path, &file.text));
}
