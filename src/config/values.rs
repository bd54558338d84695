//! Values of one manager: kept as text, checked when they are set, typed when they are asked for.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::key::HIDDEN;
use super::reference::nearest;
use super::shown::without_secrets;
use super::{Key, Kind, Side};

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

impl ConfigError {
    /// A value that the key's kind, or the room that reads it, doesn't allow. A password's value is left out.
    #[must_use]
    pub fn bad_value(key: &Key, value: &str, why: &str) -> Self {
        let value = key.shown(value).to_owned();
        Self::BadValue { key: key.name.to_owned(), value, why: why.to_owned(), range: key.range() }
    }

    /// A value that means something, which we cannot do. A password's value is left out.
    #[must_use]
    pub fn unsupported(key: &Key, value: &str, why: &str) -> Self {
        Self::Unsupported { key: key.name.to_owned(), value: key.shown(value).to_owned(), why: why.to_owned() }
    }

    /// No value, where `why` says what for one is needed.
    #[must_use]
    pub fn missing(key: &Key, why: &str) -> Self {
        Self::Missing { key: key.name.to_owned(), why: why.to_owned() }
    }
}

/// A key that nobody reads. A host says so once and goes on, as Kafka does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub key: String,
    /// The known key that it looks like, if there is one.
    pub did_you_mean: Option<&'static str>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown configuration key `{}` is ignored", self.key)?;
        match self.did_you_mean {
            Some(known) => write!(f, "; did you mean `{known}`?"),
            None => Ok(()),
        }
    }
}

/// The values of one side, as a host has set them.
#[derive(Clone, Default)]
pub struct Config {
    values: BTreeMap<String, String>,
}

/// Shows what the table knows to be no secret, and of everything else only that it is set.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = super::all();
        let shown = self.values.iter().map(|(name, value)| {
            let key = known.iter().find(|key| key.name == name);
            (name, key.map_or(HIDDEN.into(), |key| without_secrets(key.shown(value))))
        });
        f.debug_map().entries(shown).finish()
    }
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
        self.check_against(&super::all(), side, open_prefixes)
    }

    fn check_against(&self, known: &[&'static Key], side: Side, open: &[&str]) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = Vec::new();
        for (name, value) in &self.values {
            match known.iter().find(|key| key.side == side && key.name == name) {
                Some(key) => check_value(key, value.trim())?,
                None if open.iter().any(|prefix| name.starts_with(prefix)) => {}
                None => warnings.push(Warning { key: name.clone(), did_you_mean: nearest(name, side, known) }),
            }
        }
        Ok(warnings)
    }

    /// Text of a key without blanks around it (as Kafka reads values), or its default.
    #[must_use]
    pub fn text(&self, key: &'static Key) -> Option<&str> {
        self.raw(key.name).map(str::trim).or(key.default)
    }

    /// Text of a key that must be there; an empty one is not.
    ///
    /// # Errors
    /// [`ConfigError::Missing`] with `why` it is needed.
    pub fn required(&self, key: &'static Key, why: &str) -> Result<&str, ConfigError> {
        self.text(key).filter(|text| !text.is_empty()).ok_or_else(|| ConfigError::missing(key, why))
    }

    /// The chosen word of a key that has a default.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] for a word that isn't one of the key's, [`ConfigError::Missing`] without a default.
    pub fn choice(&self, key: &'static Key) -> Result<&str, ConfigError> {
        let word = self.required(key, "one of the choices is needed")?;
        check_value(key, word)?;
        Ok(word)
    }

    /// A whole number, or `None` if neither a value nor a default is there.
    ///
    /// # Errors
    /// [`ConfigError::BadValue`] if the text is no number or outside of the key's range.
    pub fn integer(&self, key: &'static Key) -> Result<Option<i64>, ConfigError> {
        let Some(text) = self.text(key) else { return Ok(None) };
        check_value(key, text)?;
        text.parse().map(Some).map_err(|_| ConfigError::bad_value(key, text, NOT_A_NUMBER))
    }

    /// As [`Config::integer`], for a value under a name of its own that means what `key` means, such as a topic's.
    /// There is no default.
    ///
    /// # Errors
    /// As [`Config::integer`], with `name` in the place of the key's.
    pub fn integer_under(&self, name: &str, key: &'static Key) -> Result<Option<i64>, ConfigError> {
        let Some(text) = self.raw(name).map(str::trim) else { return Ok(None) };
        let bad = |why: &str| ConfigError::BadValue {
            key: name.to_owned(),
            value: key.shown(text).to_owned(),
            why: why.to_owned(),
            range: key.range(),
        };
        check_value(key, text).map_err(|error| match error {
            ConfigError::BadValue { why, .. } => bad(&why),
            other => other,
        })?;
        text.parse().map(Some).map_err(|_| bad(NOT_A_NUMBER))
    }

    /// A whole number of a key that has a default and no negative values.
    ///
    /// # Errors
    /// As [`Config::integer`], and [`ConfigError::Missing`] if the table gives the key no default.
    pub fn unsigned(&self, key: &'static Key) -> Result<u64, ConfigError> {
        let number = self.integer(key)?.ok_or_else(|| ConfigError::missing(key, "it has no default"))?;
        u64::try_from(number).map_err(|_| ConfigError::bad_value(key, &number.to_string(), "negative"))
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
        Ok(text.eq_ignore_ascii_case("true"))
    }
}

const NOT_A_NUMBER: &str = "not a whole number";

/// `value` has no blanks around it.
fn check_value(key: &Key, value: &str) -> Result<(), ConfigError> {
    let why = match key.kind {
        Kind::Text | Kind::Password => return Ok(()),
        Kind::Boolean if value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false") => return Ok(()),
        Kind::Boolean => "not a boolean",
        Kind::Integer { min, max } => match value.parse::<i64>() {
            Ok(number) if (min..=max).contains(&number) => return Ok(()),
            Ok(_) => "out of range",
            Err(_) => NOT_A_NUMBER,
        },
        Kind::Choice(words) if words.contains(&value) => return Ok(()),
        Kind::Choice(_) => "not one of the choices",
    };
    Err(ConfigError::bad_value(key, value, why))
}
