//! Which topics are gone, from what brokers say again and again.

use std::collections::{HashMap, HashSet};

use crate::metadata::log::TopicPresence;
use crate::model::KafkaUuid;

/// A topic is gone when it was found missing twice in a row, and nobody wrote of it in between: a broker that is cut off
/// from its controller may not have heard of a topic whose leaders are busy. Its id never comes back.
#[derive(Debug, Default)]
pub(super) struct Sightings(HashMap<KafkaUuid, Missing>);

/// How often a topic was found missing in a row.
#[derive(Debug, Default)]
struct Missing {
    times: u32,
    /// Time of the newest record about it when it was found missing last.
    newest_ms: i64,
}

impl Sightings {
    /// Takes an answer about the topics of one name, each with the time of the newest record about it. Gives those of
    /// which it is news that they are gone.
    pub(super) fn take(&mut self, topics: &[(KafkaUuid, i64)], presence: TopicPresence) -> Vec<KafkaUuid> {
        let mut news = Vec::new();
        for &(id, newest_ms) in topics {
            match presence {
                TopicPresence::Known(known) if known == id => {
                    self.0.remove(&id);
                }
                TopicPresence::Known(_) | TopicPresence::Missing => {
                    let missing = self.0.entry(id).or_default();
                    if missing.times == 1 && missing.newest_ms != newest_ms {
                        missing.times = 0;
                    }
                    missing.times = missing.times.saturating_add(1);
                    missing.newest_ms = newest_ms;
                    if missing.times == 2 {
                        news.push(id);
                    }
                }
                TopicPresence::Unknown => {}
            }
        }
        news
    }

    pub(super) fn is_gone(&self, id: &KafkaUuid) -> bool {
        self.0.get(id).is_some_and(|missing| missing.times >= 2)
    }

    /// Forgets topics of which nothing is left.
    pub(super) fn retain(&mut self, ids: &HashSet<KafkaUuid>) {
        self.0.retain(|id, _| ids.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: KafkaUuid = KafkaUuid([1; 16]);
    const NEW: KafkaUuid = KafkaUuid([2; 16]);

    #[test]
    fn a_topic_is_gone_when_it_was_missing_twice_in_a_row() {
        let mut sightings = Sightings::default();
        assert_eq!(sightings.take(&[(OLD, 5)], TopicPresence::Missing), []);
        assert!(!sightings.is_gone(&OLD), "a broker may not have heard of it yet");
        assert_eq!(sightings.take(&[(OLD, 5)], TopicPresence::Unknown), [], "no answer counts neither way");
        assert_eq!(sightings.take(&[(OLD, 5)], TopicPresence::Missing), [OLD]);
        assert_eq!(sightings.take(&[(OLD, 5)], TopicPresence::Missing), [], "no news");
        assert!(sightings.is_gone(&OLD));
        sightings.retain(&HashSet::new());
        assert!(!sightings.is_gone(&OLD), "forgotten");
    }

    #[test]
    fn a_topic_that_shows_up_in_between_is_there() {
        let mut sightings = Sightings::default();
        for presence in [TopicPresence::Missing, TopicPresence::Known(OLD), TopicPresence::Missing] {
            assert_eq!(sightings.take(&[(OLD, 5)], presence), []);
        }
        assert!(!sightings.is_gone(&OLD));
    }

    #[test]
    fn another_topic_of_its_name_proves_that_it_is_gone() {
        let mut sightings = Sightings::default();
        for _ in 0..2 {
            sightings.take(&[(OLD, 5), (NEW, 6)], TopicPresence::Known(NEW));
        }
        assert!(sightings.is_gone(&OLD) && !sightings.is_gone(&NEW));
    }

    #[test]
    fn a_topic_of_which_somebody_writes_is_not_gone() {
        let mut sightings = Sightings::default();
        for newest_ms in 0..5 {
            assert_eq!(sightings.take(&[(OLD, newest_ms)], TopicPresence::Missing), []);
        }
        assert_eq!(sightings.take(&[(OLD, 4)], TopicPresence::Missing), [OLD], "once it is quiet");
        assert_eq!(sightings.take(&[(OLD, 9)], TopicPresence::Missing), []);
        assert!(sightings.is_gone(&OLD), "what is written then is the cleaning");
    }
}
