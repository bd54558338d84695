//! Which copies this process is making, and how those that it made ended. Pure: time is passed in.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::model::{CopyEnd, KafkaUuid};

/// For how long a copy that ended well counts as under way: until the host has had the time to tell the metadata side.
pub(super) const LINGER: Duration = Duration::from_secs(120);
/// Ends that are remembered, 100 bytes each. A broker that copies more than this between two looks of the metadata side
/// has forgotten none that matters: an end that nobody knows is judged by its age.
const ENDS_KEPT: usize = 20_000;

/// See the module. A segment is known by its uuid, which no two attempts share.
#[derive(Debug, Default)]
pub(super) struct Copies {
    known: HashMap<KafkaUuid, Copy>,
    /// Those that have ended, oldest first.
    ended: BTreeMap<u64, KafkaUuid>,
    next: u64,
}

#[derive(Debug)]
enum Copy {
    Running,
    Ended { number: u64, at: Duration, end: CopyEnd },
}

impl Copies {
    pub(super) fn begun(&mut self, segment: KafkaUuid) {
        self.forget(&segment);
        self.known.insert(segment, Copy::Running);
    }

    /// Also to correct an end.
    pub(super) fn ended(&mut self, segment: KafkaUuid, now: Duration, end: CopyEnd) {
        self.forget(&segment);
        let number = self.next;
        self.next += 1;
        self.known.insert(segment, Copy::Ended { number, at: now, end });
        self.ended.insert(number, segment);
        if self.ended.len() > ENDS_KEPT
            && let Some((_, oldest)) = self.ended.pop_first()
        {
            self.known.remove(&oldest);
        }
    }

    /// Nothing of a copy that failed is in the store. Nothing happens if its end is forgotten.
    pub(super) fn removed(&mut self, segment: &KafkaUuid) {
        if let Some(Copy::Ended { end: CopyEnd::Failed { is_removed }, .. }) = self.known.get_mut(segment) {
            *is_removed = true;
        }
    }

    /// The host has deleted the segment. True if its copy had ended well and the end is not on record: then the host has
    /// given it up, and never says that it is finished.
    pub(super) fn given_up(&mut self, segment: &KafkaUuid) -> bool {
        let Some(Copy::Ended { end: end @ CopyEnd::Done, .. }) = self.known.get_mut(segment) else { return false };
        *end = CopyEnd::Failed { is_removed: true };
        true
    }

    pub(super) fn is_running(&self, segment: &KafkaUuid) -> bool {
        matches!(self.known.get(segment), Some(Copy::Running))
    }

    /// Whether something of it may come to the store behind a delete: it is being written, or its end was not an answer of
    /// the store's and what it left has not been removed for good.
    pub(super) fn may_come_late(&self, segment: &KafkaUuid) -> bool {
        match self.known.get(segment) {
            Some(Copy::Running | Copy::Ended { end: CopyEnd::Failed { is_removed: false }, .. }) => true,
            Some(Copy::Ended { .. }) | None => false,
        }
    }

    /// Drops what is known of a copy that has ended.
    pub(super) fn settled(&mut self, segment: &KafkaUuid) {
        if !self.is_running(segment) {
            self.forget(segment);
        }
    }

    pub(super) fn is_copying(&self, segment: &KafkaUuid, now: Duration) -> bool {
        match self.known.get(segment) {
            Some(Copy::Running) => true,
            Some(Copy::Ended { at, end: CopyEnd::Done, .. }) => now.saturating_sub(*at) < LINGER,
            // Whoever was told that it failed never says that it is finished.
            Some(Copy::Ended { end: CopyEnd::Failed { .. }, .. }) | None => false,
        }
    }

    pub(super) fn end(&self, segment: &KafkaUuid) -> Option<CopyEnd> {
        match self.known.get(segment)? {
            Copy::Running => None,
            Copy::Ended { end, .. } => Some(*end),
        }
    }

    fn forget(&mut self, segment: &KafkaUuid) {
        if let Some(Copy::Ended { number, .. }) = self.known.remove(segment) {
            self.ended.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: CopyEnd = CopyEnd::Failed { is_removed: false };

    fn id(number: u32) -> KafkaUuid {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        KafkaUuid(bytes)
    }

    #[test]
    fn a_copy_counts_as_under_way_until_the_host_had_time_to_tell_its_end() {
        let mut copies = Copies::default();
        assert!(!copies.is_copying(&id(1), Duration::ZERO));
        copies.begun(id(1));
        let later = Duration::from_secs(9000);
        assert!(copies.is_copying(&id(1), later) && copies.end(&id(1)).is_none());
        copies.ended(id(1), later, CopyEnd::Done);
        assert!(copies.is_copying(&id(1), later + LINGER - Duration::from_millis(1)));
        assert!(!copies.is_copying(&id(1), later + LINGER));
        assert_eq!(copies.end(&id(1)), Some(CopyEnd::Done));
    }

    #[test]
    fn a_copy_that_failed_is_over_at_once() {
        let mut copies = Copies::default();
        copies.begun(id(1));
        copies.ended(id(1), Duration::ZERO, FAILED);
        assert!(!copies.is_copying(&id(1), Duration::ZERO));
        assert_eq!(copies.end(&id(1)), Some(FAILED));
        copies.removed(&id(1));
        assert_eq!(copies.end(&id(1)), Some(CopyEnd::Failed { is_removed: true }));
    }

    #[test]
    fn a_copy_may_come_late_until_it_is_done_or_removed_for_good() {
        let mut copies = Copies::default();
        assert!(!copies.may_come_late(&id(1)), "none of ours");
        copies.begun(id(1));
        assert!(copies.may_come_late(&id(1)));
        copies.ended(id(1), Duration::ZERO, FAILED);
        assert!(copies.may_come_late(&id(1)));
        copies.removed(&id(1));
        assert!(!copies.may_come_late(&id(1)));
        copies.begun(id(2));
        copies.ended(id(2), Duration::ZERO, CopyEnd::Done);
        assert!(!copies.may_come_late(&id(2)));
    }

    #[test]
    fn a_copy_that_ended_well_and_was_deleted_before_its_end_was_on_record_was_given_up() {
        let mut copies = Copies::default();
        copies.begun(id(1));
        assert!(!copies.given_up(&id(1)) && !copies.given_up(&id(2)), "under way, unknown");
        copies.ended(id(1), Duration::ZERO, CopyEnd::Done);
        assert!(copies.is_copying(&id(1), Duration::ZERO));
        assert!(copies.given_up(&id(1)));
        assert!(!copies.is_copying(&id(1), Duration::ZERO) && !copies.may_come_late(&id(1)));
        assert!(!copies.given_up(&id(1)), "said once");
    }

    #[test]
    fn what_is_settled_is_forgotten_but_never_a_copy_under_way() {
        let mut copies = Copies::default();
        copies.begun(id(1));
        copies.settled(&id(1));
        assert!(copies.is_copying(&id(1), Duration::ZERO));
        copies.ended(id(1), Duration::ZERO, CopyEnd::Done);
        copies.settled(&id(1));
        assert!(!copies.is_copying(&id(1), Duration::ZERO) && copies.end(&id(1)).is_none());
        assert!(copies.known.is_empty() && copies.ended.is_empty());
    }

    #[test]
    fn the_oldest_end_goes_when_there_are_too_many_and_running_copies_stay() {
        let mut copies = Copies::default();
        copies.begun(id(u32::MAX));
        for number in 0..ENDS_KEPT as u32 + 10 {
            copies.begun(id(number));
            copies.ended(id(number), Duration::ZERO, FAILED);
        }
        assert_eq!((copies.known.len(), copies.ended.len()), (ENDS_KEPT + 1, ENDS_KEPT));
        assert!(copies.end(&id(9)).is_none() && copies.end(&id(10)).is_some());
        assert!(copies.is_copying(&id(u32::MAX), Duration::ZERO));
    }
}
