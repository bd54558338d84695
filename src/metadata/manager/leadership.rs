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

    /// Takes an answer unless the host told something new since the question. Tells whether it was taken.
    fn answer(&self, told: u64, role: Role) -> bool {
        let mut standing = self.standing.lock();
        let is_current = standing.told == told;
        if is_current {
            standing.role = role;
            self.changed.notify_all();
        }
        is_current
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
    core.env.runtime.spawn(ask(Arc::clone(core), Arc::clone(assignment), told));
}

async fn ask(core: Arc<Core>, assignment: Arc<Assignment>, told: u64) {
    let (leadership, partition) = (&assignment.leadership, &assignment.partition);
    let mut pause = core.options.retry_pause;
    if !core.started().await {
        return;
    }
    while leadership.is_current(told) && !core.is_closed() {
        let answer = {
            // A broker that takes over thousands of partitions does not ask for all at once.
            let Ok(_permit) = core.questions.acquire().await else { return };
            if !leadership.is_current(told) {
                return;
            }
            core.log.leader_epoch(&partition.topic, partition.partition).await
        };
        let error = match answer {
            Ok(epoch) => {
                leadership.answer(told, Role::Leader(epoch));
                return;
            }
            Err(LogError::Unsupported { .. }) => {
                // Nobody can tell: all keys of what is added now carry the segment's id.
                leadership.answer(told, Role::Leader(LeaderEpoch::UNKNOWN));
                return;
            }
            Err(error) => error,
        };
        if error.is_retriable() {
            // Just after an election that is usual.
            tracing::debug!("leader epoch of {partition} is not known yet: {error}");
        } else {
            core.epochs_quiet.lock().failed("asking for leader epochs", &error);
        }
        leadership.answer(told, Role::Asking(Some(error.to_string())));
        core.sleep(pause).await;
        pause = (pause * 2).min(RETRY_PAUSE_MAX);
    }
}
