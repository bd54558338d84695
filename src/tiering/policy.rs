//! What a configuration says about the lag of each topic.

use std::collections::BTreeMap;

use crate::config::{Config, ConfigError, Key, metadata as keys};

use super::CopyLag;

/// The configured lags: one for all topics, others for some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyPolicy {
    default: CopyLag,
    topics: BTreeMap<String, CopyLag>,
    warnings: Vec<String>,
}

impl CopyPolicy {
    /// Reads `remote.copy.lag.ms` and `remote.copy.lag.bytes`, and the same behind `undercroft.topic.<topic>.`. On a
    /// broker that has them itself everything is eligible, as the broker has decided already.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] for a value out of range.
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let [ms, bytes] = [&keys::COPY_LAG_MS, &keys::COPY_LAG_BYTES];
        let number = |key: &'static Key, otherwise| Ok(config.integer(key)?.unwrap_or(otherwise));
        let default = CopyLag { ms: number(ms, CopyLag::DEFAULT.ms)?, bytes: number(bytes, CopyLag::DEFAULT.bytes)? };
        let mut warnings = Vec::new();
        let mut topics = BTreeMap::new();
        for (name, _) in config.with_prefix(keys::TOPIC_PREFIX) {
            let topic = [ms, bytes].iter().find_map(|key| name.strip_suffix(key.name)?.strip_suffix('.'));
            let Some(topic) = topic.filter(|topic| !topic.is_empty()) else {
                warnings.push(format!(
                    "unknown configuration key `{}{name}` is ignored; known are `{0}<topic>.{}` and `{0}<topic>.{}`",
                    keys::TOPIC_PREFIX,
                    ms.name,
                    bytes.name
                ));
                continue;
            };
            let of_topic = |key: &'static Key, otherwise| {
                let name = format!("{}{topic}.{}", keys::TOPIC_PREFIX, key.name);
                Ok(config.integer_under(&name, key)?.unwrap_or(otherwise))
            };
            topics.insert(
                topic.to_owned(),
                CopyLag { ms: of_topic(ms, default.ms)?, bytes: of_topic(bytes, default.bytes)? },
            );
        }
        let mut policy = Self { default, topics, warnings };
        if !config.boolean(&keys::BROKER_HAS_COPY_LAG)? {
            policy.warn_of_lags_without_effect(config);
        } else if policy != Self::eager(policy.warnings.clone()) {
            let warning = "this broker has `remote.copy.lag.ms` and `remote.copy.lag.bytes` itself, so those in the \
                           plugin's configuration are not used: set them on topics, or `log.remote.copy.lag.ms` and \
                           `log.remote.copy.lag.bytes` on brokers";
            policy = Self::eager(policy.warnings);
            policy.warnings.push(warning.to_owned());
        }
        Ok(policy)
    }

    /// Everything is eligible.
    fn eager(warnings: Vec<String>) -> Self {
        Self { default: CopyLag::DEFAULT, topics: BTreeMap::new(), warnings }
    }

    /// The lag of a topic, unless it holds nothing back.
    #[must_use]
    pub fn lag_of(&self, topic: &str) -> Option<CopyLag> {
        let lag = self.topics.get(topic).copied().unwrap_or(self.default);
        (!lag.is_none()).then_some(lag)
    }

    /// What is configured and does nothing, in sentences.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// One limit is set and the other is 0, which copies at once: the trap is that 0 is the default of `ms`.
    fn warn_of_lags_without_effect(&mut self, config: &Config) {
        let all = std::iter::once((String::new(), self.default));
        let topics = self.topics.iter().map(|(topic, &lag)| (format!("{}{topic}.", keys::TOPIC_PREFIX), lag));
        let [ms, bytes] = [keys::COPY_LAG_MS.name, keys::COPY_LAG_BYTES.name];
        for (front, lag) in all.chain(topics) {
            let is_set = |name: &str| config.raw(&format!("{front}{name}")).is_some();
            let (useless, zero, remedy) = match lag {
                CopyLag { ms: 0, bytes: 1.. | ..=-1 } if is_set(bytes) => {
                    (bytes, ms, "-1 follows `local.retention.ms`")
                }
                CopyLag { ms: 1.. | ..=-1, bytes: 0 } if is_set(ms) => {
                    (ms, bytes, "-1 follows `local.retention.bytes`")
                }
                _ => continue,
            };
            self.warnings.push(format!(
                "`{front}{useless}` has no effect: `{zero}` is 0 there, which copies each segment at once; set \
                 `{front}{zero}` too ({remedy})"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: &str = "remote.copy.lag.ms";
    const BYTES: &str = "remote.copy.lag.bytes";

    fn read(pairs: &[(&str, &str)]) -> Result<CopyPolicy, ConfigError> {
        let mut config = Config::new();
        pairs.iter().for_each(|(key, value)| config.set(key, value));
        CopyPolicy::read(&config)
    }

    #[test]
    fn nothing_is_held_back_by_default_and_nobody_is_warned() {
        let policy = read(&[]).expect("reads");
        assert_eq!(policy.lag_of("any"), None);
        assert!(policy.warnings().is_empty());
    }

    #[test]
    fn a_topic_has_its_own_lag_and_what_it_leaves_out_from_all() {
        let policy = read(&[
            (MS, "60000"),
            (BYTES, "500"),
            ("undercroft.topic.a.b.remote.copy.lag.ms", "5"),
            ("undercroft.topic.remote.copy.lag.ms.remote.copy.lag.bytes", " 7 "),
            ("undercroft.topic.eager.remote.copy.lag.ms", "0"),
        ])
        .expect("reads");
        assert_eq!(policy.lag_of("any"), Some(CopyLag { ms: 60_000, bytes: 500 }));
        assert_eq!(policy.lag_of("a.b"), Some(CopyLag { ms: 5, bytes: 500 }));
        assert_eq!(policy.lag_of("remote.copy.lag.ms"), Some(CopyLag { ms: 60_000, bytes: 7 }));
        assert_eq!(policy.lag_of("eager"), None);
        assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
    }

    #[test]
    fn only_bytes_set_is_warned_of() {
        let policy = read(&[(BYTES, "1000"), ("undercroft.topic.t.remote.copy.lag.bytes", "-1")]).expect("reads");
        assert_eq!(policy.lag_of("any"), None);
        let warnings = policy.warnings();
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].starts_with("`remote.copy.lag.bytes` has no effect: `remote.copy.lag.ms` is 0"));
        assert!(warnings[1].contains("set `undercroft.topic.t.remote.copy.lag.ms` too"), "{}", warnings[1]);
        assert!(read(&[(BYTES, "1000"), (MS, "-1")]).expect("reads").warnings().is_empty());
        assert_eq!(read(&[(BYTES, "0"), (MS, "9")]).expect("reads").warnings().len(), 1, "the mirror of it");
        assert!(read(&[(BYTES, "0"), (MS, "0")]).expect("reads").warnings().is_empty(), "it says what it does");
    }

    #[test]
    fn a_value_out_of_range_is_named_with_its_topic() {
        for (key, value) in [(MS, "-2"), (BYTES, "x"), ("undercroft.topic.t.remote.copy.lag.bytes", "-2")] {
            let error = read(&[(key, value)]).expect_err("out of range").to_string();
            assert!(error.starts_with(&format!("{key} = `{value}`")), "{error}");
        }
    }

    #[test]
    fn a_key_that_no_topic_has_is_warned_of() {
        for key in ["undercroft.topic.t.remote.copy.lag", "undercroft.topic.remote.copy.lag.ms", "undercroft.topic.t.x"]
        {
            let policy = read(&[(key, "5")]).expect("reads");
            assert_eq!(policy.warnings().len(), 1, "{key}");
            assert!(policy.warnings()[0].contains(key), "{:?}", policy.warnings());
        }
    }

    #[test]
    fn it_is_off_where_the_broker_does_it_itself() {
        let itself = ("undercroft.broker.has.copy.lag", "true");
        let policy = read(&[itself, (MS, "5"), ("undercroft.topic.t.remote.copy.lag.ms", "5")]).expect("reads");
        assert_eq!((policy.lag_of("any"), policy.lag_of("t")), (None, None));
        assert_eq!(policy.warnings().len(), 1, "{:?}", policy.warnings());
        assert!(read(&[itself]).expect("reads").warnings().is_empty());
    }
}
