//! Who is to be looked at soon, and who is being worked on.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::model::TopicIdPartition;

/// Partitions in which something may have been left behind just now.
#[derive(Default)]
pub(in super::super) struct Nudges {
    partitions: Mutex<HashSet<TopicIdPartition>>,
    nudged: Notify,
}

impl Nudges {
    pub(in super::super) fn nudge(&self, partition: &TopicIdPartition) {
        let mut partitions = self.partitions.lock();
        if !partitions.contains(partition) {
            partitions.insert(partition.clone());
            self.nudged.notify_one();
        }
    }

    pub(super) async fn wait(&self) {
        self.nudged.notified().await;
    }

    pub(super) fn take(&self) -> HashSet<TopicIdPartition> {
        std::mem::take(&mut *self.partitions.lock())
    }
}

/// Partitions whose records are being written: the next ones are chosen by what the reader has then met.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<TopicIdPartition, Until>>);

/// How long nobody else has a turn.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// The one who has it gives it back.
    Ended,
    /// Records that failed may still be on their way.
    Time(Instant),
}

pub(super) struct Turn<'a> {
    turns: &'a Turns,
    partition: TopicIdPartition,
    rest: Option<Duration>,
}

impl Turns {
    pub(super) fn take(&self, partition: &TopicIdPartition) -> Option<Turn<'_>> {
        let mut turns = self.0.lock();
        if turns.get(partition).is_some_and(Until::is_on) {
            return None;
        }
        turns.insert(partition.clone(), Until::Ended);
        Some(Turn { turns: self, partition: partition.clone(), rest: None })
    }

    pub(super) fn is_taken(&self, partition: &TopicIdPartition) -> bool {
        self.0.lock().get(partition).is_some_and(Until::is_on)
    }
}

impl Until {
    fn is_on(&self) -> bool {
        match self {
            Self::Ended => true,
            Self::Time(until) => Instant::now() < *until,
        }
    }
}

impl Turn<'_> {
    /// Nobody has a turn for so long after this one.
    pub(super) fn rest(&mut self, pause: Duration) {
        self.rest = Some(pause);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.0.lock();
        match self.rest {
            Some(pause) => turns.insert(self.partition.clone(), Until::Time(Instant::now() + pause)),
            None => turns.remove(&self.partition),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::KafkaUuid;

    #[test]
    fn one_writes_at_a_time_and_after_a_failure_nobody_for_a_while() {
        let turns = Turns::default();
        let partition = TopicIdPartition::new(KafkaUuid([7; 16]), "orders", 3);
        let turn = turns.take(&partition).expect("free");
        assert!(turns.take(&partition).is_none() && turns.is_taken(&partition));
        drop(turn);
        let mut turn = turns.take(&partition).expect("free again");
        turn.rest(Duration::from_millis(20));
        drop(turn);
        assert!(turns.take(&partition).is_none());
        std::thread::sleep(Duration::from_millis(25));
        assert!(turns.take(&partition).is_some());
    }
}
