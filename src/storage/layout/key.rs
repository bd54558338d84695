//! Names of objects.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::model::SegmentMetadata;

/// Name of an object in its bucket or below its root folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(Arc<str>);

impl ObjectKey {
    /// A key as it stands in the store.
    #[must_use]
    pub fn new(key: &str) -> Self {
        Self(Arc::from(key))
    }

    /// Where the compact layout keeps a segment.
    ///
    /// `prefix` is put in front verbatim, without a separator.
    /// ```
    /// # use undercroft::model::*;
    /// # use undercroft::storage::layout::ObjectKey;
    /// # let id = |text: &str| text.parse::<KafkaUuid>().unwrap();
    /// # let segment = SegmentMetadata {
    /// #     id: SegmentId {
    /// #         partition: TopicIdPartition::new(id("AAAAAAAAAAAAAAAAAAAAAQ"), "topic", 7),
    /// #         uuid: id("AAAAAAAAAAAAAAAAAAAAAA"),
    /// #     },
    /// #     start_offset: Offset(1234), end_offset: Offset(2000), max_timestamp_ms: 0, broker_id: BrokerId(0),
    /// #     event_timestamp_ms: 0, epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(1234))]).unwrap(),
    /// #     size_bytes: 1, custom_metadata: None, state: SegmentState::CopyStarted, is_txn_index_empty: true,
    /// # };
    /// assert_eq!(
    ///     ObjectKey::of_segment("prefix/", &segment).as_str(),
    ///     "prefix/topic-AAAAAAAAAAAAAAAAAAAAAQ/7/00000000000000001234-AAAAAAAAAAAAAAAAAAAAAA.ucseg"
    /// );
    /// ```
    #[must_use]
    pub fn of_segment(prefix: &str, segment: &SegmentMetadata) -> Self {
        Self(Arc::from(format!("{prefix}{}.ucseg", stem(segment))))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name, or the beginning of one, as stores keep it: without a slash in front, and without two in a row.
///
/// OpenDAL leaves these out of every name that it sends, so that names which differ in them only are those of one object.
/// ```
/// # use undercroft::storage::layout::as_kept;
/// assert_eq!(as_kept("/a//b/"), "a/b/");
/// assert_eq!(as_kept("a/b"), "a/b");
/// ```
#[must_use]
pub fn as_kept(name: &str) -> Cow<'_, str> {
    let name = name.trim_start_matches('/');
    if !name.contains("//") {
        return Cow::Borrowed(name);
    }
    let mut kept = String::with_capacity(name.len());
    for character in name.chars() {
        if character != '/' || !kept.ends_with('/') {
            kept.push(character);
        }
    }
    Cow::Owned(kept)
}

/// What the names of a segment's objects have in common, in every layout.
pub(super) fn stem(segment: &SegmentMetadata) -> String {
    let partition = &segment.id.partition;
    format!(
        "{}-{}/{}/{:020}-{}",
        partition.topic, partition.topic_id, partition.partition, segment.start_offset.0, segment.id.uuid
    )
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
