//! Prometheus text of a registry.

use std::fmt::Write as _;

use super::{Kind, Registry};

impl Registry {
    /// All values in Prometheus' text format, version 0.0.4.
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        for (info, value) in self.infos().zip(self.read()) {
            let name = format!("undercroft_{}_{}", info.group, info.name.replace('-', "_"));
            let kind = match info.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
            };
            let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} {kind}\n{name} {value}", info.text);
        }
        out
    }
}
