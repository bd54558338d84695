//! Who reads on and on, over the broker's many short reads, and what such a reader will want next.
//!
//! A broker opens a segment at a position, takes about 1 MiB and closes; its next read begins at the first batch that the
//! last one didn't get whole. So a stream is what opens in a row make of one partition:
//!
//! | an open                                                        | is                                              |
//! |----------------------------------------------------------------|-------------------------------------------------|
//! | between where a stream's last open began and what it delivered | its next one, or the same again after a timeout |
//! | at the start of the segment behind one that was read to its end | its next one                                    |
//! | anywhere else                                                  | a new stream, which is trusted with nothing yet |
//!
//! Pure: the clock is handed in, what to ask for is handed out.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::model::KafkaUuid;

/// The first read-ahead of a stream, and what less than that is not worth a request.
pub(super) const STEP: u64 = 1 << 20;
/// Requests that a window is made of, once these are large: a store needs less for few of many MiB than for many of few.
const REQUESTS_IN_WINDOW: u64 = 4;
/// Half a window until then.
const LARGE_REQUEST: u64 = 2 << 20;
/// How far a next open may be off: the interval of Kafka's offset index and a batch of usual size.
const SLACK: u64 = 128 << 10;
/// Evidence that a reader goes on: two opens in a row, or one that begins right where the last one ended.
const TRUSTED: u32 = 2;
/// Windows below this become four times as large at once: who reads a cold segment waits for the store until they are large.
const GROWS_FAST: u64 = 4 << 20;
/// How much longer a window takes to grow again after what it brought was thrown away unread.
const GROWS_SLOWLY: u64 = 8;

/// Bounds of reading ahead.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct AheadSettings {
    /// Of one stream; 0 is off.
    pub(in super::super) bytes_max: u64,
    /// Of all streams together.
    pub(in super::super) budget: u64,
    /// Of one request.
    pub(in super::super) request_max: u64,
    /// What the first request of an open asks for anyway.
    pub(in super::super) first_request: u64,
    /// A reader that hasn't read for so long is gone.
    pub(in super::super) idle: Duration,
    pub(in super::super) streams_max: usize,
}

/// A segment, as far as reading in order goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) segment: KafkaUuid,
    pub(super) partition: (KafkaUuid, i32),
    pub(super) first_offset: i64,
    pub(super) last_offset: i64,
    pub(super) size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct StreamId(u64);

/// Bytes of a segment to have before somebody wants them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) segment: KafkaUuid,
    pub(super) bytes: Range<u64>,
}

/// What to do for a stream now.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) asks: Vec<Ask>,
    /// The window reaches over the end of the segment: whoever knows the one behind it, tell [`Streams::next_is`].
    pub(super) wants_next: bool,
}

#[derive(Debug)]
struct Stream {
    at: Stretch,
    next: Option<Stretch>,
    has_asked_for_next: bool,
    /// Where the last open began, and how far was delivered since. `front` counts on over the segment's end.
    start: u64,
    front: u64,
    /// Asked for up to here; behind the segment's size it is in the next one.
    ahead: u64,
    score: u32,
    window: u64,
    delivered: u64,
    /// What must have been delivered before the window grows, and before it shrinks again.
    grows_at: u64,
    shrinks_at: u64,
    used: Duration,
}

/// All streams of a manager, the longest unused one forgotten first.
#[derive(Debug)]
pub(super) struct Streams {
    settings: AheadSettings,
    streams: HashMap<StreamId, Stream>,
    partitions: HashMap<(KafkaUuid, i32), Vec<StreamId>>,
    last_id: u64,
    /// What each stream may have of the budget.
    share: u64,
}

impl Streams {
    pub(super) fn new(settings: AheadSettings) -> Self {
        Self {
            settings,
            streams: HashMap::new(),
            partitions: HashMap::new(),
            last_id: 0,
            share: settings.budget.min(settings.bytes_max),
        }
    }

    /// A reader begins to read at `position`.
    pub(super) fn open(&mut self, now: Duration, at: Stretch, position: u64) -> StreamId {
        let id = self.find(&at, position).unwrap_or_else(|| self.begin(now, at, position));
        let idle = self.settings.idle;
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.opened(now, at, position, idle);
        }
        let is_active =
            |stream: &&Stream| stream.is_trusted() && now.saturating_sub(stream.used) < idle && stream.may_ask();
        let active = self.streams.values().filter(is_active).count().max(1) as u64;
        self.share = (self.settings.budget / active).min(self.settings.bytes_max);
        id
    }

    /// A reader has everything before `position` of `segment`.
    pub(super) fn delivered(&mut self, now: Duration, id: StreamId, segment: KafkaUuid, position: u64) -> Plan {
        let (share, settings) = (self.share, self.settings);
        match self.streams.get_mut(&id) {
            // Another reader of the stream may have gone on to the next segment already.
            Some(stream) if stream.at.segment == segment => {
                stream.delivered(now, position, settings.first_request);
                stream.plan(share, &settings)
            }
            _ => Plan::default(),
        }
    }

    /// The segment behind the one that is being read.
    pub(super) fn next_is(&mut self, id: StreamId, next: Stretch) {
        if let Some(stream) = self.streams.get_mut(&id)
            && follows(&stream.at, &next)
            && stream.next.is_none()
        {
            stream.next = Some(next);
        }
    }

    /// What a plan said was not asked for: it comes again in a later one.
    pub(super) fn not_asked(&mut self, id: StreamId, ask: &Ask) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if ask.segment == stream.at.segment {
            stream.ahead = stream.ahead.min(ask.bytes.start);
        } else if stream.next.is_some_and(|next| next.segment == ask.segment) {
            stream.ahead = stream.ahead.min(stream.at.size + ask.bytes.start);
        }
    }

    /// Bytes of a segment that were read ahead had to go before anybody read them.
    pub(super) fn thrown_away(&mut self, segment: KafkaUuid) {
        for stream in self.streams.values_mut() {
            if stream.at.segment == segment || stream.next.is_some_and(|next| next.segment == segment) {
                stream.shrink();
            }
        }
    }

    /// The segment is gone.
    pub(super) fn forget(&mut self, segment: KafkaUuid) {
        let of = |stream: &Stream| stream.at.segment == segment;
        let gone: Vec<_> = self.streams.iter().filter(|(_, stream)| of(stream)).map(|(id, _)| *id).collect();
        for id in gone {
            self.remove(id);
        }
        for stream in self.streams.values_mut() {
            stream.next.take_if(|next| next.segment == segment);
        }
    }

    fn find(&self, at: &Stretch, position: u64) -> Option<StreamId> {
        let ids = self.partitions.get(&at.partition)?;
        let streams = ids.iter().filter_map(|id| self.streams.get(id).map(|stream| (*id, stream)));
        streams
            .filter_map(|(id, stream)| stream.distance(at, position).map(|distance| (distance, id)))
            .min()
            .map(|(_, id)| id)
    }

    fn begin(&mut self, now: Duration, at: Stretch, position: u64) -> StreamId {
        if self.streams.len() >= self.settings.streams_max.max(1) {
            let oldest = self.streams.iter().min_by_key(|(id, stream)| (stream.used, **id)).map(|(id, _)| *id);
            oldest.into_iter().for_each(|id| self.remove(id));
        }
        self.last_id += 1;
        let id = StreamId(self.last_id);
        self.partitions.entry(at.partition).or_default().push(id);
        self.streams.insert(id, Stream::new(now, at, position));
        id
    }

    fn remove(&mut self, id: StreamId) {
        let Some(stream) = self.streams.remove(&id) else { return };
        if let Some(ids) = self.partitions.get_mut(&stream.at.partition) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.partitions.remove(&stream.at.partition);
            }
        }
    }
}

/// Whether `next` continues `at`. Two leaders may have copied segments that overlap.
fn follows(at: &Stretch, next: &Stretch) -> bool {
    at.partition == next.partition
        && at.segment != next.segment
        && at.first_offset < next.first_offset
        && next.first_offset <= at.last_offset.saturating_add(1)
        && at.last_offset < next.last_offset
}

impl Stream {
    fn new(now: Duration, at: Stretch, position: u64) -> Self {
        Self {
            at,
            next: None,
            has_asked_for_next: false,
            start: position,
            front: position,
            ahead: position,
            score: 0,
            window: 0,
            delivered: 0,
            grows_at: 0,
            shrinks_at: 0,
            used: now,
        }
    }

    fn is_trusted(&self) -> bool {
        self.score >= TRUSTED
    }

    /// How far an open is from where this stream would go on; none if it isn't one of it.
    fn distance(&self, at: &Stretch, position: u64) -> Option<u64> {
        if self.at.segment == at.segment {
            let is_in = self.start <= position && position <= self.front.saturating_add(SLACK);
            return is_in.then(|| position.abs_diff(self.front));
        }
        (self.has_ended() && position <= SLACK && follows(&self.at, at)).then_some(position)
    }

    fn has_ended(&self) -> bool {
        self.front.saturating_add(SLACK) >= self.at.size
    }

    /// Whether there is something left that it may ask for.
    fn may_ask(&self) -> bool {
        !self.has_ended() || self.next.is_some()
    }

    fn opened(&mut self, now: Duration, at: Stretch, position: u64, idle: Duration) {
        if now.saturating_sub(self.used) >= idle {
            (self.score, self.window) = (0, 0);
            (self.grows_at, self.shrinks_at) = (self.delivered, self.delivered);
        }
        self.used = now;
        self.has_asked_for_next = false;
        if self.at.segment == at.segment {
            // The same position again is a timeout, not progress; and nobody has read what was not delivered.
            if position > self.start {
                let is_right_behind = position.saturating_add(SLACK) >= self.front;
                self.score = self.score.saturating_add(if is_right_behind { TRUSTED } else { 1 });
            }
        } else {
            self.score = self.score.saturating_add(TRUSTED);
            let is_foreseen = self.next.take().is_some_and(|next| next.segment == at.segment);
            self.ahead = if is_foreseen { self.ahead.saturating_sub(self.at.size) } else { 0 };
            self.front = 0;
            self.at = at;
        }
        self.start = position;
        self.front = self.front.max(position);
    }

    fn delivered(&mut self, now: Duration, position: u64, first_request: u64) {
        self.used = now;
        self.delivered += position.saturating_sub(self.front);
        self.front = self.front.max(position).min(self.at.size);
        // Within one open, too, a reader may go on and on.
        if position > self.start.saturating_add(first_request) {
            self.score = self.score.max(TRUSTED);
        }
    }

    fn plan(&mut self, share: u64, settings: &AheadSettings) -> Plan {
        let mut plan = Plan::default();
        if !self.is_trusted() || share < STEP.min(settings.bytes_max) || share == 0 {
            return plan;
        }
        self.grow(share);
        let window = self.window.min(share);
        let asked_anyway = self.start.saturating_add(settings.first_request).min(self.at.size);
        let base = self.front.max(asked_anyway);
        self.ahead = self.ahead.max(base);
        let wanted = base.saturating_add(window);
        let end = self.at.size.saturating_add(self.next.map_or(0, |next| next.size));
        let unit = (window / REQUESTS_IN_WINDOW)
            .max(LARGE_REQUEST.min(window / 2))
            .clamp(STEP.min(window), settings.request_max.max(STEP).min(window.max(1)));
        while self.ahead < wanted.min(end) {
            let limit = if self.ahead < self.at.size { self.at.size } else { end };
            let to = self.ahead.saturating_add(unit).min(limit);
            if to > wanted {
                break;
            }
            plan.asks.extend(self.ask(self.ahead..to));
            self.ahead = to;
        }
        plan.wants_next = wanted > self.at.size && self.next.is_none() && !self.has_asked_for_next;
        self.has_asked_for_next |= plan.wants_next;
        plan
    }

    fn grow(&mut self, share: u64) {
        if self.delivered >= self.grows_at {
            let factor = if self.window < GROWS_FAST { 4 } else { 2 };
            self.window = self.window.saturating_mul(factor).max(STEP).min(share);
            self.grows_at = self.delivered + (self.window / 2).max(STEP);
        }
    }

    /// Blocks are thrown away one by one; those of one window count once.
    fn shrink(&mut self) {
        if self.delivered < self.shrinks_at {
            return;
        }
        let window = if self.window > STEP { self.window / 2 } else { 0 };
        self.shrinks_at = self.delivered + self.window.max(STEP);
        self.grows_at = self.delivered + self.window.max(STEP).saturating_mul(GROWS_SLOWLY);
        self.window = window;
    }

    fn ask(&self, bytes: Range<u64>) -> Option<Ask> {
        if bytes.start < self.at.size {
            return Some(Ask { segment: self.at.segment, bytes });
        }
        let (next, size) = (self.next?, self.at.size);
        Some(Ask { segment: next.segment, bytes: bytes.start - size..bytes.end - size })
    }
}
