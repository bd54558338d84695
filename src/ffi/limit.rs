//! Lines of crates that say the same for each thing that fails: few of them reach the host.

use std::collections::BTreeMap;

/// One line of each target in so long.
const EVERY_MS: i64 = 60_000;
/// Crates whose lines are limited: the disk cache's engine warns of each chunk of a damaged folder.
const LIMITED: &str = "foyer";
/// Targets that are told apart. There are a dozen; more would share the last one.
const TARGETS_MAX: usize = 64;

/// What was let through, of each target.
#[derive(Debug)]
pub struct Limit {
    targets: BTreeMap<String, Told>,
}

#[derive(Debug)]
struct Told {
    last_ms: i64,
    left_out: u64,
}

impl Limit {
    pub const fn new() -> Self {
        Self { targets: BTreeMap::new() }
    }

    /// Whether lines of a target are limited at all.
    pub fn is_of(target: &str) -> bool {
        target.starts_with(LIMITED)
    }

    /// Whether a line may go on: how many were left out since the last one that did; `None` if this one is left out, too.
    pub fn admit(&mut self, target: &str, now_ms: i64) -> Option<u64> {
        if !Self::is_of(target) {
            return Some(0);
        }
        let target = if self.targets.len() < TARGETS_MAX { target } else { LIMITED };
        let Some(told) = self.targets.get_mut(target) else {
            self.targets.insert(target.to_owned(), Told { last_ms: now_ms, left_out: 0 });
            return Some(0);
        };
        // A clock that was put back starts anew.
        if (told.last_ms..told.last_ms.saturating_add(EVERY_MS)).contains(&now_ms) {
            told.left_out += 1;
            return None;
        }
        told.last_ms = now_ms;
        Some(std::mem::take(&mut told.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_says_one_line_a_minute_and_how_many_it_left_out() {
        let mut limit = Limit::new();
        let engine = "foyer_storage::engine::block::engine";
        assert_eq!(limit.admit(engine, 1000), Some(0));
        for now_ms in 1000..60_999 {
            assert_eq!(limit.admit(engine, now_ms), None);
        }
        assert_eq!(limit.admit("foyer_storage::store", 2000), Some(0), "another target has its own");
        assert_eq!(limit.admit(engine, 61_000), Some(59_999));
        assert_eq!(limit.admit(engine, 61_001), None);
        assert_eq!(limit.admit(engine, 121_000), Some(1));
    }

    #[test]
    fn a_clock_that_is_put_back_silences_nobody() {
        let mut limit = Limit::new();
        assert_eq!(limit.admit("foyer", 1_000_000), Some(0));
        assert_eq!(limit.admit("foyer", 5), Some(0));
        assert_eq!(limit.admit("foyer", 6), None);
    }

    #[test]
    fn other_crates_and_our_own_lines_are_never_left_out() {
        let mut limit = Limit::new();
        for target in ["undercroft::storage", "librdkafka", "opendal::services"] {
            for now_ms in 0..10 {
                assert_eq!(limit.admit(target, now_ms), Some(0), "{target}");
            }
        }
        assert!(limit.targets.is_empty());
    }

    #[test]
    fn its_memory_is_bounded() {
        let mut limit = Limit::new();
        let told = (0..10_000).filter(|number| limit.admit(&format!("foyer::{number}"), 0).is_some()).count();
        assert!(told <= TARGETS_MAX + 1 && limit.targets.len() <= TARGETS_MAX + 1, "{told}");
    }
}
