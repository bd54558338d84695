//! Rules that a simulator switches off one by one, to see that it notices.

/// Which of the rules are kept. All of them, outside of a simulator.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one switch per rule, each flipped alone")]
pub struct Laws {
    /// 1: an update of an unknown segment waits for its whole record.
    pub keeps_early_updates: bool,
    /// 2: a claim counts only while the attempt is open.
    pub claims_only_open_attempts: bool,
    /// 2: a whole record changes the state of a known segment only from the first one.
    pub whole_changes_only_open_attempts: bool,
    /// 2: a whole COPY_SEGMENT_FINISHED overrules a claim.
    pub whole_finish_overrules_claim: bool,
    /// 3: a short key belongs to one segment for ever.
    pub short_key_has_one_owner: bool,
    /// 4: deletions have keys of their own. Off: everything stands under `:UPDATE`, as the KIP has it.
    pub lanes_are_apart: bool,
    /// 5: each claim has a new key. Off: all claims of a segment have the same.
    pub claims_have_own_keys: bool,
    /// 6: what rests on a record without a key is said again.
    pub backfills: bool,
    /// 7: with an unknown epoch every key has the segment's id.
    pub unknown_epoch_needs_id: bool,
    /// 8: base keys are emptied first, the rest only when no base key is left.
    pub base_keys_go_first: bool,
    /// 8: nothing is emptied before Z is over.
    pub tombstones_wait: bool,
    /// 8: a reader forgets a segment when its last base key is emptied.
    pub forgets_with_last_base: bool,
    /// 8: keys of refused records are emptied too.
    pub refused_records_count: bool,
    /// 9: only a leader whose reader is current decides.
    pub only_current_leaders_decide: bool,
    /// 14: updates and rewrites repeat the custom metadata.
    pub repeats_custom_metadata: bool,
}

impl Laws {
    /// As they must be.
    pub const ALL: Self = Self {
        keeps_early_updates: true,
        claims_only_open_attempts: true,
        whole_changes_only_open_attempts: true,
        whole_finish_overrules_claim: true,
        short_key_has_one_owner: true,
        lanes_are_apart: true,
        claims_have_own_keys: true,
        backfills: true,
        unknown_epoch_needs_id: true,
        base_keys_go_first: true,
        tombstones_wait: true,
        forgets_with_last_base: true,
        refused_records_count: true,
        only_current_leaders_decide: true,
        repeats_custom_metadata: true,
    };
}

impl Default for Laws {
    fn default() -> Self {
        Self::ALL
    }
}
