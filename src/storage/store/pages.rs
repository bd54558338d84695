//! A listing, page by page.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use opendal::options::ListOptions;
use opendal::{Lister, Operator};

use super::super::StorageError;
use super::super::layout::ObjectKey;
use super::calls::Caller;
use super::driver::PAGE;
use super::folder::TEMPORARY;
use super::{Listed, Pages};

/// The rest of a listing through OpenDAL.
///
/// A lister that met an error says that it is at its end when it is asked again. So one that failed is never asked again: the
/// listing begins anew if nothing of it was handed out, and fails otherwise.
pub(super) struct DriverPages {
    operator: Operator,
    lister: Option<Lister>,
    has_begun: bool,
    prefix: String,
    caller: Caller,
}

impl DriverPages {
    pub(super) fn new(operator: Operator, prefix: &str, caller: &Caller) -> Self {
        Self { operator, lister: None, has_begun: false, prefix: prefix.to_owned(), caller: caller.clone() }
    }

    async fn fill(&mut self, page: &mut Vec<Listed>) -> opendal::Result<()> {
        page.clear();
        // Taken out: what is dropped in the middle of a question is not asked again either.
        let mut lister = match self.lister.take() {
            Some(lister) => lister,
            None => {
                let options = ListOptions { recursive: true, ..ListOptions::default() };
                self.operator.lister_options(&self.prefix, options).await?
            }
        };
        while page.len() < PAGE {
            let Some(entry) = lister.next().await.transpose()? else { break };
            // Folders show up too, on file systems the listed one itself.
            if entry.metadata().is_file() && !entry.path().starts_with(TEMPORARY) {
                let size = entry.metadata().content_length();
                page.push(Listed { key: ObjectKey::new(entry.path()), size });
            }
        }
        self.lister = Some(lister);
        Ok(())
    }
}

#[async_trait]
impl Pages for DriverPages {
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError> {
        let (caller, prefix) = (self.caller.clone(), self.prefix.clone());
        if self.has_begun && self.lister.is_none() {
            return Err(StorageError::Internal {
                action: "list",
                object: format!("{prefix} in {}", caller.store).into(),
                why: "the listing failed before its end".to_owned().into(),
                source: None,
            });
        }
        let (mut page, mut call) = (Vec::new(), caller.call("list", &prefix));
        if self.has_begun {
            // From where it stands nobody else goes on.
            call.only_attempt(self.fill(&mut page)).await?;
        } else {
            while call.attempt(self.fill(&mut page)).await?.is_none() {}
        }
        self.has_begun = true;
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::settings::Settings;
    use super::super::{DriverStore, ObjectStore as _, StoreMeters};
    use super::*;
    use crate::config::Config;

    #[tokio::test]
    async fn a_store_that_does_not_answer_lists_nothing_and_never_an_end() {
        let mut config = Config::new();
        for (key, value) in [
            ("storage.backend.class", "s3"),
            ("storage.s3.bucket.name", "bucket"),
            // Nobody listens there.
            ("storage.s3.endpoint.url", "http://127.0.0.1:1"),
            ("storage.aws.access.key.id", "id"),
            ("storage.aws.secret.access.key", "secret"),
            ("storage.retry.attempts.max", "3"),
            ("storage.retry.delay.ms", "1"),
        ] {
            config.set(key, value);
        }
        let settings = Settings::parse(&config).expect("settings");
        let runtime = tokio::runtime::Handle::current().id();
        let store = DriverStore::open(settings.store, runtime, StoreMeters::default()).expect("a store");
        let mut pages = store.list("").await.expect("asks nothing yet");
        for _ in 0..2 {
            let listed = pages.next().await;
            assert!(matches!(listed, Err(StorageError::Unreachable { attempts: 3, .. })), "{listed:?}");
        }
    }
}
