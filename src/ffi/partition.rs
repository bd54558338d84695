//! Partitions as the header has them.

use std::cell::RefCell;
use std::ffi::c_char;
use std::sync::Arc;

use crate::metadata::AssignedPartition;
use crate::model::{KafkaUuid, LeaderEpoch, TopicIdPartition, is_topic_name};

use super::borrow::{self, Growing};
use super::error::Failure;

/// A partition of one incarnation of a topic. Set `struct_size` to `sizeof(uc_partition_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_partition_t {
    pub struct_size: u32,
    pub partition: i32,
    /// The topic's id, most significant byte first.
    pub topic_id: [u8; 16],
    /// The topic's name, one that Kafka allows.
    pub topic: *const c_char,
    pub topic_len: usize,
    /// Epoch of the leadership, for `uc_metadata_lead_and_follow`; -1 if the host does not know it.
    pub leader_epoch: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: repr(C), begins with a u32 size; numbers, arrays of numbers and raw pointers are valid with any bytes.
unsafe impl Growing for uc_partition_t {
    const NAME: &'static str = "uc_partition_t";
    const SIZE_MIN: usize = 48;
}

impl uc_partition_t {
    /// # Safety
    /// `topic` is null or valid for reads of `topic_len` bytes.
    pub(super) unsafe fn to_model(self) -> Result<TopicIdPartition, Failure> {
        // SAFETY: promised by the caller in the same words.
        unsafe { partition(self.topic_id, self.topic, self.topic_len, self.partition) }
    }

    /// # Safety
    /// As [`uc_partition_t::to_model`].
    pub(super) unsafe fn to_assigned(self) -> Result<AssignedPartition, Failure> {
        let epoch = LeaderEpoch(self.leader_epoch);
        // SAFETY: promised by the caller in the same words.
        let partition = unsafe { self.to_model()? };
        Ok(AssignedPartition { partition, leader_epoch: epoch.is_known().then_some(epoch) })
    }
}

/// # Safety
/// `topic` is null or valid for reads of `topic_len` bytes.
pub(super) unsafe fn partition(
    topic_id: [u8; 16],
    topic: *const c_char,
    topic_len: usize,
    partition: i32,
) -> Result<TopicIdPartition, Failure> {
    // SAFETY: promised by the caller in the same words.
    let topic = unsafe { borrow::bytes(topic.cast(), topic_len, "topic")? };
    let topic = name(topic)?;
    if partition < 0 {
        return Err(Failure::argument(format!("partition is {partition} and must not be negative")));
    }
    Ok(TopicIdPartition { topic_id: KafkaUuid(topic_id), topic, partition })
}

thread_local! {
    /// The topic that this thread asked about last. Hosts look up the same one again and again: neither checking its name
    /// nor an allocation for it is needed then.
    static LAST: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

fn name(bytes: &[u8]) -> Result<Arc<str>, Failure> {
    // A thread that ends has no such place any more.
    let is_known = |last: &RefCell<Option<Arc<str>>>| last.borrow().clone().filter(|last| last.as_bytes() == bytes);
    if let Ok(Some(known)) = LAST.try_with(is_known) {
        return Ok(known);
    }
    let name =
        std::str::from_utf8(bytes).map_err(|error| Failure::argument(format!("topic is not UTF-8 ({error})")))?;
    if !is_topic_name(name) {
        let shown: String = name.chars().take(64).collect();
        return Err(Failure::argument(format!(
            "topic is {shown:?} ({} bytes); a name has 1 to 249 letters, digits, dots, underscores and hyphens, and is not `.` or `..`",
            bytes.len()
        )));
    }
    let name: Arc<str> = Arc::from(name);
    let _ = LAST.try_with(|last| last.replace(Some(Arc::clone(&name))));
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_taken_for_no_other_one() {
        let first = name(b"orders").expect("a name");
        assert!(Arc::ptr_eq(&first, &name(b"orders").expect("a name")));
        assert_eq!(&*name(b"order").expect("a name"), "order");
        assert!(name(b"or/der").is_err() && name(b"or/der").is_err(), "also when it was asked before");
        assert!(name(b"").is_err() && name(b"\xff").is_err());
        assert_eq!(&*name(b"orders").expect("a name"), "orders");
    }
}
