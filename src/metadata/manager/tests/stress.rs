//! Everything at once.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_and_moving_assignments_lose_nothing() {
    const TOPICS: u8 = 6;
    const SEGMENTS: u32 = 60;
    let folder = tempfile::tempdir().expect("a folder");
    let manager = embedded(folder.path());
    let topics: Vec<_> = (1..=TOPICS).map(|topic| assigned(topic, Some(0))).collect();
    manager.lead_and_follow(&topics, &[]).expect("assigns");
    for topic in 1..=TOPICS {
        until("ready", || manager.is_ready(&partition(topic))).await;
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (manager, is_over) = (manager.clone(), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut answers = 0_u64;
                while !is_over.load(Ordering::SeqCst) {
                    for topic in 1..=TOPICS {
                        assert!(manager.is_ready(&partition(topic)));
                        let listed = manager.list(&partition(topic), Some(LeaderEpoch(0))).expect("lists");
                        let highest = manager.highest_offset(&partition(topic), LeaderEpoch(0)).expect("answers");
                        assert!(listed.is_sorted_by_key(|segment| segment.start_offset));
                        answers += u64::from(highest.is_some());
                    }
                }
                answers
            })
        })
        .collect();
    let mover = {
        let (manager, is_over) = (manager.clone(), Arc::clone(&is_over));
        tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let others: Vec<_> = (100..110).map(|topic| assigned(topic, Some(0))).collect();
                manager.lead_and_follow(&others, &[]).expect("assigns");
                tokio::time::sleep(Duration::from_millis(3)).await;
                let others: Vec<_> = others.into_iter().map(|other| other.partition).collect();
                manager.stop(&others).expect("stops");
            }
        })
    };
    let writers: Vec<_> = (1..=TOPICS)
        .map(|topic| {
            let manager = manager.clone();
            tokio::spawn(async move {
                for number in 0..SEGMENTS {
                    add(&manager, topic, number).await.expect("adds");
                    update(&manager, topic, number, CopyFinished).await.expect("finishes");
                    if number % 3 == 0 {
                        update(&manager, topic, number, DeleteStarted).await.expect("begins");
                        update(&manager, topic, number, DeleteFinished).await.expect("ends");
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no panic");
    }
    is_over.store(true, Ordering::SeqCst);
    mover.await.expect("no panic");
    for reader in readers {
        assert!(reader.join().expect("no panic") > 0);
    }
    for topic in 1..=TOPICS {
        assert_eq!(manager.list(&partition(topic), None).expect("lists").len(), 40);
        for number in 0..SEGMENTS {
            let expected = (number % 3 != 0).then(|| id(topic, number));
            assert_eq!(found(&manager, topic, i64::from(number) * 10 + 3), expected);
        }
    }
    assert!(metric(&manager, "writes-in-flight").abs() < 0.1);
    manager.close();
}

/// Prints; fails only if lookups have become absurdly slow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lookup_takes_microseconds() {
    let log = ScriptedLog::new(1);
    for number in 0..5_000 {
        let whole = SegmentMetadata { state: CopyFinished, ..segment(1, number) };
        log.store(0, None, Some(crate::wire::encode_segment(&whole, LeaderEpoch(-1), crate::wire::Version::V0)));
    }
    let manager = leading(&log).await;
    let p = partition(1);
    let per_call = |name: &str, call: &dyn Fn(i64)| {
        let began = Instant::now();
        (0..20_000).for_each(call);
        let ns = began.elapsed().as_nanos() / 20_000;
        println!("{name}: {ns} ns a call");
        ns
    };
    let find = per_call("find", &|n| assert!(found(&manager, 1, n).is_some()));
    per_call("is_ready", &|_| assert!(manager.is_ready(&p)));
    per_call("highest_offset", &|_| assert!(manager.highest_offset(&p, LeaderEpoch(0)).is_ok()));
    assert!(find < 200_000);
    manager.close();
}
