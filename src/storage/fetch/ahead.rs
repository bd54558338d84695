//! Reads ahead what streams will want next.

use std::sync::Arc;
use std::time::Instant;

use foyer_memory::{Cache, CacheBuilder};
use parking_lot::Mutex;

use super::super::tasks::Tasks;
use super::blocks::Blocks;
use super::finder::Finder;
use super::streams::{Ask, Plan, StreamId, Streams, Stretch};
use super::target::{Located, Target};
use crate::model::{KafkaUuid, SegmentMetadata};

/// Segments behind those that are being read, as they can be read; one with a long table counts as several.
const NEXT_MAX: usize = 256;
const NEXT_BYTES: usize = 16 << 10;

/// Knows the segment behind another one, and where it lies; `None` if nobody does. Answers at once.
pub(in super::super) type NextSegment = Box<dyn Fn(&SegmentMetadata) -> Option<Located> + Send + Sync>;

/// The streams of a manager, and what is done for them.
pub(super) struct Ahead {
    started: Instant,
    streams: Arc<Mutex<Streams>>,
    blocks: Arc<Blocks>,
    finder: Arc<Finder>,
    next_segment: NextSegment,
    next: Cache<KafkaUuid, Arc<Target>>,
    runtime: tokio::runtime::Handle,
    tasks: Tasks,
}

impl Ahead {
    pub(super) fn new(
        streams: Arc<Mutex<Streams>>,
        blocks: Arc<Blocks>,
        finder: Arc<Finder>,
        next_segment: NextSegment,
        runtime: tokio::runtime::Handle,
        tasks: Tasks,
    ) -> Self {
        let next = CacheBuilder::new(NEXT_MAX)
            .with_shards(1)
            .with_weighter(|_: &KafkaUuid, target: &Arc<Target>| 1 + target.extra_bytes() / NEXT_BYTES)
            .build();
        Self { started: Instant::now(), streams, blocks, finder, next_segment, next, runtime, tasks }
    }

    /// A reader begins to read at `position`.
    pub(super) fn open(&self, target: &Target, position: u64) -> StreamId {
        self.streams.lock().open(self.started.elapsed(), stretch(target), position)
    }

    /// A reader has everything before `position`: reads ahead what that calls for.
    pub(super) fn delivered(self: &Arc<Self>, id: StreamId, target: &Arc<Target>, position: u64) {
        let now = self.started.elapsed();
        let Plan { asks, wants_next } = self.streams.lock().delivered(now, id, target.segment.id.uuid, position);
        for ask in asks {
            if !self.ask(target, &ask) {
                // The later ones come behind it, so they come again too.
                self.streams.lock().not_asked(id, &ask);
                break;
            }
        }
        if wants_next {
            self.look_for_next(id, target);
        }
    }

    pub(super) fn forget(&self, segment: KafkaUuid) {
        self.streams.lock().forget(segment);
        self.next.remove(&segment);
    }

    fn ask(&self, current: &Arc<Target>, ask: &Ask) -> bool {
        let next;
        let target = if ask.segment == current.segment.id.uuid {
            current
        } else {
            let Some(entry) = self.next.get(&ask.segment) else { return true };
            next = Arc::clone(entry.value());
            &next
        };
        let size = target.block_bytes();
        self.blocks.read_ahead(target, ask.bytes.start.div_ceil(size)..ask.bytes.end.div_ceil(size))
    }

    /// The store may have to be asked where it lies, so the reader doesn't wait for it.
    fn look_for_next(self: &Arc<Self>, id: StreamId, target: &Target) {
        let Some(located) = (self.next_segment)(&target.segment) else { return };
        let ahead = Arc::clone(self);
        self.runtime.spawn(async move {
            let found = tokio::select! {
                found = ahead.finder.find(&located) => found,
                () = ahead.tasks.closing() => return,
            };
            // Whoever reads it will hear the reason.
            let Ok(next) = found else { return };
            ahead.next.insert(next.segment.id.uuid, Arc::clone(&next));
            ahead.streams.lock().next_is(id, stretch(&next));
        });
    }
}

fn stretch(target: &Target) -> Stretch {
    let segment = &target.segment;
    Stretch {
        segment: segment.id.uuid,
        partition: (segment.id.partition.topic_id, segment.id.partition.partition),
        first_offset: segment.start_offset.0,
        last_offset: segment.end_offset.0,
        size: target.size,
    }
}
