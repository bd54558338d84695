//! Writing a manifest: the fields of version 1, in the order in which Aiven's plugin has them, and no others, since its
//! reader refuses what it doesn't know.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::super::super::transform::compress_table;
use super::json::corrupt;
use super::lengths::encode_lengths;
use super::manifest::{INDEXES, TABLE_BYTES_MAX};
use super::{Manifest, ManifestError};
use crate::model::SegmentMetadata;

impl Manifest {
    /// The document. What is in it of `segment` is for people and for whoever lost the metadata topic; nobody reads it back.
    ///
    /// # Errors
    /// [`ManifestError::Corrupt`] if the table of chunks is longer than a reader takes: the chunks are too small.
    pub fn encode(&self, segment: &SegmentMetadata) -> Result<Vec<u8>, ManifestError> {
        let mut out = String::from("{\"version\":\"1\",\"chunkIndex\":");
        self.push_chunks(&mut out)?;
        out.push_str(",\"segmentIndexes\":{");
        for (at, (name, index)) in INDEXES.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match self.index(index) {
                Some(range) => out.push_str(&format!(
                    "{comma}\"{name}\":{{\"position\":{},\"size\":{}}}",
                    range.start,
                    range.end - range.start
                )),
                None => out.push_str(&format!("{comma}\"{name}\":null")),
            }
        }
        out.push_str(&format!("}},\"compression\":{}", self.is_compressed));
        if let Some(envelope) = &self.encryption {
            let key = text(&format!("{}:{}", envelope.key_id, STANDARD.encode(&envelope.wrapped_key)));
            let aad = STANDARD.encode(&envelope.aad);
            out.push_str(&format!(",\"encryption\":{{\"dataKey\":{key},\"aad\":\"{aad}\"}}"));
        }
        push_segment(&mut out, segment);
        out.push('}');
        Ok(out.into_bytes())
    }

    fn push_chunks(&self, out: &mut String) -> Result<(), ManifestError> {
        let chunks = &self.chunks;
        let sizes =
            format!("\"originalChunkSize\":{},\"originalFileSize\":{}", chunks.chunk_size(), chunks.segment_size());
        match chunks.fixed_lengths() {
            Some((each, last)) => out.push_str(&format!(
                "{{\"type\":\"fixed\",{sizes},\"transformedChunkSize\":{each},\"finalTransformedChunkSize\":{last}}}"
            )),
            None => {
                let lengths: Vec<_> = (0..chunks.count()).map(|chunk| chunks.stored_length(chunk)).collect();
                let table = encode_lengths(&lengths).map_err(corrupt)?;
                if table.len() > TABLE_BYTES_MAX {
                    let (found, count) = (table.len(), lengths.len());
                    return Err(corrupt(format!(
                        "the table of its {count} chunks would have {found} bytes, and {TABLE_BYTES_MAX} is the most"
                    )));
                }
                let frame = compress_table(&table).map_err(corrupt)?;
                let table = STANDARD.encode(frame);
                out.push_str(&format!("{{\"type\":\"variable\",{sizes},\"transformedChunks\":\"{table}\"}}"));
            }
        }
        Ok(())
    }
}

fn push_segment(out: &mut String, segment: &SegmentMetadata) {
    let (id, partition) = (&segment.id, &segment.id.partition);
    let epochs = segment.epochs.entries().iter().map(|(epoch, offset)| format!("\"{}\":{}", epoch.0, offset.0));
    out.push_str(&format!(
        ",\"remoteLogSegmentMetadata\":{{\"remoteLogSegmentId\":{{\"topicIdPartition\":{{\"topicId\":\"{}\",\
         \"topicPartition\":{{\"topic\":{},\"partition\":{}}}}},\"id\":\"{}\"}},\"startOffset\":{},\"endOffset\":{},\
         \"maxTimestampMs\":{},\"brokerId\":{},\"eventTimestampMs\":{},\"segmentLeaderEpochs\":{{{}}}}}",
        partition.topic_id,
        text(&partition.topic),
        partition.partition,
        id.uuid,
        segment.start_offset.0,
        segment.end_offset.0,
        segment.max_timestamp_ms,
        segment.broker_id.0,
        segment.event_timestamp_ms,
        epochs.collect::<Vec<_>>().join(",")
    ));
}

/// A JSON string.
fn text(plain: &str) -> String {
    Value::from(plain).to_string()
}
