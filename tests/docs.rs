//! The committed references are what the sources print. `UPDATE_DOCS=1 cargo test --test docs` writes them (`make docs`).
#![allow(clippy::expect_used, clippy::panic, reason = "a test's way to fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use undercroft::config::{self, Config, ConfigError, Fate};
use undercroft::metadata::log::kafka::{self, JavaSettings, Role, Translated, translate};
use undercroft::metadata::{MetadataEnv, MetadataManager};
use undercroft::metrics::aiven::Line;
use undercroft::metrics::{self, Kind, MetricInfo};
use undercroft::storage::{StorageEnv, StorageManager};

fn check(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(&path, printed).expect("the reference is writable");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == printed, "{name} differs from what the sources print: run `make docs` and commit it");
}

#[test]
fn config_md_is_printed_from_the_key_table() {
    check("docs/CONFIG.md", &config::markdown());
}

/// The registries of both sides, as they are at the start.
async fn registries() -> [Arc<metrics::Registry>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let config = |pairs: &[(&str, &str)]| {
        let mut config = Config::new();
        pairs.iter().for_each(|(key, value)| config.set(key, value));
        config
    };
    let runtime = tokio::runtime::Handle::current();
    let of_storage = config(&[("storage.backend.class", "filesystem"), ("storage.root", path)]);
    let storage = StorageManager::open(&of_storage, StorageEnv { runtime: runtime.clone() }).expect("opens");
    let of_metadata = config(&[("undercroft.metadata.log", "embedded"), ("undercroft.metadata.embedded.path", path)]);
    let env = MetadataEnv::from_config(&of_metadata, runtime).expect("an environment");
    let metadata = MetadataManager::open(&of_metadata, env).expect("opens");
    let registries = [storage.metrics(), metadata.metrics()];
    storage.close().await;
    tokio::task::spawn_blocking(move || metadata.close()).await.expect("closes");
    registries
}

#[tokio::test]
async fn metrics_md_is_printed_from_the_registries() {
    let [storage, metadata] = registries().await;
    check("docs/METRICS.md", &metrics::markdown(&[&*storage, &*metadata]));
}

/// What Prometheus calls a metric, with its kind and label.
fn prometheus_names(registries: &[Arc<metrics::Registry>]) -> BTreeMap<String, (Kind, Option<&'static str>)> {
    let named = |info: &MetricInfo| format!("undercroft_{}_{}", info.group, info.name).replace('-', "_");
    let of = |registry: &metrics::Registry| {
        let own = registry.infos().map(|info| (named(info), (info.kind, None)));
        let families = registry.families().map(|family| (named(&family.info), (family.info.kind, Some(family.label))));
        own.chain(families).collect::<Vec<_>>()
    };
    registries.iter().flat_map(|registry| of(registry)).collect()
}

#[tokio::test]
async fn what_is_made_of_metrics_for_aivens_names_is_there() {
    let [storage, _] = registries().await;
    let text = storage.prometheus();
    let all = prometheus_names(&[storage]);
    let mut seen = 0;
    let mut is_of_topics = false;
    for line in metrics::aiven::lines() {
        match line {
            Line::Bean { name, .. } => is_of_topics = name.ends_with(",topic=*"),
            Line::Without { .. } => {}
            Line::Attributes { sources, .. } => {
                for source in sources {
                    let (name, label) = source.split_once(' ').map_or((source.as_str(), None), |(n, l)| (n, Some(l)));
                    let name = format!("undercroft_storage_{}", name.replace('-', "_"));
                    let known = all.get(&name).unwrap_or_else(|| panic!("there is no metric {source}"));
                    let expected = if is_of_topics { Some("topic") } else { label.map(|_| "operation") };
                    assert_eq!(known.1, expected, "{source}");
                    let is_there = |label: &str| text.contains(&format!("{name}{{operation=\"{label}\"}}"));
                    assert!(label.is_none_or(|label| label == "*" || is_there(label)), "{source}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

/// Units that Grafana has and the dashboard may use, and labels that Prometheus or we put on.
const UNITS: [&str; 9] = ["short", "bytes", "Bps", "ms", "µs", "ops", "reqps", "percentunit", "none"];
const LABELS: [&str; 4] = ["job", "instance", "topic", "operation"];

#[tokio::test]
async fn the_dashboard_names_metrics_units_and_labels_that_there_are() {
    let all = prometheus_names(&registries().await);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/grafana/undercroft.json");
    let dashboard: Value = serde_json::from_slice(&std::fs::read(path).expect("a dashboard")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let rows: Vec<_> =
        panels.iter().filter(|panel| panel["type"] == "row").filter_map(|row| row["title"].as_str()).collect();
    assert_eq!(rows, ["Copies", "Reads", "Cache", "Store requests", "Metadata", "Dangling"]);
    let ids: BTreeSet<_> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "ids are told apart");
    let (mut expressions, mut used) = (0, BTreeSet::new());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let title = panel["title"].as_str().expect("a title");
        let unit = panel["fieldConfig"]["defaults"]["unit"].as_str().expect("a unit");
        assert!(UNITS.contains(&unit), "{title}: the unit {unit}");
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{title}");
        let targets = panel["targets"].as_array().expect("targets");
        assert!(!targets.is_empty(), "{title}");
        for expr in targets.iter().map(|target| target["expr"].as_str().expect("an expression")) {
            expressions += 1;
            let opened = expr.chars().filter(|c| matches!(c, '(' | '{' | '[')).count();
            assert_eq!(opened, expr.chars().filter(|c| matches!(c, ')' | '}' | ']')).count(), "{title}: {expr}");
            for (at, _) in expr.match_indices("undercroft_") {
                let rest = &expr[at..];
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                let name = &rest[..end];
                let (kind, label) = all.get(name).unwrap_or_else(|| panic!("{title}: there is no metric {name}"));
                let is_rate = expr[..at].ends_with("rate(") || expr[..at].ends_with("increase(");
                assert_eq!(is_rate, *kind == Kind::Counter, "{title}: {name}");
                used.insert(name.to_owned());
                for of_family in ["topic", "operation"] {
                    let is_asked = expr.contains(&format!("by ({of_family})"));
                    assert!(!is_asked || *label == Some(of_family), "{title}: {name} has no label {of_family}");
                }
            }
            let grouped = expr.split(" by (").skip(1).filter_map(|rest| rest.split(')').next());
            let matched = expr
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
                .flat_map(|inside| inside.split(", ").filter_map(|pair| pair.split(['=', '!']).next()));
            for label in grouped.chain(matched) {
                assert!(LABELS.contains(&label), "{title}: the label {label}");
            }
        }
    }
    assert!(expressions >= 60 && used.len() >= 50, "{expressions} expressions, {} metrics", used.len());
}

#[test]
fn the_prefixes_of_the_reference_are_those_that_are_handed_to_clients() {
    let mut told: Vec<_> = config::CLIENT_PREFIXES.iter().map(|prefix| prefix.name).collect();
    let mut handed = kafka::CLIENT_PREFIXES.to_vec();
    told.sort_unstable();
    handed.sort_unstable();
    assert_eq!(told, handed);
}

const ROLES: [Role; 3] = [Role::Admin, Role::Producer, Role::Consumer];

/// What becomes of settings, with what they need beside them.
fn translated(role: Role, settings: &[(&str, &str)]) -> Result<Translated, ConfigError> {
    let mut java = JavaSettings::new("p.");
    java.set("p.", "bootstrap.servers", "host:9092");
    settings.iter().for_each(|(name, value)| java.set("p.", name, value));
    translate(role, &java)
}

/// A protocol under which the setting matters, and a value that is not its default.
fn surroundings(name: &str) -> Vec<(&str, &str)> {
    const LOGIN: &str = "a.ScramLoginModule required username=u password=p;";
    let sasl = [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "SCRAM-SHA-512"), ("sasl.jaas.config", LOGIN)];
    let of_keys =
        [("ssl.keystore.type", "PKCS12"), ("ssl.keystore.location", "/k.p12"), ("ssl.keystore.password", "p")];
    let mut all = match name {
        _ if name.starts_with("sasl.") => sasl.to_vec(),
        _ if name.starts_with("ssl.") => vec![("security.protocol", "SSL")],
        _ => Vec::new(),
    };
    match name {
        "security.protocol" => all.push((name, "SSL")),
        "sasl.mechanism" | "sasl.jaas.config" => {}
        "ssl.truststore.type" => all.push((name, "PEM")),
        "ssl.truststore.location" => all.extend([("ssl.truststore.type", "PEM"), (name, "/ca.pem")]),
        "ssl.keystore.type" | "ssl.keystore.location" | "ssl.keystore.password" => all.extend(of_keys),
        "ssl.endpoint.identification.algorithm" => all.push((name, "https")),
        _ => all.push((name, "1")),
    }
    all
}

#[test]
fn every_client_setting_meets_the_fate_that_the_reference_tells() {
    for row in &config::CLIENT_SETTINGS {
        for name in row.names {
            let settings = surroundings(name);
            let outcomes = ROLES.map(|role| translated(role, &settings));
            match row.fate {
                Fate::Understood => {
                    let fine = outcomes.iter().all(|out| out.as_ref().is_ok_and(|out| out.warnings.is_empty()));
                    let used = outcomes
                        .iter()
                        .flatten()
                        .any(|out| out.properties.iter().any(|p| p.from == format!("p.{name}")));
                    assert!(fine && (used || name.ends_with(".type")), "{name}: {outcomes:?}");
                }
                Fate::PassedOver => {
                    let warned = |out: &Translated| {
                        out.warnings.iter().any(|warning| warning.starts_with(&format!("p.{name} ")))
                    };
                    assert!(
                        outcomes.iter().all(Result::is_ok) && outcomes.iter().flatten().any(warned),
                        "{name}: {outcomes:?}"
                    );
                }
                Fate::Refused => assert!(outcomes.iter().all(Result::is_err), "{name}: {outcomes:?}"),
            }
        }
    }
}

#[test]
fn what_the_reference_says_of_values_is_so() {
    let scram = "a.ScramLoginModule required username=u password=p;";
    for settings in [
        &[("security.protocol", "WSS")][..],
        &[("security.protocol", "SASL_SSL"), ("sasl.jaas.config", scram)],
        &[("security.protocol", "SASL_SSL"), ("sasl.mechanism", "OAUTHBEARER"), ("sasl.jaas.config", scram)],
        &[("security.protocol", "SSL"), ("ssl.truststore.location", "/t.jks")],
        &[("security.protocol", "SSL"), ("ssl.truststore.location", "/t.p12"), ("ssl.truststore.type", "PKCS12")],
        &[
            ("security.protocol", "SSL"),
            ("ssl.truststore.location", "/t.pem"),
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.password", "p"),
        ],
        &[("security.protocol", "SSL"), ("ssl.keystore.location", "/k.jks")],
        &[("security.protocol", "SSL"), ("ssl.protocol", "TLSv1.1")],
        &[("security.protocol", "SSL"), ("ssl.enabled.protocols", "TLSv1.3")],
        &[("security.protocol", "SSL"), ("ssl.something.else", "x")],
    ] {
        assert!(translated(Role::Admin, settings).is_err(), "{settings:?} is refused");
    }
}

#[test]
fn the_example_of_a_login_is_one_that_works() {
    let reference = config::markdown();
    let settings: Vec<_> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("rlmm.config.remote.log.metadata.common.client.")?.split_once('='))
        .collect();
    let out = translated(Role::Producer, &settings).expect("all of it is understood");
    assert_eq!(
        (out.warnings.len(), out.get("sasl.username"), out.get("ssl.ca.location")),
        (0, Some("tiering"), Some("/etc/kafka/ca.pem"))
    );
}

#[test]
fn the_operators_page_names_metrics_and_defaults_that_there_are() {
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("a page");
    let (page, metrics) = (read("docs/OPERATIONS.md"), read("docs/METRICS.md"));
    let (mut keys, mut alerts) = (0, 0);
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if let Some(mib) = cells[2].strip_suffix(" MiB") {
            let key = config::all().into_iter().find(|key| key.name == cells[1].trim_matches('`')).expect("a key");
            let bytes = mib.parse::<u64>().expect("a number") << 20;
            assert_eq!(key.default, Some(bytes.to_string().as_str()), "{line}");
            keys += 1;
        }
        if let Some((_, of_side)) = metrics.split_once(&format!("## `type={}`", cells[1])) {
            let of_side = of_side.split("\n## ").next().unwrap_or_default();
            for name in cells[2].split(", ") {
                assert!(of_side.contains(&format!("\n| {name} |")), "{line}");
                alerts += 1;
            }
        }
    }
    assert!(keys >= 4 && alerts >= 10, "{keys} keys and {alerts} metrics were found");
}
