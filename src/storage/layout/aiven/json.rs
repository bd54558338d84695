//! Fields of a JSON object, taken strictly: Java's ints, no unknown fields.

use serde_json::{Map, Value};

use super::ManifestError;

pub(super) fn corrupt(why: impl Into<String>) -> ManifestError {
    ManifestError::Corrupt(why.into())
}

/// An object of the document and what it is called in messages.
pub(super) struct Fields<'a> {
    name: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(name: &'a str, value: &'a Value) -> Result<Self, ManifestError> {
        let map = value.as_object().ok_or_else(|| corrupt(format!("{name} is no object")))?;
        Ok(Self { name, map })
    }

    /// Refuses fields that this version of the manifest doesn't have: whoever wrote them meant something by them.
    pub(super) fn only(&self, known: &[&str]) -> Result<(), ManifestError> {
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                Err(ManifestError::Unsupported(format!("a field `{}` in {}", key.escape_default(), self.name)))
            }
            None => Ok(()),
        }
    }

    /// A field that must be there; it may be null.
    pub(super) fn get(&self, field: &str) -> Result<&'a Value, ManifestError> {
        self.map.get(field).ok_or_else(|| corrupt(format!("{} has no `{field}`", self.name)))
    }

    /// A field that may be missing or null.
    pub(super) fn optional(&self, field: &str) -> Option<&'a Value> {
        self.map.get(field).filter(|value| !value.is_null())
    }

    /// A whole number from 0 to 2^31-1.
    pub(super) fn int(&self, field: &str) -> Result<u32, ManifestError> {
        let value = self.get(field)?.as_i64().and_then(|number| i32::try_from(number).ok());
        let number = value.and_then(|number| u32::try_from(number).ok());
        number.ok_or_else(|| corrupt(format!("`{field}` of {} is no whole number from 0 to 2147483647", self.name)))
    }

    pub(super) fn text(&self, field: &str) -> Result<&'a str, ManifestError> {
        self.get(field)?.as_str().ok_or_else(|| corrupt(format!("`{field}` of {} is no text", self.name)))
    }

    pub(super) fn boolean(&self, field: &str) -> Result<bool, ManifestError> {
        self.get(field)?
            .as_bool()
            .ok_or_else(|| corrupt(format!("`{field}` of {} is neither true nor false", self.name)))
    }
}
