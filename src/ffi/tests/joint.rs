#![cfg(not(miri))]

use crate::config::Config;
use crate::ffi::joint::{self, Member, are_joined};
use crate::ffi::managed::Manager;
use crate::ffi::runtime;
use crate::metadata::MetadataManager;
use crate::storage::StorageManager;

fn open<M: Manager>(pairs: &[(&str, &str)]) -> Member {
    let mut config = Config::new();
    for (key, value) in pairs {
        config.set(key, value);
    }
    // Kept for the whole test run: a manager may not outlive its runtime.
    static LEASE: std::sync::OnceLock<std::sync::Arc<runtime::Lease>> = std::sync::OnceLock::new();
    let lease = LEASE.get_or_init(|| runtime::lease().expect("a runtime"));
    M::open(&config, lease.handle().clone()).expect("opens").member()
}

fn storage() -> Member {
    open::<StorageManager>(&[("storage.backend.class", "memory")])
}

fn metadata() -> (Member, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let pairs = [("undercroft.metadata.log", "embedded"), ("undercroft.metadata.embedded.path", path)];
    (open::<MetadataManager>(&pairs), folder)
}

#[test]
fn two_of_one_broker_are_joined_whoever_comes_first_and_again_after_one_was_replaced() {
    for is_storage_first in [true, false] {
        let broker = 900 + i64::from(is_storage_first);
        let (of_metadata, _folder) = metadata();
        let (s, m) = if is_storage_first {
            let s = joint::enrol(broker, storage());
            (s, joint::enrol(broker, of_metadata))
        } else {
            let m = joint::enrol(broker, of_metadata);
            (joint::enrol(broker, storage()), m)
        };
        assert!(are_joined(s, m));
        joint::leave(s);
        joint::leave(s);
        assert!(!are_joined(s, m));
        let next = joint::enrol(broker, storage());
        assert!(are_joined(next, m));
        joint::leave(m);
        assert!(!are_joined(next, m));
        joint::leave(next);
    }
}

#[test]
fn brokers_that_start_one_after_the_other_get_each_their_own_even_with_one_number() {
    let (first, _one) = metadata();
    let (second, _two) = metadata();
    let (s1, m1) = (joint::enrol(910, storage()), joint::enrol(910, first));
    let (s2, m2) = (joint::enrol(910, storage()), joint::enrol(910, second));
    assert!(are_joined(s1, m1) && are_joined(s2, m2));
    for number in [s1, m1, s2, m2] {
        joint::leave(number);
    }
}

#[test]
fn where_it_is_not_clear_who_belongs_to_whom_nobody_is_joined_but_by_hand() {
    let (of_metadata, _folder) = metadata();
    let (s1, s2) = (joint::enrol(920, storage()), joint::enrol(920, storage()));
    let m = joint::enrol(920, of_metadata);
    assert!(!are_joined(s1, m) && !are_joined(s2, m));
    joint::join(s2, m).expect("both are open");
    assert!(are_joined(s2, m));
    joint::join(s1, m).expect("both are open");
    assert!(are_joined(s1, m) && !are_joined(s2, m));
    joint::leave(s1);
    assert!(joint::join(s1, m).is_err());
    for number in [s2, m] {
        joint::leave(number);
    }
}

#[test]
fn without_a_number_nobody_is_joined() {
    let (of_metadata, _folder) = metadata();
    let (s, m) = (joint::enrol(-1, storage()), joint::enrol(-1, of_metadata));
    assert!(!are_joined(s, m));
    joint::leave(s);
    joint::leave(m);
}
