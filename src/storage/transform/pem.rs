//! Keys in PEM files: X.509 public keys and PKCS #8 private keys, whatever their label says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::pkey::{PKey, Private, Public};

/// Reads a private key. One that is protected by a password is refused, never asked for.
pub(super) fn private_key(pem: &str) -> Result<PKey<Private>, String> {
    let key = PKey::private_key_from_der(&der(pem)?)
        .map_err(|_| "it holds no unencrypted private key (PKCS #8)".to_owned())?;
    if key.rsa().is_ok() { Ok(key) } else { Err("its key is no RSA key".to_owned()) }
}

/// Reads a public key.
pub(super) fn public_key(pem: &str) -> Result<PKey<Public>, String> {
    let key = PKey::public_key_from_der(&der(pem)?).map_err(|_| "it holds no public key (X.509)".to_owned())?;
    if key.rsa().is_ok() { Ok(key) } else { Err("its key is no RSA key".to_owned()) }
}

/// The bytes of the first block.
fn der(pem: &str) -> Result<Vec<u8>, String> {
    let mut lines = pem.lines().map(str::trim).skip_while(|line| !line.starts_with("-----BEGIN "));
    lines.next().ok_or("it is no PEM file")?;
    let mut text = String::new();
    for line in lines {
        if line.starts_with("-----END ") {
            return STANDARD.decode(text).map_err(|_| "its base64 is damaged".to_owned());
        }
        text.push_str(line);
    }
    Err("its block has no end".to_owned())
}
