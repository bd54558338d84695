//! Link options of the C library; the Rust sources need no generation step.

/// Major version of the ABI as it stands in the SONAME: 0 until 1.0.
const SONAME: &str = "libundercroft.so.0";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // The JNI shim finds the core that is already in the process by this name.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{SONAME}");
        // Threads of tokio and librdkafka outlive a class loader; the code they run must stay mapped.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        // A dependency exports C symbols of its own; only ours belong to the ABI.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}
