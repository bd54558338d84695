//! Which topics are gone, from what brokers say again and again.

use std::collections::{HashMap, HashSet};

use crate::metadata::log::TopicPresence;
use crate::model::KafkaUuid;

/// A topic is gone when it was found missing twice in a row. Its id never comes back.
#[derive(Debug, Default)]
pub(super) struct Sightings(HashMap<KafkaUuid, u32>);

impl Sightings {
    /// Takes an answer about the topics of one name. True for those of which it is news that they are gone.
    pub(super) fn take(&mut self, ids: &[KafkaUuid], presence: TopicPresence) -> Vec<KafkaUuid> {
        let mut news = Vec::new();
        for &id in ids {
            match presence {
                TopicPresence::Known(known) if known == id => {
                    self.0.remove(&id);
                }
                TopicPresence::Known(_) | TopicPresence::Missing => {
                    let times = self.0.entry(id).or_default();
                    *times = times.saturating_add(1);
                    if *times == 2 {
                        news.push(id);
                    }
                }
                TopicPresence::Unknown => {}
            }
        }
        news
    }

    pub(super) fn is_gone(&self, id: &KafkaUuid) -> bool {
        self.0.get(id).is_some_and(|&times| times >= 2)
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
        assert_eq!(sightings.take(&[OLD], TopicPresence::Missing), []);
        assert!(!sightings.is_gone(&OLD), "a broker may not have heard of it yet");
        assert_eq!(sightings.take(&[OLD], TopicPresence::Unknown), [], "no answer counts neither way");
        assert_eq!(sightings.take(&[OLD], TopicPresence::Missing), [OLD]);
        assert_eq!(sightings.take(&[OLD], TopicPresence::Missing), [], "no news");
        assert!(sightings.is_gone(&OLD));
        sightings.retain(&HashSet::new());
        assert!(!sightings.is_gone(&OLD), "forgotten");
    }

    #[test]
    fn a_topic_that_shows_up_in_between_is_there() {
        let mut sightings = Sightings::default();
        for presence in [TopicPresence::Missing, TopicPresence::Known(OLD), TopicPresence::Missing] {
            assert_eq!(sightings.take(&[OLD], presence), []);
        }
        assert!(!sightings.is_gone(&OLD));
    }

    #[test]
    fn another_topic_of_its_name_proves_that_it_is_gone() {
        let mut sightings = Sightings::default();
        for _ in 0..2 {
            sightings.take(&[OLD, NEW], TopicPresence::Known(NEW));
        }
        assert!(sightings.is_gone(&OLD) && !sightings.is_gone(&NEW));
    }
}
