//! The committed reference is what the table prints. `UPDATE_DOCS=1 cargo test --test docs` writes it (`make docs`).

use std::path::Path;

#[test]
fn config_md_is_printed_from_the_key_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONFIG.md");
    let printed = undercroft::config::markdown();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &printed).expect("docs/CONFIG.md is writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == printed, "docs/CONFIG.md differs from the key table: run `make docs` and commit it");
}
