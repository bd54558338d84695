//! AES-256-GCM with a data key per segment: `nonce[12] | ciphertext | tag[16]`.

use std::fmt;

use openssl::rand::rand_bytes;
use openssl::symm::{Cipher, decrypt_aead};

pub(in super::super) const NONCE_LENGTH: usize = 12;
pub(super) const TAG_LENGTH: usize = 16;
/// Bytes that encryption adds.
pub(in super::super) const AES_OVERHEAD: u64 = (NONCE_LENGTH + TAG_LENGTH) as u64;
/// Bytes of a data key.
pub(in super::super) const DATA_KEY_LENGTH: usize = 32;

/// The key of one segment, with what every blob of the segment was sealed with besides.
#[derive(Clone)]
pub(in super::super) struct DataKey {
    key: [u8; DATA_KEY_LENGTH],
    additional: Box<[u8]>,
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey")
    }
}

impl DataKey {
    pub(in super::super) fn new(key: [u8; DATA_KEY_LENGTH], additional: &[u8]) -> Self {
        Self { key, additional: additional.into() }
    }

    pub(in super::super) fn bytes(&self) -> &[u8; DATA_KEY_LENGTH] {
        &self.key
    }

    /// What every blob of the segment is sealed with besides.
    pub(in super::super) fn additional(&self) -> &[u8] {
        &self.additional
    }

    /// The plain bytes of a blob; an error if a bit of it isn't what was sealed.
    pub(in super::super) fn open(&self, blob: &[u8]) -> Result<Vec<u8>, String> {
        self.open_with(&self.additional, blob)
    }

    /// The same of a blob that was sealed with something of its own.
    pub(in super::super) fn open_with(&self, additional: &[u8], blob: &[u8]) -> Result<Vec<u8>, String> {
        let short = || format!("{} bytes are no encrypted chunk", blob.len());
        let (nonce, rest) = blob.split_first_chunk::<NONCE_LENGTH>().ok_or_else(short)?;
        let (ciphertext, tag) = rest.split_last_chunk::<TAG_LENGTH>().ok_or_else(short)?;
        decrypt_aead(Cipher::aes_256_gcm(), &self.key, Some(nonce), additional, ciphertext, tag)
            .map_err(|_| "its bytes aren't those that were encrypted".to_owned())
    }
}

/// `N` bytes that nobody can guess.
pub(in super::super) fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    rand_bytes(&mut bytes).map_err(|error| format!("no random bytes: {error}"))?;
    Ok(bytes)
}

/// A new key, for one copy of one segment, with nothing that all blobs are sealed with.
pub(in super::super) fn random_data_key() -> Result<DataKey, String> {
    Ok(DataKey::new(random()?, &[]))
}

#[cfg(test)]
mod tests {
    use openssl::symm::encrypt_aead;

    use super::*;

    #[test]
    fn what_was_sealed_is_opened_and_every_flipped_bit_found() {
        let key = DataKey::new([3; 32], b"more");
        for plain in [&b""[..], b"x", b"some bytes of a chunk"] {
            let mut tag = [0; TAG_LENGTH];
            let sealed = encrypt_aead(Cipher::aes_256_gcm(), &[3; 32], Some(&[9; 12]), b"more", plain, &mut tag);
            let blob = [&[9; 12], &sealed.expect("sealed")[..], &tag].concat();
            assert_eq!(blob.len() as u64, plain.len() as u64 + AES_OVERHEAD);
            assert_eq!(key.open(&blob), Ok(plain.to_vec()));
            for at in 0..blob.len() {
                let mut broken = blob.clone();
                broken[at] ^= 0x10;
                assert!(key.open(&broken).is_err(), "{at}");
                assert!(key.open(&blob[..at]).is_err(), "{at}");
            }
            assert!(DataKey::new([4; 32], b"more").open(&blob).is_err());
            assert!(DataKey::new([3; 32], b"less").open(&blob).is_err());
        }
    }
}
