//! `undercroft version`.

/// The same line as `--version` prints.
pub fn run() -> String {
    format!("undercroft {}\n", env!("CARGO_PKG_VERSION"))
}
