//! The broker's own files of a partition, as far as their sizes are needed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::model::{Offset, TopicIdPartition};

/// Size of the log behind a segment that ends at `end_offset`: of the log files, the active one included, that begin
/// later. `None` if none of `log_dirs` has the partition, or it has no such file, as then it is another log.
pub(super) fn bytes_behind(log_dirs: &[PathBuf], partition: &TopicIdPartition, end_offset: Offset) -> Option<u64> {
    let name = format!("{}-{}", partition.topic, partition.partition);
    if name.contains(['/', '\0']) {
        return None;
    }
    log_dirs.iter().find_map(|dir| sum_behind(&dir.join(&name), end_offset))
}

fn sum_behind(folder: &Path, end_offset: Offset) -> Option<u64> {
    let mut sum = None;
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        let base = name.to_str().and_then(|name| name.strip_suffix(".log")).and_then(|base| base.parse::<i64>().ok());
        if base.is_none_or(|base| base <= end_offset.0) {
            continue;
        }
        match entry.metadata() {
            Ok(file) => sum = Some(sum.unwrap_or(0) + file.len()),
            // Deleted or renamed just now.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::KafkaUuid;

    fn partition(topic: &str) -> TopicIdPartition {
        TopicIdPartition::new(KafkaUuid([1; 16]), topic, 3)
    }

    #[test]
    fn log_files_behind_the_segment_are_summed_and_nothing_else() {
        let (other, dir) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let folder = dir.path().join("orders-3");
        fs::create_dir(&folder).expect("a folder");
        for (name, size) in [
            ("00000000000000000000.log", 40),
            ("00000000000000000010.log", 30),
            ("00000000000000000010.index", 500),
            ("00000000000000000020.log", 20),
            ("00000000000000000015.log.deleted", 900),
            ("leader-epoch-checkpoint", 8),
        ] {
            fs::write(folder.join(name), vec![0; size]).expect("writes");
        }
        let dirs = [other.path().to_owned(), dir.path().to_owned()];
        let behind = |end_offset| bytes_behind(&dirs, &partition("orders"), Offset(end_offset));
        assert_eq!(behind(9), Some(50));
        assert_eq!(behind(19), Some(20));
        assert_eq!(behind(29), None, "no file begins later, so this is not the segment's log");
        assert_eq!(bytes_behind(&dirs, &partition("missing"), Offset(9)), None);
        assert_eq!(bytes_behind(&dirs, &partition("x/../orders"), Offset(9)), None);
        assert_eq!(bytes_behind(&[], &partition("orders"), Offset(9)), None);
    }
}
