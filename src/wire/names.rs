//! Names of topics, each in memory once.

use std::sync::Arc;

use crate::model::{IdMap, KafkaUuid};

/// Remembers the names of topics that were read: a log has millions of records about a few of them, and none needs a copy
/// of its own.
#[derive(Debug, Default)]
pub struct Names {
    known: IdMap<KafkaUuid, Arc<str>>,
    /// The last one that was shared: mostly the next one is the same.
    last: Option<(KafkaUuid, Arc<str>)>,
}

/// When more are known, all are forgotten; who uses one keeps it.
const NAMES_MAX: usize = 10_000;

impl Names {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `name`, shared with everybody who was given it for the same topic.
    pub fn share(&mut self, topic_id: KafkaUuid, name: &str) -> Arc<str> {
        if let Some((id, last)) = &self.last
            && *id == topic_id
            && **last == *name
        {
            return Arc::clone(last);
        }
        let shared = self.look_up(topic_id, name);
        self.last = Some((topic_id, Arc::clone(&shared)));
        shared
    }

    fn look_up(&mut self, topic_id: KafkaUuid, name: &str) -> Arc<str> {
        if let Some(known) = self.known.get(&topic_id).filter(|known| &***known == name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = Arc::from(name);
        if self.known.len() >= NAMES_MAX {
            self.known.clear();
        }
        self.known.insert(topic_id, Arc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shared_and_another_name_of_the_same_topic_is_not_taken_for_it() {
        let mut names = Names::new();
        let id = KafkaUuid([1; 16]);
        let first = names.share(id, "orders");
        assert!(Arc::ptr_eq(&first, &names.share(id, "orders")));
        assert_eq!(&*names.share(id, "order"), "order");
        assert_eq!(&*names.share(KafkaUuid([2; 16]), "orders"), "orders");
        assert_eq!(&*names.share(KafkaUuid([2; 16]), "order"), "order", "also right behind its like");
    }

    #[test]
    fn names_without_end_do_not_fill_the_memory() {
        let mut names = Names::new();
        for number in 0..3 * NAMES_MAX as i64 {
            names.share(KafkaUuid::from_halves(number, number), "a");
        }
        assert!(names.known.len() <= NAMES_MAX);
    }
}
