//! Key pairs that data keys are wrapped with, by their ids.
//!
//! RSA with OAEP, SHA3-512 both for the label and for the mask (BouncyCastle's
//! `RSA/NONE/OAEPWithSHA3-512AndMGF1Padding`), and an empty label.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use openssl::error::ErrorStack;
use openssl::md::Md;
use openssl::pkey::{PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;

use super::super::small_file::{KEY_FILE_BYTES_MAX, read_small_file};
use super::DATA_KEY_LENGTH;
use super::pem::{private_key, public_key};

/// Where a key pair lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct KeyPairFiles {
    pub(in super::super) id: String,
    pub(in super::super) public: Option<PathBuf>,
    pub(in super::super) private: Option<PathBuf>,
}

/// Why a data key could not be unwrapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum KeyRingError {
    #[error("key pair `{id}`, which its data key is wrapped with, is not among the configured ones ({known})")]
    Unknown { id: String, known: String },
    #[error("key pair `{id}`, which its data key is wrapped with, can't be used: {why}")]
    Unusable { id: String, why: String },
    #[error(
        "its data key, wrapped with key pair `{id}`, is not opened by the private key of that id: it is another key, or what the store has is damaged"
    )]
    Wrong { id: String },
}

/// The configured key pairs. A pair that can't be used is kept with the reason, for whoever needs it: others still work.
#[derive(Clone, Default)]
pub(in super::super) struct KeyRing(BTreeMap<String, Result<PKey<Private>, String>>);

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl KeyRing {
    /// Reads the files. Hands back what an operator should hear of pairs that can't be used.
    pub(in super::super) fn load(pairs: &[KeyPairFiles]) -> (Self, Vec<String>) {
        let ring: BTreeMap<_, _> = pairs.iter().map(|files| (files.id.clone(), files.read())).collect();
        let unusable = ring.iter().filter_map(|(id, key)| Some((id, key.as_ref().err()?)));
        let warnings = unusable
            .map(|(id, why)| format!("key pair `{id}` can't be used, so segments that need it can't be read: {why}"))
            .collect();
        (Self(ring), warnings)
    }

    /// Unwraps a data key.
    pub(in super::super) fn unwrap_key(&self, id: &str, wrapped: &[u8]) -> Result<[u8; DATA_KEY_LENGTH], KeyRingError> {
        let unwrapped = decrypt(self.pair(id)?, wrapped).ok().and_then(|bytes| bytes.try_into().ok());
        unwrapped.ok_or_else(|| KeyRingError::Wrong { id: id.to_owned() })
    }

    /// Wraps a data key with the public half of a pair.
    pub(in super::super) fn wrap_key(&self, id: &str, key: &[u8; DATA_KEY_LENGTH]) -> Result<Vec<u8>, KeyRingError> {
        encrypt(self.pair(id)?, key).map_err(|error| KeyRingError::Unusable {
            id: id.to_owned(),
            why: format!("its key takes no data key (it needs 2048 bits): {error}"),
        })
    }

    /// Whether a pair can be used for encrypting, and what was encrypted be read again.
    pub(in super::super) fn check(&self, id: &str) -> Result<(), KeyRingError> {
        let wrapped = self.wrap_key(id, &[0; DATA_KEY_LENGTH])?;
        self.unwrap_key(id, &wrapped).map(|_| ())
    }

    fn pair(&self, id: &str) -> Result<&PKey<Private>, KeyRingError> {
        let key = self.0.get(id).ok_or_else(|| KeyRingError::Unknown {
            id: id.to_owned(),
            known: if self.0.is_empty() {
                "none".to_owned()
            } else {
                Vec::from_iter(self.0.keys().map(String::as_str)).join(", ")
            },
        })?;
        key.as_ref().map_err(|why| KeyRingError::Unusable { id: id.to_owned(), why: why.clone() })
    }
}

impl KeyPairFiles {
    fn read(&self) -> Result<PKey<Private>, String> {
        let read = |path: &Option<PathBuf>, which: &str| {
            let path =
                path.as_ref().ok_or_else(|| format!("encryption.key.pairs.{}.{which}.key.file is not set", self.id))?;
            let pem =
                read_small_file(path, KEY_FILE_BYTES_MAX).map_err(|error| format!("{}: {error}", path.display()))?;
            let pem = String::from_utf8(pem).map_err(|_| format!("{}: it is not text", path.display()))?;
            Ok::<_, String>((pem, path.display().to_string()))
        };
        let (pem, path) = read(&self.private, "private")?;
        let private = private_key(&pem).map_err(|why| format!("{path}: {why}"))?;
        // Reading needs no public key; but one of another pair says that files were mixed up.
        if self.public.is_some() {
            let (pem, path) = read(&self.public, "public")?;
            let public = public_key(&pem).map_err(|why| format!("{path}: {why}"))?;
            if !private.public_eq(&public) {
                return Err(format!("{path}: it is not the other half of the private key"));
            }
        }
        Ok(private)
    }
}

fn encrypt(key: &PKey<Private>, plain: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let mut context = PkeyCtx::new(key)?;
    context.encrypt_init()?;
    context.set_rsa_padding(Padding::PKCS1_OAEP)?;
    context.set_rsa_oaep_md(Md::sha3_512())?;
    context.set_rsa_mgf1_md(Md::sha3_512())?;
    let mut wrapped = Vec::new();
    context.encrypt_to_vec(plain, &mut wrapped)?;
    Ok(wrapped)
}

fn decrypt(key: &PKey<Private>, wrapped: &[u8]) -> Result<Vec<u8>, ErrorStack> {
    let mut context = PkeyCtx::new(key)?;
    context.decrypt_init()?;
    context.set_rsa_padding(Padding::PKCS1_OAEP)?;
    context.set_rsa_oaep_md(Md::sha3_512())?;
    context.set_rsa_mgf1_md(Md::sha3_512())?;
    let mut plain = Vec::new();
    context.decrypt_to_vec(wrapped, &mut plain)?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use openssl::rsa::Rsa;

    use super::*;

    fn data(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/aiven").join(name)
    }

    fn pair(id: &str, private: PathBuf) -> KeyPairFiles {
        KeyPairFiles { id: id.to_owned(), public: None, private: Some(private) }
    }

    /// Data key of a fixture as its manifest has it, and in the clear.
    fn fixture(of: &str) -> (Vec<u8>, String) {
        let manifest = std::fs::read_to_string(data(&format!("{of}.rsm-manifest"))).expect("there");
        let wrapped = manifest.split_once("key1:").expect("encrypted").1.split_once('"').expect("text").0.to_owned();
        let wrapped = base64::engine::general_purpose::STANDARD.decode(wrapped).expect("base64");
        (wrapped, std::fs::read_to_string(data(&format!("{of}.dk"))).expect("there").trim().to_owned())
    }

    #[test]
    fn data_keys_that_aiven_wrapped_are_unwrapped() {
        let (ring, warnings) = KeyRing::load(&[pair("key1", data("priv.pem"))]);
        assert!(warnings.is_empty(), "{warnings:?}");
        for of in ["kafka38/m2", "kafka38/m3", "kafka4/m2", "kafka4/m3"] {
            let (wrapped, plain) = fixture(of);
            let key = ring.unwrap_key("key1", &wrapped).expect("unwrapped");
            assert_eq!(key.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), plain, "{of}");
            for damaged in [&wrapped[1..], &[]] {
                assert!(matches!(ring.unwrap_key("key1", damaged), Err(KeyRingError::Wrong { .. })));
            }
        }
    }

    #[test]
    fn what_is_wrapped_is_unwrapped_by_the_same_pair_only() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |bits| {
            let key = PKey::from_rsa(Rsa::generate(bits).expect("a key")).expect("a key");
            let path = folder.path().join(format!("{bits}.pem"));
            std::fs::write(&path, key.private_key_to_pem_pkcs8().expect("PEM")).expect("written");
            path
        };
        let pairs = [pair("key1", data("priv.pem")), pair("other", write(2048)), pair("short", write(1024))];
        let (ring, _) = KeyRing::load(&pairs);
        let key = [7; DATA_KEY_LENGTH];
        let wrapped = ring.wrap_key("key1", &key).expect("wrapped");
        assert_ne!(wrapped, ring.wrap_key("key1", &key).expect("wrapped"), "never the same twice");
        assert_eq!(ring.unwrap_key("key1", &wrapped), Ok(key));
        assert!(matches!(ring.unwrap_key("other", &wrapped), Err(KeyRingError::Wrong { .. })));
        assert!(ring.check("key1").is_ok());
        assert!(matches!(ring.check("short"), Err(KeyRingError::Unusable { .. })));
        assert!(matches!(ring.check("nobody"), Err(KeyRingError::Unknown { .. })));
    }

    #[test]
    fn an_unknown_a_wrong_and_an_unreadable_key_are_three_things() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &[u8]| {
            std::fs::write(folder.path().join(name), text).expect("written");
            folder.path().join(name)
        };
        let other = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
        let other = write("other.pem", &other.private_key_to_pem_pkcs8().expect("PEM"));
        let public = Some(data("pub.pem"));
        let (ring, warnings) = KeyRing::load(&[
            pair("wrong", other.clone()),
            pair("gone", folder.path().join("gone.pem")),
            pair("no-pem", write("no.pem", b"text")),
            pair("cut", write("cut.pem", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")),
            KeyPairFiles { id: "half".to_owned(), public: public.clone(), private: None },
            KeyPairFiles { id: "mixed".to_owned(), public: public.clone(), private: Some(other) },
            KeyPairFiles { id: "both".to_owned(), public, private: Some(data("priv.pem")) },
        ]);
        assert_eq!(warnings.len(), 5, "{warnings:?}");
        let (wrapped, _) = fixture("kafka38/m2");
        assert!(ring.unwrap_key("both", &wrapped).is_ok());
        assert!(matches!(ring.unwrap_key("wrong", &wrapped), Err(KeyRingError::Wrong { .. })));
        assert!(matches!(ring.unwrap_key("key1", &wrapped), Err(KeyRingError::Unknown { .. })));
        for id in ["gone", "no-pem", "cut", "half", "mixed"] {
            assert!(matches!(ring.unwrap_key(id, &wrapped), Err(KeyRingError::Unusable { .. })), "{id}");
        }
    }
}
