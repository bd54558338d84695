//! One segment, checked against itself: its name, what its objects say of each other, and every byte if asked for.

use std::sync::Arc;

use serde_json::Value;

use super::super::StorageError;
use super::super::fetch::{Examiner, Faults, Target, read_footer};
use super::super::layout::ObjectKey;
use super::super::layout::aiven::{MANIFEST_BYTES_MAX, Manifest, Names};
use super::super::store::ObjectStore;
use super::batches::{self, Batches};
use super::{Finding, FoundSegment, Objects, Part, Severity};
use crate::model::{
    BrokerId, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, TopicIdPartition,
};

/// Pages of the objects of one segment that are looked at.
const RELISTED_PAGES_MAX: usize = 10;

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Objects are there and have the size that footer or manifest say, which can be read and fit the name.
    Light,
    /// Also every byte: checksums, tags and zstd frames of all chunks, and all indexes.
    Heavy,
}

/// What came out for one segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Nothing, if all is well.
    pub findings: Vec<Finding>,
}

impl Checked {
    /// The worst of the findings.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    fn add(&mut self, severity: Severity, object: &str, place: &str, why: impl Into<String>) {
        self.findings.push(Finding::new(severity, object, place, why));
    }

    fn failed(&mut self, object: &str, error: &StorageError) {
        self.findings.push(Finding::of(object, error));
    }
}

/// What checks are made with.
pub(super) struct Verifier {
    pub(super) store: Arc<dyn ObjectStore>,
    pub(super) examiner: Examiner,
}

impl Verifier {
    /// `read` is told how many bytes of data have come.
    pub(super) async fn verify(&self, found: &FoundSegment, depth: Depth, read: &(dyn Fn(u64) + Sync)) -> Checked {
        let mut checked = Checked::default();
        match found.objects {
            Objects::Compact(_) => self.compact(found, depth, read, &mut checked).await,
            Objects::Aiven { .. } => self.aiven(found, depth, read, &mut checked).await,
        }
        if checked.findings.iter().any(|finding| finding.severity == Severity::Missing) && self.is_absent(found).await {
            self.judge_absent(found, &mut checked).await;
        }
        checked
    }

    /// The store says of every object of a listed segment that it is not there: either the segment was deleted since, and
    /// then it is not listed any more, or the store has lost what it says it has.
    async fn judge_absent(&self, found: &FoundSegment, checked: &mut Checked) {
        let base = &found.name.base;
        let listed = self.still_listed(found).await;
        checked.findings.clear();
        match listed {
            Ok(None) => checked.add(Severity::Gone, base, "", "the segment was deleted after it was listed"),
            Ok(Some(object)) => {
                let why = "the store goes on listing it, and says that it is not there when it is asked for";
                checked.add(Severity::Missing, &object, "", why);
            }
            Err(error) => checked.failed(base, &error),
        }
    }

    async fn compact(&self, found: &FoundSegment, depth: Depth, read: &(dyn Fn(u64) + Sync), checked: &mut Checked) {
        let object = found.name.object(Part::Compact);
        let key = ObjectKey::new(&object);
        let footer = match read_footer(self.store.as_ref(), &key, "verify").await {
            Ok((footer, _)) => footer,
            Err(error) => return checked.failed(&object, &error),
        };
        let name = &found.name;
        let is_of_name = footer.segment_id == name.segment_id
            && footer.topic_id == name.topic_id
            && footer.partition == name.partition
            && footer.start_offset == name.start_offset;
        if !is_of_name {
            let why = format!(
                "it belongs to segment {} of {}-{} from offset {}",
                footer.segment_id, footer.topic_id, footer.partition, footer.start_offset
            );
            return checked.add(Severity::Corrupt, &object, "the footer", why);
        }
        if let Err(error) = self.examiner.has_key(&key, &footer) {
            return checked.failed(&object, &error);
        }
        if depth == Depth::Light {
            return;
        }
        let Some(segment) = metadata(found, footer.end_offset, footer.segment_size) else { return };
        let target = match self.examiner.compact(&segment, footer.segment_size, &key, &name.prefix).await {
            Ok(target) => target,
            Err(error) => return checked.failed(&object, &error),
        };
        match self.examiner.chunks(&target, |_, _| {}, read).await {
            Ok(faults) => told(faults, &object, checked),
            Err(error) => checked.failed(&object, &error),
        }
        if let Err(error) = self.examiner.indexes(&target).await {
            checked.failed(&object, &error);
        }
    }

    async fn aiven(&self, found: &FoundSegment, depth: Depth, read: &(dyn Fn(u64) + Sync), checked: &mut Checked) {
        let log = self.size(found, Part::Log, checked).await;
        let indexes = self.size(found, Part::Indexes, checked).await;
        let Some(_) = self.size(found, Part::Manifest, checked).await else { return };
        let object = found.name.object(Part::Manifest);
        let key = ObjectKey::new(&object);
        let bytes = match self.store.get_whole(&key, MANIFEST_BYTES_MAX).await {
            Ok(pieces) => pieces.concat(),
            Err(error) => return checked.failed(&object, &error),
        };
        let Some(segment) = metadata(found, found.name.start_offset, 0) else { return };
        let names = Names::of_base(&found.name.base);
        let (target, manifest) = match (self.examiner.aiven(&segment, &names, &bytes), Manifest::decode(&bytes)) {
            (Ok(target), Ok(manifest)) => (target, manifest),
            (Err(error), _) => return checked.failed(&object, &error),
            // The examiner has decoded it.
            (Ok(_), Err(error)) => return checked.add(Severity::Corrupt, &object, "the manifest", error.to_string()),
        };
        if let Some(other) = stranger(&bytes, found) {
            return checked.add(Severity::Corrupt, &object, "the manifest", other);
        }
        let is_log_whole = is_of_length(found, Part::Log, log, target.object_length(), checked);
        let is_index_whole = is_of_length(found, Part::Indexes, indexes, manifest.indexes_length(), checked);
        if depth == Depth::Light {
            return;
        }
        if is_log_whole {
            self.log(found, &target, manifest.encryption.is_some(), read, checked).await;
        }
        if is_index_whole && let Err(error) = self.examiner.indexes(&target).await {
            checked.failed(&found.name.object(Part::Indexes), &error);
        }
    }

    /// Chunks of Aiven's layout, and the record batches in them: a frame has no checksum, and a tag doesn't say whose it is.
    async fn log(
        &self,
        found: &FoundSegment,
        target: &Arc<Target>,
        is_encrypted: bool,
        read: &(dyn Fn(u64) + Sync),
        checked: &mut Checked,
    ) {
        let object = found.name.object(Part::Log);
        let mut batches = Batches::new(target.size);
        let take = |_, block: Option<&bytes::Bytes>| match block {
            Some(block) => batches.feed(block),
            None => batches.cut(),
        };
        match self.examiner.chunks(target, take, read).await {
            Ok(faults) => told(faults, &object, checked),
            Err(error) => return checked.failed(&object, &error),
        }
        match batches.end() {
            None => {}
            Some(batches::Fault::Corrupt(at, why)) => {
                checked.add(Severity::Corrupt, &object, &format!("byte {at}"), why);
            }
            // What is known to be corrupt needs no reason why it could not be checked.
            Some(batches::Fault::NoBatches) if checked.severity() >= Some(Severity::Missing) => {}
            Some(batches::Fault::NoBatches) if is_encrypted => {
                let why = "it begins with no record batch of today's format: each chunk is as it was written, and whether \
                           all are in their places could not be checked";
                checked.add(Severity::Notice, &object, "", why);
            }
            Some(batches::Fault::NoBatches) => {
                let why = "it was stored without checksums and begins with no record batch of today's format, so its \
                           bytes could not be checked";
                checked.add(Severity::Notice, &object, "", why);
            }
        }
    }

    /// Size of an object: as it was listed, or as the store says if it wasn't.
    async fn size(&self, found: &FoundSegment, part: Part, checked: &mut Checked) -> Option<u64> {
        if let Some(size) = found.objects.size(part) {
            return Some(size);
        }
        let object = found.name.object(part);
        match self.store.size(&ObjectKey::new(&object)).await {
            Ok(size) => Some(size),
            Err(StorageError::NotFound { .. }) => {
                let why = match part {
                    Part::Manifest => {
                        "the object is not there: a copy that is under way or never ended, or a manifest that got lost"
                    }
                    Part::Compact | Part::Log | Part::Indexes => "the object is not there",
                };
                checked.add(Severity::Missing, &object, "", why);
                None
            }
            Err(error) => {
                checked.failed(&object, &error);
                None
            }
        }
    }

    /// Whether the store says of every object of the segment that it is not there.
    async fn is_absent(&self, found: &FoundSegment) -> bool {
        for part in found.objects.parts() {
            let size = self.store.size(&ObjectKey::new(&found.name.object(*part))).await;
            if !matches!(size, Err(StorageError::NotFound { .. })) {
                return false;
            }
        }
        true
    }

    /// An object of the segment that the store lists.
    async fn still_listed(&self, found: &FoundSegment) -> Result<Option<String>, StorageError> {
        let own: Vec<_> = found.objects.parts().iter().map(|part| found.name.object(*part)).collect();
        let mut pages = self.store.list(&found.name.base).await?;
        // Names that begin with a whole name of a segment are few; a listing without an end is given up.
        for _ in 0..RELISTED_PAGES_MAX {
            let page = pages.next().await?;
            if let Some(listed) = page.iter().find(|listed| own.iter().any(|name| name == listed.key.as_str())) {
                return Ok(Some(listed.key.to_string()));
            }
            if page.is_empty() {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

fn told(faults: Faults, object: &str, checked: &mut Checked) {
    let more = faults.count.saturating_sub(faults.first.len() as u64);
    for (chunk, why) in faults.first {
        checked.add(Severity::Corrupt, object, &format!("chunk {chunk}"), why);
    }
    if more > 0 {
        checked.add(Severity::Corrupt, object, "", format!("{more} more chunks are corrupt"));
    }
}

fn is_of_length(found: &FoundSegment, part: Part, length: Option<u64>, expected: u64, checked: &mut Checked) -> bool {
    let Some(length) = length else { return false };
    if length != expected {
        let why = format!("the object has {length} bytes and must have {expected}");
        checked.add(Severity::Corrupt, &found.name.object(part), "", why);
    }
    length == expected
}

/// What a manifest says of whose it is, if it is somebody else's.
fn stranger(manifest: &[u8], found: &FoundSegment) -> Option<String> {
    let document: Value = serde_json::from_slice(manifest).ok()?;
    // It may be left out, and brokers of each release write it differently.
    let of = document.get("remoteLogSegmentMetadata")?.get("remoteLogSegmentId")?;
    let (partition, id) = (of.get("topicIdPartition")?, of.get("id")?.as_str()?);
    let topic_id = partition.get("topicId")?.as_str()?;
    let number = partition.get("topicPartition")?.get("partition")?.as_i64()?;
    let name = &found.name;
    let is_own = id == name.segment_id.to_string()
        && topic_id == name.topic_id.to_string()
        && number == i64::from(name.partition);
    (!is_own)
        .then(|| format!("it belongs to segment {id} of {topic_id}-{number}").replace(char::is_control, "\u{fffd}"))
}

/// As much as a reader needs to know of a segment; the rest is in no object.
fn metadata(found: &FoundSegment, end_offset: i64, size: u64) -> Option<SegmentMetadata> {
    let name = &found.name;
    Some(SegmentMetadata {
        id: SegmentId {
            partition: TopicIdPartition::new(name.topic_id, &name.topic, name.partition),
            uuid: name.segment_id,
        },
        start_offset: Offset(name.start_offset),
        end_offset: Offset(end_offset),
        max_timestamp_ms: 0,
        broker_id: BrokerId(0),
        event_timestamp_ms: 0,
        epochs: SegmentEpochs::new(vec![(LeaderEpoch(0), Offset(name.start_offset))]).ok()?,
        size_bytes: i32::try_from(size).unwrap_or(i32::MAX),
        custom_metadata: None,
        state: SegmentState::CopyFinished,
        is_txn_index_empty: true,
    })
}
