//! The disk engine's life: threads of its own, its folder, and an end that lets nothing of it go on.
//!
//! Its writer holds itself: it has, by way of what it writes to, the sending end of its own queue. So it never ends by
//! itself, and keeps all files open. What ends it is the end of the threads that it runs on, which are therefore its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foyer::{
    BlockEngineConfig, DeviceBuilder as _, FsDeviceBuilder, HybridCache, HybridCacheBuilder, HybridCachePolicy,
    PsyncIoEngineConfig, RecoverMode, Spawner,
};
use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use super::disk::{BUFFER, ChunkKey, READS_AT_ONCE};
use super::folder::Folder;

pub(super) type Engine = HybridCache<ChunkKey, Bytes>;

/// Threads for reads, for writes, and for those that go through the files at the start.
const BLOCKING_THREADS: usize = READS_AT_ONCE + 16;

/// An engine that runs. Whoever looks something up holds it for so long.
pub(super) struct Running {
    pub(super) engine: Engine,
    tasks: Handle,
    owned: Mutex<Option<Owned>>,
}

/// What ends with it, in this order.
struct Owned {
    threads: Threads,
    folder: Folder,
}

/// A runtime that may be dropped anywhere, also where nothing may block.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Running {
    pub(super) async fn open(folder: Folder, files: u64, file_bytes: u64) -> Result<Arc<Self>, String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("undercroft-disk")
            .enable_all()
            .build()
            .map_err(|error| format!("start threads for `{}`: {error}", folder.path.display()))?;
        let tasks = runtime.handle().clone();
        let owned = Owned { threads: Threads(Some(runtime)), folder };
        let path = &owned.folder.path;
        let explain = |error: foyer::Error| format!("open `{}`: {error}", path.display());
        let capacity = usize::try_from(files * file_bytes).unwrap_or(usize::MAX);
        let file_bytes = usize::try_from(file_bytes).unwrap_or(usize::MAX);
        let device = FsDeviceBuilder::new(path).with_capacity(capacity).build().map_err(explain)?;
        let config = BlockEngineConfig::new(device)
            .with_block_size(file_bytes)
            .with_buffer_pool_size(BUFFER)
            .with_submit_queue_size_threshold(BUFFER);
        let engine = HybridCacheBuilder::new()
            .with_name("undercroft-chunks")
            .with_policy(HybridCachePolicy::WriteOnInsertion)
            .with_flush_on_close(false)
            // Opened chunks are in memory already, where readers need them.
            .memory(1)
            .with_shards(1)
            .storage()
            .with_spawner(Spawner::from(tasks.clone()))
            .with_io_engine_config(PsyncIoEngineConfig::new())
            .with_engine_config(config)
            .with_recover_mode(RecoverMode::Quiet)
            .build()
            .await
            .map_err(explain)?;
        Ok(Arc::new(Self { engine, tasks, owned: Mutex::new(Some(owned)) }))
    }

    /// Whether its writer lives. The writer is the one task that is always there, and a write that fails ends it for good
    /// with a panic: from then on the engine takes chunks and keeps none.
    pub(super) fn is_alive(&self) -> bool {
        self.tasks.metrics().num_alive_tasks() > 0
    }

    /// Ends it on a thread of its own: writes what it was given for as long as `patience`, waits for the disk to answer what
    /// was asked of it, then closes the files and gives the folder back. Something comes when all that is done; nothing, if
    /// it was done before.
    pub(super) fn end(self: Arc<Self>, patience: Duration) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        let Some(Owned { mut threads, folder }) = self.owned.lock().take() else { return told };
        let work = move || {
            if let Some(runtime) = threads.0.take() {
                let _ = runtime.block_on(async { tokio::time::timeout(patience, self.engine.close()).await });
                // Waits for reads and writes under way: they know their files by number only, and the number of a closed
                // file may be another's in the next moment.
                drop(runtime);
            }
            drop(self);
            drop(folder);
            let _ = tell.send(());
        };
        let spawned = std::thread::Builder::new().name("undercroft-disk-end".to_owned()).spawn(work);
        if let Err(error) = spawned {
            tracing::warn!(%error, "no thread to close the disk cache with: it is left to itself");
        }
        told
    }
}
