//! A row of the table: what a key is called, what it may hold and what it means.

use std::fmt;

/// Which manager reads a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Storage,
    Metadata,
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
    /// The range of its values in words, for messages and the reference.
    #[must_use]
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Text | Kind::Password => "any".to_owned(),
            Kind::Boolean => "true or false".to_owned(),
            Kind::Integer { min, max: i64::MAX } => format!("at least {min}"),
            Kind::Integer { min, max } => format!("{min} to {max}"),
            Kind::Choice(words) => words.join(", "),
        }
    }
}
