//! The cache's algorithm as Kafka 4.2 has it, written down again over plain maps, and random histories for both.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct StockEpoch {
    offset_to_id: BTreeMap<i64, u8>,
    unreferenced: BTreeSet<u8>,
    /// Start and number of those that a longer one keeps out, in the order in which they finished.
    kept_out: Vec<(i64, u8)>,
    highest: Option<i64>,
}

#[derive(Default)]
struct Stock {
    segments: BTreeMap<u8, (SegmentMetadata, SegmentState)>,
    epochs: BTreeMap<i32, StockEpoch>,
}

fn end_in_epoch(segment: &SegmentMetadata, epoch: i32) -> i64 {
    let entries = segment.epochs.entries();
    let next = entries.iter().find(|(other, _)| other.0 > epoch);
    next.map_or(segment.end_offset.0, |&(_, start)| start.0 - 1)
}

impl Stock {
    fn add(&mut self, number: u8, segment: SegmentMetadata) {
        for (epoch, _) in segment.epochs.entries() {
            self.epochs.entry(epoch.0).or_default().unreferenced.insert(number);
        }
        self.segments.insert(number, (segment, CopyStarted));
    }

    fn update(&mut self, number: u8, to: SegmentState) {
        let Some((segment, state)) = self.segments.get_mut(&number) else { return };
        if *state != to && !state.writer_may(to) {
            return;
        }
        *state = to;
        let segment = segment.clone();
        for &(epoch, start) in segment.epochs.entries() {
            let end = end_in_epoch(&segment, epoch.0);
            let segments = &self.segments;
            let entry = self.epochs.entry(epoch.0).or_default();
            match to {
                CopyFinished => {
                    while let Some((&key, &last)) = entry.offset_to_id.last_key_value()
                        && key >= start.0
                        && entry.highest.expect("set with the entry") <= end
                    {
                        entry.offset_to_id.remove(&key);
                        entry.kept_out.retain(|&(start, _)| start != key);
                        entry.unreferenced.insert(last);
                    }
                    entry.highest = entry.highest.max(Some(end));
                    // The difference that we chose: Kafka puts the shorter one over the longer one.
                    let other = entry.offset_to_id.get(&start.0).copied().filter(|&other| other != number);
                    entry.kept_out.retain(|&(at, other)| {
                        at != start.0 || (other != number && end_in_epoch(&segments[&other].0, epoch.0) > end)
                    });
                    if other.is_some_and(|other| end_in_epoch(&segments[&other].0, epoch.0) > end) {
                        entry.kept_out.push((start.0, number));
                        entry.unreferenced.insert(number);
                        continue;
                    }
                    entry.unreferenced.extend(other);
                    entry.offset_to_id.insert(start.0, number);
                    entry.unreferenced.remove(&number);
                }
                DeleteStarted => {
                    entry.unreferenced.insert(number);
                    entry.kept_out.retain(|&kept_out| kept_out != (start.0, number));
                    if entry.offset_to_id.get(&start.0) == Some(&number) {
                        entry.offset_to_id.remove(&start.0);
                        let next = entry.kept_out.iter().position(|&(at, _)| at == start.0);
                        if let Some((_, next)) = next.map(|next| entry.kept_out.remove(next)) {
                            entry.unreferenced.remove(&next);
                            entry.offset_to_id.insert(start.0, next);
                        }
                    }
                }
                DeleteFinished => {
                    entry.unreferenced.remove(&number);
                }
                CopyStarted | Dangling => unreachable!("not part of the comparison"),
            }
        }
        if to == DeleteFinished {
            self.segments.remove(&number);
        }
    }

    fn find(&self, epoch: i32, offset: i64) -> Option<u8> {
        let (_, &number) = self.epochs.get(&epoch)?.offset_to_id.range(..=offset).next_back()?;
        (offset <= end_in_epoch(&self.segments[&number].0, epoch)).then_some(number)
    }

    fn list(&self, epoch: i32) -> BTreeSet<u8> {
        let entry = self.epochs.get(&epoch);
        entry.map_or_else(BTreeSet::new, |entry| {
            entry.offset_to_id.values().chain(&entry.unreferenced).copied().collect()
        })
    }
}

#[derive(Debug, Clone)]
enum Op {
    Add { start: i64, length: i64, epochs: Vec<(i32, i64)> },
    Update { segment: usize, to: SegmentState },
}

fn op() -> impl Strategy<Value = Op> {
    let add = (0..40_i64, 0..30_i64, proptest::collection::vec((0..4_i32, 0..30_i64), 0..3), 0..4_i32);
    let add = add.prop_map(|(start, length, later, first)| {
        let mut epochs = vec![(first, start)];
        let (mut epoch, mut at) = (first, start);
        for (step, offset) in later {
            epoch += step + 1;
            at = (at + offset).min(start + length);
            epochs.push((epoch, at));
        }
        Op::Add { start, length, epochs }
    });
    let to = prop_oneof![3 => Just(CopyFinished), 1 => Just(DeleteStarted), 1 => Just(DeleteFinished)];
    let update = (any::<proptest::sample::Index>(), to).prop_map(|(i, to)| Op::Update { segment: i.index(64), to });
    prop_oneof![add, update]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(120) })]

    /// For every history of a writer that keeps to the steps, every lookup answers as Kafka's cache does.
    #[test]
    fn lookups_are_kafkas(ops in proptest::collection::vec(op(), 1..60)) {
        let (mut subject, mut stock) = (Subject::new(), Stock::default());
        let mut added = 0_u8;
        for op in ops {
            match op {
                Op::Add { start, length, epochs } => {
                    added += 1;
                    subject.add(added, start, start + length, &epochs);
                    stock.add(added, whole(added, start, start + length, &epochs, CopyStarted));
                }
                Op::Update { segment, to } if added > 0 => {
                    let number = u8::try_from(segment % usize::from(added)).expect("small") + 1;
                    // Gaps are ours alone: a writer does not leave any.
                    if subject.state(number).is_some_and(|from| from.writer_may(to)) {
                        let _ = subject.to(number, to);
                        stock.update(number, to);
                    }
                }
                Op::Update { .. } => {}
            }
            for epoch in 0..14 {
                for offset in -1..75 {
                    prop_assert_eq!(subject.find(epoch, offset), stock.find(epoch, offset), "{}@{}", offset, epoch);
                }
                prop_assert_eq!(
                    subject.0.highest_offset(LeaderEpoch(epoch)).map(|offset| offset.0),
                    stock.epochs.get(&epoch).and_then(|entry| entry.highest)
                );
                prop_assert_eq!(subject.listed(Some(epoch)).into_iter().collect::<BTreeSet<_>>(), stock.list(epoch));
            }
            prop_assert_eq!(subject.0.live_segments(), stock.segments.len());
        }
    }
}
