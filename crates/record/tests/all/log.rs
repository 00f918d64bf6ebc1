//! What is recorded is there: every packet, once, in segments that other programs read, with an index that agrees.

use crate::eventually::{PATIENCE, awaited, eventually};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trunkline_capture::filter::Expression;
use trunkline_capture::{Batch, CaptureLoss, FileSource, LossPlace, Packet};
use trunkline_record::index::{FileMark, Span, View};
use trunkline_record::job::{Extraction, Follow, Recorder, Selection, Wanted, Wish, list};
use trunkline_record::query::Query;
use trunkline_record::{Class, ClassRules, LaneLog, Rules, Snap};
use trunkline_sim::{Preset, Settings};
use trunkline_spool::{Fault, Faults, Options, Volume};
use trunkline_wire::Decoded;

/// Time, link type, length on the wire, octets.
type Seen = (i64, u16, u32, Vec<u8>);

fn world(folder: &Path) -> PathBuf {
    let file = folder.join("world.pcap");
    let settings = Settings { calls: 40, ..Settings::preset(Preset::Demo) };
    trunkline_sim::write(&settings, File::create(&file).unwrap(), None::<&mut Vec<u8>>, &mut |_, _| {}).unwrap();
    file
}

fn class_of(decoded: &Decoded, octets: &[u8]) -> Class {
    match decoded {
        Decoded::Udp(d) => match octets.get(d.payload_start as usize) {
            Some(128..=191) => Class::Rtp,
            _ => Class::Sip,
        },
        _ => Class::Other,
    }
}

fn each(files: &[PathBuf], mut take: impl FnMut(&Packet, &[u8])) {
    let mut source = FileSource::open(files);
    let mut batch = Batch::default();
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            take(packet, batch.octets_of(packet));
        }
    }
    for file in source.files() {
        assert_eq!(file.error.as_ref().map(ToString::to_string), None);
    }
}

/// Records a file; what was to be recorded, by class.
fn record(file: &Path, log: &mut LaneLog) -> BTreeMap<Class, Vec<Seen>> {
    let mut expected: BTreeMap<Class, Vec<Seen>> = BTreeMap::new();
    each(&[file.to_path_buf()], |packet, octets| {
        let decoded = trunkline_wire::decode(packet.link, octets);
        let class = class_of(&decoded, octets);
        let recorded = log.packet(packet, octets, &decoded, class);
        log.tick(packet.at_ns);
        assert!(recorded.is_some());
        expected.entry(class).or_default().push((packet.at_ns, packet.link, packet.wire, octets.to_vec()));
    });
    log.finish();
    expected
}

fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pcapng") {
                found.push(path);
            } else {
                let is_expected = path.extension().is_some_and(|e| e == "idx")
                    || path.ends_with(trunkline_record::job::volumes::FILE);
                assert!(is_expected, "{} was left behind", path.display());
            }
        }
    }
    found.sort();
    found
}

fn options(folder: &Path) -> Options {
    let mut options = Options::new(vec![Volume::new(folder)]).memory(64 << 20);
    options.keep_free = 0;
    options
}

#[test]
fn every_packet_is_in_a_segment_of_its_class_and_minute() {
    let folder = tempfile::tempdir().unwrap();
    let file = world(folder.path());
    let data = folder.path().join("data");
    let (recorder, _) = Recorder::open(options(&data), Rules::default()).unwrap();
    let mut log = recorder.lane(3, "eth7");
    let expected = record(&file, &mut log);
    assert_eq!(log.not_recorded(), []);
    drop(log);
    let closed = recorder.close(PATIENCE);
    assert_eq!(closed.stats.counts.lost_records, 0);
    for class in Class::ALL {
        let files = segments(&data.join("packets").join(class.name()));
        assert!(files.len() > 1, "several minutes");
        let mut found: Vec<Seen> = Vec::new();
        each(&files, |p, octets| found.push((p.at_ns, p.link, p.wire, octets.to_vec())));
        assert!(found == expected[&class], "{}: {} of {}", class.name(), found.len(), expected[&class].len());
    }
    names_tell_the_minute(&data);
    indexes_agree(&data);
    others_read_them(&data, expected.values().map(Vec::len).sum());
}

/// Blocks that fill within the time of a flush go to the disk once; what waits longer goes before its block is full.
#[test]
fn what_waits_is_flushed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { block: 64 << 10, ..options(folder.path()) };
    let (recorder, _) = Recorder::open(options, Rules::default()).unwrap();
    let mut log = recorder.lane(0, "eth0");
    let (begins, ms) = (1_795_181_100_000_000_000, 1_000_000);
    // Sends a packet at this time; where its record ends.
    let send = |log: &mut LaneLog, at_ns| {
        let octets = [0x45; 1000];
        let packet = Packet { at_ns, number: 1, offset: 0, start: 0, captured: 1000, wire: 1000, link: 101, file: 0 };
        let recorded = log.packet(&packet, &octets, &trunkline_wire::decode(101, &octets), Class::Rtp).unwrap();
        log.tick(at_ns);
        recorded.offset + 1032
    };
    for n in 0..5000 {
        send(&mut log, begins + n * ms);
    }
    // The last of them are 60 ms old, and their block is not full.
    let last = begins + 4999 * ms;
    log.tick(last + 900 * ms);
    let end = send(&mut log, last + 901 * ms);
    log.tick(last + 1000 * ms);
    log.tick(last + 9000 * ms);
    let (blocks, octets) = (end / (64 << 10) + 1, end.next_multiple_of(4096));
    awaited("it is written", || {
        let counts = recorder.stats().counts;
        if counts.written_octets < end { Err(Box::new(counts)) } else { Ok(()) }
    });
    let counts = recorder.stats().counts;
    assert_eq!((counts.written_blocks, counts.device_octets, counts.written_octets), (blocks, octets, end));
    log.finish();
    drop(log);
    assert_eq!(recorder.close(PATIENCE).stats.counts.lost_records, 0);
}

/// A disk that hangs holds up one flush, and what waits behind it goes as soon as that is written: not after another
/// second, in which it would not outlive `kill -9` though the disk had long been well again.
#[test]
fn what_waits_behind_a_flush_goes_when_that_is_over() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Arc::new(Faults::default());
    let volume = Volume { faults: Some(Arc::clone(&faults)), ..Volume::new(folder.path()) };
    let options = Options { volumes: vec![volume], ..options(folder.path()) };
    let (recorder, _) = Recorder::open(options, Rules::default()).unwrap();
    let mut log = recorder.lane(0, "eth0");
    let (begins, ms) = (1_795_181_100_000_000_000, 1_000_000);
    let send = |log: &mut LaneLog, at_ns| {
        let octets = [0x45; 1000];
        let packet = Packet { at_ns, number: 1, offset: 0, start: 0, captured: 1000, wire: 1000, link: 101, file: 0 };
        log.packet(&packet, &octets, &trunkline_wire::decode(101, &octets), Class::Sip).unwrap();
        log.tick(at_ns);
        log.standing(Class::Sip).unwrap()
    };
    let until = |what: &str, is: &mut dyn FnMut() -> bool| {
        awaited(what, || if is() { Ok(()) } else { Err(Box::new(recorder.stats())) });
    };
    faults.set(Fault { write_delay: Duration::from_secs(3600), ..Fault::default() });
    send(&mut log, begins);
    let first = send(&mut log, begins + 1000 * ms);
    assert_eq!((first.handed_over, first.is_late), (first.recorded, false), "it is due");
    let second = send(&mut log, begins + 1001 * ms);
    assert_eq!((second.handed_over, second.is_late), (first.recorded, false), "it is not");
    for n in 2000..2010 {
        let behind = send(&mut log, begins + n * ms);
        assert_eq!((behind.handed_over, behind.is_late), (first.recorded, true), "{n}: the disk hangs");
    }
    until("it shows how long it waits", &mut || {
        recorder.stats().volumes[0].unwritten.is_some_and(|age| age > Duration::from_millis(50))
    });
    faults.set(Fault::default());
    until("the disk goes on", &mut || log.standing(Class::Sip).unwrap().on_disk == first.recorded);
    until("the flush is over", &mut || recorder.stats().volumes[0].unwritten.is_none());
    let after = send(&mut log, begins + 2010 * ms);
    assert_eq!((after.handed_over, after.is_late), (after.recorded, false), "nothing is held back any longer");
    until("it is written", &mut || log.standing(Class::Sip).unwrap().on_disk == after.recorded);
    let stats = recorder.stats();
    assert_eq!(stats.counts.skipped_flushes, 1, "one was left out, however often it was tried");
    let held = stats.volumes[0].held;
    assert!(held.count == 2 && held.max_us > 50_000, "{held:?}");
    log.finish();
    drop(log);
    recorder.close(PATIENCE);
}

/// What a lane recorded before it first looked at the time is as old as it is.
#[test]
fn what_came_before_the_first_look_is_not_younger_for_that() {
    let folder = tempfile::tempdir().unwrap();
    let (recorder, _) = Recorder::open(options(folder.path()), Rules::default()).unwrap();
    let mut log = recorder.lane(0, "eth0");
    let begins = 1_795_181_100_000_000_000;
    let octets = [0x45; 1000];
    let packet =
        Packet { at_ns: begins, number: 1, offset: 0, start: 0, captured: 1000, wire: 1000, link: 101, file: 0 };
    log.packet(&packet, &octets, &trunkline_wire::decode(101, &octets), Class::Rtp).unwrap();
    log.tick(begins + 999_999_999);
    assert_eq!(log.standing(Class::Rtp).unwrap().handed_over, 0);
    log.tick(begins + 1_000_000_000);
    let standing = log.standing(Class::Rtp).unwrap();
    assert_eq!(standing.handed_over, standing.recorded);
    assert_eq!(log.standing(Class::Sip), None);
}

fn names_tell_the_minute(data: &Path) {
    for file in segments(&data.join("packets")) {
        let name = file.to_string_lossy().into_owned();
        let minute: i64 = name.rsplit('/').next().unwrap().split('-').next().unwrap().parse().unwrap();
        each(&[file], |packet, _| assert_eq!(packet.at_ns / 60_000_000_000 % 60, minute, "{name}"));
        assert!(name.ends_with("-3.pcapng"), "{name}");
    }
}

fn indexes_agree(data: &Path) {
    for file in segments(&data.join("packets")) {
        let view = View::open(std::fs::read(file.with_extension("idx")).unwrap()).unwrap();
        view.check().unwrap();
        let octets = std::fs::metadata(&file).unwrap().len();
        assert!(view.facts().file.fits(&FileMark { octets, modified_ns: 0, head_check: 0 }));
        let mut packets = 0;
        each(&[file], |_, _| packets += 1);
        assert_eq!(view.facts().packets, packets);
    }
}

fn others_read_them(data: &Path, expected: usize) {
    let files = segments(&data.join("packets"));
    let mut found = 0;
    for file in &files {
        let Ok(out) = Command::new("tcpdump").args(["-nn", "-q", "-r"]).arg(file).output() else {
            println!("skipped: no tcpdump");
            return;
        };
        assert!(out.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&out.stderr));
        found += String::from_utf8_lossy(&out.stdout).lines().filter(|l| l.as_bytes()[0].is_ascii_digit()).count();
    }
    assert_eq!(found, expected);
}

#[test]
fn what_is_recorded_is_followed_and_read_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = world(folder.path());
    let data = [folder.path().join("data")];
    let (recorder, _) = Recorder::open(options(&data[0]), Rules::default()).unwrap();
    let mut lanes = [recorder.lane(0, "eth7"), recorder.lane(1, "eth7")];
    let selection = Selection { query: Query::all(), span: Span::ALL, wanted: Wanted::Matching };
    let mut follow = Follow::new(&data, &Class::ALL, &selection, &Expression);
    let (mut now, mut out) = (Instant::now(), VecDeque::new());
    follow.round(now, &mut out);
    let (mut expected, mut read_early, mut growing) = (Vec::new(), 0, 0);
    each(std::slice::from_ref(&file), |packet, octets| {
        let decoded = trunkline_wire::decode(packet.link, octets);
        let lane = &mut lanes[expected.len() % 2];
        assert!(lane.packet(packet, octets, &decoded, class_of(&decoded, octets)).is_some());
        lanes.iter_mut().for_each(|lane| lane.tick(packet.at_ns));
        expected.push((packet.at_ns, packet.link, packet.wire, octets.to_vec()));
        if expected.len() % 500 == 0 {
            now += Duration::from_millis(100);
            while follow.round(now, &mut out) {}
        }
        if expected.len() % 20_000 == 0 {
            let wish = Wish { span: Span::ALL, classes: Class::ALL.to_vec() };
            // The disk may need a moment. When those of a minute are sealed and nothing of the next is flushed yet,
            // none grows.
            eventually("what was flushed is written", || recorder.stats().volumes[0].unwritten.is_none());
            let files = list(&data[0], 0, &wish).unwrap();
            growing += usize::from(files.iter().any(|f| f.growing));
            let mut extraction = Extraction::new(&files, &selection, &Expression, &|_| {});
            read_early += std::iter::from_fn(|| extraction.next()).count();
            assert_eq!(extraction.finish().faults, []);
            let stop = AtomicBool::new(false);
            let mut stopped = Extraction::until(&files, &selection, &Expression, &|_| {}, &stop);
            stop.store(true, Ordering::Relaxed);
            assert!(stopped.next().is_none(), "nobody waits for it");
            assert_eq!(Extraction::until(&files, &selection, &Expression, &|_| {}, &stop).finish().files_read, 0);
        }
    });
    assert!(growing > 0, "segments are read while they are written");
    let seen_early = out.len();
    lanes.iter_mut().for_each(LaneLog::finish);
    drop(lanes);
    recorder.close(PATIENCE);
    for _ in 0..30 {
        now += Duration::from_millis(100);
        while follow.round(now, &mut out) {}
    }
    assert_eq!(follow.faults(), []);
    assert!(seen_early > 0 && read_early > 0, "nothing came before the end");
    let mut found: Vec<Seen> = out.into_iter().map(|f| (f.at_ns, f.link, f.wire, f.octets)).collect();
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
}

#[test]
fn rules_leave_out_and_cut() {
    let folder = tempfile::tempdir().unwrap();
    let file = world(folder.path());
    let data = folder.path().join("data");
    let whole = ClassRules { record: true, snap: Snap::Whole };
    let rules = Rules {
        classes: [whole, ClassRules { snap: Snap::Headers, ..whole }, ClassRules { record: false, ..whole }],
        ..Rules::default()
    };
    let (recorder, _) = Recorder::open(options(&data), rules).unwrap();
    let mut log = recorder.lane(0, "");
    let (mut media, mut left_out) = (0, 0);
    each(&[file], |packet, octets| {
        let decoded = trunkline_wire::decode(packet.link, octets);
        let class = class_of(&decoded, octets);
        media += u64::from(class == Class::Rtp);
        left_out += u64::from(class == Class::Other);
        log.packet(packet, octets, &decoded, class);
    });
    log.finish();
    let counted = |name: &str| log.counters().iter().find(|c| c.name == name).unwrap().value;
    assert_eq!(counted("trunkline_record_left_out_packets_total"), left_out);
    assert!(counted("trunkline_record_cut_octets_total") > 0 && left_out > 0);
    drop(log);
    recorder.close(PATIENCE);
    let mut cut = 0;
    each(&segments(&data.join("packets/rtp")), |packet, _| {
        assert!(packet.captured < 128 && packet.wire >= packet.captured);
        cut += 1;
    });
    assert_eq!(cut, media);
    assert!(!data.join("packets/other").exists());
}

#[test]
fn losses_at_the_ring_are_in_the_statistics_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = world(folder.path());
    let data = folder.path().join("data");
    let (recorder, _) = Recorder::open(options(&data), Rules::default()).unwrap();
    let mut log = recorder.lane(0, "eth0");
    let loss = |packets| CaptureLoss { at_ns: 2, since_ns: 1, packets, file: 0, place: LossPlace::Ring };
    log.lost(&loss(5));
    record(&file, &mut log);
    drop(log);
    recorder.close(PATIENCE);
    let mut source = FileSource::open(&segments(&data.join("packets")));
    let mut batch = Batch::default();
    let mut lost = 0;
    while source.fill(&mut batch) {
        lost += batch.losses.iter().map(|l| l.packets).sum::<u64>();
    }
    assert_eq!(lost, 5);
}

#[test]
fn a_full_segment_is_followed_by_another_of_the_same_minute() {
    let folder = tempfile::tempdir().unwrap();
    let file = world(folder.path());
    let data = folder.path().join("data");
    let rules = Rules { segment_octets: 100_000, ..Rules::default() };
    let mut options = options(&data).memory(512 << 20);
    options.block = 64 << 10;
    let (recorder, _) = Recorder::open(options, rules).unwrap();
    let mut log = recorder.lane(0, "");
    let expected = record(&file, &mut log);
    drop(log);
    recorder.close(PATIENCE);
    let files = segments(&data.join("packets/rtp"));
    assert!(files.iter().any(|f| f.to_string_lossy().ends_with("-0.1.pcapng")));
    for file in &files {
        assert!(std::fs::metadata(file).unwrap().len() <= 100_000 + 200, "statistics may go beyond");
    }
    let mut found = 0;
    each(&files, |_, _| found += 1);
    assert_eq!(found, expected[&Class::Rtp].len());
}
