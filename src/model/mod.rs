//! What everybody talks about: ids, offsets, epochs, segments and the states that they go through.
//!
//! In: nothing. Out: plain values. Never: I/O, clocks, wire formats, configuration.

mod epochs;
mod id_map;
mod ids;
mod index;
mod joints;
mod offset;
mod segment;
mod state;

pub use epochs::{EpochsError, SegmentEpochs};
pub use id_map::{IdHasher, IdMap, IdSet};
pub use ids::{KafkaUuid, ParseUuidError, SegmentId, TopicIdPartition, is_topic_name};
pub use index::IndexType;
pub use joints::{CopyEnd, ObjectsError, SegmentLedger, SegmentObjects};
pub use offset::{BrokerId, LeaderEpoch, Offset};
pub use segment::{PartitionDelete, SegmentMetadata, SegmentUpdate};
pub use state::{PartitionDeleteState, SegmentState};
