//! Values of one manager: kept as text, checked when they are set, typed when they are asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Key, Kind, Side, near_miss};

/// Why a configuration cannot be used. Every message names the key; a password's value is never in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{key} = `{value}`: {why}; expected: {range}")]
    BadValue { key: String, value: String, why: String, range: String },
    #[error("{key} is not set: {why}")]
    Missing { key: String, why: String },
    #[error("{key} = `{value}` cannot be honoured: {why}")]
    Unsupported { key: String, value: String, why: String },
}

/// A key that nobody reads. A host says so once and goes on, as Kafka does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub key: String,
    /// The known key that it looks like, if there is one.
    pub did_you_mean: Option<&'static str>,
}

/// A checked set of values for one side.
#[derive(Debug, Clone, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
}

impl Config {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key; the last value wins. The value is checked later, by [`Config::check`] or when it is asked for.
    pub fn set(&mut self, key: &str, value: &str) {
        self.values.insert(key.to_owned(), value.to_owned());
    }

    /// A key's text as it was set, without its default. Also for keys outside of the table (client prefixes).
    #[must_use]
    pub fn raw(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// What was set under keys that begin with `prefix`, the prefix taken off.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.values.iter().filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value.as_str())))
    }

    /// Checks every value of `side` that the table knows, and lists what it doesn't. Keys that begin with one of
    /// `open_prefixes` belong to somebody else (a client, a store) and are passed over.
    ///
    /// # Errors
    /// The first value, in the order of the keys, that is outside of its range.
    pub fn check(&self, side: Side, open_prefixes: &[&str]) -> Result<Vec<Warning>, ConfigError> {
        let known = super::all();
        let mut warnings = Vec::new();
        for (name, value) in &self.values {
            match known.iter().find(|key| key.side == side && key.name == name) {
                Some(key) => check_value(key, value)?,
                None if open_prefixes.iter().any(|prefix| name.starts_with(prefix)) => {}
                None => warnings.push(Warning { key: name.clone(), did_you_mean: near_miss(name, side) }),
            }
        }
        Ok(warnings)
    }

    /// Text of a key, or its default.
    #[must_use]
    pub fn text(&self, key: &'static Key) -> Option<&str> {
        self.raw(key.name).or(key.default)
    }

    /// Text of a key that must be there.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] with `why` it is needed.
    pub fn required(&self, key: &'static Key, why: &str) -> Result<&str, ConfigError> {
        self.text(key).ok_or_else(|| ConfigError::Missing { key: key.name.to_owned(), why: why.to_owned() })
    }

    /// A whole number, or `None` if neither a value nor a default is there.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] if the text is no number or outside of the key's range.
    pub fn integer(&self, key: &'static Key) -> Result<Option<i64>, ConfigError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        check_value(key, text)?;
        text.trim().parse().map(Some).map_err(|_| bad(key, text, "not a whole number"))
    }

    /// A whole number of a key that has a default and no negative values.
    ///
    /// # Errors
    /// As [`Config::integer`], and [`ConfigError::Missing`] if the table gives the key no default.
    pub fn unsigned(&self, key: &'static Key) -> Result<u64, ConfigError> {
        let number = self
            .integer(key)?
            .ok_or_else(|| ConfigError::Missing { key: key.name.to_owned(), why: "it has no default".to_owned() })?;
        u64::try_from(number).map_err(|_| bad(key, &number.to_string(), "negative"))
    }

    /// A number of milliseconds as a duration; see [`Config::unsigned`].
    ///
    /// # Errors
    /// As [`Config::unsigned`].
    pub fn millis(&self, key: &'static Key) -> Result<Duration, ConfigError> {
        self.unsigned(key).map(Duration::from_millis)
    }

    /// `true` or `false`; false if neither a value nor a default is there.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] for any other word.
    pub fn boolean(&self, key: &'static Key) -> Result<bool, ConfigError> {
        let Some(text) = self.text(key) else { return Ok(false) };
        check_value(key, text)?;
        Ok(text.trim().eq_ignore_ascii_case("true"))
    }
}

fn bad(key: &Key, value: &str, why: &str) -> ConfigError {
    let value = if key.kind == Kind::Password { "[hidden]" } else { value };
    ConfigError::BadValue { key: key.name.to_owned(), value: value.to_owned(), why: why.to_owned(), range: key.range() }
}

fn check_value(key: &Key, value: &str) -> Result<(), ConfigError> {
    match key.kind {
        Kind::Text | Kind::Password => Ok(()),
        Kind::Boolean => match value.trim().to_ascii_lowercase().as_str() {
            "true" | "false" => Ok(()),
            _ => Err(bad(key, value, "not a boolean")),
        },
        Kind::Integer { min, max } => match value.trim().parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(()),
            Ok(_) => Err(bad(key, value, "out of range")),
            Err(_) => Err(bad(key, value, "not a whole number")),
        },
        Kind::Choice(words) if words.contains(&value.trim()) => Ok(()),
        Kind::Choice(_) => Err(bad(key, value, "not one of the choices")),
    }
}
