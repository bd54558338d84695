//! A listing, page by page.

use async_trait::async_trait;
use futures_util::StreamExt as _;
use opendal::Lister;

use super::super::StorageError;
use super::super::layout::ObjectKey;
use super::calls::Caller;
use super::driver::PAGE;
use super::folder::TEMPORARY;
use super::{Listed, Pages};

/// The rest of a listing through OpenDAL.
pub(super) struct DriverPages {
    pub(super) lister: Lister,
    pub(super) prefix: String,
    pub(super) caller: Caller,
}

#[async_trait]
impl Pages for DriverPages {
    async fn next(&mut self) -> Result<Vec<Listed>, StorageError> {
        let mut page = Vec::new();
        let mut call = self.caller.call("list", &self.prefix);
        loop {
            let fill = async {
                while page.len() < PAGE {
                    let Some(entry) = self.lister.next().await.transpose()? else { break };
                    // Folders show up too, on file systems the listed one itself.
                    if entry.metadata().is_file() && !entry.path().starts_with(TEMPORARY) {
                        let size = entry.metadata().content_length();
                        page.push(Listed { key: ObjectKey::new(entry.path()), size });
                    }
                }
                Ok(())
            };
            if call.attempt(fill).await?.is_some() {
                return Ok(page);
            }
        }
    }
}
