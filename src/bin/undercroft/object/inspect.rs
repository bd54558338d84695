//! `undercroft object inspect`.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use undercroft::model::IndexType;
use undercroft::storage::layout::aiven::{MANIFEST_BYTES_MAX, Manifest, ManifestError};
use undercroft::storage::layout::compact::{Footer, FooterError, TRAILER_LENGTH, Trailer};
use undercroft::storage::survey::{Description, Part};
use undercroft::storage::{StorageError, open_regular_file, read_small_file};

use super::{store, untold};
use crate::Failure;
use crate::metadata::text::put;
use crate::text::columns;

/// What `undercroft object inspect` takes.
#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 it was read, 1 it is corrupt or not there, 2 that could not be told (the store, the
configuration, the rights, a newer version, or arguments that make no sense)."
)]
pub struct Arguments {
    /// The object, as it lies in a file system store or was downloaded. With `--config` its name in the store. Of a segment in three
    /// objects (`.log`, `.indexes`, `.rsm-manifest`) any will do, if the manifest lies beside it
    object: PathBuf,
    /// Java properties file with the storage side's configuration, or a broker's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the object says. The exit codes are those of `verify`.
///
/// # Errors
/// [`Failure`] if the object is corrupt or not there, or standard output can't be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let object = &arguments.object;
    let described = match &arguments.config {
        Some(config) => of_store(config, object),
        None => of_file(object).map_err(Unread::of_file),
    };
    let description = match described {
        Ok(description) => description,
        Err(Unread::Wrong(failure)) => return Err(failure),
        Err(Unread::Untold(failure)) => return Ok(untold(&failure)),
    };
    put(&match (description, arguments.json) {
        (Description::Compact { footer, object_bytes }, true) => as_json(&footer, object_bytes),
        (Description::Compact { footer, object_bytes }, false) => as_text(&footer, object_bytes),
        (Description::Aiven { manifest, .. }, true) => format!("{:#}\n", manifest_json(&manifest)),
        (Description::Aiven { manifest, .. }, false) => manifest_text(&manifest),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Why there is nothing to print.
enum Unread {
    /// The object is not there, or is not what it should be.
    Wrong(Failure),
    /// Whether it is could not be told.
    Untold(Failure),
}

fn of_store(config: &Path, object: &Path) -> Result<Description, Unread> {
    let store::Open { runtime, surveyor } = store::open(config, None).map_err(Unread::Untold)?;
    let object = object.to_str().ok_or_else(|| Unread::Untold(Failure("names of objects are UTF-8".to_owned())))?;
    runtime.block_on(surveyor.describe(object)).map_err(|error| {
        let failure = Failure(error.to_string());
        match error {
            StorageError::NotFound { .. } | StorageError::Corrupt { .. } => Unread::Wrong(failure),
            _ => Unread::Untold(failure),
        }
    })
}

impl Unread {
    fn of_file((path, error): (PathBuf, ReadError)) -> Self {
        let failure = Failure(format!("{}: {error}", path.display()));
        match error {
            ReadError::Io(error) | ReadError::NoManifest(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge => Self::Wrong(failure),
                _ => Self::Untold(failure),
            },
            ReadError::Footer(FooterError::Unsupported(_)) | ReadError::Manifest(ManifestError::Unsupported(_)) => {
                Self::Untold(failure)
            }
            ReadError::Footer(_) | ReadError::Manifest(_) => Self::Wrong(failure),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a whole object of the compact layout: {0}")]
    Footer(#[from] FooterError),
    #[error("not a manifest: {0}")]
    Manifest(#[from] ManifestError),
    #[error(
        "data or indexes of a segment in the layout `aiven` (or a file of a broker) say nothing of themselves, and their manifest can't be read: {0}"
    )]
    NoManifest(io::Error),
}

/// What a file says, or the manifest beside it. An error names the file that it is about.
fn of_file(path: &Path) -> Result<Description, (PathBuf, ReadError)> {
    let part = Part::AIVEN.into_iter().find(|part| path.extension().is_some_and(|end| end == part.suffix()));
    let Some(part) = part else {
        let (footer, object_bytes) = read(path).map_err(|error| (path.to_owned(), error))?;
        return Ok(Description::Compact { footer, object_bytes });
    };
    let manifest = path.with_extension(Part::Manifest.suffix());
    let at = |error: ReadError| (manifest.clone(), error);
    let bytes = read_small_file(&manifest, MANIFEST_BYTES_MAX).map_err(|error| match part {
        Part::Manifest => at(error.into()),
        _ => at(ReadError::NoManifest(error)),
    })?;
    let decoded = Manifest::decode(&bytes).map_err(|error| at(error.into()))?;
    Ok(Description::Aiven { object: manifest.display().to_string(), manifest: decoded })
}

/// The footer and the object's length. Reads the end of the file only.
fn read(path: &Path) -> Result<(Footer, u64), ReadError> {
    let mut file = open_regular_file(path)?;
    let length = file.metadata()?.len();
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
