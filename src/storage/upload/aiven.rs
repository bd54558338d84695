//! Copies into Aiven's layout: the segment, then its indexes, and last the manifest, without which nothing is there.

use std::sync::Arc;

use bytes::Bytes;

use super::super::StorageError;
use super::super::cleanup::Left;
use super::super::layout::aiven::{Envelope, IndexPlace, Manifest, Names, Sealer, TABLE_BYTES_MAX};
use super::super::layout::{CUSTOM_METADATA_BYTES_MAX, ObjectKey};
use super::super::transform::Contexts;
use super::forge::Work;
use super::sealed::Job;
use super::{Phase, Uploader};
use crate::model::IndexType;
use crate::wire::CustomMetadata;

/// In the order of the object.
const ORDER: [IndexType; 5] = [
    IndexType::Offset,
    IndexType::Timestamp,
    IndexType::ProducerSnapshot,
    IndexType::LeaderEpoch,
    IndexType::Transaction,
];
/// What is read and sent at once of a segment that is stored as it is, whatever is called a chunk.
const PLAIN_BLOCK: u64 = 1 << 16;

struct Chunks(Sealer);

impl Work for Chunks {
    fn block_bytes(&self) -> u64 {
        if self.0.is_plain() { PLAIN_BLOCK } else { u64::from(self.0.chunk_size()) }
    }

    fn stored_bytes_max(&self) -> u64 {
        self.0.stored_length_max(self.block_bytes())
    }

    fn block(&self, contexts: &mut Contexts, number: u32, plain: &[u8], out: &mut [u8]) -> Result<usize, String> {
        self.0.seal_chunk(contexts, number, plain, out)
    }
}

impl Uploader {
    /// Hands back the custom metadata, if any is wanted.
    pub(super) async fn send_aiven(
        &self,
        job: &Job<'_>,
        is_compressed: bool,
        left: &mut Left,
    ) -> Result<Option<Bytes>, StorageError> {
        let names = Names::new(job.prefix, None, job.segment);
        let defect = |why: String| job.source.defect(why);
        let is_encrypted = self.transform.key_pair.is_some();
        let sealer = Sealer::new(self.transform.chunk_bytes, is_compressed, is_encrypted).map_err(defect)?;
        let count = job.size.div_ceil(u64::from(sealer.chunk_size()));
        if is_compressed && count > TABLE_BYTES_MAX as u64 {
            let what =
                format!("copy {}: a manifest has no room for {count} chunks; raise `chunk.size`", job.segment.id);
            return Err(StorageError::InvalidArgument { what: what.into() });
        }
        let encryption = match sealer.data_key() {
            Some((key, aad)) => {
                let (key_id, wrapped_key) = self.wrap(job.key, key)?;
                Some(Envelope { key_id, wrapped_key, aad: aad.to_vec() })
            }
            None => None,
        };
        let chunks = Arc::new(Chunks(sealer));
        let work: Arc<dyn Work> = Arc::clone(&chunks) as Arc<dyn Work>;
        let mut parts = self.parts(job, work.as_ref(), 0).await;
        let indexes = self.progress(job.key, Phase::Read, job.indexes.read()).await?;
        let (indexes, places) =
            self.forge.with_contexts(|contexts| seal_indexes(&chunks.0, contexts, indexes)).map_err(defect)?;
        let (mut pieces, mut lengths, mut log_length) =
            (self.forge.pieces(job.source, job.size, work), Vec::new(), 0_u64);
        while let Some(piece) = self.progress(job.key, Phase::Read, pieces.next()).await? {
            parts.push(piece.bytes(), left).await?;
            log_length += piece.bytes().len() as u64;
            lengths.extend_from_slice(&piece.lengths);
            pieces.give_back(piece);
        }
        let size = u32::try_from(job.size).map_err(|_| defect("it is too long for a manifest".to_owned()))?;
        let manifest = Manifest {
            chunks: chunks.0.chunks(size, &lengths).map_err(defect)?,
            indexes: places,
            is_compressed: chunks.0.is_compressed(),
            encryption,
        };
        let document = manifest.encode(job.segment).map_err(|error| StorageError::InvalidArgument {
            what: format!("copy {}: {error}; raise `chunk.size`", job.segment.id).into(),
        })?;
        self.progress(job.key, Phase::Read, job.source.check_unchanged()).await?;
        parts.complete(left).await?;
        let size = log_length + indexes.len() as u64 + document.len() as u64;
        self.put_beside(&names.indexes(), indexes, left).await?;
        self.put_beside(&names.manifest(), document, left).await?;
        Ok(self.custom_metadata(job, size))
    }

    async fn put_beside(&self, key: &ObjectKey, bytes: Vec<u8>, left: &mut Left) -> Result<(), StorageError> {
        self.paced(bytes.len() as u64).await;
        left.beside.push(key.clone());
        self.progress(key, Phase::Send, self.store.put(key, vec![Bytes::from(bytes)])).await
    }

    /// The fields that are wanted, without those that a broker of default settings would refuse the segment for: readers
    /// find a usual name without them.
    fn custom_metadata(&self, job: &Job<'_>, size: u64) -> Option<Bytes> {
        let wanted = self.transform.fields;
        let mut metadata = CustomMetadata {
            remote_size_bytes: wanted.size.then_some(size),
            object_prefix: wanted.prefix.then(|| job.prefix.to_owned()),
            object_key: wanted.key.then(|| Names::main(job.segment)),
            ..CustomMetadata::default()
        };
        let is_too_long =
            |metadata: &CustomMetadata| metadata.encode().is_some_and(|bytes| bytes.len() > CUSTOM_METADATA_BYTES_MAX);
        if is_too_long(&metadata) {
            metadata.object_key = None;
        }
        if is_too_long(&metadata) {
            metadata.object_prefix = None;
        }
        metadata.encode()
    }
}

/// The object of all indexes, and where each lies in it.
fn seal_indexes(
    sealer: &Sealer,
    contexts: &mut Contexts,
    mut indexes: Vec<(IndexType, Bytes)>,
) -> Result<(Vec<u8>, Vec<IndexPlace>), String> {
    let (mut object, mut places) = (Vec::new(), Vec::new());
    for index in ORDER {
        let Some(at) = indexes.iter().position(|(found, _)| *found == index) else { continue };
        let (_, bytes) = indexes.swap_remove(at);
        let start = object.len() as u64;
        object.extend(sealer.seal_index(contexts, u32::from(index as u8), &bytes)?);
        places.push(IndexPlace { index, range: start..object.len() as u64 });
    }
    Ok((object, places))
}
