//! A listing that has no end, noticed in the memory of one name.
//!
//! A store that answers with the same page token again hands out the same names for ever. No name comes twice in a listing
//! that is right, so one remembered name is enough, if it is replaced ever more seldom (Brent's way to find a cycle).

/// Looks at the names of one listing.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    remembered: Option<String>,
    seen: u64,
    replace_at: u64,
}

impl Repeats {
    /// Whether the listing is known to go in circles, now that `name` has come. Of a circle of `n` names behind `m` others
    /// that is known after at most `3 (n + m) + 3`.
    pub(super) fn is_repeated(&mut self, name: &str) -> bool {
        if self.remembered.as_deref() == Some(name) {
            return true;
        }
        self.seen = self.seen.saturating_add(1);
        if self.seen > self.replace_at {
            self.remembered = Some(name.to_owned());
            self.replace_at = self.seen.saturating_mul(2);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_that_differ_are_no_circle() {
        let mut repeats = Repeats::default();
        assert!((0..10_000).all(|number| !repeats.is_repeated(&number.to_string())));
    }

    proptest! {
        /// Every circle is found, soon.
        #[test]
        fn a_circle_is_found(before in 0_usize..300, circle in 1_usize..300) {
            let names = (0..before).chain((before..before + circle).cycle());
            let mut repeats = Repeats::default();
            let bound = 3 * (before + circle) + 3;
            prop_assert!(names.take(bound).any(|name| repeats.is_repeated(&name.to_string())));
        }
    }
}
