//! `undercroft object`: what lies in a store.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;
use undercroft::storage::layout::compact::{Footer, FooterError, TRAILER_LENGTH, Trailer};

use crate::Failure;
use crate::text::columns;

/// What `undercroft object` can do.
#[derive(Subcommand)]
pub enum Command {
    /// Print the footer of a segment's object (compact layout) that lies in a file
    Inspect {
        /// The object, as it lies in a file system store or was downloaded
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The text to print.
///
/// # Errors
/// [`Failure`] if the file cannot be read or is no object of the compact layout.
pub fn run(command: &Command) -> Result<String, Failure> {
    let Command::Inspect { file, json } = command;
    let (footer, length) = read(file).map_err(|why| Failure(format!("{}: {why}", file.display())))?;
    Ok(if *json { as_json(&footer, length) } else { as_text(&footer, length) })
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("not a whole object of the compact layout: {0}")]
    Footer(#[from] FooterError),
    #[error("not a file")]
    NotAFile,
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
