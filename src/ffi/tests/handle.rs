use std::sync::Arc;

use proptest::prelude::*;

use crate::ffi::handle::Table;

fn open(table: &Table<u32>, value: u32) -> usize {
    table.insert(Arc::new(value)).expect("there is room")
}

#[test]
fn a_handle_is_found_until_it_is_removed_and_never_again() {
    let table = Table::new(0xC1);
    let handle = open(&table, 7);
    assert_eq!(table.get(handle).as_deref(), Some(&7));
    assert_eq!(table.remove(handle).as_deref(), Some(&7));
    assert_eq!(table.get(handle), None);
    assert_eq!(table.remove(handle), None);
}

#[test]
fn a_slot_that_is_used_again_has_another_handle() {
    let table = Table::new(0xC1);
    let mut seen = std::collections::HashSet::new();
    for value in 0..200 {
        let handle = open(&table, value);
        assert!(seen.insert(handle), "handle {handle:x} was given out twice");
        table.remove(handle);
    }
    assert!(seen.iter().all(|&old| table.get(old).is_none()));
}

#[test]
fn a_handle_of_one_table_is_none_of_another() {
    let (ours, theirs) = (Table::new(0xC1), Table::new(0xC2));
    let (handle, other) = (open(&ours, 1), open(&theirs, 2));
    assert_eq!(theirs.get(handle), None);
    assert_eq!(ours.remove(other), None);
    assert_eq!(theirs.get(other).as_deref(), Some(&2));
}

#[test]
fn who_holds_the_value_keeps_it_after_the_free() {
    let table = Table::new(0xC1);
    let handle = open(&table, 9);
    let held = table.get(handle).expect("open");
    table.remove(handle);
    assert_eq!((*held, Arc::strong_count(&held)), (9, 1));
}

#[test]
fn no_handle_is_the_address_of_anything() {
    let table = Table::new(0xC1);
    for value in 0..100 {
        // User space ends at bit 47 on this kind of machine, and null is no handle.
        assert!(open(&table, value) >> 56 >= 0xC0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 256 }, failure_persistence: None, ..Default::default() })]

    /// Law: whatever was not handed out is not found, and what was is found exactly until it is removed.
    #[test]
    fn any_number_may_be_looked_up(random in any::<usize>(), steps in proptest::collection::vec(any::<u8>(), 0..60)) {
        let table = Table::new(0xC1);
        let mut open: Vec<(usize, u32)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            if step < 160 || open.is_empty() {
                let value = u32::try_from(number).expect("few");
                open.push((table.insert(Arc::new(value)).expect("room"), value));
            } else {
                let (handle, value) = open.swap_remove(usize::from(step) % open.len());
                prop_assert_eq!(table.remove(handle).map(|held| *held), Some(value));
                prop_assert!(table.remove(handle).is_none());
            }
        }
        for (handle, value) in &open {
            prop_assert_eq!(table.get(*handle).map(|held| *held), Some(*value));
        }
        if open.iter().all(|(handle, _)| *handle != random) {
            prop_assert!(table.get(random).is_none());
            prop_assert!(table.remove(random).is_none());
        }
    }
}
