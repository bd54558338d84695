//! A checkpoint's bytes. `docs/FORMATS.md` has them in a table.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, checksum};

use crate::metadata::partition::PartitionState;
use crate::model::KafkaUuid;
use crate::wire::{Malformed, Reader, Writer};

const MAGIC: &[u8; 8] = b"UCMETCKP";
const VERSION: u32 = 1;
const CRC_LEN: usize = 8;
/// Nothing larger is written or read.
const LEN_MAX: u64 = 1 << 30;

/// The log that a checkpoint is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) cluster_id: String,
    pub(super) log_id: KafkaUuid,
    pub(super) partitions: i32,
    pub(super) index: i32,
    /// Of this program: another one may read records that this one passed over.
    pub(super) release: String,
}

/// What was known of a metadata partition, and since when.
#[derive(Debug)]
pub(super) struct Contents {
    /// Everything that was in the log then is known, milliseconds since 1970.
    pub(super) as_of_ms: i64,
    pub(super) position: i64,
    /// Offset and fingerprint of the last record.
    pub(super) last: (i64, u64),
    pub(super) unkeyed: u64,
    pub(super) level: i8,
    pub(super) states: Vec<PartitionState>,
}

/// Why a checkpoint is of no use.
#[derive(Debug, thiserror::Error)]
pub(super) enum Useless {
    #[error("it cannot be read ({0})")]
    Io(#[from] io::Error),
    #[error("it is damaged ({0})")]
    Damaged(&'static str),
    #[error("it is damaged ({0})")]
    Malformed(#[from] Malformed),
    #[error("it was written by {0}")]
    Foreign(String),
    #[error("{0}")]
    Stale(String),
}

/// Begins a checkpoint; the states follow, each with [`PartitionState::save`], and then [`end`].
pub(super) fn begin(origin: &Origin, contents: &Contents, states: usize) -> Writer {
    let mut out = Writer::with_capacity(1 << 16);
    out.put(MAGIC);
    out.i32(VERSION.cast_signed());
    out.compact_string(&origin.release);
    out.compact_string(&origin.cluster_id);
    out.uuid(origin.log_id);
    out.i32(origin.partitions);
    out.i32(origin.index);
    out.i64(contents.as_of_ms);
    out.i64(contents.position);
    out.i64(contents.last.0);
    out.i64(contents.last.1.cast_signed());
    out.i64(contents.unkeyed.cast_signed());
    out.u8(contents.level.cast_unsigned());
    out.len(states.saturating_add(1));
    out
}

/// Ends a checkpoint with its checksum.
pub(super) fn end(mut out: Writer) -> Bytes {
    let crc = checksum(CrcAlgorithm::Crc64Nvme, out.as_slice());
    out.i64(crc.cast_signed());
    out.into_bytes()
}

/// Reads a checkpoint that `origin` can go on with. The checksum first: what is behind it is then what was written.
pub(super) fn decode(bytes: &[u8], origin: &Origin) -> Result<Contents, Useless> {
    let body_len = bytes.len().checked_sub(CRC_LEN).ok_or(Useless::Damaged("it is too short"))?;
    let (body, crc) = bytes.split_at(body_len);
    if !body.starts_with(MAGIC) {
        return Err(Useless::Damaged("it begins otherwise"));
    }
    if checksum(CrcAlgorithm::Crc64Nvme, body).to_be_bytes() != *crc {
        return Err(Useless::Damaged("its checksum is wrong"));
    }
    let mut input = Reader::new(body);
    input.take(MAGIC.len(), "magic")?;
    let version = input.i32("version")?;
    if version != VERSION.cast_signed() {
        return Err(Useless::Foreign(format!("another release, in format {version}")));
    }
    let found = Origin {
        release: input.compact_string("release")?.to_owned(),
        cluster_id: input.compact_string("cluster id")?.to_owned(),
        log_id: input.uuid("log id")?,
        partitions: input.i32("partitions")?,
        index: input.i32("index")?,
    };
    if found != *origin {
        return Err(Useless::Foreign(describe(&found, origin)));
    }
    let mut contents = Contents {
        as_of_ms: input.i64("time")?,
        position: input.i64("position")?,
        last: (input.i64("last offset")?, input.i64("fingerprint")?.cast_unsigned()),
        unkeyed: input.i64("records without a key")?.cast_unsigned(),
        level: input.i8("level")?,
        states: Vec::new(),
    };
    for _ in 0..input.compact_array_len(40, "states")? {
        contents.states.push(PartitionState::load(&mut input)?);
    }
    input.finish("checkpoint")?;
    Ok(contents)
}

fn describe(found: &Origin, wanted: &Origin) -> String {
    if found.release != wanted.release {
        return format!("release {}, this is {}", found.release, wanted.release);
    }
    if found.cluster_id != wanted.cluster_id {
        return format!("a broker of cluster {}, this one is of {}", found.cluster_id, wanted.cluster_id);
    }
    if found.log_id != wanted.log_id {
        return format!("a reader of topic id {}, the topic's is {} now", found.log_id, wanted.log_id);
    }
    format!("a reader of partition {} of {}", found.index, found.partitions)
}

/// The bytes of a file; nothing if there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, Useless> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let len = file.metadata()?.len();
    if len > LEN_MAX {
        return Err(Useless::Damaged("it is too long"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Puts a file in the place of another one, so that after a crash there is one of them, whole.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if bytes.len() as u64 > LEN_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it would be too long"));
    }
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    match path.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
