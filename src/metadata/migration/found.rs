//! What a cluster looks like before a step.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{BrokerId, KafkaUuid};

use super::evidence::{Evidence, Resting};

/// Prefix of the classes that keep to levels.
const OWN_CLASSES: &str = "io.undercroft.";
const CLASS_KEY: &str = "remote.log.metadata.manager.class.name";
const TIERING_KEY: &str = "remote.log.storage.system.enable";

/// All that a decision is made from.
#[derive(Debug)]
pub struct Found {
    /// What and where, for messages.
    pub log: String,
    /// When it was found, in ms since 1970.
    pub now_ms: i64,
    /// Number of metadata partitions.
    pub partitions: i32,
    /// The topic's settings by name, defaults included.
    pub settings: BTreeMap<String, String>,
    pub brokers: Vec<FoundBroker>,
    pub evidence: Evidence,
    /// Facts that rest on records without a key.
    pub resting: Vec<Resting>,
    /// Topics of those facts that the cluster doesn't have: nobody leads their partitions.
    pub lost_topics: BTreeMap<KafkaUuid, Arc<str>>,
}

/// A broker, and what keeps its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundBroker {
    pub id: BrokerId,
    pub runs: Runs,
}

/// What keeps a broker's metadata of remote segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    /// A class of ours.
    Undercroft(String),
    /// Another class.
    Other(String),
    /// Tiered storage is switched off there; the class would be this one.
    Nothing(String),
    /// It doesn't run, so it cannot be asked; replicas are placed on it.
    Down,
    /// It runs and didn't say.
    Unknown(String),
}

impl Runs {
    /// From the settings of a broker.
    #[must_use]
    pub fn of_settings(settings: &BTreeMap<String, String>) -> Self {
        let class = settings.get(CLASS_KEY).cloned().unwrap_or_default();
        if class.starts_with(OWN_CLASSES) {
            return Self::Undercroft(class);
        }
        match settings.get(TIERING_KEY).map(String::as_str) {
            Some("false") => Self::Nothing(class),
            _ if class.is_empty() => Self::Unknown(format!("it has no setting {CLASS_KEY}")),
            _ => Self::Other(class),
        }
    }

    /// Whether it keeps to levels.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Undercroft(_))
    }

    /// In words, behind "broker 3: ".
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Undercroft(class) => class.clone(),
            Self::Other(class) => format!("{class}, which cannot read what is written from level 1 on"),
            Self::Nothing(class) => format!("tiered storage is off; if it is switched on, {class} runs"),
            Self::Down => "does not run, so nobody can tell what it will read the topic with".to_owned(),
            Self::Unknown(why) => format!("did not say what it runs ({why})"),
        }
    }
}

impl Found {
    /// A setting of the topic that is a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        self.settings.get(name)?.trim().parse().ok()
    }

    /// Whether a log cleaner works on the topic.
    #[must_use]
    pub fn is_compacted(&self) -> bool {
        self.policies().any(|policy| policy == "compact")
    }

    /// Whether records go when they are old.
    #[must_use]
    pub fn has_bounded_retention(&self) -> bool {
        let is_bounded = |name| self.number(name).is_some_and(|value| value >= 0);
        self.policies().any(|policy| policy == "delete")
            && (is_bounded("retention.ms") || is_bounded("retention.bytes"))
    }

    fn policies(&self) -> impl Iterator<Item = &str> {
        self.settings.get("cleanup.policy").map_or("", String::as_str).split(',').map(str::trim)
    }

    /// Lowest and highest level of the metadata partitions.
    #[must_use]
    pub fn levels(&self) -> (i8, i8) {
        self.evidence.levels()
    }

    /// Metadata partitions below `level`.
    #[must_use]
    pub fn below(&self, level: i8) -> Vec<i32> {
        let metas = self.evidence.metas().iter().zip(0..);
        metas.filter(|(meta, _)| meta.level_number() < level).map(|(_, number)| number).collect()
    }

    /// Records without a key in metadata partitions below `level`.
    #[must_use]
    pub fn unkeyed_below(&self, level: i8) -> u64 {
        let below = self.evidence.metas().iter().filter(|meta| meta.level_number() < level);
        below.map(|meta| meta.unkeyed.count).sum()
    }

    /// First and last of the metadata partitions at the end that were never written to while all before them have a
    /// level: somebody may have added them.
    #[must_use]
    pub fn added_partitions(&self) -> Option<(i32, i32)> {
        let metas = self.evidence.metas();
        let leveled = metas.iter().take_while(|meta| meta.level.is_some()).count();
        let is_cut = leveled > 0 && leveled < metas.len() && metas[leveled..].iter().all(|meta| meta.records == 0);
        is_cut.then(|| (i32::try_from(leveled).unwrap_or(i32::MAX), self.partitions - 1))
    }

    /// Facts that rest on records without a key and that a leader can write again, and those that nobody can.
    pub fn resting_by_leader(&self) -> (Vec<&Resting>, Vec<&Resting>) {
        let has_leader = |resting: &&Resting| !self.lost_topics.contains_key(&resting.segment.partition.topic_id);
        self.resting.iter().partition(has_leader)
    }

    /// Age of the newest record without a key.
    #[must_use]
    pub fn newest_unkeyed_age_ms(&self) -> Option<i64> {
        self.evidence.newest_unkeyed().map(|place| self.now_ms.saturating_sub(place.timestamp_ms).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_ours_by_its_class_alone() {
        let ours = "io.undercroft.kafka.UndercroftRemoteLogMetadataManager";
        let stock = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager";
        for (class, tiering, expected) in [
            (Some(ours), Some("true"), Runs::Undercroft(ours.to_owned())),
            (Some(ours), None, Runs::Undercroft(ours.to_owned())),
            (Some(stock), Some("true"), Runs::Other(stock.to_owned())),
            (Some(stock), Some("false"), Runs::Nothing(stock.to_owned())),
        ] {
            let pairs = [(CLASS_KEY, class), (TIERING_KEY, tiering)];
            let settings = pairs.iter().filter_map(|&(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
            assert_eq!(Runs::of_settings(&settings), expected);
        }
        assert!(matches!(Runs::of_settings(&BTreeMap::new()), Runs::Unknown(_)));
    }
}
