//! Segments and their files as the header has them.

use std::ffi::c_char;
use std::path::PathBuf;

use bytes::Bytes;

use crate::model::{
    BrokerId, KafkaUuid, LeaderEpoch, Offset, SegmentEpochs, SegmentId, SegmentMetadata, SegmentState, SegmentUpdate,
};
use crate::storage::SegmentFiles;

use super::borrow::{self, Growing};
use super::error::Failure;
use super::partition::partition;

/// The segment has no aborted transactions, so no transaction index is kept of it.
pub const UC_SEGMENT_TXN_INDEX_EMPTY: u32 = 1;
/// `custom_metadata` counts, also with length 0; without this flag the segment has none.
pub const UC_SEGMENT_HAS_CUSTOM_METADATA: u32 = 2;

/// States of a segment: Kafka's numbers, and DANGLING, which a stock broker does not know.
#[repr(i32)]
pub enum uc_segment_state {
    UC_COPY_SEGMENT_STARTED = 0,
    UC_COPY_SEGMENT_FINISHED = 1,
    UC_DELETE_SEGMENT_STARTED = 2,
    UC_DELETE_SEGMENT_FINISHED = 3,
    /// An attempt that failed and whose objects may still be there. For Kafka: DELETE_SEGMENT_STARTED.
    UC_SEGMENT_DANGLING = 4,
}

/// A leader epoch and its first offset in the segment. This struct never changes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_leader_epoch_t {
    pub epoch: i32,
    /// 0.
    pub reserved: i32,
    pub start_offset: i64,
}

/// Everything that is known of one remote segment. Set `struct_size` to `sizeof(uc_segment_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_segment_t {
    pub struct_size: u32,
    pub partition: i32,
    /// The topic's id, most significant byte first.
    pub topic_id: [u8; 16],
    /// Id of the attempt to copy, most significant byte first.
    pub segment_id: [u8; 16],
    /// The topic's name, one that Kafka allows.
    pub topic: *const c_char,
    pub topic_len: usize,
    pub start_offset: i64,
    /// Offset of the last record, inclusive.
    pub end_offset: i64,
    pub max_timestamp_ms: i64,
    /// When the latest event was written, milliseconds since 1970.
    pub event_timestamp_ms: i64,
    /// Broker that wrote the latest event.
    pub broker_id: i32,
    /// Size of the segment as the broker wrote it.
    pub size_bytes: i32,
    /// A number of `uc_segment_state`.
    pub state: i32,
    /// UC_SEGMENT_TXN_INDEX_EMPTY, UC_SEGMENT_HAS_CUSTOM_METADATA.
    pub flags: u32,
    /// At least one.
    pub leader_epochs: *const uc_leader_epoch_t,
    pub leader_epochs_len: usize,
    /// What `uc_storage_copy` answered.
    pub custom_metadata: *const u8,
    pub custom_metadata_len: usize,
}

/// A later event of a segment. Set `struct_size` to `sizeof(uc_segment_update_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_segment_update_t {
    pub struct_size: u32,
    pub partition: i32,
    /// The topic's id, most significant byte first.
    pub topic_id: [u8; 16],
    /// Id of the attempt to copy, most significant byte first.
    pub segment_id: [u8; 16],
    /// The topic's name, one that Kafka allows.
    pub topic: *const c_char,
    pub topic_len: usize,
    pub event_timestamp_ms: i64,
    pub broker_id: i32,
    /// A number of `uc_segment_state`.
    pub state: i32,
    /// UC_SEGMENT_HAS_CUSTOM_METADATA.
    pub flags: u32,
    /// 0.
    pub reserved: u32,
    /// Replaces what was known, also by length 0; without the flag that stays.
    pub custom_metadata: *const u8,
    pub custom_metadata_len: usize,
}

/// Local files of a closed segment, as paths of the file system. Set `struct_size` to `sizeof(uc_segment_files_t)`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct uc_segment_files_t {
    pub struct_size: u32,
    /// 0.
    pub reserved: u32,
    pub log: *const c_char,
    pub log_len: usize,
    pub offset_index: *const c_char,
    pub offset_index_len: usize,
    pub time_index: *const c_char,
    pub time_index_len: usize,
    /// Null if the segment has none.
    pub transaction_index: *const c_char,
    pub transaction_index_len: usize,
    pub producer_snapshot: *const c_char,
    pub producer_snapshot_len: usize,
    /// The leader epoch checkpoint, as bytes: Kafka has it in memory.
    pub leader_epochs: *const u8,
    pub leader_epochs_len: usize,
}

// SAFETY: repr(C), begins with a u32 size; numbers, arrays of numbers and raw pointers are valid with any bytes.
unsafe impl Growing for uc_segment_t {
    const NAME: &'static str = "uc_segment_t";
    const SIZE_MIN: usize = 136;
}

// SAFETY: as above.
unsafe impl Growing for uc_segment_update_t {
    const NAME: &'static str = "uc_segment_update_t";
    const SIZE_MIN: usize = 96;
}

// SAFETY: as above.
unsafe impl Growing for uc_segment_files_t {
    const NAME: &'static str = "uc_segment_files_t";
    const SIZE_MIN: usize = 104;
}

impl uc_segment_t {
    /// # Safety
    /// Its pointers are null or valid for reads of their lengths.
    pub(super) unsafe fn to_model(self) -> Result<SegmentMetadata, Failure> {
        // SAFETY: promised by the caller in the same words.
        let partition = unsafe { partition(self.topic_id, self.topic, self.topic_len, self.partition)? };
        // SAFETY: promised by the caller in the same words.
        let epochs = unsafe { epochs(self.leader_epochs, self.leader_epochs_len)? };
        // SAFETY: promised by the caller in the same words.
        let custom = unsafe { custom_metadata(self.flags, self.custom_metadata, self.custom_metadata_len)? };
        Ok(SegmentMetadata {
            id: SegmentId { partition, uuid: KafkaUuid(self.segment_id) },
            start_offset: Offset(self.start_offset),
            end_offset: Offset(self.end_offset),
            max_timestamp_ms: self.max_timestamp_ms,
            broker_id: BrokerId(self.broker_id),
            event_timestamp_ms: self.event_timestamp_ms,
            epochs,
            size_bytes: self.size_bytes,
            custom_metadata: custom,
            state: state(self.state)?,
            is_txn_index_empty: self.flags & UC_SEGMENT_TXN_INDEX_EMPTY != 0,
        })
    }

    /// Points into `segment` and `epochs`, which must outlive what C does with it.
    pub(super) fn from_model(segment: &SegmentMetadata, epochs: &[uc_leader_epoch_t]) -> Self {
        let custom = segment.custom_metadata.as_deref();
        let topic = &segment.id.partition.topic;
        Self {
            struct_size: 0,
            partition: segment.id.partition.partition,
            topic_id: segment.id.partition.topic_id.0,
            segment_id: segment.id.uuid.0,
            topic: topic.as_ptr().cast(),
            topic_len: topic.len(),
            start_offset: segment.start_offset.0,
            end_offset: segment.end_offset.0,
            max_timestamp_ms: segment.max_timestamp_ms,
            event_timestamp_ms: segment.event_timestamp_ms,
            broker_id: segment.broker_id.0,
            size_bytes: segment.size_bytes,
            state: i32::from(segment.state as u8),
            flags: if segment.is_txn_index_empty { UC_SEGMENT_TXN_INDEX_EMPTY } else { 0 }
                | if custom.is_some() { UC_SEGMENT_HAS_CUSTOM_METADATA } else { 0 },
            leader_epochs: epochs.as_ptr(),
            leader_epochs_len: epochs.len(),
            custom_metadata: custom.filter(|bytes| !bytes.is_empty()).map_or(std::ptr::null(), <[u8]>::as_ptr),
            custom_metadata_len: custom.map_or(0, <[u8]>::len),
        }
    }
}

impl uc_segment_update_t {
    /// # Safety
    /// Its pointers are null or valid for reads of their lengths.
    pub(super) unsafe fn to_model(self) -> Result<SegmentUpdate, Failure> {
        // SAFETY: promised by the caller in the same words.
        let partition = unsafe { partition(self.topic_id, self.topic, self.topic_len, self.partition)? };
        // SAFETY: promised by the caller in the same words.
        let custom = unsafe { custom_metadata(self.flags, self.custom_metadata, self.custom_metadata_len)? };
        Ok(SegmentUpdate {
            id: SegmentId { partition, uuid: KafkaUuid(self.segment_id) },
            broker_id: BrokerId(self.broker_id),
            event_timestamp_ms: self.event_timestamp_ms,
            custom_metadata: custom,
            state: state(self.state)?,
        })
    }
}

impl uc_segment_files_t {
    /// # Safety
    /// Its pointers are null or valid for reads of their lengths.
    pub(super) unsafe fn to_model(self) -> Result<SegmentFiles, Failure> {
        let transaction_index = if self.transaction_index.is_null() {
            None
        } else {
            // SAFETY: promised by the caller in the same words.
            Some(unsafe { path(self.transaction_index, self.transaction_index_len, "transaction_index")? })
        };
        // SAFETY: promised by the caller in the same words.
        unsafe {
            Ok(SegmentFiles {
                log: path(self.log, self.log_len, "log")?,
                offset_index: path(self.offset_index, self.offset_index_len, "offset_index")?,
                time_index: path(self.time_index, self.time_index_len, "time_index")?,
                transaction_index,
                producer_snapshot: path(self.producer_snapshot, self.producer_snapshot_len, "producer_snapshot")?,
                leader_epochs: Bytes::copy_from_slice(borrow::bytes(
                    self.leader_epochs,
                    self.leader_epochs_len,
                    "leader_epochs",
                )?),
            })
        }
    }
}

/// # Safety
/// `ptr` is null or valid for reads of `len` bytes.
unsafe fn path(ptr: *const c_char, len: usize, name: &str) -> Result<PathBuf, Failure> {
    // SAFETY: promised by the caller in the same words.
    let text = unsafe { borrow::text(ptr, len, name)? };
    if text.is_empty() {
        return Err(Failure::argument(format!("{name} is empty; it must be the path of a file")));
    }
    Ok(PathBuf::from(text))
}

/// # Safety
/// `ptr` is null or valid for reads of `len` epochs.
unsafe fn epochs(ptr: *const uc_leader_epoch_t, len: usize) -> Result<SegmentEpochs, Failure> {
    let size = len.checked_mul(size_of::<uc_leader_epoch_t>()).filter(|&size| isize::try_from(size).is_ok());
    if size.is_none() || (ptr.is_null() && len > 0) {
        return Err(Failure::argument(format!("leader_epochs is null or too long, and its length is {len}")));
    }
    let mut entries = Vec::with_capacity(len.min(1024));
    for i in 0..len {
        // SAFETY: not null and within `len` epochs, which are readable (# Safety); of any alignment.
        let entry = unsafe { ptr.add(i).read_unaligned() };
        entries.push((LeaderEpoch(entry.epoch), Offset(entry.start_offset)));
    }
    SegmentEpochs::new(entries).map_err(|e| Failure::argument(format!("leader_epochs: {e}")))
}

/// # Safety
/// `ptr` is null or valid for reads of `len` bytes.
unsafe fn custom_metadata(flags: u32, ptr: *const u8, len: usize) -> Result<Option<Bytes>, Failure> {
    if flags & UC_SEGMENT_HAS_CUSTOM_METADATA == 0 {
        return Ok(None);
    }
    // SAFETY: promised by the caller in the same words.
    Ok(Some(Bytes::copy_from_slice(unsafe { borrow::bytes(ptr, len, "custom_metadata")? })))
}

fn state(number: i32) -> Result<SegmentState, Failure> {
    SegmentState::from_number(number)
        .ok_or_else(|| Failure::argument(format!("state is {number}; a segment has one from 0 to 4")))
}
