//! `undercroft object inspect`.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::model::IndexType;
use undercroft::storage::layout::aiven::{MANIFEST_BYTES_MAX, Manifest, ManifestError};
use undercroft::storage::layout::compact::{Footer, FooterError, TRAILER_LENGTH, Trailer};
use undercroft::storage::survey::{Description, Part};

use super::store;
use crate::Failure;
use crate::metadata::text::put;
use crate::text::columns;

/// What `undercroft object inspect` takes.
#[derive(Args)]
pub struct Arguments {
    /// The object, as it lies in a file system store or was downloaded: a `.ucseg` or a `.rsm-manifest`. With `--config`
    /// its name in the store; of a segment in three objects any of them will do
    object: PathBuf,
    /// Java properties file with the storage side's configuration, or a broker's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the object says.
///
/// # Errors
/// [`Failure`] if the object cannot be read or is no such object.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let object = &arguments.object;
    let description = match &arguments.config {
        Some(config) => of_store(config, object)?,
        None => of_file(object).map_err(|why| Failure(format!("{}: {why}", object.display())))?,
    };
    put(&match (description, arguments.json) {
        (Description::Compact { footer, object_bytes }, true) => as_json(&footer, object_bytes),
        (Description::Compact { footer, object_bytes }, false) => as_text(&footer, object_bytes),
        (Description::Aiven { manifest, .. }, true) => format!("{:#}\n", manifest_json(&manifest)),
        (Description::Aiven { manifest, .. }, false) => manifest_text(&manifest),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn of_store(config: &Path, object: &Path) -> Result<Description, Failure> {
    let store::Open { runtime, surveyor } = store::open(config, None)?;
    let object = object.to_str().ok_or_else(|| Failure("names of objects are UTF-8".to_owned()))?;
    runtime.block_on(surveyor.describe(object)).map_err(|error| Failure(error.to_string()))
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a whole object of the compact layout: {0}")]
    Footer(#[from] FooterError),
    #[error("not a manifest: {0}")]
    Manifest(#[from] ManifestError),
    #[error("not a file")]
    NotAFile,
}

fn of_file(path: &Path) -> Result<Description, ReadError> {
    let is_manifest = path.extension().is_some_and(|end| end == Part::Manifest.suffix());
    if !is_manifest {
        let (footer, object_bytes) = read(path)?;
        return Ok(Description::Compact { footer, object_bytes });
    }
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile);
    }
    if metadata.len() > MANIFEST_BYTES_MAX {
        return Err(ManifestError::Corrupt(format!("it has {} bytes", metadata.len())).into());
    }
    let manifest = Manifest::decode(&fs::read(path)?)?;
    Ok(Description::Aiven { object: path.display().to_string(), manifest })
}

/// The footer and the object's length. Reads the end of the file only.
fn read(path: &Path) -> Result<(Footer, u64), ReadError> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile);
    }
    let length = metadata.len();
    let trailer = Trailer::decode(&last_bytes(&mut file, length, TRAILER_LENGTH as u64)?)?;
    // A length that is wrong reads at most the file, and the footer's checksum tells.
    let end = last_bytes(&mut file, length, u64::from(trailer.footer_length) + TRAILER_LENGTH as u64)?;
    Ok((Footer::decode(&end, length)?, length))
}

fn last_bytes(file: &mut File, length: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(count)))?;
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn as_text(footer: &Footer, length: u64) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "not said".to_owned());
    let mut rows = vec![
        row("topic", or_none(&footer.topic)),
        row("topic id", footer.topic_id.to_string()),
        row("partition", footer.partition.to_string()),
        row("segment id", footer.segment_id.to_string()),
        row("offsets", format!("{} to {}", footer.start_offset, footer.end_offset)),
        row("segment size", format!("{} bytes", footer.segment_size)),
        row("block size", format!("{} bytes", footer.block_size.bytes())),
        row("data", format!("{} bytes", footer.data_length)),
        row("object", format!("{length} bytes")),
        row("written by", or_none(&footer.writer)),
    ];
    rows.extend(footer.indexes.iter().map(|entry| {
        let place = format!("{} bytes at {}, crc {:08x}", entry.length, entry.position, entry.crc);
        row(entry.index.name(), place)
    }));
    columns(&rows).join("\n") + "\n"
}

fn as_json(footer: &Footer, length: u64) -> String {
    let indexes: Vec<_> = footer
        .indexes
        .iter()
        .map(|entry| {
            json!({
                "type": entry.index as u8,
                "name": entry.index.name(),
                "position": entry.position,
                "lengthBytes": entry.length,
                "crc32c": format!("{:08x}", entry.crc),
            })
        })
        .collect();
    let object = json!({
        "layout": "compact",
        "topic": footer.topic,
        "topicId": footer.topic_id.to_string(),
        "partition": footer.partition,
        "segmentId": footer.segment_id.to_string(),
        "startOffset": footer.start_offset,
        "endOffset": footer.end_offset,
        "segmentSizeBytes": footer.segment_size,
        "blockSizeBytes": footer.block_size.bytes(),
        "dataLengthBytes": footer.data_length,
        "objectLengthBytes": length,
        "indexes": indexes,
        "writer": footer.writer,
    });
    format!("{object:#}\n")
}

fn manifest_text(manifest: &Manifest) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let chunks = &manifest.chunks;
    let key = manifest.encryption.as_ref().map(|envelope| envelope.key_id.as_str());
    let mut rows = vec![
        row("segment size", format!("{} bytes", chunks.segment_size())),
        row("chunk size", format!("{} bytes", chunks.chunk_size())),
        row("chunks", chunks.count().to_string()),
        row("compression", if manifest.is_compressed { "zstd" } else { "none" }.to_owned()),
        row("encryption", key.map_or_else(|| "none".to_owned(), |id| format!("AES-256-GCM, key pair {id}"))),
        row("log object", format!("{} bytes", chunks.object_length())),
        row("indexes object", format!("{} bytes", manifest.indexes_length())),
    ];
    let place = |index: IndexType| {
        let range = manifest.index(index);
        range.map_or_else(|| "none".to_owned(), |at| format!("{} bytes at {}", at.end - at.start, at.start))
    };
    rows.extend(IndexType::ALL.into_iter().map(|index| row(index.name(), place(index))));
    columns(&rows).join("\n") + "\n"
}

fn manifest_json(manifest: &Manifest) -> Value {
    let chunks = &manifest.chunks;
    let indexes: Vec<_> = manifest
        .indexes
        .iter()
        .map(|place| {
            json!({
                "type": place.index as u8,
                "name": place.index.name(),
                "position": place.range.start,
                "lengthBytes": place.range.end - place.range.start,
            })
        })
        .collect();
    json!({
        "layout": "aiven",
        "segmentSizeBytes": chunks.segment_size(),
        "chunkSizeBytes": chunks.chunk_size(),
        "chunks": chunks.count(),
        "isCompressed": manifest.is_compressed,
        "encryptionKeyPairId": manifest.encryption.as_ref().map(|envelope| &envelope.key_id),
        "logLengthBytes": chunks.object_length(),
        "indexesLengthBytes": manifest.indexes_length(),
        "indexes": indexes,
    })
}
