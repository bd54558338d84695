//! What an operator reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use undercroft::config::visible;
use undercroft::metadata::migration::{Events, Found, Goal, Obstacle, Plan, Resting, RestingFact, Step, duration};

use undercroft::model::KafkaUuid;

use super::super::text;
use crate::Failure;
use crate::text::columns;

/// Settings that a level is about.
pub const SETTINGS: &[&str] = &[
    "cleanup.policy",
    "retention.ms",
    "retention.bytes",
    "segment.ms",
    "delete.retention.ms",
    "min.cleanable.dirty.ratio",
    "max.compaction.lag.ms",
];
/// Rows of a table; the rest is counted.
const ROWS_MAX: usize = 20;

/// Prints events as they come.
pub struct Report {
    goal: Goal,
    last_waiting: Option<String>,
    failure: Option<Failure>,
}

impl Report {
    pub fn new(goal: Goal) -> Self {
        Self { goal, last_waiting: None, failure: None }
    }

    /// What went wrong with standard output meanwhile.
    pub fn end(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }

    /// A reader that has gone is no reason to stop halfway.
    fn put(&mut self, text: &str) {
        if let Err(failure) = text::put(&format!("{text}\n")) {
            self.failure.get_or_insert(failure);
        }
    }

    fn obstacles(&mut self, word: &str, obstacles: &[Obstacle]) {
        for obstacle in obstacles {
            self.put(&visible(&format!("{word}: {obstacle}")));
        }
    }

    fn plan(&mut self, plan: &Plan) {
        for obstacle in &plan.overruled {
            self.put(&visible(&format!("Overruled by --force: {obstacle}")));
        }
        for note in &plan.notes {
            self.put(&visible(&format!("Note: {note}.")));
        }
    }
}

impl Events for Report {
    fn found(&mut self, found: &Found) {
        let text = describe(found);
        self.put(&text);
    }

    fn planned(&mut self, plan: &Plan) {
        self.plan(plan);
    }

    fn taken(&mut self, step: &Step) {
        self.put(&visible(&format!("Done: {step}.")));
    }

    fn is_already(&mut self, level: i8) {
        self.put(&format!("SUCCESS: the topic is at level {level} already. {}", next(self.goal, level)));
    }

    fn reached(&mut self, level: i8, found: &Found) {
        let segments = found.evidence.live_segments();
        self.put(&format!(
            "SUCCESS: the topic is at level {level} in all {} partitions, and {} are known. {}",
            found.partitions,
            counted(segments, "live segment"),
            next(self.goal, level)
        ));
    }

    fn waiting(&mut self, obstacles: &[Obstacle], found: &Found) {
        let state = format!(
            "{} left, {} of {}",
            counted(found.resting.len() as u64, "fact"),
            obstacles.iter().map(Obstacle::name).collect::<Vec<_>>().join(", "),
            counted(found.evidence.live_segments(), "live segment")
        );
        if self.last_waiting.as_ref() == Some(&state) {
            return;
        }
        if self.last_waiting.is_none() {
            self.obstacles("Waiting", obstacles);
        }
        self.put(&format!("{}  waiting: {state}", text::time(found.now_ms)));
        self.last_waiting = Some(state);
    }

    fn not_yet(&mut self, obstacles: &[Obstacle]) {
        self.obstacles("NOT YET", obstacles);
    }

    fn refused(&mut self, obstacles: &[Obstacle]) {
        self.obstacles("REFUSED", obstacles);
    }

    fn ready_for(&mut self, level: i8, plan: &Plan) {
        self.plan(plan);
        self.put(&format!("READY: level {level} can be had now, with --upgrade-to-v{level}. It would"));
        for step in &plan.steps {
            self.put(&visible(&format!("  {step}")));
        }
    }
}

/// What comes after a level.
fn next(goal: Goal, level: i8) -> &'static str {
    match (level, goal) {
        (1, Goal::Auto) => "Next: leaders write again what has no key; this command waits for it.",
        (1, _) => {
            "Next: leaders write again what has no key, within minutes; --check tells how far they are, and --upgrade-to-v2 \
             is possible as soon as nothing is left."
        }
        _ => {
            "Next: nothing. The log cleaner begins by itself; older segments of the topic go within hours, and \
             `undercroft metadata verify` may be run at any time."
        }
    }
}

fn describe(found: &Found) -> String {
    let (lowest, highest) = found.levels();
    let level = if lowest == highest { format!("level {lowest}") } else { format!("levels {lowest} to {highest}") };
    let mut out = format!("{}: {} partitions, {level}\n", found.log, found.partitions);
    let settings = SETTINGS.iter().filter_map(|&name| Some(format!("{name}={}", found.settings.get(name)?)));
    let _ = writeln!(out, "  {}", settings.collect::<Vec<_>>().join(", "));
    let _ = writeln!(out, "Brokers:");
    for broker in &found.brokers {
        let _ = writeln!(out, "  {}: {}", broker.id, broker.runs.text());
    }
    unkeyed(&mut out, found);
    facts(&mut out, found);
    out.trim_end().to_owned()
}

fn unkeyed(out: &mut String, found: &Found) {
    let evidence = &found.evidence;
    let (count, records) = (evidence.unkeyed_count(), evidence.survey().tally().records);
    let age = found.newest_unkeyed_age_ms().map(|age| format!(", the last one {} old", duration(age)));
    let _ = writeln!(out, "Records without a key: {count} of {records}{}", age.unwrap_or_default());
    let mut rows =
        vec![["PARTITION", "COUNT", "FIRST OFFSET", "LAST OFFSET", "LAST WRITTEN"].map(str::to_owned).to_vec()];
    rows.extend(evidence.metas().iter().zip(0..).filter_map(|(meta, number): (_, i32)| {
        let (first, last) = (meta.unkeyed.first?, meta.unkeyed.last?);
        let (first, time, last) = (first.offset, text::time(last.timestamp_ms), last.offset);
        Some(vec![number.to_string(), meta.unkeyed.count.to_string(), first.to_string(), last.to_string(), time])
    }));
    table(out, &rows);
}

fn facts(out: &mut String, found: &Found) {
    let live = found.evidence.live_segments();
    let resting = found.resting.len();
    let _ = writeln!(out, "Live segments: {live}; facts that only records without a key say: {resting}");
    let mut by_partition: BTreeMap<(&str, KafkaUuid, i32), [usize; 3]> = BTreeMap::new();
    for Resting { segment, fact } in &found.resting {
        let counts = by_partition
            .entry((&segment.partition.topic, segment.partition.topic_id, segment.partition.partition))
            .or_default();
        counts[*fact as usize] += 1;
    }
    let head = ["TOPIC", "PARTITION", "EXISTENCE", "STATE", "DELETION", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    debug_assert_eq!(RestingFact::Deletion as usize, 2);
    for ((topic, id, partition), counts) in by_partition {
        let mut row = vec![topic.escape_debug().to_string(), partition.to_string()];
        row.extend(counts.map(|count| count.to_string()));
        row.push(if found.lost_topics.contains_key(&id) { "the topic is gone".to_owned() } else { String::new() });
        rows.push(row);
    }
    table(out, &rows);
}

fn table(out: &mut String, rows: &[Vec<String>]) {
    if rows.len() < 2 {
        return;
    }
    let more = rows.len().saturating_sub(ROWS_MAX + 1);
    for line in columns(&rows[..rows.len() - more]) {
        let _ = writeln!(out, "  {line}");
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more; --check --json has all");
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
