//! Partitions as the header has them.

use std::ffi::c_char;

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
    let topic = unsafe { borrow::text(topic, topic_len, "topic")? };
    if !is_topic_name(topic) {
        let shown: String = topic.chars().take(64).collect();
        return Err(Failure::argument(format!(
            "topic is {shown:?} ({topic_len} bytes); a name has 1 to 249 letters, digits, dots, underscores and hyphens, and is not `.` or `..`"
        )));
    }
    if partition < 0 {
        return Err(Failure::argument(format!("partition is {partition} and must not be negative")));
    }
    Ok(TopicIdPartition::new(KafkaUuid(topic_id), topic, partition))
}
