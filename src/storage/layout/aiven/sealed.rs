//! Chunks and indexes as Aiven's plugin stores them.

use super::super::super::transform::{
    AES_OVERHEAD, Contexts, DATA_KEY_LENGTH, DataKey, NONCE_LENGTH, compressed_length_max, random,
};
use super::super::Chunks;

/// Bytes that are the same for every blob of a segment.
const AAD_LENGTH: usize = 32;
const OF_CHUNK: u8 = 1;
const OF_INDEX: u8 = 2;

/// Transforms chunks and indexes of one copy of one segment.
pub(in super::super::super) struct Sealer {
    chunk_size: u32,
    is_compressed: bool,
    key: Option<DataKey>,
    /// What all nonces of the copy begin with.
    nonce: [u8; NONCE_LENGTH - 5],
}

impl Sealer {
    /// With a new data key, if the segment is encrypted.
    pub(in super::super::super) fn new(
        chunk_size: u32,
        is_compressed: bool,
        is_encrypted: bool,
    ) -> Result<Self, String> {
        let new_key = || Ok::<_, String>(DataKey::new(random()?, &random::<AAD_LENGTH>()?));
        let key = is_encrypted.then(new_key).transpose()?;
        Ok(Self { chunk_size: chunk_size.max(1), is_compressed, key, nonce: random()? })
    }

    /// The data key, to be wrapped, and the additional data.
    pub(in super::super::super) fn data_key(&self) -> Option<(&[u8; DATA_KEY_LENGTH], &[u8])> {
        self.key.as_ref().map(|key| (key.bytes(), key.additional()))
    }

    pub(in super::super::super) fn is_compressed(&self) -> bool {
        self.is_compressed
    }

    /// Whether a segment is stored as it is, so that its cutting into chunks is of no account.
    pub(in super::super::super) fn is_plain(&self) -> bool {
        !self.is_compressed && self.key.is_none()
    }

    pub(in super::super::super) fn chunk_size(&self) -> u32 {
        self.chunk_size
    }

    /// The most that `plain_length` bytes may become.
    pub(in super::super::super) fn stored_length_max(&self, plain_length: u64) -> u64 {
        let content = if self.is_compressed { compressed_length_max(plain_length) } else { plain_length };
        content.saturating_add(self.overhead())
    }

    fn overhead(&self) -> u64 {
        if self.key.is_some() { AES_OVERHEAD } else { 0 }
    }

    /// Writes chunk `number` as it is stored to the beginning of `out`; its length. Each number once.
    pub(in super::super::super) fn seal_chunk(
        &self,
        contexts: &mut Contexts,
        number: u32,
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<usize, String> {
        match (&self.key, self.is_compressed) {
            (Some(key), true) => {
                contexts.compress_and_seal(key, &self.nonce_of(OF_CHUNK, number), key.additional(), plain, out)
            }
            (Some(key), false) => contexts.seal(key, &self.nonce_of(OF_CHUNK, number), key.additional(), plain, out),
            (None, true) => contexts.compress(plain, out),
            (None, false) => {
                out.get_mut(..plain.len()).ok_or("no room for a chunk")?.copy_from_slice(plain);
                Ok(plain.len())
            }
        }
    }

    /// The index that comes as number `number` as it is stored: never compressed, and one without bytes never encrypted.
    pub(in super::super::super) fn seal_index(
        &self,
        contexts: &mut Contexts,
        number: u32,
        plain: &[u8],
    ) -> Result<Vec<u8>, String> {
        let Some(key) = self.key.as_ref().filter(|_| !plain.is_empty()) else { return Ok(plain.to_vec()) };
        let mut out = vec![0; plain.len() + usize::try_from(AES_OVERHEAD).unwrap_or(0)];
        contexts.seal(key, &self.nonce_of(OF_INDEX, number), key.additional(), plain, &mut out)?;
        Ok(out)
    }

    /// Where the chunks of a segment lie; `lengths` are the stored ones.
    pub(in super::super::super) fn chunks(&self, segment_size: u32, lengths: &[u32]) -> Result<Chunks, String> {
        if self.is_compressed {
            return Chunks::variable(self.chunk_size, segment_size, lengths);
        }
        let overhead = u32::try_from(self.overhead()).unwrap_or(0);
        let last = match segment_size % self.chunk_size {
            0 => self.chunk_size,
            rest => rest,
        };
        Chunks::fixed(self.chunk_size, segment_size, self.chunk_size + overhead, last + overhead)
    }

    fn nonce_of(&self, of: u8, number: u32) -> [u8; NONCE_LENGTH] {
        let mut nonce = [0; NONCE_LENGTH];
        nonce[..7].copy_from_slice(&self.nonce);
        nonce[7] = of;
        nonce[8..].copy_from_slice(&number.to_be_bytes());
        nonce
    }
}
