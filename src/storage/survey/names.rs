//! Names of objects, read backwards: whose part an object is.

use crate::model::{KafkaUuid, is_topic_name};

/// Characters of an id.
const ID_LENGTH: usize = 22;
/// Digits of a start offset.
const OFFSET_LENGTH: usize = 20;

/// What an object is of its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All of it, in the compact layout.
    Compact,
    Log,
    Indexes,
    Manifest,
}

impl Part {
    /// The parts of a segment in Aiven's layout.
    pub const AIVEN: [Self; 3] = [Self::Log, Self::Indexes, Self::Manifest];
    pub(super) const ALL: [Self; 4] = [Self::Compact, Self::Log, Self::Indexes, Self::Manifest];

    /// What names of such objects end with, behind a dot.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Compact => "ucseg",
            Self::Log => "log",
            Self::Indexes => "indexes",
            Self::Manifest => "rsm-manifest",
        }
    }

    fn of_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.suffix() == suffix)
    }
}

/// What the name of a segment's object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentName {
    /// The name without its suffix.
    pub base: String,
    /// What stands in front of the topic: `key.prefix` of the copy, if that can be told from the topic.
    pub prefix: String,
    pub topic: String,
    pub topic_id: KafkaUuid,
    pub partition: i32,
    pub start_offset: i64,
    pub segment_id: KafkaUuid,
}

impl SegmentName {
    /// Reads `<prefix><topic>-<topic id>/<partition>/<start offset>-<segment id>.<suffix>`; `None` if the name is another.
    ///
    /// A prefix needs no separator, so where it ends is known only if it is `prefix`; else at the last `/` before the topic.
    /// ```
    /// # use undercroft::storage::survey::{Part, SegmentName};
    /// let key = "a/orders-AAAAAAAAAAAAAAAAAAAAAQ/7/00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.rsm-manifest";
    /// let (name, part) = SegmentName::read(key, "a/").unwrap();
    /// assert_eq!((name.topic.as_str(), name.partition, name.start_offset, part), ("orders", 7, 1234, Part::Manifest));
    /// assert!(SegmentName::read("a/orders/notes.log", "a/").is_none());
    /// ```
    #[must_use]
    pub fn read(key: &str, prefix: &str) -> Option<(Self, Part)> {
        let (base, suffix) = key.rsplit_once('.')?;
        let part = Part::of_suffix(suffix)?;
        let (folders, file) = base.rsplit_once('/')?;
        let (offset, segment_id) = file.split_at_checked(OFFSET_LENGTH)?;
        let (topic_folder, partition) = folders.rsplit_once('/')?;
        let (before_id, topic_id) = topic_folder.split_at_checked(topic_folder.len().checked_sub(ID_LENGTH)?)?;
        let before_id = before_id.strip_suffix('-')?;
        let topic = match before_id.strip_prefix(prefix) {
            Some(topic) if is_topic_name(topic) => topic,
            _ => before_id.rsplit_once('/').map_or(before_id, |(_, topic)| topic),
        };
        if !is_topic_name(topic) {
            return None;
        }
        let name = Self {
            prefix: before_id.get(..before_id.len() - topic.len())?.to_owned(),
            topic: topic.to_owned(),
            topic_id: topic_id.parse().ok()?,
            partition: i32::try_from(number(partition)?).ok()?,
            start_offset: number(offset)?,
            segment_id: segment_id.strip_prefix('-')?.parse().ok()?,
            base: base.to_owned(),
        };
        Some((name, part))
    }

    /// The name of an object of the segment.
    #[must_use]
    pub fn object(&self, part: Part) -> String {
        format!("{}.{}", self.base, part.suffix())
    }
}

/// Digits alone: no sign, no blank.
fn number(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: &str = "lZ6vvmajTWKDBUTV6SQAtQ";
    const OTHER: &str = "-dh9f8BMS4anaUnD8K_fWg";

    #[test]
    fn a_name_is_read_whatever_its_prefix_is() {
        for (front, prefix, topic, told) in [
            ("", "", "orders", ""),
            ("a/b/", "a/b/", "orders", "a/b/"),
            ("a/b/", "", "orders", "a/b/"),
            ("p", "p", "orders", "p"),
            // Nobody can tell where such a prefix ends.
            ("p", "", "porders", ""),
            ("a/p", "", "porders", "a/"),
            ("a/p", "a/p", "orders", "a/p"),
            ("or", "orders", "ororders", ""),
        ] {
            let key = format!("{front}orders-{ID}/3/00000000000000000100-{OTHER}.ucseg");
            let (name, part) = SegmentName::read(&key, prefix).expect(&key);
            assert_eq!((name.topic.as_str(), name.prefix.as_str(), part), (topic, told, Part::Compact), "{key}");
            assert_eq!((name.partition, name.start_offset, name.segment_id.to_string()), (3, 100, OTHER.to_owned()));
            assert_eq!(name.object(part), key);
        }
    }

    #[test]
    fn other_names_are_nobodys() {
        let good = format!("t-{ID}/3/00000000000000000100-{OTHER}.log");
        assert!(SegmentName::read(&good, "").is_some());
        for key in [
            String::new(),
            good.replace(".log", ".txt"),
            good.replace(".log", ""),
            good.replace("/3/", "/-3/"),
            good.replace("/3/", "/+3/"),
            good.replace("/3/", "/3000000000/"),
            good.replace("/3/", "//"),
            good.replace("00000000000000000100", "0000000000000000010x"),
            good.replace("00000000000000000100", "99999999999999999999"),
            good.replace("0100-", "0100_"),
            good.replace(ID, &ID[1..]),
            good.replace(OTHER, "ä"),
            good.replace("t-", "-"),
            good.replace("t-", "a b-"),
            good.replace("t-", "..-"),
        ] {
            assert_eq!(SegmentName::read(&key, ""), None, "{key}");
        }
    }

    proptest! {
        /// Any text is read or refused, and what is read names itself.
        #[test]
        fn reading_never_panics(key: String, prefix: String) {
            if let Some((name, part)) = SegmentName::read(&key, &prefix) {
                prop_assert_eq!(name.object(part), key);
            }
        }
    }
}
