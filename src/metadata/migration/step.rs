//! What a migration does to the topic.

use std::fmt;

/// One thing that is done, and cannot be done halfway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Settings of the topic are changed, all together.
    Set(Vec<Change>),
    /// The level record is written to these metadata partitions.
    WriteLevel { level: i8, partitions: Vec<i32> },
}

/// A setting as it is and as it is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub name: &'static str,
    pub from: Option<String>,
    pub to: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={} (was {})", self.name, self.to, self.from.as_deref().unwrap_or("not known"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set(changes) => {
                let all: Vec<_> = changes.iter().map(ToString::to_string).collect();
                write!(f, "set {}", all.join(", "))
            }
            Self::WriteLevel { level, partitions } => {
                let plural = if partitions.len() == 1 { "" } else { "s" };
                write!(f, "write level {level} to {} metadata partition{plural}", partitions.len())
            }
        }
    }
}
