//! A call to the store: bounded, tried again, and its failure put into words.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::StorageError;
use super::super::error::Cause;
use super::super::settings::CallSettings;
use super::login::LoginTrouble;
use super::trouble::{Trouble, TroubleKind};
use crate::config::quoted;
use crate::metrics::Counter;

const RETRY_DELAY_MAX: Duration = Duration::from_secs(5);

/// Characters that are told of what a store says, and of a whole error of the driver with the answer's headers.
const WHY_MAX: usize = 300;
const WHOLE_MAX: usize = 1500;

/// An error of the driver, which has whole answers in it: kept, and shown as what somebody else says.
struct Told {
    error: opendal::Error,
    secrets: Arc<[String]>,
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(&self.error.to_string(), &self.secrets, WHOLE_MAX))
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Without a source: its text is a part of this one's.
impl std::error::Error for Told {}

/// What an operator is told to look at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remedies {
    pub(super) unreachable: &'static str,
    pub(super) refused: &'static str,
    pub(super) misconfigured: &'static str,
}

/// How calls to one store are made.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) store: Arc<str>,
    pub(super) settings: CallSettings,
    pub(super) remedies: Remedies,
    pub(super) login: LoginTrouble,
    /// What nothing that is told may show.
    pub(super) secrets: Arc<[String]>,
    pub(super) requests: Counter,
    pub(super) retries: Counter,
}

/// One call and its attempts so far.
pub(super) struct Call<'a> {
    caller: &'a Caller,
    action: &'static str,
    object: &'a str,
    started: Instant,
    attempts: u32,
    last: Option<opendal::Error>,
}

impl Call<'_> {
    /// Makes one attempt. `None` asks for another one, after a pause that has passed already.
    pub(super) async fn attempt<T>(
        &mut self,
        attempt: impl Future<Output = opendal::Result<T>> + Send,
    ) -> Result<Option<T>, StorageError> {
        let error = match self.bounded(attempt).await? {
            Ok(done) => return Ok(Some(done)),
            Err(error) => error,
        };
        let delay = self.caller.delay(self.attempts);
        // A signer's error never says that it may pass: whoever looked for the credentials knows.
        let may_pass = Trouble::may_pass(&error) || self.caller.has_no_login_for_now(&error);
        if !may_pass || self.attempts >= self.caller.settings.attempts || delay >= self.time_left() {
            return Err(self.explain(error));
        }
        let why = self.caller.sorted(&error).why;
        tracing::debug!(action = self.action, object = self.object, attempts = self.attempts, why, "trying again");
        self.caller.retries.increment();
        self.last = Some(error);
        tokio::time::sleep(delay).await;
        Ok(None)
    }

    /// Makes the only attempt of what can't be made again.
    pub(super) async fn only_attempt<T>(
        &mut self,
        attempt: impl Future<Output = opendal::Result<T>> + Send,
    ) -> Result<T, StorageError> {
        self.bounded(attempt).await?.map_err(|error| self.explain(error))
    }

    /// What an attempt says, unless the time is over before.
    async fn bounded<T>(
        &mut self,
        attempt: impl Future<Output = opendal::Result<T>> + Send,
    ) -> Result<opendal::Result<T>, StorageError> {
        self.attempts += 1;
        self.caller.requests.increment();
        tokio::time::timeout(self.time_left(), attempt).await.map_err(|_| self.time_is_over())
    }

    fn time_left(&self) -> Duration {
        self.caller.settings.call_timeout.saturating_sub(self.started.elapsed())
    }

    /// What the last whole attempt said is more than "too late".
    fn time_is_over(&mut self) -> StorageError {
        match self.last.take() {
            Some(error) => self.explain(error),
            None => StorageError::Timeout {
                action: self.action,
                object: self.object.to_owned().into(),
                store: self.caller.store.to_string().into(),
                waited_ms: self.waited_ms(),
                limit: "`storage.s3.api.call.timeout`",
            },
        }
    }

    fn waited_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn explain(&self, error: opendal::Error) -> StorageError {
        self.caller.explain(self.action, self.object, self.waited_ms(), self.attempts, error)
    }
}

impl Caller {
    pub(super) fn call<'a>(&'a self, action: &'static str, object: &'a str) -> Call<'a> {
        Call { caller: self, action, object, started: Instant::now(), attempts: 0, last: None }
    }

    fn delay(&self, attempts: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
        self.settings.retry_delay.saturating_mul(factor).min(RETRY_DELAY_MAX)
    }

    /// What an error means. A signer that has no credentials says no more than that, so who looked for them is asked.
    fn sorted(&self, error: &opendal::Error) -> Trouble {
        let mut trouble = Trouble::of(error);
        if let Some(login) = self.login.last().filter(|_| trouble.is_of_signer) {
            trouble.why = login.why;
            if login.may_pass {
                trouble.kind = TroubleKind::Unreachable;
            }
        }
        trouble.why = quoted(&trouble.why, &self.secrets, WHY_MAX);
        trouble
    }

    fn has_no_login_for_now(&self, error: &opendal::Error) -> bool {
        let trouble = self.sorted(error);
        trouble.is_of_signer && trouble.kind == TroubleKind::Unreachable
    }

    fn explain(
        &self,
        action: &'static str,
        object: &str,
        waited_ms: u64,
        attempts: u32,
        error: opendal::Error,
    ) -> StorageError {
        let trouble = self.sorted(&error);
        let (object, store, why) = (object.to_owned(), self.store.to_string(), trouble.why);
        let source: Option<Cause> = Some(Arc::new(Told { error, secrets: Arc::clone(&self.secrets) }));
        match trouble.kind {
            TroubleKind::NotFound => StorageError::NotFound { action, object: object.into(), store: store.into() },
            TroubleKind::Short => StorageError::Corrupt {
                action,
                object: object.into(),
                store: store.into(),
                place: "the object".to_owned().into(),
                why: format!("truncated: {why}").into(),
            },
            TroubleKind::Refused => StorageError::Refused {
                action,
                object: object.into(),
                store: store.into(),
                why: why.into(),
                remedy: self.remedies.refused,
                source,
            },
            TroubleKind::Misconfigured => StorageError::Misconfigured {
                action,
                object: object.into(),
                store: store.into(),
                why: why.into(),
                remedy: self.remedies.misconfigured,
                source,
            },
            TroubleKind::Unreachable => StorageError::Unreachable {
                action,
                object: object.into(),
                store: store.into(),
                waited_ms,
                attempts,
                why: why.into(),
                remedy: self.remedies.unreachable,
                source,
            },
            TroubleKind::Unforeseen if trouble.is_temporary => StorageError::Unreachable {
                action,
                object: object.into(),
                store: store.into(),
                waited_ms,
                attempts,
                why: why.into(),
                remedy: self.remedies.unreachable,
                source,
            },
            TroubleKind::Unforeseen => StorageError::Internal {
                action,
                object: format!("{object} in {store}").into(),
                why: why.into(),
                source,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_answer_shows_no_secret_and_steers_no_terminal() {
        let caller = Caller {
            store: "s".into(),
            settings: CallSettings {
                call_timeout: Duration::ZERO,
                attempt_timeout: Duration::ZERO,
                attempts: 1,
                retry_delay: Duration::ZERO,
            },
            remedies: Remedies { unreachable: "a", refused: "b", misconfigured: "c" },
            login: LoginTrouble::default(),
            secrets: ["our-secret".to_owned()].into(),
            requests: Counter::default(),
            retries: Counter::default(),
        };
        let error = opendal::Error::new(opendal::ErrorKind::Unexpected, "no: our-secret \u{1b}[2J".to_owned())
            .with_context("response", r#"Parts { status: 400, headers: {"x-amz-security-token": "theirs"} }"#)
            .set_source(std::io::Error::other("Authorization: AWS4 Signature=theirs"));
        let explained = caller.explain("put", "o", 1, 1, error);
        let source = std::error::Error::source(&explained).expect("kept");
        for text in [explained.to_string(), format!("{explained:?}"), source.to_string(), format!("{source:?}")] {
            let shown = ["our-secret", "theirs", "\u{1b}"].map(|part| text.contains(part));
            assert_eq!(shown, [false; 3], "{text}");
        }
        assert!(source.to_string().contains("status: 400") && source.source().is_none());
    }
}
