//! Which storage manager and which metadata manager of this process work together.
//!
//! A broker opens one of each and tells both its number, `broker.id`; it has no call to bring them together. So those of
//! one number are joined by themselves, unless there is more than one way to do it: a process may have several brokers,
//! as tests have. The two are in this table while they are open, and nowhere does one keep the other.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::{Config, storage as keys};
use crate::metadata::MetadataManager;
use crate::model::SegmentLedger;
use crate::storage::StorageManager;

use super::error::Failure;

/// A manager as the table has it.
#[derive(Clone)]
pub enum Member {
    Storage(StorageManager),
    Metadata(MetadataManager),
}

struct Row {
    number: u64,
    broker: i64,
    member: Member,
}

/// Two that work together.
struct Pair {
    storage: u64,
    metadata: u64,
    /// The storage side itself keeps none.
    _ledger: Arc<dyn SegmentLedger>,
}

struct Table {
    next: u64,
    rows: Vec<Row>,
    pairs: Vec<Pair>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { next: 0, rows: Vec::new(), pairs: Vec::new() });

/// Number of the broker that a configuration tells; below 0 if it tells none.
pub fn broker_id(config: &Config) -> Result<i64, Failure> {
    // Both sides call it so.
    for key in [&keys::BROKER_ID, &keys::NODE_ID] {
        if let Some(id) = config.integer(key)? {
            return Ok(id);
        }
    }
    Ok(-1)
}

/// Takes an open manager in, joins it if it is clear with whom, and gives its number.
pub fn enrol(broker: i64, member: Member) -> u64 {
    let mut table = TABLE.lock();
    let number = table.next;
    table.next += 1;
    table.rows.push(Row { number, broker, member });
    table.join_by_id(broker);
    number
}

/// Takes a manager out that is being closed. Nothing happens the second time.
pub fn leave(number: u64) {
    let mut table = TABLE.lock();
    let Some(at) = table.rows.iter().position(|row| row.number == number) else { return };
    let row = table.rows.swap_remove(at);
    let left = table.part(number);
    table.join_by_id(row.broker);
    drop(table);
    // What they hold of managers ends outside of the lock.
    drop((row, left));
}

/// Joins two, whatever numbers they told and whomever they were joined with.
pub fn join(storage: u64, metadata: u64) -> Result<(), Failure> {
    let mut table = TABLE.lock();
    let left: Vec<_> = [storage, metadata].into_iter().flat_map(|number| table.part(number)).collect();
    let joined = table.pair(storage, metadata);
    drop(table);
    drop(left);
    if joined { Ok(()) } else { Err(Failure::closed("uc_metadata_join: one of the managers is closed")) }
}

#[cfg(test)]
pub fn are_joined(storage: u64, metadata: u64) -> bool {
    TABLE.lock().pairs.iter().any(|pair| (pair.storage, pair.metadata) == (storage, metadata))
}

impl Table {
    fn member(&self, number: u64) -> Option<&Member> {
        self.rows.iter().find(|row| row.number == number).map(|row| &row.member)
    }

    /// Those of one broker that are not joined yet: storage, metadata.
    fn single(&self, broker: i64) -> (Vec<u64>, Vec<u64>) {
        let is_single = |row: &&Row| {
            row.broker == broker
                && self.pairs.iter().all(|pair| pair.storage != row.number && pair.metadata != row.number)
        };
        let rows: Vec<_> = self.rows.iter().filter(is_single).collect();
        let of = |is_wanted: fn(&Member) -> bool| {
            rows.iter().filter(|row| is_wanted(&row.member)).map(|row| row.number).collect()
        };
        (of(|member| matches!(member, Member::Storage(_))), of(|member| matches!(member, Member::Metadata(_))))
    }

    fn join_by_id(&mut self, broker: i64) {
        if broker < 0 {
            return;
        }
        match self.single(broker) {
            (storage, metadata) if storage.is_empty() || metadata.is_empty() => {}
            (storage, metadata) if storage.len() == 1 && metadata.len() == 1 => {
                self.pair(storage[0], metadata[0]);
                tracing::debug!(broker, "storage and metadata side work together");
            }
            _ => tracing::warn!(
                broker,
                "this process has several managers of one broker.id; which of them belong together is not clear, so \
                 failed copies are cleaned up more slowly and copies go on while the store is down: join them with \
                 uc_metadata_join"
            ),
        }
    }

    fn pair(&mut self, storage: u64, metadata: u64) -> bool {
        let (Some(Member::Storage(of_storage)), Some(Member::Metadata(of_metadata))) =
            (self.member(storage), self.member(metadata))
        else {
            return false;
        };
        let ledger = of_metadata.ledger();
        of_metadata.join(of_storage.objects());
        of_storage.join(Arc::downgrade(&ledger));
        self.pairs.push(Pair { storage, metadata, _ledger: ledger });
        true
    }

    /// Ends what a manager was joined with.
    fn part(&mut self, number: u64) -> Option<Pair> {
        let at = self.pairs.iter().position(|pair| pair.storage == number || pair.metadata == number)?;
        let pair = self.pairs.swap_remove(at);
        if let Some(Member::Storage(storage)) = self.member(pair.storage) {
            storage.part();
        }
        // Whoever copies from now on, that one would say of every copy that it isn't running.
        if let Some(Member::Metadata(metadata)) = self.member(pair.metadata) {
            metadata.part();
        }
        Some(pair)
    }
}
