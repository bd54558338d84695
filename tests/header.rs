//! `include/undercroft.h` is what `src/ffi` says, and C compilers of several standards take it.
#![allow(clippy::expect_used, clippy::panic, reason = "a test ends where its premise fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of `src/ffi` that the header shows, in its order.
const NOUNS: [&str; 13] = [
    "version",
    "code",
    "error",
    "buf",
    "config",
    "log",
    "cq",
    "metrics",
    "partition",
    "segment",
    "storage",
    "reader",
    "metadata",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// FNV-1a: enough to tell two headers apart, and easy to compute again.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn print_header(after_includes: String) -> String {
    let mut config = cbindgen::Config::from_file(root().join("cbindgen.toml")).expect("cbindgen.toml is valid");
    config.after_includes = Some(after_includes);
    let mut builder = cbindgen::Builder::new().with_config(config);
    for noun in NOUNS.iter().chain(&["segments", "tiering"]) {
        builder = builder.with_src(root().join(format!("src/ffi/{noun}.rs")));
    }
    let mut bytes = Vec::new();
    builder.generate().expect("src/ffi can be read").write(&mut bytes);
    String::from_utf8(bytes).expect("a header is text")
}

fn generate() -> String {
    let abi = undercroft::ffi::version::ABI_VERSION;
    let body = print_header(String::new());
    let (major, minor, patch) =
        (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"), env!("CARGO_PKG_VERSION_PATCH"));
    let version = env!("CARGO_PKG_VERSION");
    print_header(format!(
        "
/** The release that this header belongs to; `uc_version` tells the library's. */
#define UNDERCROFT_VERSION \"{version}\"
#define UNDERCROFT_VERSION_MAJOR {major}
#define UNDERCROFT_VERSION_MINOR {minor}
#define UNDERCROFT_VERSION_PATCH {patch}

/** The ABI that this header describes; a library needs an `uc_abi_version` of at least that. */
#define UC_ABI_VERSION {abi}

/** Release, ABI and text of this header; equal to `uc_build_id` if the library was built with this very header. */
#define UC_BUILD_ID \"{version}-abi{abi}-{:016x}\"",
        fingerprint(&body)
    ))
}

#[test]
fn the_committed_header_is_what_the_sources_say() {
    let path = root().join("include/undercroft.h");
    let generated = generate();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::write(&path, generated).expect("include/undercroft.h can be written");
        return;
    }
    let committed = fs::read_to_string(&path).expect("include/undercroft.h is there");
    assert!(committed == generated, "include/undercroft.h is out of date: run `make header`");
}

/// A folder for what the compilers make; cargo keeps it within `target/`.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("target/tmp can be written");
    folder
}

fn compile(compiler: &str, standard: &str, source: &Path, object: &Path) {
    let output = Command::new(compiler)
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "-o"])
        .args([object, source])
        .arg("-I")
        .arg(root().join("include"))
        .output()
        .unwrap_or_else(|e| panic!("`{compiler}` cannot be started ({e}): install gcc and g++"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler} -std={standard}: {said}");
}

/// Whether the compiler knows a standard at all; C23 has two names.
fn knows(compiler: &str, standard: &str) -> bool {
    let mut probe = Command::new(compiler);
    probe.args(["-fsyntax-only", "-x", "c", "/dev/null"]).arg(format!("-std={standard}"));
    probe.output().is_ok_and(|output| output.status.success())
}

#[test]
fn c_and_cpp_compilers_take_the_header_alone_and_twice_in_two_units() {
    let folder = scratch("header");
    let c_standards: Vec<_> = ["c11", "c17", "c2x"].into_iter().filter(|standard| knows("cc", standard)).collect();
    assert!(c_standards.contains(&"c11") && c_standards.contains(&"c17"), "the C compiler is too old");
    let cpp_standards = ["c++17", "c++20"];
    let runs = c_standards.iter().map(|s| ("cc", *s, "c")).chain(cpp_standards.iter().map(|s| ("c++", *s, "cpp")));
    for (compiler, standard, ending) in runs {
        let mut objects = Vec::new();
        for unit in ["one", "two"] {
            let source = folder.join(format!("{unit}.{ending}"));
            // The header comes first, so it has to bring what it needs, and again, so its guard has to work.
            let text = "#include \"undercroft.h\"\n#include \"undercroft.h\"\n";
            let main = if unit == "one" {
                "int main(void) { return UC_OK; }\n"
            } else {
                "int two(void);\nint two(void) { return UC_ERR_CLOSED; }\n"
            };
            fs::write(&source, format!("{text}{main}")).expect("target/tmp can be written");
            let object = folder.join(format!("{unit}-{standard}.o"));
            compile(compiler, standard, &source, &object);
            objects.push(object);
        }
        let linked = Command::new(compiler).args(&objects).arg("-o").arg(folder.join("both")).status();
        assert!(linked.is_ok_and(|status| status.success()), "two units with the header link, {standard}");
    }
}

#[test]
fn the_law_has_the_table_of_codes_that_the_library_has() {
    let law = fs::read_to_string(root().join("docs/ABI.md")).expect("docs/ABI.md is there");
    let in_law: Vec<_> = law.lines().filter(|line| line.starts_with("| `UC_")).collect();
    let in_library: Vec<_> = undercroft::ffi::code::uc_code::all()
        .iter()
        .map(|code| {
            format!(
                "| `{}` | {} | {} | {} | {} |",
                code.c_name().to_str().expect("ASCII"),
                code.status(),
                if code.is_retriable() { "yes" } else { "no" },
                code.text(),
                code.java_class()
            )
        })
        .collect();
    assert_eq!(
        in_law,
        in_library,
        "the table in docs/ABI.md is not the one of src/ffi/code.rs; it should be:\n{}",
        in_library.join("\n")
    );
}

#[test]
fn the_law_shows_the_example_that_is_compiled() {
    let law = fs::read_to_string(root().join("docs/ABI.md")).expect("docs/ABI.md is there");
    let example = fs::read_to_string(root().join("examples/c/copy_and_read.c")).expect("the example is there");
    let shown = law
        .split("```c\n")
        .find_map(|block| block.split_once("\n```").map(|(code, _)| code).filter(|code| code.contains("int main")));
    assert_eq!(
        shown.map(str::trim),
        Some(example.trim()),
        "docs/ABI.md shows another example than examples/c/copy_and_read.c"
    );
    compile("cc", "c11", &root().join("examples/c/copy_and_read.c"), &scratch("example").join("copy_and_read.o"));
}
