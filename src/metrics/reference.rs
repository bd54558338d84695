//! The reference of all metrics as Markdown: `docs/METRICS.md`.

use std::fmt::Write as _;

use super::{FamilyInfo, Kind, MetricInfo, Registry, aiven};

const INTRODUCTION: &str = "<!-- Generated from the registries by `make docs`; do not edit. -->
# Metrics

Every manager has its metrics from its start, with the value 0, and counts from there; nothing is reset. Those of a topic
come and go with it. A counter only grows, a gauge goes up and down. Units are part of the name: `us` are microseconds.

| where | name |
|---|---|
| JMX in a broker | bean `undercroft:type=storage,broker-id=1,instance=0` (and `type=metadata`), an attribute of type double per metric: `copy-total` |
| C | `uc_metrics_describe` and `uc_metrics_read`: group `storage`, name `copy-total` |
| JMX in a broker, of one topic | a bean each: `undercroft:type=metadata,broker-id=1,instance=0,name=…,topic=T` or Kafka's own name, if it is said below and not taken; attribute `Value` |
| Prometheus text, `uc_metrics_prometheus` | `undercroft_storage_copy_total`: `undercroft_`, group, name, with `_` for `-` |

`broker-id` is the broker's. `instance` is 0 unless the JVM has several managers of a side, as tests have: then they are
numbered in the order of their start. The beans are Undercroft's own and not Kafka's, so that they are the same on every
release and behind a `…class.path`.
";

const AIVEN_INTRODUCTION: &str = "
## Names of Aiven's plugin

With `metrics.aiven.names=true` a broker has these beans too. A rate is per second over the last minute, an average is over
the last minute and NaN if there was nothing, a maximum is the largest since the start. Times are milliseconds, those of
caches nanoseconds, as there. Where two managers live in one JVM, the first one's are there.
";

/// The reference of all metrics of some registries, in the order of [`Registry::infos`], and what they are also called.
#[must_use]
pub fn markdown(registries: &[&Registry]) -> String {
    let mut out = INTRODUCTION.to_owned();
    let mut group = "";
    for registry in registries {
        for info in registry.infos() {
            row(&mut out, &mut group, info, "");
        }
        for FamilyInfo { info, label, mbean } in registry.families() {
            let kafkas =
                mbean.map(|name| format!(" In JMX `{name},{label}=…`, attribute `Value`.")).unwrap_or_default();
            row(&mut out, &mut group, info, &format!(" One for each `{label}`.{kafkas}"));
        }
    }
    out.push_str(AIVEN_INTRODUCTION);
    aiven_names(&mut out);
    out
}

fn aiven_names(out: &mut String) {
    let mut has_table = false;
    for line in aiven::lines() {
        let _ = match line {
            aiven::Line::Bean { name, only } => {
                has_table = true;
                let only = only.map(|store| format!(" (store `{store}`)")).unwrap_or_default();
                writeln!(out, "\n`{name}`{only}\n\n| attributes | from |\n|---|---|")
            }
            aiven::Line::Attributes { names, sources } => {
                let quoted = |all: &[String]| all.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
                writeln!(out, "| {} | {} |", quoted(&names), quoted(&sources))
            }
            aiven::Line::Without { names, why } => {
                if std::mem::take(&mut has_table) {
                    let _ = writeln!(out, "\nNothing there is for:\n");
                }
                writeln!(out, "- `{names}`: {why}")
            }
        };
    }
}

fn row(out: &mut String, group: &mut &'static str, info: &MetricInfo, more: &str) {
    if info.group != *group {
        *group = info.group;
        let _ = write!(out, "\n## `type={group}`\n\n| metric | kind | meaning |\n|---|---|---|\n");
    }
    let kind = match info.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
    };
    let _ = writeln!(out, "| `{}` | {kind} | {}.{more} |", info.name, info.text.trim_end_matches('.'));
}
