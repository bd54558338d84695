//! What the keys are for: a cleaner may drop every record but the last of its key, at any time, and nobody notices.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Op {
    /// An attempt to copy offsets up to one of few ends, in one of few epochs, -1 being an unknown one.
    Add {
        start: i64,
        length: i64,
        epoch: i32,
    },
    Step {
        segment: usize,
        state: SegmentState,
    },
    Claim {
        segment: usize,
    },
    /// Somebody who saw an open attempt, some time ago.
    Late {
        segment: usize,
        state: SegmentState,
    },
    Sweep,
    /// The cleaner runs over everything before this share of the log, in percent.
    Clean {
        share: i64,
    },
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let state = prop_oneof![Just(CopyFinished), Just(DeleteStarted), Just(DeleteFinished), Just(Dangling)];
    let late = prop_oneof![Just(CopyFinished), Just(Dangling)];
    prop_oneof![
        3 => (0..3_i64, 0..3_i64, -1..3_i32)
            .prop_map(|(start, length, epoch)| Op::Add { start: start * 10, length: length * 10 + 9, epoch }),
        6 => (0..64_usize, state).prop_map(|(segment, state)| Op::Step { segment, state }),
        1 => (0..64_usize).prop_map(|segment| Op::Claim { segment }),
        1 => (0..64_usize, late).prop_map(|(segment, state)| Op::Late { segment, state }),
        1 => Just(Op::Sweep),
        1 => (0..=100_i64).prop_map(|share| Op::Clean { share }),
        1 => Just(Op::Restart),
    ]
}

fn run(world: &mut World, op: Op, added: &mut u8) {
    let of = |segment: usize| u8::try_from(segment % usize::from(*added).max(1)).expect("small") + 1;
    match op {
        Op::Add { start, length, epoch } => {
            *added += 1;
            world.lead(epoch);
            world.add(segment(*added, start, start + length));
        }
        Op::Step { segment, state } => {
            if let Ok(Step::Write(draft)) = world.draft(of(segment), state) {
                let _ = world.write(draft);
            }
        }
        Op::Claim { segment } => {
            world.nonce += 1;
            if let Ok(draft) = claim(&world.reader, &world.standing, &id(of(segment)), world.nonce) {
                let _ = world.write(draft);
            }
        }
        Op::Late { segment, state } => {
            let has_said_so = |stored: &Stored| {
                matches!(&stored.body, Some(Record::Update(record))
                if record.update.id == id(of(segment)) && record.update.state == CopyFinished)
            };
            // Whoever copies says once that it is done. If it said so again behind a claim that was refused, a cleaner
            // would leave the claim in front.
            let is_said = state == CopyFinished && world.ever.iter().any(has_said_so);
            if world.reader.naming_of(&id(of(segment))).is_some() && !is_said {
                let _ = world.late(of(segment), (CopyStarted, state));
            }
        }
        Op::Sweep => {
            world.lead(9);
            world.sweep();
        }
        Op::Clean { share } => world.clean_until(world.next * share / 100),
        Op::Restart => world.restart(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    /// For every history of leaders and late writers and a cleaner that runs at any point, a reader of what is left knows
    /// what a reader of everything knows, and each attempt that is not gone is named by a base key.
    #[test]
    fn a_cleaned_log_says_what_the_whole_log_said(ops in proptest::collection::vec(op(), 1..60)) {
        let (mut world, mut added) = (World::new(), 0);
        for op in ops {
            run(&mut world, op, &mut added);
            prop_assert_eq!(live(&world.fresh()), live(&world.reader));
            prop_assert_eq!(world.reader.work().unkeyed_facts, 0);
        }
        world.clean();
        let named: BTreeSet<_> = world
            .log
            .iter()
            .filter_map(|stored| match &stored.body {
                Some(Record::Segment(whole)) => Some(whole.metadata.id.uuid),
                _ => None,
            })
            .collect();
        prop_assert!(world.reader.list(None).iter().all(|segment| named.contains(&segment.id.uuid)));
    }

    /// Once everything is deleted and swept, the log has nothing.
    #[test]
    fn nothing_is_left_of_what_is_deleted(ops in proptest::collection::vec(op(), 1..40)) {
        let (mut world, mut added) = (World::new(), 0);
        ops.into_iter().for_each(|op| run(&mut world, op, &mut added));
        world.lead(9);
        for segment in world.reader.list(None) {
            for state in [DeleteStarted, DeleteFinished] {
                let _ = world.late_step(&segment.id, state);
            }
        }
        world.sweep();
        world.clean_all();
        prop_assert_eq!(world.keys(), BTreeSet::new());
        prop_assert_eq!(world.log.len(), 0);
    }
}

impl World {
    fn late_step(&mut self, segment: &SegmentId, state: SegmentState) -> Option<Outcome> {
        match self.draft(segment.uuid.0[0], state).ok()? {
            Step::Write(draft) => Some(self.write(draft)),
            Step::AlreadySo => None,
        }
    }
}
