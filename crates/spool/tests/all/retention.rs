//! Retention on real files under a clock that the test drives.

use crate::support;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use support::{KINDS, files, volume};
use tempfile::TempDir;
use trunkline_spool::retention::{
    Action, CONFIRM, ClassRule, Pins, Reason, Removed, Retention, RetentionOptions, Swept,
};
use trunkline_spool::{Fault, Faults, Limit, Rewritten, read_lock, repair};

/// 2026-03-01T00:00:00Z.
const START: Duration = Duration::from_secs(1_772_323_200);
const HOUR: Duration = Duration::from_secs(3600);

/// A log of one segment an hour and class, from [`START`] on, 1000 octets each with 100 beside.
struct Log {
    fast: TempDir,
    slow: TempDir,
    faults: Arc<Faults>,
}

impl Log {
    fn new(hours: u32) -> Log {
        let log =
            Log { fast: tempfile::tempdir().unwrap(), slow: tempfile::tempdir().unwrap(), faults: Arc::default() };
        (0..hours).for_each(|h| ["sip", "rtp"].iter().for_each(|class| log.make(class, h)));
        log
    }

    fn make(&self, class: &str, hour: u32) {
        let path = self.fast.path().join(name(class, hour));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, vec![hour as u8; 1000]).unwrap();
        std::fs::write(path.with_extension("idx"), vec![hour as u8; 100]).unwrap();
        // It was written in the minute of its name.
        let written = SystemTime::UNIX_EPOCH + START + HOUR * hour + Duration::from_secs(59);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(written).unwrap();
    }

    fn options(&self, sip: ClassRule, rtp: ClassRule) -> RetentionOptions {
        let mut fast = volume(self.fast.path());
        fast.faults = Some(self.faults.clone());
        fast.limit = Limit::Octets(u64::MAX);
        RetentionOptions {
            folder: "packets".into(),
            classes: vec![("sip".to_owned(), sip), ("rtp".to_owned(), rtp)],
            volumes: vec![fast],
            slow: None,
            kinds: KINDS,
            keep_free: 0,
            passing: Vec::new(),
            pins: self.fast.path().join("packets/pins"),
        }
    }

    /// Hours of the segments that are left.
    fn left(&self, class: &str) -> Vec<u32> {
        hours_in(self.fast.path(), class)
    }
}

fn name(class: &str, hour: u32) -> String {
    format!("packets/{class}/2026/03/{:02}/{:02}/00-0.seg", 1 + hour / 24, hour % 24)
}

fn hours_in(folder: &Path, class: &str) -> Vec<u32> {
    let all = files(folder);
    (0..1000)
        .filter(|h| {
            let there = all.contains(&name(class, *h));
            assert_eq!(there, all.contains(&name(class, *h).replace("seg", "idx")), "{class} {h}");
            there
        })
        .collect()
}

fn age(hours: u32) -> ClassRule {
    ClassRule { age: Some(HOUR * hours), ..ClassRule::default() }
}

/// Runs retention at so many hours after the start by both clocks.
fn run_at(retention: &mut Retention, hours: u32, seconds: u64) -> Swept {
    let since = HOUR * hours + Duration::from_secs(seconds);
    retention.run(SystemTime::UNIX_EPOCH + START + since, since).unwrap()
}

fn open_at(options: RetentionOptions, hours: u32) -> Retention {
    Retention::open(options, HOUR * hours).unwrap()
}

#[test]
fn what_is_too_old_leaves_with_all_that_belongs_to_it() {
    let log = Log::new(48);
    let mut retention = open_at(log.options(age(40), age(10)), 48);
    let swept = run_at(&mut retention, 48, 0);
    assert_eq!(log.left("sip"), (8..48).collect::<Vec<_>>());
    assert_eq!(log.left("rtp"), (38..48).collect::<Vec<_>>());
    assert_eq!(swept.removed.len(), 8 + 38);
    assert!(swept.removed.iter().all(|r| r.octets == 1100 && r.reason == Reason::Age && r.action == Action::Delete));
    assert_eq!(swept.octets, [40 * 1100, 10 * 1100]);
    assert_eq!(swept.oldest_ns[1], Some((START + HOUR * 38).as_nanos() as i64));
    // Nothing is left of the first day's folders of the one, but those of the other.
    assert!(!log.fast.path().join("packets/rtp/2026/03/01").exists());
    assert!(log.fast.path().join("packets/sip/2026/03/01/08").exists());
    assert_eq!(run_at(&mut retention, 48, 1).removed, []);
}

#[test]
fn what_is_pinned_or_read_stays_until_it_is_not() {
    let log = Log::new(20);
    let options = log.options(age(5), age(5));
    let pins = Pins::new(&options.pins);
    let at = |hour: u32| (START + HOUR * hour + Duration::from_secs(30)).as_nanos() as i64;
    let pin = pins.pin(Some("sip"), (at(3), at(4)), "case 7").unwrap();
    let reader = read_lock(&log.fast.path().join(name("rtp", 6))).unwrap();
    let mut retention = open_at(options, 20);
    let swept = run_at(&mut retention, 20, 0);
    assert_eq!(log.left("sip"), [3, 4, 15, 16, 17, 18, 19]);
    assert_eq!(log.left("rtp"), [6, 15, 16, 17, 18, 19]);
    assert_eq!(swept.in_use, 1);
    drop(reader);
    pins.unpin(pin.id).unwrap();
    assert_eq!(run_at(&mut retention, 20, 1).removed.len(), 3);
    assert_eq!(log.left("sip"), log.left("rtp"));
}

/// A segment of an hour is named after its first minute: a restart knows until when it was written, so that a pin on
/// its middle holds it and its age counts from its end.
#[test]
fn a_segment_that_was_written_for_an_hour_is_held_and_ages_by_its_end() {
    let log = Log::new(20);
    for (class, hour) in (0..20).flat_map(|hour| [("sip", hour), ("rtp", hour)]) {
        let written = SystemTime::UNIX_EPOCH + START + HOUR * (hour + 1);
        let path = log.fast.path().join(name(class, hour));
        std::fs::File::options().write(true).open(path).unwrap().set_modified(written).unwrap();
    }
    let options = log.options(age(5), age(5));
    let middle = (START + HOUR * 3 + HOUR / 2).as_nanos() as i64;
    Pins::new(&options.pins).pin(Some("sip"), (middle, middle + 1), "case 8").unwrap();
    let mut retention = open_at(options, 20);
    run_at(&mut retention, 20, 0);
    assert_eq!(log.left("sip"), [3, 14, 15, 16, 17, 18, 19]);
    assert_eq!(log.left("rtp"), [14, 15, 16, 17, 18, 19]);
}

#[test]
fn nothing_leaves_while_the_pins_cannot_be_read() {
    let log = Log::new(20);
    let options = log.options(age(5), age(5));
    std::fs::write(&options.pins, "nonsense").unwrap();
    let mut retention = open_at(options, 20);
    assert!(retention.run(SystemTime::UNIX_EPOCH + START + HOUR * 20, HOUR * 20).is_err());
    assert_eq!(log.left("sip").len(), 20);
}

#[test]
fn too_little_space_takes_the_oldest_and_not_one_more() {
    let log = Log::new(30);
    let mut options = log.options(ClassRule::default(), ClassRule::default());
    options.keep_free = 10_000;
    let mut retention = open_at(options, 30);
    log.faults.set(Fault { space: Some(10_000), ..Fault::default() });
    assert_eq!(run_at(&mut retention, 30, 0).removed, []);
    log.faults.set(Fault { space: Some(10_000 - 3_400), ..Fault::default() });
    let swept = run_at(&mut retention, 30, 1);
    assert!(swept.removed.iter().all(|r| r.reason == Reason::FreeSpace));
    assert_eq!((log.left("sip").len(), log.left("rtp").len()), (28, 28));
}

#[test]
fn a_volume_keeps_its_limit_and_the_slow_one_takes_the_rest() {
    let log = Log::new(30);
    let mut options = log.options(ClassRule::default(), ClassRule::default());
    options.volumes[0].limit = Limit::Octets(20 * 1100);
    let mut slow = volume(log.slow.path());
    slow.limit = Limit::Octets(30 * 1100);
    options.slow = Some(slow);
    let mut retention = open_at(options.clone(), 30);
    let swept = run_at(&mut retention, 30, 0);
    assert_eq!(log.left("sip"), (20..30).collect::<Vec<_>>());
    assert_eq!(hours_in(log.slow.path(), "rtp"), (5..20).collect::<Vec<_>>());
    let count = |action| swept.removed.iter().filter(|r: &&Removed| r.action == action).count();
    assert_eq!((count(Action::Delete), count(Action::Move)), (10, 30));
    assert_eq!(std::fs::read(log.slow.path().join(name("sip", 7))).unwrap(), [7; 1000]);
    assert_eq!(run_at(&mut retention, 30, 1).removed, []);
    // A move that was cut off after its commit: the segment is on both.
    log.make("sip", 7);
    let mut retention = open_at(options, 30);
    assert_eq!(run_at(&mut retention, 30, 2).removed, []);
    assert_eq!(log.left("sip"), (20..30).collect::<Vec<_>>());
    // And one before it.
    std::fs::write(log.slow.path().join("packets/sip/x.seg.move"), b"half").unwrap();
    std::fs::write(log.slow.path().join("packets/sip/x.idx"), b"half").unwrap();
    let repaired = repair(log.slow.path(), KINDS, Duration::ZERO, &mut support::mend).unwrap();
    assert_eq!(repaired.orphans.len(), 2);
}

#[test]
fn a_clock_that_jumps_deletes_nothing_by_age_until_it_lasts() {
    for jump in [24 * 365 * 9, -24 * 365 * 9i64] {
        let log = Log::new(20);
        let mut retention = open_at(log.options(age(30), age(30)), 20);
        assert!(!run_at(&mut retention, 20, 0).ages_suspended);
        let run = |retention: &mut Retention, seconds: u64| {
            let wall = START.as_secs() as i64 + 20 * 3600 + jump * 3600 + seconds as i64;
            let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(wall as u64);
            retention.run(wall, HOUR * 20 + Duration::from_secs(seconds)).unwrap()
        };
        for seconds in 1..CONFIRM.as_secs() {
            let swept = run(&mut retention, seconds);
            assert!(swept.ages_suspended && swept.removed.is_empty());
        }
        // What is committed now is young, whatever the clock will say.
        log.make("sip", 20);
        let path = log.fast.path().join(name("sip", 20));
        let at_ns = (START + HOUR * 20).as_nanos() as i64;
        retention.committed(&path, 1000, (at_ns, at_ns), HOUR * 20 + Duration::from_secs(590));
        let swept = run(&mut retention, CONFIRM.as_secs() + 1);
        assert!(!swept.ages_suspended);
        let left = if jump > 0 { vec![20] } else { (0..21).collect() };
        assert_eq!(log.left("sip"), left, "{jump}");
    }
}

#[test]
fn hours_of_a_driven_clock() {
    let log = Log::new(0);
    let rule = ClassRule { octets: Some(30 * 1100), ..age(100) };
    let mut retention = open_at(log.options(rule, age(12)), 0);
    for hour in 0..200 {
        for class in ["sip", "rtp"] {
            log.make(class, hour);
            let span_ns = (START + HOUR * hour).as_nanos() as i64;
            let path = log.fast.path().join(name(class, hour));
            retention.committed(&path, 1000, (span_ns, span_ns), HOUR * hour);
        }
        let swept = run_at(&mut retention, hour, 60);
        assert!(swept.failed.is_empty() && !swept.ages_suspended);
        assert_eq!(log.left("sip"), ((hour + 1).saturating_sub(30)..hour + 1).collect::<Vec<_>>());
        assert_eq!(log.left("rtp"), ((hour + 1).saturating_sub(12)..hour + 1).collect::<Vec<_>>());
    }
}

#[test]
fn a_segment_that_listing_missed_while_it_was_rewritten_is_known_again() {
    let log = Log::new(3);
    let at = |hour| log.fast.path().join(name("sip", hour));
    let packed = |hour| at(hour).with_extension("seg.zst");
    // Listing saw neither name of these: the one was gone, the other not there yet.
    let hidden = log.fast.path().join("hidden");
    for hour in [0, 1] {
        std::fs::rename(at(hour), hidden.with_extension(hour.to_string())).unwrap();
    }
    let mut retention = open_at(log.options(age(10), age(10)), 3);
    std::fs::rename(hidden.with_extension("0"), packed(0)).unwrap();
    let to = |hour| Rewritten { path: packed(hour), octets: 1000 };
    retention.rewritten(&at(0), &to(0));
    // It is told once more, and one that retention removed meanwhile is not there.
    retention.rewritten(&at(0), &to(0));
    retention.rewritten(&at(1), &to(1));
    assert_eq!(run_at(&mut retention, 3, 0).octets, [2 * 1100, 3 * 1100]);
    let left = run_at(&mut retention, 11, 0).removed;
    assert!(left.iter().any(|r| r.path == packed(0)) && !packed(0).exists(), "{left:?}");
}
