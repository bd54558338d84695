//! Whole migrations of a cluster that is made up.

use std::cell::RefCell;

use super::*;
use crate::metadata::log::LogError;
use crate::metadata::migration::{Change, Cluster, Ending, Events, Goal, Obstacle, Patience, Plan, Step, Wish, pursue};

/// A cluster whose brokers write one fact again for each pause, as many as they are told to.
struct Made {
    topic: RefCell<Topic>,
    settings: RefCell<BTreeMap<String, String>>,
    to_rewrite: RefCell<Vec<u8>>,
    brokers: Vec<FoundBroker>,
    refuses: Option<&'static str>,
    pauses: RefCell<u64>,
}

impl Made {
    fn new(topic: Topic, to_rewrite: Vec<u8>) -> Self {
        Self {
            topic: RefCell::new(topic),
            settings: RefCell::new(stock_settings()),
            to_rewrite: RefCell::new(to_rewrite),
            brokers: vec![broker(1, true)],
            refuses: None,
            pauses: RefCell::new(0),
        }
    }

    fn refuse(&self, what: &str) -> Result<(), LogError> {
        let error = LogError::Refused { what: what.to_owned(), log: "topic".to_owned(), why: "no rights".to_owned() };
        if self.refuses == Some(what) { Err(error) } else { Ok(()) }
    }
}

impl Cluster for Made {
    fn look(&self) -> Result<Found, LogError> {
        self.refuse("look")?;
        let found = found(&self.topic.borrow());
        Ok(Found { settings: self.settings.borrow().clone(), brokers: self.brokers.clone(), ..found })
    }

    fn set(&self, changes: &[Change]) -> Result<(), LogError> {
        self.refuse("set")?;
        let pairs = changes.iter().map(|change| (change.name.to_owned(), change.to.clone()));
        self.settings.borrow_mut().extend(pairs);
        Ok(())
    }

    fn write_level(&self, level: i8, partitions: &[i32]) -> Result<(), LogError> {
        self.refuse("write")?;
        self.topic.replace_with(|topic| topic.clone().level(level, partitions, 10));
        Ok(())
    }

    fn pause(&self, _: u64) {
        *self.pauses.borrow_mut() += 1;
        if let Some(number) = self.to_rewrite.borrow_mut().pop() {
            self.topic.replace_with(|topic| topic.clone().rewritten(number, 11));
        }
    }
}

/// What was told, in a word each.
#[derive(Default)]
struct Told(Vec<String>);

impl Events for Told {
    fn found(&mut self, _: &Found) {
        self.0.push("found".to_owned());
    }
    fn planned(&mut self, _: &Plan) {
        self.0.push("planned".to_owned());
    }
    fn taken(&mut self, step: &Step) {
        let word = if let Step::WriteLevel { level, .. } = step { format!("wrote {level}") } else { "set".to_owned() };
        self.0.push(word);
    }
    fn is_already(&mut self, level: i8) {
        self.0.push(format!("already {level}"));
    }
    fn reached(&mut self, level: i8, _: &Found) {
        self.0.push(format!("reached {level}"));
    }
    fn waiting(&mut self, _: &[Obstacle], found: &Found) {
        self.0.push(format!("{} left", found.resting.len()));
    }
    fn not_yet(&mut self, _: &[Obstacle]) {
        self.0.push("not yet".to_owned());
    }
    fn refused(&mut self, _: &[Obstacle]) {
        self.0.push("refused".to_owned());
    }
    fn ready_for(&mut self, level: i8, _: &Plan) {
        self.0.push(format!("ready {level}"));
    }
}

const PATIENCE: Patience = Patience { poll_ms: 10, stall_ms: 30 };

fn run(cluster: &Made, goal: Goal) -> (Result<Ending, LogError>, Vec<String>) {
    let mut told = Told::default();
    let ending = pursue(cluster, goal, &Wish::default(), PATIENCE, &mut told);
    (ending, told.0)
}

fn history() -> Topic {
    Topic::default().copied(1, false, 0).copied(2, false, 0)
}

#[test]
fn auto_goes_to_level_1_waits_for_the_leaders_and_goes_on() {
    let cluster = Made::new(history(), vec![1, 2]);
    let before = cluster.topic.borrow().evidence().live_by_id();
    let (ending, told) = run(&cluster, Goal::Auto);
    assert_eq!(ending.expect("no error"), Ending::Done);
    let expected =
        ["found", "planned", "wrote 1", "reached 1", "2 left", "1 left", "planned", "set", "wrote 2", "reached 2"];
    assert_eq!(told, expected);
    assert_eq!(cluster.settings.borrow()["cleanup.policy"], "compact");
    assert_eq!(cluster.topic.borrow().evidence().live_by_id(), before);
    assert_eq!(run(&cluster, Goal::Auto).1, ["found", "already 2"], "once more changes nothing");
}

#[test]
fn auto_gives_up_when_nothing_comes_forward() {
    let cluster = Made::new(history(), vec![1]);
    let (ending, told) = run(&cluster, Goal::Auto);
    assert_eq!(ending.expect("no error"), Ending::NotYet);
    assert_eq!(told[4..], ["2 left", "1 left", "1 left", "1 left", "not yet"]);
    assert_eq!(cluster.settings.borrow()["cleanup.policy"], "delete");
}

#[test]
fn a_check_writes_nothing_and_tells_the_next_step() {
    let cluster = Made::new(history(), Vec::new());
    for (prepare, ending, word) in [
        (None, Ending::Done, "ready 1"),
        (Some(1), Ending::NotYet, "not yet"),
        (Some(2), Ending::Done, "ready 2"),
        (Some(3), Ending::Done, "already 2"),
    ] {
        match prepare {
            None => {}
            Some(1) => assert_eq!(run(&cluster, Goal::Level1).0.expect("no error"), Ending::Done),
            Some(2) => drop(cluster.topic.replace_with(|topic| topic.clone().rewritten(1, 11).rewritten(2, 11))),
            _ => assert_eq!(run(&cluster, Goal::Level2).0.expect("no error"), Ending::Done),
        }
        let before = cluster.topic.borrow().records.len();
        let (found, told) = run(&cluster, Goal::Check);
        assert_eq!((found.expect("no error"), told), (ending, vec!["found".to_owned(), word.to_owned()]));
        assert_eq!(cluster.topic.borrow().records.len(), before);
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let stock = Made { brokers: vec![broker(1, false)], ..Made::new(history(), Vec::new()) };
    for (cluster, goal) in
        [(&stock, Goal::Level1), (&stock, Goal::Auto), (&Made::new(history(), Vec::new()), Goal::Level2)]
    {
        let before = cluster.topic.borrow().records.len();
        let (ending, told) = run(cluster, goal);
        assert_eq!(
            (ending.expect("no error"), told),
            (Ending::Refused, vec!["found".to_owned(), "refused".to_owned()])
        );
        assert_eq!(cluster.topic.borrow().records.len(), before);
        assert_eq!(*cluster.settings.borrow(), stock_settings());
    }
}

#[test]
fn an_error_ends_it_and_what_was_told_as_done_is_done() {
    let topic = history().level(1, &[0, 1, 2], 5).rewritten(1, 6).rewritten(2, 6);
    for (refuses, done) in [("look", 0), ("set", 2), ("write", 3)] {
        let cluster = Made { refuses: Some(refuses), ..Made::new(topic.clone(), Vec::new()) };
        let (ending, told) = run(&cluster, Goal::Level2);
        assert!(matches!(ending, Err(LogError::Refused { .. })));
        assert_eq!(told.len(), done, "{told:?}");
        let healed = Made { refuses: None, ..cluster };
        assert_eq!(run(&healed, Goal::Level2).0.expect("no error"), Ending::Done);
    }
}
