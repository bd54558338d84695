//! The end of a manager.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_fails_what_is_in_flight_and_all_later_calls() {
    let log = ScriptedLog::new(1);
    let manager = leading(&log).await;
    log.hold_reading(true);
    let unread = manager.add(segment(1, 0), Duration::ZERO).expect("is let in");
    log.are_appends_held.send_replace(true);
    let unsent = manager.add(segment(1, 1), Duration::ZERO).expect("is let in");
    let began = Instant::now();
    manager.close();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for pending in [unread, unsent] {
        assert!(matches!(end(Ok(pending)).await, Err(MetadataError::Closed)));
    }
    let p = partition(1);
    let closed = |error: Option<MetadataError>| matches!(error, Some(MetadataError::Closed));
    assert!(closed(manager.add(segment(1, 2), Duration::ZERO).err()));
    assert!(closed(manager.update(to(1, 0, CopyFinished), Duration::ZERO).err()));
    assert!(closed(manager.find(&p, LeaderEpoch(0), Offset(0)).err()));
    assert!(closed(manager.list(&p, None).err()));
    assert!(closed(manager.lead_and_follow(&[], &[]).err()));
    assert!(closed(manager.stop(&[]).err()));
    assert!(!manager.is_ready(&p));
    assert!(metric(&manager, "partitions-assigned").abs() < 0.1, "metrics outlive it");
    manager.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_add_that_waits_for_its_epoch_is_woken_by_close() {
    let log = ScriptedLog::new(1);
    log.epochs.lock().extend((0..10_000).map(|_| Err(scripted::unreachable())));
    let manager = over(&log, &[]);
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    let waiting = manager.clone();
    let call = std::thread::spawn(move || waiting.add(segment(1, 0), PATIENCE).err());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    manager.close();
    assert!(matches!(call.join().expect("no panic"), Some(MetadataError::Closed)));
    assert!(began.elapsed() < PATIENCE / 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manager_that_never_reached_its_log_closes_at_once() {
    let log = ScriptedLog::new(1);
    log.ensure_failures.lock().extend((0..10_000).map(|_| scripted::unreachable()));
    let manager = over(&log, &[("remote.log.metadata.initialization.retry.interval.ms", "100000")]);
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    let began = Instant::now();
    manager.close();
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_clone_that_goes_frees_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let manager = embedded(folder.path());
    manager.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("ready", || manager.is_ready(&partition(1))).await;
    drop(manager.clone());
    assert!(manager.is_ready(&partition(1)));
    drop(manager);
    let next = embedded(folder.path());
    next.lead_and_follow(&[assigned(1, None)], &[]).expect("assigns");
    until("the next one has it", || next.is_ready(&partition(1))).await;
    next.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn closing_during_calls_answers_all_of_them() {
    for round in 0..10 {
        let folder = tempfile::tempdir().expect("a folder");
        let manager = embedded(folder.path());
        manager.lead_and_follow(&[assigned(1, Some(0))], &[]).expect("assigns");
        until("ready", || manager.is_ready(&partition(1))).await;
        let callers: Vec<_> = (0..4_u32)
            .map(|caller| {
                let manager = manager.clone();
                tokio::spawn(async move {
                    for number in 0.. {
                        match add(&manager, 1, caller * 100_000 + number).await {
                            Ok(()) => {}
                            Err(MetadataError::Closed) => return,
                            Err(other) => panic!("{other}"),
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(round)).await;
        manager.close();
        for caller in callers {
            caller.await.expect("no panic");
        }
    }
}
