//! Copies into the compact layout of segments that are compressed or encrypted on the way.

use std::sync::Arc;

use bytes::Bytes;

use super::super::StorageError;
use super::super::cleanup::Left;
use super::super::layout::compact::{BlockSize, Sealer, Transforms, WrappedKey, Written, build_sealed_tail};
use super::super::layout::{ObjectKey, Place};
use super::super::transform::{Contexts, DATA_KEY_LENGTH};
use super::forge::Work;
use super::indexes::Indexes;
use super::parts::Parts;
use super::source::Source;
use super::{BUFFERS_MIN, FOOTER_BYTES, Phase, Uploader};
use crate::model::SegmentMetadata;

/// Blocks of the compact layout.
struct Blocks {
    sealer: Sealer,
    size: BlockSize,
}

impl Work for Blocks {
    fn block_bytes(&self) -> u64 {
        self.size.bytes()
    }

    fn stored_bytes_max(&self) -> u64 {
        self.sealer.transforms().stored_length_max(self.size.bytes())
    }

    fn block(&self, contexts: &mut Contexts, number: u32, plain: &[u8], out: &mut [u8]) -> Result<usize, String> {
        self.sealer.seal_block(contexts, number, plain, out)
    }
}

/// What is copied.
pub(super) struct Job<'a> {
    pub(super) segment: &'a SegmentMetadata,
    pub(super) size: u64,
    pub(super) source: &'a Source,
    pub(super) indexes: &'a Indexes,
    pub(super) key: &'a ObjectKey,
    pub(super) prefix: &'a str,
}

impl Uploader {
    pub(super) async fn send_sealed(
        &self,
        job: &Job<'_>,
        transforms: Transforms,
        left: &mut Left,
    ) -> Result<Bytes, StorageError> {
        let (segment, key, block_size) = (job.segment, job.key, self.transform.block_size);
        let defect = |why: String| job.source.defect(why);
        let sealer = Sealer::new(segment.id.uuid, transforms).map_err(defect)?;
        let data_key = self.wrapped_key(key, &sealer)?;
        let blocks = Arc::new(Blocks { sealer, size: block_size });
        let work: Arc<dyn Work> = Arc::clone(&blocks) as Arc<dyn Work>;
        let mut parts = self.parts(job, work.as_ref(), job.indexes.bytes()).await;
        let indexes = self.progress(key, Phase::Read, job.indexes.read()).await?;
        let seal = |contexts: &mut Contexts| {
            let sealed = indexes.into_iter().map(|(index, bytes)| match transforms.is_encrypted {
                true => Ok((index, Bytes::from(blocks.sealer.seal_index(contexts, index, &bytes)?))),
                false => Ok((index, bytes)),
            });
            sealed.collect::<Result<Vec<_>, String>>()
        };
        let indexes = self.forge.with_contexts(seal).map_err(defect)?;
        let (mut pieces, mut lengths, mut data_length) =
            (self.forge.pieces(job.source, job.size, work), Vec::new(), 0_u64);
        while let Some(piece) = self.progress(key, Phase::Read, pieces.next()).await? {
            parts.push(piece.bytes(), left).await?;
            data_length += piece.bytes().len() as u64;
            lengths.extend_from_slice(&piece.lengths);
            pieces.give_back(piece);
        }
        let written = Written { block_size, transforms, data_length, lengths: &lengths, data_key: data_key.as_ref() };
        let (tail, tail_length) = build_sealed_tail(segment, &written, &indexes)
            .map_err(|error| StorageError::InvalidArgument { what: format!("copy {}: {error}", segment.id).into() })?;
        for bytes in tail {
            parts.push(&bytes, left).await?;
        }
        self.progress(key, Phase::Read, job.source.check_unchanged()).await?;
        parts.complete(left).await?;
        let place = Place::new(block_size, data_length, tail_length, job.prefix);
        Ok(place.with_transforms(transforms).encode())
    }

    /// No buffer is larger than the whole object can become. Beside them is room for the indexes, as they are and sealed.
    pub(super) async fn parts<'a>(&'a self, job: &Job<'a>, work: &dyn Work, tail: u64) -> Parts<'a> {
        let blocks = job.size.div_ceil(work.block_bytes());
        // Four bytes a block are for the footer's table.
        let most = blocks.saturating_mul(work.stored_bytes_max() + 4).saturating_add(tail).saturating_add(FOOTER_BYTES);
        let part = self.settings.part_size.min(most);
        let parts = usize::try_from(most.div_ceil(part)).unwrap_or(usize::MAX);
        let most = self.settings.parts_in_flight.saturating_add(2).min(parts.saturating_add(1)).max(BUFFERS_MIN);
        let (least, most) = if parts == 1 { (1, 1) } else { (BUFFERS_MIN, most) };
        let beside = self.forge.bytes(work, job.size).saturating_add(job.indexes.bytes().saturating_mul(2));
        let buffers = self.memory(part, beside, least, most).await;
        Parts::new(self, job.key, buffers, part)
    }

    fn wrapped_key(&self, object: &ObjectKey, sealer: &Sealer) -> Result<Option<WrappedKey>, StorageError> {
        let Some(key) = sealer.data_key() else { return Ok(None) };
        let (key_id, wrapped) = self.wrap(object, key)?;
        Ok(Some(WrappedKey { key_id, wrapped }))
    }

    /// The id of the active key pair, and a data key wrapped with it.
    pub(super) fn wrap(
        &self,
        object: &ObjectKey,
        key: &[u8; DATA_KEY_LENGTH],
    ) -> Result<(String, Vec<u8>), StorageError> {
        let id = self.transform.key_pair.as_deref().unwrap_or_default();
        let wrapped = self.key_ring.wrap_key(id, key).map_err(|error| StorageError::Misconfigured {
            action: "encrypt",
            object: object.to_string().into(),
            store: self.store.name().to_owned().into(),
            why: error.to_string().into(),
            remedy: "`encryption.key.pair.id` and the key files of that id",
            source: Some(Arc::new(error)),
        })?;
        Ok((id.to_owned(), wrapped))
    }
}
