//! Objects of a listing, put together to segments.

use std::collections::BTreeMap;

use super::{Part, SegmentName};

/// Half segments of one folder that are kept for the rest of them. A store that lists in the order of names needs one, a
/// file system the incomplete ones of a partition. More are handed out as they are: whoever checks a segment asks the store
/// for what the listing had not.
const HALVES_MAX: usize = 100_000;

/// What a listing has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Segment(FoundSegment),
    /// An object that is no part of a segment, by its name.
    Foreign {
        object: String,
        bytes: u64,
    },
}

/// A segment by the names of its objects; nothing has been read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSegment {
    pub name: SegmentName,
    pub objects: Objects,
}

/// Sizes of the objects that were listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    Compact(u64),
    Aiven { log: Option<u64>, indexes: Option<u64>, manifest: Option<u64> },
}

impl FoundSegment {
    /// Bytes of all its objects.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        Part::ALL.into_iter().filter_map(|part| self.objects.size(part)).fold(0, u64::saturating_add)
    }

    /// Objects that it should have and that were not listed.
    pub fn lacking(&self) -> impl Iterator<Item = Part> {
        self.objects.parts().iter().copied().filter(|part| self.objects.size(*part).is_none())
    }

    /// The name of its layout, as configuration and documents call it.
    #[must_use]
    pub fn layout(&self) -> &'static str {
        match self.objects {
            Objects::Compact(_) => "compact",
            Objects::Aiven { .. } => "aiven",
        }
    }
}

impl Objects {
    /// All that a segment has to have in this layout.
    #[must_use]
    pub fn parts(&self) -> &'static [Part] {
        match self {
            Self::Compact(_) => &[Part::Compact],
            Self::Aiven { .. } => &Part::AIVEN,
        }
    }

    /// Size of an object; `None` if it was not listed.
    #[must_use]
    pub fn size(&self, part: Part) -> Option<u64> {
        match (self, part) {
            (Self::Compact(bytes), Part::Compact) => Some(*bytes),
            (Self::Aiven { log, .. }, Part::Log) => *log,
            (Self::Aiven { indexes, .. }, Part::Indexes) => *indexes,
            (Self::Aiven { manifest, .. }, Part::Manifest) => *manifest,
            (Self::Compact(_) | Self::Aiven { .. }, _) => None,
        }
    }

    fn set(&mut self, part: Part, bytes: u64) {
        match (self, part) {
            (Self::Aiven { log, .. }, Part::Log) => *log = Some(bytes),
            (Self::Aiven { indexes, .. }, Part::Indexes) => *indexes = Some(bytes),
            (Self::Aiven { manifest, .. }, Part::Manifest) => *manifest = Some(bytes),
            (objects, _) => *objects = Self::Compact(bytes),
        }
    }
}

/// Puts objects together as they come.
#[derive(Debug)]
pub(super) struct Gatherer {
    prefix: String,
    folder: String,
    halves: BTreeMap<String, FoundSegment>,
}

impl Gatherer {
    /// `prefix` is what topics stand behind, as [`SegmentName::read`] takes it.
    pub(super) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), folder: String::new(), halves: BTreeMap::new() }
    }

    /// Takes the next object of the listing, and hands back what is known to have come to its end.
    pub(super) fn add(&mut self, key: &str, bytes: u64) -> Vec<Found> {
        let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut out = Vec::new();
        // All objects of a segment lie in one folder, whose objects no store mixes with those of others.
        if folder != self.folder || self.halves.len() >= HALVES_MAX {
            out = self.rest();
            folder.clone_into(&mut self.folder);
        }
        let Some((name, part)) = SegmentName::read(key, &self.prefix) else {
            out.push(Found::Foreign { object: key.to_owned(), bytes });
            return out;
        };
        if part == Part::Compact {
            out.push(Found::Segment(FoundSegment { name, objects: Objects::Compact(bytes) }));
            return out;
        }
        let base = name.base.clone();
        let nothing = Objects::Aiven { log: None, indexes: None, manifest: None };
        let half = self.halves.entry(base).or_insert(FoundSegment { name, objects: nothing });
        half.objects.set(part, bytes);
        if half.lacking().next().is_none() {
            let whole = half.clone();
            self.halves.remove(&whole.name.base);
            out.push(Found::Segment(whole));
        }
        out
    }

    /// What is left at the end: segments that lack an object.
    pub(super) fn rest(&mut self) -> Vec<Found> {
        std::mem::take(&mut self.halves).into_values().map(Found::Segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(partition: u8, segment: char, suffix: &str) -> String {
        let id = String::from_iter([segment; 21]) + "A";
        format!("p/t-AAAAAAAAAAAAAAAAAAAAAQ/{partition}/00000000000000000100-{id}.{suffix}")
    }

    fn gathered(keys: &[String]) -> Vec<Found> {
        let mut gatherer = Gatherer::new("p/");
        let mut found: Vec<_> = keys.iter().zip(1..).flat_map(|(key, bytes)| gatherer.add(key, bytes)).collect();
        found.extend(gatherer.rest());
        found
    }

    /// Segment, size, objects that it lacks.
    fn told(found: &[Found]) -> Vec<String> {
        let one = |found: &Found| match found {
            Found::Segment(segment) => {
                let letter = segment.name.segment_id.to_string().remove(0);
                format!(
                    "{}{letter} {} {:?}",
                    segment.name.partition,
                    segment.bytes(),
                    Vec::from_iter(segment.lacking())
                )
            }
            Found::Foreign { object, bytes } => format!("{object} {bytes}"),
        };
        found.iter().map(one).collect()
    }

    #[test]
    fn three_objects_in_any_order_are_one_segment() {
        let keys = [
            key(0, 'b', "rsm-manifest"),
            key(0, 'a', "log"),
            key(0, 'c', "ucseg"),
            key(0, 'b', "log"),
            key(0, 'a', "indexes"),
            key(0, 'b', "indexes"),
            key(0, 'a', "rsm-manifest"),
        ];
        assert_eq!(told(&gathered(&keys)), ["0c 3 []", "0b 11 []", "0a 14 []"]);
    }

    #[test]
    fn what_lacks_an_object_is_told_when_its_folder_is_over() {
        let keys = [key(0, 'a', "log"), key(0, 'b', "rsm-manifest"), key(1, 'a', "log"), "p/x.log".to_owned()];
        assert_eq!(
            told(&gathered(&keys)),
            ["0a 1 [Indexes, Manifest]", "0b 2 [Log, Indexes]", "1a 3 [Indexes, Manifest]", "p/x.log 4"]
        );
    }

    #[test]
    fn both_layouts_of_one_segment_are_two_findings() {
        let keys = [key(0, 'a', "log"), key(0, 'a', "ucseg"), key(0, 'a', "indexes"), key(0, 'a', "rsm-manifest")];
        assert_eq!(told(&gathered(&keys)), ["0a 2 []", "0a 8 []"]);
    }

    #[test]
    fn halves_beyond_the_bound_are_handed_out() {
        let mut gatherer = Gatherer::new("");
        let mut handed = 0;
        for number in 0..=HALVES_MAX {
            let key = format!("t-AAAAAAAAAAAAAAAAAAAAAQ/0/{number:020}-AAAAAAAAAAAAAAAAAAAAAA.log");
            handed += gatherer.add(&key, 1).len();
        }
        assert_eq!((handed, gatherer.rest().len()), (HALVES_MAX, 1));
    }
}
