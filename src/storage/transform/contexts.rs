//! What compressing and encrypting needs again and again: made once, used for block after block.

use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use zstd_safe::{CCtx, CParameter};

use super::aes::{AES_OVERHEAD, DataKey, NONCE_LENGTH, TAG_LENGTH};
use super::zstd::compressed_length_max;

/// A compressor and a cipher of one thread, with what lies between them.
pub(in super::super) struct Contexts {
    compressor: CCtx<'static>,
    cipher: CipherCtx,
    /// A frame that is still to be encrypted; never shorter than it once had to be.
    frame: Vec<u8>,
    /// Room for whoever uses it.
    pub(in super::super) plain: Vec<u8>,
}

impl Contexts {
    /// For frames of this zstd level.
    pub(in super::super) fn new(level: i32) -> Result<Self, String> {
        let mut compressor = CCtx::try_create().ok_or("zstd could not be set up: out of memory")?;
        compressor
            .set_parameter(CParameter::CompressionLevel(level))
            .map_err(|code| format!("zstd level {level}: {}", zstd_safe::get_error_name(code)))?;
        let cipher = CipherCtx::new().map_err(|error| format!("AES could not be set up: {error}"))?;
        Ok(Self { compressor, cipher, frame: Vec::new(), plain: Vec::new() })
    }

    /// Writes `plain` as one frame, which says how long its content is, to the beginning of `out`; its length.
    pub(in super::super) fn compress(&mut self, plain: &[u8], out: &mut [u8]) -> Result<usize, String> {
        compress(&mut self.compressor, plain, out)
    }

    /// Writes `nonce | ciphertext | tag` of `plain` to the beginning of `out`; its length. Nobody may use the nonce with
    /// this key again.
    pub(in super::super) fn seal(
        &mut self,
        key: &DataKey,
        nonce: &[u8; NONCE_LENGTH],
        additional: &[u8],
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<usize, String> {
        seal(&mut self.cipher, key, nonce, additional, plain, out)
    }

    /// Both of them.
    pub(in super::super) fn compress_and_seal(
        &mut self,
        key: &DataKey,
        nonce: &[u8; NONCE_LENGTH],
        additional: &[u8],
        plain: &[u8],
        out: &mut [u8],
    ) -> Result<usize, String> {
        let most = usize::try_from(compressed_length_max(plain.len() as u64)).map_err(|_| "a chunk is too long")?;
        if self.frame.len() < most {
            self.frame.resize(most, 0);
        }
        let length = compress(&mut self.compressor, plain, &mut self.frame)?;
        seal(&mut self.cipher, key, nonce, additional, &self.frame[..length], out)
    }
}

fn compress(compressor: &mut CCtx<'static>, plain: &[u8], out: &mut [u8]) -> Result<usize, String> {
    compressor.compress2(out, plain).map_err(|code| format!("zstd: {}", zstd_safe::get_error_name(code)))
}

fn seal(
    cipher: &mut CipherCtx,
    key: &DataKey,
    nonce: &[u8; NONCE_LENGTH],
    additional: &[u8],
    plain: &[u8],
    out: &mut [u8],
) -> Result<usize, String> {
    let length = plain.len() + NONCE_LENGTH + TAG_LENGTH;
    debug_assert_eq!(AES_OVERHEAD, (NONCE_LENGTH + TAG_LENGTH) as u64);
    let out = out.get_mut(..length).ok_or("no room for an encrypted chunk")?;
    let (head, rest) = out.split_at_mut(NONCE_LENGTH);
    let (body, tag) = rest.split_at_mut(plain.len());
    head.copy_from_slice(nonce);
    let mut encrypt = || {
        cipher.encrypt_init(Some(Cipher::aes_256_gcm()), Some(key.bytes()), Some(nonce))?;
        cipher.cipher_update(additional, None)?;
        if !plain.is_empty() {
            cipher.cipher_update(plain, Some(body))?;
        }
        cipher.cipher_final(&mut [0; 16])?;
        cipher.tag(tag)
    };
    encrypt().map_err(|error| format!("AES: {error}"))?;
    Ok(length)
}

#[cfg(test)]
mod tests {
    use super::super::{decompress, random_data_key};
    use super::*;

    #[test]
    fn one_context_serves_many_blocks_of_every_length() {
        let mut contexts = Contexts::new(3).expect("made");
        let key = random_data_key().expect("random");
        for length in [0_usize, 1, 17, 4096, 131_072, 131_073, 1_000_000, 3] {
            let plain: Vec<u8> = (0..length).map(|i| (i % 251) as u8 ^ (i >> 9) as u8).collect();
            let mut out = vec![0; usize::try_from(compressed_length_max(length as u64)).expect("small") + 28];
            let frame = contexts.compress(&plain, &mut out).expect("fits");
            assert_eq!(decompress(&out[..frame], length).as_deref(), Ok(&plain[..]), "{length}");
            let sealed = contexts.seal(&key, &[1; 12], b"place", &plain, &mut out).expect("fits");
            assert_eq!(sealed, length + 28);
            assert_eq!(key.open_with(b"place", &out[..sealed]).as_deref(), Ok(&plain[..]));
            assert!(key.open_with(b"other", &out[..sealed]).is_err());
            let both = contexts.compress_and_seal(&key, &[2; 12], b"place", &plain, &mut out).expect("fits");
            let opened = key.open_with(b"place", &out[..both]).expect("opened");
            assert_eq!(decompress(&opened, length).as_deref(), Ok(&plain[..]));
            assert!(contexts.seal(&key, &[3; 12], b"", &plain, &mut out[..length + 27]).is_err(), "no room");
        }
        assert!(Contexts::new(3).is_ok());
    }
}
