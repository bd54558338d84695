//! What is wrong with a log.

use crate::model::{KafkaUuid, LeaderEpoch, Offset, SegmentMetadata, SegmentState, TopicIdPartition};

use super::coverage::coverage;
use super::{Places, Survey, UserPartition};

/// Whether somebody has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data cannot be read, objects leak, or records are not seen.
    Problem,
    /// Worth knowing; nothing is lost by it.
    Notice,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    Gap,
    Overlap,
    UnfinishedCopy,
    UnfinishedDelete,
    Dangling,
    MissingSegment,
    LeftoverUpdates,
    UnreadableRecords,
    NewerRecords,
    MisplacedRecords,
    RefusedRecords,
    UnreadableKeys,
    RecordsWithoutKey,
    FactsWithoutKey,
}

impl FindingKind {
    /// The word in JSON; it stays.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::Overlap => "overlap",
            Self::UnfinishedCopy => "unfinished-copy",
            Self::UnfinishedDelete => "unfinished-delete",
            Self::Dangling => "dangling",
            Self::MissingSegment => "missing-segment",
            Self::LeftoverUpdates => "leftover-updates",
            Self::UnreadableRecords => "unreadable-records",
            Self::NewerRecords => "newer-records",
            Self::MisplacedRecords => "misplaced-records",
            Self::RefusedRecords => "refused-records",
            Self::UnreadableKeys => "unreadable-keys",
            Self::RecordsWithoutKey => "records-without-key",
            Self::FactsWithoutKey => "facts-without-key",
        }
    }
}

/// One thing that was found, in words and in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub severity: Severity,
    pub kind: FindingKind,
    /// What and, where there is one, the remedy.
    pub text: String,
    pub partition: Option<TopicIdPartition>,
    pub segment: Option<KafkaUuid>,
    pub epoch: Option<LeaderEpoch>,
    /// Both inclusive.
    pub offsets: Option<(Offset, Offset)>,
    pub count: u64,
    /// Where the first of the records are.
    pub records: Places,
}

impl Finding {
    fn new(severity: Severity, kind: FindingKind, text: String) -> Self {
        Self {
            severity,
            kind,
            text,
            partition: None,
            segment: None,
            epoch: None,
            offsets: None,
            count: 1,
            records: Places::default(),
        }
    }
}

/// Checks the user partitions that are wanted; what is said of records by their number is the whole log's.
///
/// Attempts and deletions count as unfinished once their last event is `older_than_ms` old at `now_ms`.
pub fn check(
    survey: &Survey,
    now_ms: i64,
    older_than_ms: i64,
    is_wanted: &dyn Fn(&TopicIdPartition) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for user in survey.user_partitions().into_iter().filter(|user| is_wanted(user.partition())) {
        let segments = user.segments();
        let found = of_offsets(&segments)
            .chain(of_states(&segments, now_ms.saturating_sub(older_than_ms)))
            .chain(of_kept(user))
            .chain(of_keys(user, &segments));
        findings.extend(found.map(|finding| Finding { partition: Some(user.partition().clone()), ..finding }));
    }
    findings.extend(of_tally(survey));
    findings.sort_by_key(|finding| finding.severity);
    findings
}

fn of_offsets(segments: &[SegmentMetadata]) -> impl Iterator<Item = Finding> + use<> {
    let mut found = Vec::new();
    for epoch in coverage(segments).epochs {
        let at = |severity, kind, text, offsets| Finding {
            epoch: Some(epoch.epoch),
            offsets: Some(offsets),
            ..Finding::new(severity, kind, text)
        };
        for &(start, end) in &epoch.gaps {
            let text = format!(
                "offsets {start} to {end} (epoch {}) are in no finished segment, though later ones are: consumers cannot \
                 read them from the store",
                epoch.epoch
            );
            found.push(at(Severity::Problem, FindingKind::Gap, text, (start, end)));
        }
        for &(start, end) in &epoch.overlaps {
            let text = format!(
                "offsets {start} to {end} of epoch {} are in several segments: a later leader copied them again; reads \
                 are served, the store holds them twice",
                epoch.epoch
            );
            found.push(at(Severity::Notice, FindingKind::Overlap, text, (start, end)));
        }
    }
    found.into_iter()
}

fn of_states(segments: &[SegmentMetadata], before_ms: i64) -> impl Iterator<Item = Finding> + '_ {
    let is_old = move |segment: &&SegmentMetadata| segment.event_timestamp_ms <= before_ms;
    segments.iter().filter(is_old).filter_map(|segment| {
        let (start, end, broker) = (segment.start_offset, segment.end_offset, segment.broker_id);
        let (kind, what) = match segment.state {
            SegmentState::CopyStarted => (
                FindingKind::UnfinishedCopy,
                "was begun and never finished: if no broker is still copying it, its objects may lie in the store",
            ),
            SegmentState::DeleteStarted => (
                FindingKind::UnfinishedDelete,
                "was begun to be deleted and is not gone: its objects may still lie in the store; look for errors of \
                 the store in the leader's log",
            ),
            SegmentState::Dangling => (
                FindingKind::Dangling,
                "failed and waits to be cleaned: its objects may still lie in the store; look for errors of the store in \
                 the leader's log",
            ),
            SegmentState::CopyFinished | SegmentState::DeleteFinished => return None,
        };
        let text = format!("segment {} (offsets {start} to {end}, broker {broker}) {what}", segment.id.uuid);
        Some(Finding {
            segment: Some(segment.id.uuid),
            offsets: Some((start, end)),
            ..Finding::new(Severity::Problem, kind, text)
        })
    })
}

fn of_kept(user: &UserPartition) -> impl Iterator<Item = Finding> + '_ {
    user.kept().map(|(segment, kept)| {
        let mut records = Places::default();
        kept.updates.iter().for_each(|&(place, _, _)| records.note(place));
        let state = kept.last_state().map_or("nothing", SegmentState::name);
        let is_harmless = kept.is_forgotten || kept.last_state() == Some(SegmentState::DeleteFinished);
        let (severity, kind, what) = if is_harmless {
            (Severity::Notice, FindingKind::LeftoverUpdates, "which is deleted; they can go")
        } else {
            (
                Severity::Problem,
                FindingKind::MissingSegment,
                "of which the first record is missing: nothing of it can be read, and its objects are known to nobody. Did \
                 the topic's retention delete it?",
            )
        };
        let text = format!("updates (the last says {state}) of segment {segment}, {what}");
        let count = records.count;
        Finding { segment: Some(segment), count, records, ..Finding::new(severity, kind, text) }
    })
}

fn of_keys(user: &UserPartition, segments: &[SegmentMetadata]) -> Option<Finding> {
    let mut records = Places::default();
    for trace in segments.iter().filter_map(|segment| user.trace(segment.id.uuid)) {
        if trace.rests_on_a_record_without_key() {
            let is_base = trace.base_key == super::KeyForm::None;
            records.note(if is_base { trace.base } else { trace.state });
        }
    }
    let count = records.count;
    let text = format!(
        "{count} of {} segments rest on records without a key: a log cleaner would drop them, so the topic must not \
         become `cleanup.policy=compact`",
        segments.len()
    );
    let finding = Finding::new(Severity::Notice, FindingKind::FactsWithoutKey, text);
    (count > 0).then_some(Finding { count, records, ..finding })
}

fn of_tally(survey: &Survey) -> impl Iterator<Item = Finding> + use<> {
    let tally = survey.tally();
    let rows = [
        (
            Severity::Problem,
            FindingKind::UnreadableRecords,
            &tally.unreadable,
            "cannot be read and are passed over; a stock broker's reader would end at the first of them",
        ),
        (
            Severity::Problem,
            FindingKind::NewerRecords,
            &tally.newer,
            "have a version that this release does not know; brokers with it report their partitions not ready. Upgrade it",
        ),
        (
            Severity::Problem,
            FindingKind::MisplacedRecords,
            &tally.misplaced,
            "stand in a metadata partition where no manager looks for them; was the number of partitions changed?",
        ),
        (
            Severity::Notice,
            FindingKind::RefusedRecords,
            &tally.refused,
            "change nothing, as another record came first (two brokers at one segment, or one that was late)",
        ),
        (
            Severity::Notice,
            FindingKind::UnreadableKeys,
            &tally.bad_keys,
            "have a key of another writer; they are judged by their values",
        ),
        (
            Severity::Notice,
            FindingKind::RecordsWithoutKey,
            &tally.without_key,
            "have no key, as stock brokers write them",
        ),
    ];
    let found = rows.into_iter().filter(|(_, _, places, _)| places.count > 0);
    let found = found.map(|(severity, kind, places, what)| Finding {
        count: places.count,
        records: places.clone(),
        ..Finding::new(severity, kind, format!("{} of {} records {what}", places.count, tally.records))
    });
    found.collect::<Vec<_>>().into_iter()
}
