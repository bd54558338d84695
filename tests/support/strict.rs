//! A reader of Aiven's layout that shares nothing with ours, and is as strict as Aiven's: no unknown field, Java's ints,
//! frames that say how long their content is.
#![allow(clippy::expect_used, clippy::panic, reason = "test support: what isn't right is a failed test")]
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::md::Md;
use openssl::pkey::PKey;
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use openssl::symm::{Cipher, decrypt_aead};
use serde_json::Value;

/// What is in the three objects whose names begin with `base`.
pub struct Segment {
    pub log: Vec<u8>,
    /// In the order of the manifest; the last one may not be there.
    pub indexes: [Option<Vec<u8>>; 5],
    pub manifest: Value,
}

fn fields<'a>(value: &'a Value, required: &[&str], optional: &[&str]) -> &'a serde_json::Map<String, Value> {
    let map = value.as_object().expect("an object");
    for key in map.keys() {
        assert!(required.contains(&key.as_str()) || optional.contains(&key.as_str()), "unknown field {key}");
    }
    for key in required {
        assert!(map.contains_key(*key), "no {key}");
    }
    map
}

fn int(value: &Value) -> usize {
    let number = value.as_i64().expect("a whole number");
    usize::try_from(i32::try_from(number).expect("a Java int")).expect("not negative")
}

fn content_of(frame: &[u8]) -> Vec<u8> {
    let length = zstd_safe::get_frame_content_size(frame).expect("a frame").expect("says how long it is");
    let mut content = vec![0; usize::try_from(length).expect("small")];
    let count = zstd_safe::decompress(&mut content[..], frame).expect("whole");
    assert_eq!(count, content.len());
    assert_eq!(zstd_safe::find_frame_compressed_size(frame).expect("a frame"), frame.len(), "one frame");
    content
}

/// Data key and additional data.
type Key = (Vec<u8>, Vec<u8>);

fn key_of(manifest: &Value, key_id: &str, private: &Path) -> Option<Key> {
    let encryption = manifest.get("encryption")?;
    let encryption = fields(encryption, &["dataKey", "aad"], &[]);
    let (id, wrapped) = encryption["dataKey"].as_str().expect("text").split_once(':').expect("id:key");
    assert_eq!(id, key_id);
    let pem = fs::read(private).expect("there");
    let key = PKey::private_key_from_pem(&pem).expect("a key");
    let mut context = PkeyCtx::new(&key).expect("a context");
    context.decrypt_init().expect("begins");
    context.set_rsa_padding(Padding::PKCS1_OAEP).expect("OAEP");
    context.set_rsa_oaep_md(Md::sha3_512()).expect("SHA3-512");
    context.set_rsa_mgf1_md(Md::sha3_512()).expect("SHA3-512");
    let mut plain = Vec::new();
    context.decrypt_to_vec(&STANDARD.decode(wrapped).expect("base64"), &mut plain).expect("this key's");
    assert_eq!(plain.len(), 32);
    let aad = STANDARD.decode(encryption["aad"].as_str().expect("text")).expect("base64");
    assert_eq!(aad.len(), 32);
    Some((plain, aad))
}

fn open(key: Option<&Key>, blob: &[u8]) -> Vec<u8> {
    let Some((key, aad)) = key else { return blob.to_vec() };
    let (nonce, rest) = blob.split_at(12);
    let (ciphertext, tag) = rest.split_at(rest.len() - 16);
    decrypt_aead(Cipher::aes_256_gcm(), key, Some(nonce), aad, ciphertext, tag).expect("what was encrypted")
}

/// Stored lengths of chunks.
fn lengths(index: &Value) -> (usize, usize, Vec<usize>) {
    let sizes =
        |index: &serde_json::Map<String, Value>| (int(&index["originalChunkSize"]), int(&index["originalFileSize"]));
    match index["type"].as_str().expect("text") {
        "fixed" => {
            let names =
                ["type", "originalChunkSize", "originalFileSize", "transformedChunkSize", "finalTransformedChunkSize"];
            let index = fields(index, &names, &[]);
            let (chunk, file) = sizes(index);
            let count = file.div_ceil(chunk);
            let mut lengths = vec![int(&index["transformedChunkSize"]); count];
            if let Some(last) = lengths.last_mut() {
                *last = int(&index["finalTransformedChunkSize"]);
            }
            (chunk, file, lengths)
        }
        "variable" => {
            let index = fields(index, &["type", "originalChunkSize", "originalFileSize", "transformedChunks"], &[]);
            let (chunk, file) = sizes(index);
            let frame = STANDARD.decode(index["transformedChunks"].as_str().expect("text")).expect("base64");
            let table = content_of(&frame);
            let int = |at: usize| u32::from_be_bytes(table[at..at + 4].try_into().expect("four")) as usize;
            let mut lengths = Vec::new();
            match int(0) {
                0 => assert_eq!(table.len(), 4),
                1 => lengths.push(int(4)),
                count => {
                    let (base, width) = (int(4), usize::from(table[8]));
                    assert!((1..=4).contains(&width));
                    for difference in table[9..table.len() - 4].chunks(width) {
                        lengths.push(base + difference.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)));
                    }
                    lengths.push(int(table.len() - 4));
                    assert_eq!(lengths.len(), count);
                }
            }
            (chunk, file, lengths)
        }
        other => panic!("a chunk index of type {other}"),
    }
}

pub fn read(base: &str, key_id: &str, private: &Path) -> Segment {
    let manifest: Value =
        serde_json::from_slice(&fs::read(format!("{base}.rsm-manifest")).expect("there")).expect("JSON");
    let of = fields(
        &manifest,
        &["version", "chunkIndex", "segmentIndexes", "compression"],
        &["encryption", "remoteLogSegmentMetadata"],
    );
    assert_eq!(of["version"], "1");
    let key = key_of(&manifest, key_id, private);
    let is_compressed = of["compression"].as_bool().expect("a boolean");
    let (stored, mut at) = (fs::read(format!("{base}.log")).expect("there"), 0);
    let (chunk, size, lengths) = lengths(&of["chunkIndex"]);
    let mut log = Vec::new();
    for length in lengths {
        let content = open(key.as_ref(), &stored[at..at + length]);
        let content = if is_compressed { content_of(&content) } else { content };
        assert_eq!(content.len(), chunk.min(size - log.len()));
        log.extend(content);
        at += length;
    }
    assert_eq!((at, log.len()), (stored.len(), size), "nothing is left over");

    let names = ["offset", "timestamp", "producerSnapshot", "leaderEpoch", "transaction"];
    let places = fields(&of["segmentIndexes"], &names, &[]);
    let (stored, mut at) = (fs::read(format!("{base}.indexes")).expect("there"), 0);
    let indexes = names.map(|name| {
        if places[name].is_null() {
            assert_eq!(name, "transaction");
            return None;
        }
        let place = fields(&places[name], &["position", "size"], &[]);
        let (position, size) = (int(&place["position"]), int(&place["size"]));
        assert_eq!(position, at);
        at += size;
        Some(if size == 0 { Vec::new() } else { open(key.as_ref(), &stored[position..at]) })
    });
    assert_eq!(at, stored.len(), "nothing is left over");
    Segment { log, indexes, manifest }
}
