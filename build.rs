//! Link options of the C library, and the id of the header that it is built with.

use std::fs;

/// Major version of the ABI as it stands in the SONAME: 0 until 1.0.
const SONAME: &str = "libundercroft.so.0";
const HEADER: &str = "include/undercroft.h";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={HEADER}");
    println!("cargo:rustc-env=UNDERCROFT_BUILD_ID={}", build_id().unwrap_or_else(|| "unknown".to_owned()));
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The JNI shim finds the core that is already in the process by this name.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
        // Threads of tokio and librdkafka outlive a class loader; the code they run must stay mapped.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // A dependency exports C symbols of its own; only ours belong to the ABI.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}

/// What the header defines as UC_BUILD_ID.
fn build_id() -> Option<String> {
    let header = fs::read_to_string(HEADER).ok()?;
    let line = header.lines().find_map(|line| line.strip_prefix("#define UC_BUILD_ID \""))?;
    Some(line.trim_end_matches('"').to_owned())
}
