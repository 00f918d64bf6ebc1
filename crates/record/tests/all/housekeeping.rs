//! The recorder at work beside recording: what is old leaves, what is pinned or read stays, a program is run for each
//! segment, other processes find the volumes, and rules change while packets come.
//!
//! Test group: waits: for retention that runs each second.

use crate::eventually::{PATIENCE, eventually};
use crate::traffic;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use traffic::{Lane, files, found, now_ns, options, segments};
use trunkline_record::index::Span;
use trunkline_record::job::{Keep, News, PINS, Volumes, Wish, list};
use trunkline_record::names::segment_name;
use trunkline_record::{Class, ClassRules, Recorder, Rules, Snap};
use trunkline_spool::retention::{ClassRule, Pins};
use trunkline_spool::{Fault, Faults, Limit, Options, Volume, What, read_lock};

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 86_400 * SECOND;

fn open(options: Options, keep: Keep) -> Recorder {
    let rules = Rules { segment_octets: 100_000, ..Rules::default() };
    let (mut recorder, _) = Recorder::open(options, rules).unwrap();
    recorder.keep(keep).unwrap();
    recorder
}

fn of_class(class: Class, rule: ClassRule) -> Keep {
    let mut keep = Keep { limit: Limit::Percent(100), ..Keep::default() };
    keep.classes[class as usize] = rule;
    keep
}

/// A segment of an earlier run, with its index.
fn old(volume: &Path, class: Class, at_ns: i64) -> PathBuf {
    let path = volume.join(segment_name(class, at_ns, 0, 0));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, vec![0; 10_000]).unwrap();
    std::fs::write(path.with_extension("idx"), b"index").unwrap();
    path
}

fn counted(recorder: &Recorder, name: &str) -> u64 {
    recorder.report().unwrap().list().iter().find(|c| c.name == name).unwrap().value
}

#[test]
fn what_is_old_leaves_and_what_is_pinned_or_read_stays() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let now = now_ns();
    let [aged, young] = [9, 1].map(|days| old(data, Class::Rtp, now - days * DAY));
    let [pinned, read] = [20, 30].map(|days| old(data, Class::Rtp, now - days * DAY));
    let kept = old(data, Class::Sip, now - 90 * DAY);
    let pins = Pins::new(data.join(PINS));
    pins.pin(Some("rtp"), (now - 20 * DAY, now - 20 * DAY), "a case").unwrap();
    let lock = read_lock(&read).unwrap();
    let recorder = open(
        options(Volume::new(data)),
        of_class(Class::Rtp, ClassRule { age: Some(Duration::from_secs(7 * 86_400)), ..ClassRule::default() }),
    );
    eventually("the aged one leaves", || !aged.exists());
    assert!(!aged.with_extension("idx").exists(), "its index leaves with it");
    eventually("the one that is read is told", || recorder.report().unwrap().in_use == 1);
    assert!([&young, &pinned, &read, &kept].iter().all(|p| p.exists() && p.with_extension("idx").exists()));
    drop(lock);
    eventually("it leaves when it is read no more", || !read.exists());
    assert!(pinned.exists() && kept.exists());
    // The file is gone a moment before it is counted.
    eventually("it is counted", || counted(&recorder, "trunkline_record_deleted_segments_total") == 2);
    let left: usize =
        recorder.news().iter().map(|n| if let News::Left(swept) = n { swept.removed.len() } else { 0 }).sum();
    assert_eq!(left, 2);
    assert!(recorder.report().unwrap().oldest_ns[0].is_some_and(|at| at < now - 89 * DAY));
}

#[test]
fn what_is_recorded_stays_within_its_size_while_recording() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 500_000;
    let recorder = open(
        options(Volume::new(folder.path())),
        of_class(Class::Rtp, ClassRule { octets: Some(limit), ..ClassRule::default() }),
    );
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    let mut most = 0;
    eventually("segments leave", || {
        for _ in 0..100 {
            lane.send(Class::Rtp, now_ns(), 1000);
            lane.send(Class::Sip, now_ns(), 1000);
        }
        recorder.events();
        most = most.max(recorder.report().unwrap().octets[1]);
        counted(&recorder, "trunkline_record_deleted_segments_total") >= 10
    });
    assert!(most <= limit, "{most}");
    // A limit that is set while it runs.
    recorder_keeps(recorder, lane, folder.path());
}

fn recorder_keeps(mut recorder: Recorder, mut lane: Lane, data: &Path) {
    recorder.keep(of_class(Class::Sip, ClassRule { octets: Some(300_000), ..ClassRule::default() })).unwrap();
    eventually("signalling leaves, too", || {
        recorder.events();
        recorder.report().unwrap().octets[0] <= 300_000
    });
    lane.log.finish();
    let sent = lane.sent;
    drop(lane);
    recorder.close(PATIENCE);
    let there = found(&segments(data));
    let newest = there.get(&(0, 0, 1)).and_then(|numbers| numbers.last().copied());
    assert_eq!(newest, Some(sent[1] - 1), "the newest stay");
    let sip = &there[&(0, 0, 0)];
    assert_eq!(*sip.last().unwrap() - *sip.first().unwrap() + 1, sip.len() as u64, "the oldest left, none in between");
}

#[test]
fn a_full_volume_gives_to_the_slow_tier_and_both_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let [data, more, slow] = ["data", "more", "slow"].map(|name| folder.path().join(name));
    let mut options = options(Volume::new(&data));
    options.volumes.push(Volume::new(&more));
    options.slow = Some(slow.clone());
    for volume in &mut options.volumes {
        volume.limit = Limit::Octets(300_000);
    }
    let recorder = open(options, Keep { limit: Limit::Octets(300_000), ..Keep::default() });
    let volumes = Volumes::of(&data).unwrap();
    assert_eq!(volumes.all().collect::<Vec<_>>(), [&data, &more, &slow]);
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    eventually("segments move, and leave", || {
        for _ in 0..100 {
            lane.send(Class::Other, now_ns(), 1000);
        }
        recorder.events();
        let counted = |name| counted(&recorder, name);
        counted("trunkline_record_moved_segments_total") >= 3 && counted("trunkline_record_deleted_segments_total") >= 3
    });
    lane.log.finish();
    drop(lane);
    recorder.close(PATIENCE);
    assert!(!segments(&slow).is_empty() && !segments(&more).is_empty());
    let all: Vec<PathBuf> = volumes.all().flat_map(segments).collect();
    for segment in &all {
        assert!(segment.with_extension("idx").exists(), "{}", segment.display());
    }
    // Each packet once.
    found(&all);
    let wish = Wish { span: Span::ALL, classes: Class::ALL.to_vec() };
    let mut listed: Vec<PathBuf> = list(&data, 0, &wish).unwrap().into_iter().map(|f| f.path).collect();
    listed.sort();
    let mut all = all;
    all.sort();
    assert_eq!(listed, all, "who knows the data folder finds them all");
}

#[test]
fn a_program_runs_for_each_segment() {
    let folder = tempfile::tempdir().unwrap();
    let (data, list) = (folder.path().join("data"), folder.path().join("list"));
    let program = folder.path().join("program");
    // Fails for signalling, hangs for the rest that is no media.
    let text = format!(
        "#!/bin/sh\ntest -f \"$1\" || exit 9\ncase $1 in */sip/*) exit 4;; */other/*) exec sleep 1000;; esac\n\
        echo \"$#:$1\" >> '{}'\n",
        list.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let keep = Keep {
        limit: Limit::Percent(100),
        exec: Some(program),
        exec_patience: Duration::from_secs(3),
        ..Keep::default()
    };
    let recorder = open(options(Volume::new(&data)), keep);
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    for _ in 0..400 {
        lane.send(Class::Rtp, now_ns(), 1000);
    }
    lane.send(Class::Sip, now_ns(), 100);
    lane.send(Class::Other, now_ns(), 100);
    lane.log.finish();
    drop(lane);
    // Those that wait when it ends are run, too.
    let closed = recorder.close(PATIENCE);
    let counters = closed.report.unwrap().counters;
    let media = segments(&data).iter().filter(|s| s.to_string_lossy().contains("/rtp/")).count() as u64;
    assert!(media >= 4);
    assert_eq!((counters.errands, counters.errands_failed, counters.errands_killed), (media, 1, 1));
    let told: Vec<String> = closed
        .news
        .iter()
        .filter_map(|n| if let News::Errand(_, ending) = n { Some(ending.to_string()) } else { None })
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    let listed = std::fs::read_to_string(list).unwrap();
    let mut paths: Vec<&str> = listed.lines().map(|line| line.strip_prefix("1:").unwrap()).collect();
    paths.sort_unstable();
    let mut expected = segments(&data);
    expected.retain(|s| s.to_string_lossy().contains("/rtp/"));
    assert_eq!(paths.len(), expected.len());
    assert!(expected.iter().all(|s| paths.contains(&s.to_str().unwrap())));
}

#[test]
fn rules_change_while_packets_come() {
    let folder = tempfile::tempdir().unwrap();
    let (recorder, _) = Recorder::open(options(Volume::new(folder.path())), Rules::default()).unwrap();
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    let at = now_ns();
    let send = |lane: &mut Lane, at_ns: i64| {
        lane.log.tick(at_ns);
        for i in 0..10 {
            for class in Class::ALL {
                lane.send(class, at_ns + i, 500);
            }
        }
    };
    send(&mut lane, at);
    let mut rules = Rules::default();
    rules.classes[Class::Other as usize].record = false;
    rules.classes[Class::Rtp as usize] = ClassRules { record: true, snap: Snap::Octets(64) };
    rules.segment_ns = SECOND;
    recorder.follow(rules);
    for second in 1..4 {
        send(&mut lane, at + second * SECOND);
    }
    recorder.follow(Rules::default());
    send(&mut lane, at + 4 * SECOND);
    lane.log.finish();
    drop(lane);
    recorder.close(PATIENCE);
    let there = found(&segments(folder.path()));
    let numbers = |class: Class| there[&(0, 0, class as u8)].iter().copied().collect::<Vec<u64>>();
    assert_eq!(numbers(Class::Sip), (0..50).collect::<Vec<_>>());
    assert_eq!(numbers(Class::Rtp), (0..50).collect::<Vec<_>>());
    assert_eq!(numbers(Class::Other), (0..10).chain(40..50).collect::<Vec<_>>());
    let of =
        |class: &str| segments(&folder.path().join("")).iter().filter(|s| s.to_string_lossy().contains(class)).count();
    // One before, one each second, one after: by other rules another segment.
    assert_eq!((of("/sip/"), of("/other/")), (5, 2));
    assert!(files(folder.path()).iter().all(|f| f.extension().is_none_or(|e| e != "part")));
}

#[test]
fn what_closing_itself_seals_is_run_for_or_counted() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Arc::new(Faults::default());
    let volume = Volume { faults: Some(Arc::clone(&faults)), ..Volume::new(folder.path()) };
    let keep = Keep { limit: Limit::Percent(100), exec: Some("/bin/true".into()), ..Keep::default() };
    let recorder = open(options(volume), keep);
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    for class in Class::ALL {
        lane.send(class, now_ns(), 1000);
    }
    // The disk answers when the patience is over; what it takes then is committed all the same.
    faults.set(Fault { write_delay: Duration::from_millis(200), ..Fault::default() });
    lane.log.finish();
    drop(lane);
    let closed = recorder.close(Duration::from_millis(50));
    let sealed = closed.events.iter().filter(|e| matches!(e.what, What::Sealed { .. })).count() as u64;
    assert!(sealed > 0, "{:?}", closed.stats);
    let counters = closed.report.unwrap().counters;
    assert_eq!(counters.errands + counters.errands_left_out, sealed, "{counters:?}");
}
