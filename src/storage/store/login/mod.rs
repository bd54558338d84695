//! Who asks the store: where credentials come from, and what is said when there are none.

mod aws;
mod azure;
mod google;
mod watched;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use opendal::HttpTransporter;
use parking_lot::Mutex;
use reqsign_core::{Context, FileRead, OsEnv, ProvideCredential, SigningCredential};

use super::super::small_file::{KEY_FILE_BYTES_MAX, read_small_file};

pub(super) use aws::aws_login;
pub(super) use azure::azure_login;
pub(super) use google::{SCOPE, google_login};

/// Why there were no credentials when they were needed last. The signers know that only that there were none.
#[derive(Debug, Clone, Default)]
pub(super) struct LoginTrouble(Arc<Mutex<Option<Trouble>>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) why: String,
    /// Whoever hands out credentials didn't answer, or wants to be asked again.
    pub(super) may_pass: bool,
}

impl LoginTrouble {
    pub(super) fn last(&self) -> Option<Trouble> {
        self.0.lock().clone()
    }

    fn set(&self, trouble: Option<Trouble>) {
        *self.0.lock() = trouble;
    }
}

/// A source of credentials, watched for its failures.
#[derive(Debug)]
struct Noted<P> {
    source: P,
    /// The source in words.
    what: &'static str,
    trouble: LoginTrouble,
}

impl<P> ProvideCredential for Noted<P>
where
    P: ProvideCredential,
    P::Credential: SigningCredential,
{
    type Credential = P::Credential;

    async fn provide_credential(&self, context: &Context) -> reqsign_core::Result<Option<Self::Credential>> {
        let provided = self.source.provide_credential(context).await;
        self.trouble.set(match &provided {
            Ok(Some(_)) => None,
            Ok(None) => Some(Trouble { why: format!("no credentials were found: {}", self.what), may_pass: false }),
            Err(error) => {
                let why = format!("no credentials were had: {}: {}", self.what, words(error));
                Some(Trouble { why, may_pass: has_http_cause(error) })
            }
        });
        provided
    }
}

/// Whether a request for credentials got no answer.
fn has_http_cause(error: &reqsign_core::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if inner.downcast_ref::<opendal::Error>().is_some_and(opendal::Error::is_temporary) {
            return true;
        }
        cause = inner.source();
    }
    error.is_retryable()
}

/// The error and what lies at its bottom.
fn words(error: &reqsign_core::Error) -> String {
    let (message, mut bottom) = (error.to_string(), None);
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        bottom = Some(inner.to_string());
        cause = inner.source();
    }
    let text = match bottom {
        Some(bottom) if !message.contains(&bottom) => format!("{message}: {bottom}"),
        _ => message,
    };
    match text.char_indices().nth(300) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// Files, environment and HTTP for whoever looks for credentials.
pub(super) fn context(transporter: &HttpTransporter) -> Context {
    Context::new().with_file_read(Files).with_http_send(transporter.clone()).with_env(OsEnv)
}

/// A file of credentials, read by a thread that may wait for its disk.
async fn read(path: PathBuf) -> io::Result<Vec<u8>> {
    let read = tokio::task::spawn_blocking(move || read_small_file(&path, KEY_FILE_BYTES_MAX));
    read.await.map_err(io::Error::other)?
}

#[derive(Debug)]
struct Files;

impl FileRead for Files {
    async fn file_read(&self, path: &str) -> reqsign_core::Result<Vec<u8>> {
        read(path.into()).await.map_err(|error| {
            reqsign_core::Error::config_invalid(format!("`{path}` can't be read: {error}")).with_source(error)
        })
    }
}
