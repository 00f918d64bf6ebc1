//! Segments rewritten as zstd: the same packets are found, other programs read them, what is counted is what lies
//! there, and `kill -9` leaves one form of each.

use crate::eventually::{PATIENCE, eventually};
use crate::traffic;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use traffic::{Lane, files, found, now_ns, options, segments};
use trunkline_capture::filter::Expression;
use trunkline_kit::sums::Origin;
use trunkline_record::extract::{Plan, plan};
use trunkline_record::index::{ReadAt, Span, View};
use trunkline_record::job::index_file::make_of_file;
use trunkline_record::job::verify::{Contents, Depth, verify};
use trunkline_record::job::{Extraction, Found, Keep, News, PINS, SegmentFile, Selection, Summary, Wanted, Wish, list};
use trunkline_record::packed::{Frames, Packing};
use trunkline_record::query::parse;
use trunkline_record::segment::{Read, Segment};
use trunkline_record::{Class, Recorder, Rules};
use trunkline_spool::retention::{ClassRule, Pins};
use trunkline_spool::{Limit, Options, Volume, read_lock};

const LANES: u16 = 2;

fn all() -> Keep {
    Keep { limit: Limit::Percent(100), compress: [true; 3], ..Keep::default() }
}

fn open(data: &Path, keep: Keep) -> Recorder {
    let rules = Rules { segment_octets: 3_000_000, ..Rules::default() };
    let (mut recorder, opened) = Recorder::open(options(Volume::new(data)).memory(32 << 20), rules).unwrap();
    assert!(opened.repaired.iter().all(|r| r.left.is_empty()), "{opened:?}");
    recorder.keep(keep).unwrap();
    recorder
}

/// Records so many packets of each class and lane; how many.
fn record(data: &Path, each: u64) -> u64 {
    let recorder = open(data, Keep { compress: [false; 3], ..all() });
    for lane in 0..LANES {
        let mut lane = Lane::new(recorder.lane(lane, "eth0"), 0, lane);
        for n in 0..each {
            for class in Class::ALL {
                assert!(lane.send(class, now_ns(), 400 + n as usize % 700));
            }
            if n % 200 == 0 {
                lane.log.tick(now_ns());
                eventually("there is memory", || recorder.stats().memory.used * 2 < recorder.stats().memory.limit);
            }
        }
        lane.log.finish();
    }
    recorder.close(PATIENCE);
    each * 3 * u64::from(LANES)
}

fn counted(recorder: &Recorder, name: &str) -> u64 {
    recorder.report().unwrap().list().iter().find(|c| c.name == name).unwrap().value
}

fn packed(data: &Path) -> Vec<PathBuf> {
    let mut found = files(&data.join("packets"));
    found.retain(|f| f.to_string_lossy().ends_with(".pcapng.zst"));
    found
}

/// Rewrites all that is there.
fn pack(data: &Path) {
    let recorder = open(data, all());
    eventually("all are rewritten", || segments(data).is_empty());
    recorder.close(PATIENCE);
}

fn listed(data: &Path) -> Vec<SegmentFile> {
    list(data, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() }).unwrap()
}

fn extract(data: &Path, query: &str) -> (Vec<Found>, Summary) {
    let selection = Selection { query: parse(query).unwrap(), span: Span::ALL, wanted: Wanted::Matching };
    let files = listed(data);
    let mut extraction = Extraction::new(&files, &selection, &Expression, &|_| {});
    let found = std::iter::from_fn(|| extraction.next()).collect();
    let done = extraction.finish();
    assert!(done.faults.is_empty() && done.remade.is_empty(), "{query}: {done:?}");
    (found, done)
}

#[test]
fn the_same_packets_are_found_in_either_form() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let sent = record(&data, 8000);
    let queries = ["", "udp port 10006", "host 192.0.2.1 and port 10050", "not net 198.51.100.0/24", "inner udp"];
    let plain: Vec<_> = queries.iter().map(|query| extract(&data, query)).collect();
    assert_eq!(plain[0].0.len() as u64, sent);
    let (count, octets) = (segments(&data).len(), size(&data));
    pack(&data);
    assert_eq!(packed(&data).len(), count);
    assert!(size(&data) * 3 < octets, "{} of {octets}", size(&data));
    for (query, (wanted, done)) in queries.iter().zip(&plain) {
        let (found, again) = extract(&data, query);
        assert!(found == *wanted, "{query}: {} of {}", found.len(), wanted.len());
        assert_eq!((again.pages, again.packets_tested), (done.pages, done.packets_tested), "{query}");
    }
    for file in listed(&data) {
        let verified = verify(&file, Depth::Contents).unwrap();
        assert!(verified.fault.is_none() && verified.index.is_none() && verified.index_octets > 0, "{verified:?}");
        // The checksums are those of what was recorded, before it was packed.
        assert_eq!(verified.contents, Contents::Whole(Origin::Written), "{}", file.path.display());
    }
    others_read(&data, sent);
    // Names are not given again.
    let recorder = open(&data, all());
    let mut lane = Lane::new(recorder.lane(0, "eth0"), 1, 0);
    lane.send(Class::Sip, now_ns(), 100);
    drop(lane);
    recorder.close(PATIENCE);
    assert_eq!(listed(&data).len(), count + 1);
}

/// Opens so that so many octets stay free, and with all pinned: retention cannot make room.
fn open_keeping(data: &Path, keep_free: u64, keep: Keep) -> Recorder {
    let options = Options { keep_free, ..options(Volume::new(data)) };
    let (mut recorder, _) = Recorder::open(options, Rules::default()).unwrap();
    recorder.keep(keep).unwrap();
    recorder
}

#[test]
fn without_room_for_both_forms_it_waits_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    record(&data, 3000);
    Pins::new(data.join(PINS)).pin(None, (i64::MIN, i64::MAX), "all").unwrap();
    let plain = segments(&data);
    let mut recorder = open_keeping(&data, u64::MAX / 4, all());
    let waiting = |recorder: &Recorder| recorder.report().unwrap().roomless;
    eventually("all have been tried", || waiting(&recorder) == plain.len());
    let mut told = Vec::new();
    // Tried again, each is counted once, and a line says so once.
    let begun = Instant::now();
    eventually("rounds pass", || {
        told.extend(recorder.news());
        begun.elapsed() > Duration::from_secs(5)
    });
    assert_eq!(counted(&recorder, "trunkline_record_compress_no_room_total"), plain.len() as u64);
    assert_eq!(counted(&recorder, "trunkline_record_compress_failures_total"), 0);
    assert!(matches!(&told[..], [News::NoRoom(path, missing)] if plain.contains(path) && *missing > 0), "{told:?}");
    recorder.keep(Keep { compress: [false; 3], ..all() }).unwrap();
    eventually("nothing waits that is not wanted", || waiting(&recorder) == 0);
    recorder.close(PATIENCE);
    assert_eq!(segments(&data), plain);
    // A volume that retention keeps full has a little more free than what has to stay so.
    let found = rustix::fs::statvfs(&data).unwrap();
    let free = found.f_bavail * found.f_frsize;
    let recorder = open_keeping(&data, free / 10 * 9, all());
    eventually("all are rewritten", || segments(&data).is_empty());
    eventually("none waits", || waiting(&recorder) == 0);
    recorder.close(PATIENCE);
}

#[test]
fn what_is_wrong_in_a_compressed_capture_is_told_by_its_place_in_what_is_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    record(&data, 10);
    let mut octets = std::fs::read(&segments(&data)[0]).unwrap();
    // Its last packet says that it is longer than its block.
    let mut at = 0;
    let word = |octets: &[u8], at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
    let mut last = 0;
    while at < octets.len() {
        if word(&octets, at) == 6 {
            last = at;
        }
        at += word(&octets, at + 4) as usize;
    }
    octets[last + 20..last + 24].copy_from_slice(&60_000_u32.to_le_bytes());
    let path = folder.path().join("capture.pcapng.zst");
    let (mut packed, mut packing) = (Vec::new(), Packing::new().unwrap());
    let mut out = |octets: &[u8]| {
        packed.extend_from_slice(octets);
        Ok(())
    };
    packing.push(&octets, &mut out).unwrap();
    packing.finish(&mut out).unwrap();
    std::fs::write(&path, packed).unwrap();
    let (_, fault) = make_of_file(&path).unwrap();
    let fault = fault.unwrap();
    assert!(fault.decompressed && fault.offset == last as u64, "{last}: {fault:?}");
}

fn size(data: &Path) -> u64 {
    let all = files(&data.join("packets"));
    all.iter().filter(|f| f.to_string_lossy().contains(".pcapng")).map(|f| f.metadata().unwrap().len()).sum()
}

/// Our own reader of files, zstd's program and tshark.
fn others_read(data: &Path, sent: u64) {
    let files = packed(data);
    let numbers: usize = found(&files).values().map(BTreeSet::len).sum();
    assert_eq!(numbers as u64, sent);
    let mut seen = 0;
    for file in &files {
        let Ok(mut zstd) = Command::new("zstd").arg("-dc").arg(file).stdout(Stdio::piped()).spawn() else {
            return println!("SKIPPED IN PART: no zstd");
        };
        let stdin = zstd.stdout.take().unwrap();
        let Ok(out) =
            Command::new("tshark").args(["-r", "-", "-T", "fields", "-e", "frame.number"]).stdin(stdin).output()
        else {
            let _ = zstd.kill();
            let _ = zstd.wait();
            return println!("SKIPPED IN PART: no tshark");
        };
        assert!(zstd.wait().unwrap().success() && out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        seen += out.stdout.split(|o| *o == b'\n').filter(|line| !line.is_empty()).count();
    }
    assert_eq!(seen as u64, sent);
}

/// A query decompresses the frames that it needs, not the file.
#[test]
fn a_few_packets_cost_a_few_frames() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = open(folder.path(), Keep { compress: [true, false, false], ..all() });
    recorder.follow(Rules { segment_octets: 1 << 30, segment_ns: i64::MAX / 4, ..Rules::default() });
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    for n in 0..20_000 {
        // A host of its own in the middle.
        lane.lane = if n == 10_000 { 77 } else { 0 };
        assert!(lane.send(Class::Sip, now_ns(), 1000));
        if n % 100 == 0 {
            lane.log.tick(now_ns());
            eventually("there is memory", || recorder.stats().memory.used * 2 < recorder.stats().memory.limit);
        }
    }
    lane.log.finish();
    drop(lane);
    eventually("it is rewritten", || {
        recorder.events();
        packed(folder.path()).len() == 1 && segments(folder.path()).is_empty()
    });
    recorder.close(PATIENCE);
    let file = &listed(folder.path())[0];
    let view = View::open(std::fs::read(&file.indexes[0]).unwrap()).unwrap();
    let octets = std::fs::read(&file.path).unwrap();
    let mut segment = Segment::open(Frames::open(octets.as_slice()).unwrap().unwrap(), false).unwrap();
    let Plan::Regions(regions) = plan(&view, &parse("host 192.0.2.77").unwrap(), &Span::ALL).unwrap() else {
        panic!("no regions");
    };
    let mut seen = 0;
    for region in regions {
        segment.prepare(view.facts().head_octets, &view.descriptions().unwrap(), region.from).unwrap();
        let found = &mut |read: &Read<'_>| seen += usize::from(read.octets[15] == 77);
        segment.read(region, found).unwrap();
    }
    let all = segment.file().octets().div_ceil(1 << 20);
    assert!(seen == 1 && all > 15 && segment.file().decompressed() <= 3, "{} of {all}", segment.file().decompressed());
}

#[test]
fn what_is_kept_is_what_lies_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    record(&data, 6000);
    let recorder = open(&data, all());
    eventually("all are rewritten", || segments(&data).is_empty());
    let lies = |class: Class| {
        let all = files(&data.join("packets").join(class.name()));
        // What leaves between the list and the look does not lie there.
        all.iter().filter_map(|f| Some(f.metadata().ok()?.len())).sum::<u64>()
    };
    eventually("retention counts what lies there", || {
        let octets = recorder.report().unwrap().octets;
        Class::ALL.iter().all(|class| octets[*class as usize] == lies(*class))
    });
    let counts = |name| counted(&recorder, name);
    assert_eq!(counts("trunkline_record_compressed_segments_total"), packed(&data).len() as u64);
    assert_eq!(counts("trunkline_record_compressed_out_octets_total"), size(&data));
    assert!(counts("trunkline_record_compressed_in_octets_total") > 3 * size(&data));
    recorder.close(PATIENCE);
    // A limit that half of them exceed: the oldest leave, each with its index; what is read stays.
    let limit = lies(Class::Rtp) / 2;
    let before = packed(&data);
    let reader = read_lock(before.iter().find(|f| f.starts_with(data.join("packets/rtp"))).unwrap());
    let rule = ClassRule { octets: Some(limit), ..ClassRule::default() };
    let mut keep = all();
    keep.classes[Class::Rtp as usize] = rule;
    let recorder = open(&data, keep);
    eventually("it fits", || lies(Class::Rtp) <= limit);
    drop(reader);
    recorder.close(PATIENCE);
    for file in files(&data.join("packets/rtp")) {
        let other = file.to_string_lossy().replace(".pcapng.zst", ".idx");
        assert!(Path::new(&other).exists(), "{}", file.display());
    }
    assert_eq!(lies(Class::Sip) > 0, lies(Class::Other) > 0);
}

/// The program gets the rewritten segment, and that of segments which a start repaired.
#[test]
fn the_program_gets_what_was_rewritten_or_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let [data, noted] = ["data", "noted"].map(|name| folder.path().join(name));
    let script = folder.path().join("note.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntest -f \"$1\" && echo \"$1\" >> {}\n", noted.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let exec = |compress: [bool; 3]| Keep { exec: Some(script.clone()), compress, ..all() };
    let lines =
        || -> Vec<String> { std::fs::read_to_string(&noted).unwrap_or_default().lines().map(str::to_owned).collect() };
    let recorder = open(&data, exec([true, false, false]));
    let mut lane = Lane::new(recorder.lane(0, ""), 0, 0);
    Class::ALL.iter().for_each(|class| assert!(lane.send(*class, now_ns(), 100)));
    lane.log.finish();
    eventually("the program was run for each", || {
        recorder.events();
        lines().len() == 3
    });
    assert_eq!(lines().iter().filter(|l| l.contains("/sip/") && l.ends_with(".pcapng.zst")).count(), 1);
    assert_eq!(lines().iter().filter(|l| l.ends_with(".pcapng")).count(), 2);
    // A lane that is dropped leaves its segments as a crash does.
    assert!(lane.send(Class::Sip, now_ns(), 100) && lane.send(Class::Rtp, now_ns(), 100));
    lane.log.tick(now_ns());
    drop(lane);
    recorder.close(PATIENCE);
    let recorder = open(&data, exec([true, false, false]));
    eventually("the program was run for what was repaired", || lines().len() == 5);
    let (sip, rtp) = (lines()[3..].join(" ").contains(".pcapng.zst"), lines()[3..].join(" ").contains("/rtp/"));
    assert!(sip && rtp, "{:?}", lines());
    recorder.close(PATIENCE);
}

/// Where the child rewrites.
const FOLDER: &str = "TRUNKLINE_RECORD_PACKED_FOLDER";

/// Not a test of its own: what the parent starts and kills.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let recorder = open(Path::new(&folder), all());
    eventually("all are rewritten", || segments(Path::new(&folder)).is_empty());
    recorder.close(PATIENCE);
}

#[test]
fn killed_while_rewriting() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let sent = record(&data, 12_000);
    let (mut both, mut halves) = (0, 0);
    for life in 0..60u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "packed::child"])
            .env(FOLDER, &data)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_millis(20 + life * 37 % 150);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        let _ = child.kill();
        child.wait().unwrap();
        halves += files(&data).iter().filter(|f| f.to_string_lossy().ends_with(".zst.part")).count();
        both += packed(&data).iter().filter(|f| f.with_extension("").exists()).count();
        // Before any repair each is listed once.
        let listed = listed(&data);
        let names: BTreeSet<_> = listed.iter().map(|f| (f.class, f.begins_ns, f.lane, f.again)).collect();
        assert_eq!(names.len(), listed.len());
    }
    println!("{halves} halves, {both} in both forms, {} rewritten, {} not", packed(&data).len(), segments(&data).len());
    let (again, opened) = Recorder::open(options(Volume::new(&data)), Rules::default()).unwrap();
    assert!(opened.repaired.iter().all(|r| r.left.is_empty() && r.kept.is_empty()), "{opened:?}");
    again.close(PATIENCE);
    let all = files(&data.join("packets"));
    assert!(!all.iter().any(|f| f.to_string_lossy().ends_with(".part")), "{all:?}");
    let (packed, plain) = (packed(&data), segments(&data));
    assert!(!packed.is_empty());
    // Each packet is there once: `found` does not take one twice.
    let numbers: usize = found(&[packed, plain].concat()).values().map(BTreeSet::len).sum();
    assert_eq!(numbers as u64, sent);
    assert_eq!(extract(&data, "").0.len() as u64, sent);
}
