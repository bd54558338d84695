//! Prometheus text of a registry.

use std::fmt::Write as _;

use super::{Description, Kind, Registry};

impl Registry {
    /// All values in Prometheus' text format, version 0.0.4: `undercroft_<group>_<name>` with underscores for hyphens.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let (descriptions, values) = loop {
            let (descriptions, described) = self.describe();
            let (values, read) = self.read_with_generation();
            if described == read {
                break (descriptions, values);
            }
        };
        let mut last = String::new();
        for (Description { info, label, .. }, value) in descriptions.iter().zip(values) {
            let name = metric_name(info.group, &info.name);
            if name != last {
                let kind = match info.kind {
                    Kind::Counter => "counter",
                    Kind::Gauge => "gauge",
                };
                let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}", escaped(&info.text));
            }
            let _ = match label {
                Some((label, of)) => {
                    writeln!(out, "{name}{{{label}=\"{}\"}} {value}", escaped(of).replace('"', "\\\""))
                }
                None => writeln!(out, "{name} {value}"),
            };
            last = name;
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
    fn members_of_a_family_share_help_and_type_and_differ_in_their_label() {
        let mut registry = Registry::new();
        let family = registry.family("metadata", "dangling", "topic", Kind::Gauge, "Dangling.");
        assert_eq!(registry.prometheus(), "");
        family.with("b").set(2);
        family.with("a\"\\").set(1);
        assert_eq!(
            registry.prometheus(),
            "# HELP undercroft_metadata_dangling Dangling.\n\
             # TYPE undercroft_metadata_dangling gauge\n\
             undercroft_metadata_dangling{topic=\"a\\\"\\\\\"} 1\n\
             undercroft_metadata_dangling{topic=\"b\"} 2\n"
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
