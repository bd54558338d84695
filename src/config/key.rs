//! A row of the table: what a key is called, what it may hold and what it means.

use std::fmt;

/// What stands in the place of a secret.
pub(super) const HIDDEN: &str = "[hidden]";

/// Which manager reads a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Storage,
    Metadata,
}

impl Side {
    /// Both, in the order of the reference.
    pub const ALL: [Self; 2] = [Self::Storage, Self::Metadata];

    /// What a stock broker's file has in front of the keys of this side, unless `…manager.impl.prefix` says otherwise.
    #[must_use]
    pub fn broker_prefix(self) -> &'static str {
        match self {
            Self::Storage => "rsm.config.",
            Self::Metadata => "rlmm.config.",
        }
    }
}

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Any text, never shown.
    Password,
    /// `true` or `false`.
    Boolean,
    /// A whole number within bounds, both inclusive.
    Integer { min: i64, max: i64 },
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Password => f.write_str("password"),
            Self::Boolean => f.write_str("boolean"),
            Self::Integer { .. } => f.write_str("integer"),
            Self::Choice(_) => f.write_str("choice"),
        }
    }
}

/// One configuration key.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub side: Side,
    pub kind: Kind,
    /// The value of a key that is not set; `None` if it then has none.
    pub default: Option<&'static str>,
    /// What it does, in whole sentences, with units.
    pub text: &'static str,
}

impl Key {
    /// `value`, or a mark in its place if this key's values are secret.
    #[must_use]
    pub fn shown<'a>(&self, value: &'a str) -> &'a str {
        if self.kind == Kind::Password { HIDDEN } else { value }
    }

    /// The range of its values in words, for messages and the reference.
    #[must_use]
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Text | Kind::Password => "any".to_owned(),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Integer { min: i64::MIN, max: i64::MAX } => "any whole number".to_owned(),
            Kind::Integer { min, max: i64::MAX } => format!("at least {min}"),
            Kind::Integer { min, max } => format!("{min} to {max}"),
            Kind::Choice(words) => words.join(", "),
        }
    }
}
