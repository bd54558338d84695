//! The leader epoch under which this process adds segments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::metadata::log::LogError;
use crate::model::LeaderEpoch;

use super::core::Core;
use super::directory::Assignment;
use super::env::RETRY_PAUSE_MAX;

/// Whether a partition is led here, and under which epoch.
#[derive(Default)]
pub(super) struct Leadership {
    standing: Mutex<Standing>,
    changed: Condvar,
}

#[derive(Default)]
struct Standing {
    /// Counts what the host told; an answer to an older question is worth nothing.
    told: u64,
    role: Role,
}

#[derive(Default, Clone)]
enum Role {
    #[default]
    Follower,
    /// Leader; the epoch is being asked for, and this is why it is not known yet.
    Asking(Option<String>),
    /// Leader of this epoch; of an unknown one if there is nobody to ask.
    Leader(LeaderEpoch),
}

impl Leadership {
    /// The partition is not led here (any more).
    pub(super) fn follow(&self) {
        self.tell(Role::Follower);
    }

    fn tell(&self, role: Role) -> u64 {
        let mut standing = self.standing.lock();
        standing.told += 1;
        standing.role = role;
        self.changed.notify_all();
        standing.told
    }

    /// Takes an answer unless the host told something new since the question.
    fn answer(&self, told: u64, role: Role) {
        let mut standing = self.standing.lock();
        if standing.told == told {
            standing.role = role;
            self.changed.notify_all();
        }
    }

    fn is_current(&self, told: u64) -> bool {
        self.standing.lock().told == told
    }

    /// The epoch of this leadership if it is one and known by now; unknown if nobody can tell it.
    pub(super) fn now(&self) -> Option<LeaderEpoch> {
        match self.standing.lock().role {
            Role::Leader(epoch) => Some(epoch),
            Role::Follower | Role::Asking(_) => None,
        }
    }

    /// Wakes everybody who waits for an epoch.
    pub(super) fn wake(&self) {
        let _standing = self.standing.lock();
        self.changed.notify_all();
    }

    /// The epoch of this leadership, after waiting for it at most `patience`; or why there is none.
    pub(super) fn epoch(&self, patience: Duration, is_closed: impl Fn() -> bool) -> Result<LeaderEpoch, String> {
        let deadline = Instant::now().checked_add(patience);
        let mut standing = self.standing.lock();
        loop {
            let why = match &standing.role {
                Role::Leader(epoch) => return Ok(*epoch),
                Role::Follower => return Err("the host did not say that it leads it".to_owned()),
                Role::Asking(None) => "the epoch of this leadership is being asked for".to_owned(),
                Role::Asking(Some(why)) => format!("the epoch of this leadership is not known yet ({why})"),
            };
            if is_closed() {
                return Err(why);
            }
            match deadline {
                Some(deadline) if Instant::now() >= deadline => return Err(why),
                Some(deadline) => {
                    self.changed.wait_until(&mut standing, deadline);
                }
                None => self.changed.wait(&mut standing),
            }
        }
    }
}

/// A new leadership begins. Without an epoch from the host the log's broker is asked, in the background.
pub(super) fn lead(core: &Arc<Core>, assignment: &Arc<Assignment>, epoch: Option<LeaderEpoch>) {
    if let Some(epoch) = epoch.filter(|epoch| epoch.is_known()) {
        assignment.leadership.tell(Role::Leader(epoch));
        return;
    }
    let told = assignment.leadership.tell(Role::Asking(None));
    core.epoch_questions.put(core, Question { assignment: Arc::clone(assignment), told });
}

/// How long a question waits for others to be asked with it.
const GATHER: Duration = Duration::from_millis(3);
/// As many as are asked in one request.
const TOGETHER_MAX: usize = 256;

/// Questions for epochs that nobody has taken up yet.
#[derive(Default)]
pub(super) struct Questions(Mutex<Vec<Question>>);

struct Question {
    assignment: Arc<Assignment>,
    told: u64,
}

impl Questions {
    fn put(&self, core: &Arc<Core>, question: Question) {
        let mut waiting = self.0.lock();
        waiting.push(question);
        if waiting.len() == 1 {
            core.env.runtime.spawn(gather(Arc::clone(core)));
        }
    }
}

impl Question {
    fn is_current(&self) -> bool {
        self.assignment.leadership.is_current(self.told)
    }

    fn answer(&self, role: Role) {
        self.assignment.leadership.answer(self.told, role);
    }
}

/// Takes up what was put in the last moment: a broker that takes over thousands of partitions asks some tens of times.
async fn gather(core: Arc<Core>) {
    tokio::time::sleep(GATHER).await;
    let mut waiting = std::mem::take(&mut *core.epoch_questions.0.lock());
    while !waiting.is_empty() {
        let rest = waiting.split_off(waiting.len().min(TOGETHER_MAX));
        core.env.runtime.spawn(ask(Arc::clone(&core), waiting));
        waiting = rest;
    }
}

/// Asks until all are answered, or not wanted any more.
async fn ask(core: Arc<Core>, mut questions: Vec<Question>) {
    let mut pause = core.options.retry_pause;
    if !core.started().await {
        return;
    }
    loop {
        let answers = {
            let Ok(_permit) = core.questions.acquire().await else { return };
            questions.retain(Question::is_current);
            if questions.is_empty() || core.is_closed() {
                return;
            }
            let partition = |question: &Question| {
                let partition = &question.assignment.partition;
                (Arc::clone(&partition.topic), partition.partition)
            };
            let partitions: Vec<_> = questions.iter().map(partition).collect();
            core.log.leader_epochs(&partitions).await
        };
        questions =
            questions.into_iter().zip(answers).filter_map(|(question, answer)| take(&core, question, answer)).collect();
        if questions.is_empty() {
            return;
        }
        core.sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSE_MAX);
    }
}

/// Takes an answer; gives the question back if it has to be asked again.
fn take(core: &Core, question: Question, answer: Result<LeaderEpoch, LogError>) -> Option<Question> {
    let error = match answer {
        Ok(epoch) => {
            question.answer(Role::Leader(epoch));
            return None;
        }
        Err(LogError::Unsupported { .. }) => {
            // Nobody can tell: all keys of what is added now carry the segment's id.
            question.answer(Role::Leader(LeaderEpoch::UNKNOWN));
            return None;
        }
        Err(error) => error,
    };
    if error.is_retriable() {
        // Just after an election that is usual.
        tracing::debug!("leader epoch of {} is not known yet: {error}", question.assignment.partition);
    } else {
        core.epochs_quiet.lock().failed("asking for leader epochs", &error);
    }
    question.answer(Role::Asking(Some(error.to_string())));
    Some(question)
}
