//! Prometheus text of a registry.

use std::fmt::Write as _;

use super::{Kind, Registry};

impl Registry {
    /// All values in Prometheus' text format, version 0.0.4: `undercroft_<group>_<name>` with underscores for hyphens.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        for (info, value) in self.infos().zip(self.read()) {
            let name = metric_name(info.group, &info.name);
            let kind = match info.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
            };
            let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}\n{name} {value}", escaped(&info.text));
        }
        out
    }
}

/// Metric names have letters, digits and underscores.
fn metric_name(group: &str, name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    ["undercroft_", group, "_", name].iter().flat_map(|part| part.chars()).map(legal).collect()
}

/// A help text is one line; the format knows two escapes in it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let mut registry = Registry::new();
        registry.counter("storage", "copy-bytes-total", "Bytes copied.").add(5);
        registry.gauge("metadata", "lag", "Records\nbehind, C:\\x.").set(-2);
        assert_eq!(
            registry.prometheus(),
            "# HELP undercroft_storage_copy_bytes_total Bytes copied.\n\
             # TYPE undercroft_storage_copy_bytes_total counter\n\
             undercroft_storage_copy_bytes_total 5\n\
             # HELP undercroft_metadata_lag Records\\nbehind, C:\\\\x.\n\
             # TYPE undercroft_metadata_lag gauge\n\
             undercroft_metadata_lag -2\n"
        );
    }

    #[test]
    fn large_values_have_no_exponent() {
        let mut registry = Registry::new();
        registry.counter("storage", "bytes-total", "Bytes.").add(1 << 60);
        assert!(registry.prometheus().ends_with("undercroft_storage_bytes_total 1152921504606847000\n"));
    }

    #[test]
    fn no_name_is_illegal() {
        assert_eq!(metric_name("storage", "p99.latency µs"), "undercroft_storage_p99_latency__s");
    }
}
