//! The cache's algorithm as Kafka 4.2 has it, written down again over plain maps, and random histories for both.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct StockEpoch {
    offset_to_id: BTreeMap<i64, u8>,
    unreferenced: BTreeSet<u8>,
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
            let entry = self.epochs.entry(epoch.0).or_default();
            match to {
                CopyFinished => {
                    while let Some((&key, &last)) = entry.offset_to_id.last_key_value()
                        && key >= start.0
                        && entry.highest.expect("set with the entry") <= end
                    {
                        entry.offset_to_id.remove(&key);
                        entry.unreferenced.insert(last);
                    }
                    entry.highest = entry.highest.max(Some(end));
                    entry.offset_to_id.insert(start.0, number);
                    entry.unreferenced.remove(&number);
                }
                DeleteStarted => {
                    entry.unreferenced.insert(number);
                    if entry.offset_to_id.get(&start.0) == Some(&number) {
                        entry.offset_to_id.remove(&start.0);
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

    /// Finished segments with what they have of `epoch`.
    fn finished(&self, epoch: i32) -> Vec<(i64, i64, u8)> {
        let finished = self.segments.iter().filter(|(_, (_, state))| *state == CopyFinished);
        let spans = finished.flat_map(|(&number, (segment, _))| {
            segment.epochs.ranges(segment.end_offset).map(move |(of, start, end)| (of, (start.0, end.0, number)))
        });
        spans.filter(|(of, _)| of.0 == epoch).map(|(_, span)| span).collect()
    }

    /// Of each epoch all segments, whatever their state.
    fn of_epoch(&self, epoch: i32) -> BTreeSet<u8> {
        let has_it = |segment: &SegmentMetadata| segment.epochs.entries().iter().any(|(of, _)| of.0 == epoch);
        self.segments.iter().filter(|(_, (segment, _))| has_it(segment)).map(|(&number, _)| number).collect()
    }
}

fn covers(outer: (i64, i64, u8), inner: (i64, i64, u8)) -> bool {
    outer.2 != inner.2 && outer.0 <= inner.0 && inner.1 <= outer.1
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

    /// For every history of a writer that keeps to the steps, a lookup finds a finished segment exactly when one has the
    /// offset; as long as none was ever within another one, the same that Kafka's cache finds; and never less than that
    /// finds. All else is as Kafka's.
    #[test]
    fn lookups_are_kafkas_but_nothing_hides(ops in proptest::collection::vec(op(), 1..60)) {
        let (mut subject, mut stock) = (Subject::new(), Stock::default());
        let (mut added, mut was_within) = (0_u8, BTreeSet::new());
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
                let finished = stock.finished(epoch);
                if finished.iter().any(|&a| finished.iter().any(|&b| covers(a, b))) {
                    was_within.insert(epoch);
                }
                for offset in -1..75 {
                    let (ours, kafkas) = (subject.find(epoch, offset), stock.find(epoch, offset));
                    let has_it = |&&(start, end, _): &&(i64, i64, u8)| start <= offset && offset <= end;
                    let all: Vec<_> = finished.iter().filter(has_it).map(|&(_, _, number)| number).collect();
                    prop_assert_eq!(ours.is_some(), !all.is_empty(), "{}@{}", offset, epoch);
                    prop_assert!(ours.is_none_or(|ours| all.contains(&ours)));
                    prop_assert!(ours.is_some() || kafkas.is_none());
                    if !was_within.contains(&epoch) {
                        prop_assert_eq!(ours, kafkas, "{}@{}", offset, epoch);
                    }
                }
                prop_assert_eq!(
                    subject.0.highest_offset(LeaderEpoch(epoch)).map(|offset| offset.0),
                    stock.epochs.get(&epoch).and_then(|entry| entry.highest)
                );
                prop_assert_eq!(subject.listed(Some(epoch)).into_iter().collect::<BTreeSet<_>>(), stock.of_epoch(epoch));
            }
            prop_assert_eq!(subject.0.live_segments(), stock.segments.len());
        }
    }

    /// Which segments serve reads does not depend on the order in which they were finished.
    #[test]
    fn the_order_of_finishing_makes_no_difference(
        spans in proptest::collection::vec((0..20_i64, 0..20_i64), 1..8).prop_shuffle(),
    ) {
        let served = |order: &[usize]| {
            let mut subject = Subject::new();
            for &at in order {
                let (start, length) = spans[at];
                subject.copied(u8::try_from(at).expect("small"), start, start + length, &[(0, start)]);
            }
            (0..45).map(|offset| subject.find(0, offset)).collect::<Vec<_>>()
        };
        let forth: Vec<_> = (0..spans.len()).collect();
        let back: Vec<_> = forth.iter().rev().copied().collect();
        prop_assert_eq!(served(&forth), served(&back));
    }
}
