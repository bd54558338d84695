//! Who is to be looked at soon, and who is being worked on.

use std::collections::HashSet;

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
pub(super) struct Turns(Mutex<HashSet<TopicIdPartition>>);

pub(super) struct Turn<'a> {
    turns: &'a Turns,
    partition: TopicIdPartition,
}

impl Turns {
    pub(super) fn take(&self, partition: &TopicIdPartition) -> Option<Turn<'_>> {
        let is_free = self.0.lock().insert(partition.clone());
        is_free.then(|| Turn { turns: self, partition: partition.clone() })
    }

    pub(super) fn is_taken(&self, partition: &TopicIdPartition) -> bool {
        self.0.lock().contains(partition)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.0.lock().remove(&self.partition);
    }
}
