//! One octet of a payload that is not what it was: no parser sees it, the checksums of the contents do.
//!
//! Users of other recorders and stores found such damage when it was too late: `restic check --read-data` that did not
//! name all broken files (restic 21820), a server that stopped without saying which file it was (influxdb 7121), files
//! full of zeros after a crash (rrdtool 426). So each damaged file is told with its places, and what was not read is
//! told as not read.

use crate::eventually::PATIENCE;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_kit::sums::Origin;
use trunkline_record::identity::LogId;
use trunkline_record::index::{IndexError, Span};
use trunkline_record::job::verify::{Belongs, Contents, Depth, NotChecked, Verified, belongs, verify};
use trunkline_record::job::{KINDS, Recorder, SegmentFile, Volumes, Wish, index_file, list, repair_log};
use trunkline_record::{Class, Rules};
use trunkline_sim::{Preset, Settings};
use trunkline_spool::{Options, Volume};

/// A packet log with segments of all classes; some of them are open as a crash leaves them if `crash`.
fn log(folder: &Path, crash: bool) -> PathBuf {
    let (file, data) = (folder.join("world.pcap"), folder.join("data"));
    let settings = Settings { calls: 12, ..Settings::preset(Preset::Demo) };
    trunkline_sim::write(&settings, File::create(&file).unwrap(), None::<&mut Vec<u8>>, &mut |_, _| {}).unwrap();
    let mut options = Options::new(vec![Volume::new(&data)]).memory(64 << 20);
    options.keep_free = 0;
    let (recorder, _) = Recorder::open(options, Rules::default()).unwrap();
    let mut log = recorder.lane(0, "eth0");
    let (mut source, mut batch) = (FileSource::open(&[file]), Batch::default());
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            let class = Class::ALL[packet.number as usize % 3];
            log.packet(packet, octets, &trunkline_wire::decode(packet.link, octets), class);
            log.tick(packet.at_ns);
        }
    }
    if !crash {
        log.finish();
    }
    drop(log);
    recorder.close(PATIENCE);
    data
}

fn segments(data: &Path) -> Vec<SegmentFile> {
    let found = list(data, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() }).unwrap();
    assert!(found.len() > 3, "{}", found.len());
    found
}

fn flip(path: &Path, at: u64) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut octet = [0];
    file.read_exact_at(&mut octet, at).unwrap();
    file.write_all_at(&[octet[0] ^ 0x10], at).unwrap();
}

fn deep(file: &SegmentFile) -> Verified {
    verify(file, Depth::Contents).unwrap()
}

#[test]
fn every_flip_in_a_payload_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    for file in segments(&data) {
        let found = deep(&file);
        assert_eq!(
            (found.contents, found.index.clone(), found.fault.is_none()),
            (Contents::Whole(Origin::Written), None, true)
        );
        // Behind the headers of the first packet, in the middle and at the end of the last payload.
        let octets = std::fs::metadata(&file.path).unwrap().len();
        for at in [250, octets / 2, octets - 120] {
            flip(&file.path, at);
            let Contents::Damaged(compared) = deep(&file).contents else { panic!("{at}") };
            assert_eq!(compared.damaged, 1);
            assert!(compared.places[0].0 <= at && at <= compared.places[0].1, "{at}: {compared:?}");
            // What does not read the contents does not say that they are whole.
            let shallow = verify(&file, Depth::Index).unwrap();
            assert_eq!((shallow.contents, shallow.index), (Contents::NotChecked(NotChecked::NotRead), None));
            flip(&file.path, at);
        }
        assert_eq!(deep(&file).contents, Contents::Whole(Origin::Written));
    }
}

#[test]
fn what_a_crash_left_has_checksums_of_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), true);
    let repaired = repair_log(&data.join("packets"), KINDS).unwrap();
    assert!(!repaired.kept.is_empty());
    for (path, octets) in &repaired.kept {
        let file = segments(&data).into_iter().find(|f| f.path == *path).unwrap();
        assert_eq!(deep(&file).contents, Contents::Whole(Origin::Found));
        flip(path, octets - 100);
        assert!(matches!(deep(&file).contents, Contents::Damaged(_)));
    }
}

#[test]
fn an_index_from_before_has_none_and_one_that_lost_them_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    let file = segments(&data).remove(0);
    let index = file.indexes[0].clone();
    let whole = std::fs::read(&index).unwrap();
    // Cut at the checksums, within them, and flips in them: the index itself can still be used.
    let begin = deep(&file).index_octets;
    assert!(begin < whole.len() as u64);
    for cut in [begin, begin + 9, whole.len() as u64 - 1] {
        std::fs::write(&index, &whole[..cut as usize]).unwrap();
        let found = deep(&file);
        assert_eq!(found.index, Some(IndexError::Damaged("the checksums of the contents")), "{cut}");
        assert_eq!(found.contents, Contents::NotChecked(NotChecked::NoIndex));
    }
    // As a version without checksums made it.
    let (before, _, _) = index_file::make(file.open().unwrap(), false).unwrap();
    std::fs::write(&index, before).unwrap();
    let found = deep(&file);
    assert_eq!((found.contents, found.index), (Contents::NotChecked(NotChecked::NoSums), None));
}

/// An index that is damaged is made anew; what its checksums said of the contents stays.
#[test]
fn a_repair_of_the_index_does_not_call_damaged_contents_whole() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    let file = segments(&data).remove(0);
    let index = file.indexes[0].clone();
    flip(&file.path, 250);
    flip(&index, 40);
    let found = deep(&file);
    assert!(found.index.is_some() && matches!(found.contents, Contents::Damaged(_)), "{found:?}");
    let (octets, fault) = index_file::make_again(&file.path, &index).unwrap();
    assert!(fault.is_none());
    index_file::write(&index, &octets, index_file::FileAt::open(&file.path).unwrap().owner().unwrap()).unwrap();
    let found = deep(&file);
    assert!(found.index.is_none() && matches!(found.contents, Contents::Damaged(_)), "{found:?}");
    // Where it is gone altogether, nobody knows what was written: the checksums are of what is there.
    std::fs::remove_file(&index).unwrap();
    let (octets, _) = index_file::make_again(&file.path, &index).unwrap();
    index_file::write(&index, &octets, index_file::FileAt::open(&file.path).unwrap().owner().unwrap()).unwrap();
    assert_eq!(deep(&file).contents, Contents::Whole(Origin::Found));
}

#[test]
fn a_pipe_in_place_of_an_index_holds_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    let file = segments(&data).remove(0);
    std::fs::remove_file(&file.indexes[0]).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &file.indexes[0], rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let found = deep(&file);
    assert!(matches!(found.index, Some(IndexError::Unreadable(why)) if why == "it is not a file"));
    assert_eq!(found.contents, Contents::NotChecked(NotChecked::NoIndex));
    let (octets, fault) = index_file::make_again(&file.path, &file.indexes[0]).unwrap();
    assert!(fault.is_none());
    index_file::write(&file.indexes[0], &octets, file.open().unwrap().owner().unwrap()).unwrap();
    assert_eq!(deep(&file).index, None);
}

/// Puts a segment with its index in the place of another one.
fn put(from: &SegmentFile, to: &SegmentFile) {
    std::fs::copy(&from.path, &to.path).unwrap();
    std::fs::copy(&from.indexes[0], &to.indexes[0]).unwrap();
}

fn place(file: &SegmentFile, log: Option<LogId>) -> Belongs {
    let found = deep(file);
    assert_eq!((found.contents.clone(), found.index.clone()), (Contents::Whole(Origin::Written), None));
    belongs(file, (found.identity.as_ref(), found.facts.as_ref()), log)
}

/// A segment and its index are whole wherever they lie: the segment's header says where that should be.
#[test]
fn a_segment_in_the_place_of_another_one_is_told() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (data, elsewhere) = (log(folder.path(), false), log(other.path(), false));
    let log = Volumes::of(&data).unwrap().log;
    assert!(log.is_some() && log != Volumes::of(&elsewhere).unwrap().log);
    let (files, others) = (segments(&data), segments(&elsewhere));
    for file in &files {
        assert_eq!(place(file, log), Belongs::Here);
        assert!(matches!(place(file, None), Belongs::Unknown(_)));
    }
    put(&files[1], &files[0]);
    let name = files[1].path.strip_prefix(&data).unwrap().to_string_lossy().into_owned();
    let told = Belongs::Elsewhere(format!("it is another segment, by its header: {name} of log {}", log.unwrap()));
    assert_eq!((place(&files[0], log), place(&files[0], None)), (told.clone(), told));
    // Of another folder, with the same name: same moment, same class, same lane.
    put(&others[0], &files[0]);
    assert_eq!(files[0].path.strip_prefix(&data).unwrap(), others[0].path.strip_prefix(&elsewhere).unwrap());
    let Belongs::Elsewhere(why) = place(&files[0], log) else { panic!("{:?}", place(&files[0], log)) };
    assert!(why.contains("it is of another log, by its header: of "), "{why}");
    // A log whose note is gone is the one that most of its segments say.
    std::fs::remove_file(data.join("packets/volumes")).unwrap();
    assert_eq!(Volumes::of(&data).unwrap().said(), log);
    let mut options = Options::new(vec![Volume::new(&data)]).memory(64 << 20);
    options.keep_free = 0;
    drop(Recorder::open(options, Rules::default()).unwrap());
    assert_eq!(Volumes::of(&data).unwrap().log, log);
}

/// One that was written before segments said which they are is compared by its times alone.
#[test]
fn a_segment_from_before_is_told_by_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    let file = segments(&data).remove(0);
    let facts = deep(&file).facts;
    let of = |begins_ns: i64| {
        let file = SegmentFile { begins_ns, ..file.clone() };
        belongs(&file, (None, facts.as_ref()), None)
    };
    let hours = 3_600_000_000_000;
    assert!(matches!(of(file.begins_ns), Belongs::Unknown(why) if why.contains("written before")));
    for moved in [-24 * hours, -2 * hours, 2 * hours, 9000 * hours] {
        assert_eq!(
            of(file.begins_ns + moved),
            Belongs::Elsewhere("its packets are not of the time of its name".into())
        );
    }
}

/// An index that is made anew for a segment that was exchanged, or cut between two records, keeps what the one before
/// knew: nobody calls the segment whole then.
#[test]
fn a_repair_of_the_index_does_not_call_another_segment_whole() {
    let folder = tempfile::tempdir().unwrap();
    let data = log(folder.path(), false);
    let files = segments(&data);
    let (file, other) = (&files[0], files.iter().find(|f| deep(f).facts != deep(&files[0]).facts).unwrap());
    std::fs::copy(&other.path, &file.path).unwrap();
    assert_eq!(deep(file).index, Some(IndexError::Stale));
    let (octets, fault) = index_file::make_again(&file.path, &file.indexes[0]).unwrap();
    assert!(fault.is_none());
    index_file::write(&file.indexes[0], &octets, file.open().unwrap().owner().unwrap()).unwrap();
    let found = deep(file);
    assert!(found.index.is_none() && matches!(found.contents, Contents::Damaged(_)), "{found:?}");
}

/// Records empty packets of these times in one lane, in segments of so long; the data folder.
fn timed(folder: &Path, segment_ns: i64, times: &[i64]) -> PathBuf {
    let data = folder.join("data");
    let mut options = Options::new(vec![Volume::new(&data)]).memory(64 << 20);
    options.keep_free = 0;
    let (recorder, _) = Recorder::open(options, Rules { segment_ns, ..Rules::default() }).unwrap();
    let mut log = recorder.lane(0, "eth0");
    for (number, at_ns) in (1..).zip(times) {
        let (octets, at_ns) = ([0; 60], *at_ns);
        let packet = Packet { at_ns, number, offset: 0, start: 0, captured: 60, wire: 60, link: 1, file: 0 };
        assert!(log.packet(&packet, &octets, &trunkline_wire::decode(1, &octets), Class::Other).is_some());
    }
    log.finish();
    drop(log);
    recorder.close(PATIENCE);
    data
}

fn all(data: &Path) -> Vec<SegmentFile> {
    list(data, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() }).unwrap()
}

/// A clock that was set by NTP after the first packets, ahead or back, by little or by years (users of other recorders
/// have segments in the wrong hour then, ex_nvr 404, or indexes of the year 2099, n2disk 26): each segment is still the
/// one of its name, also one of an earlier version, which says nothing.
#[test]
fn a_clock_that_leaps_makes_no_segment_another_one() {
    const SECOND: i64 = 1_000_000_000;
    let begin = 1_795_181_123 * SECOND + 777;
    let leaps = [1, 59, 61, 3540, 3601, 7200, 86_400, 300_000_000];
    for segment in [1, 60, 90, 3590, 3599, 3600] {
        let folder = tempfile::tempdir().unwrap();
        let (mut times, mut at) = (Vec::new(), begin);
        for leap in leaps.iter().flat_map(|leap| [*leap, -*leap]) {
            // Up to the very end of the interval, then the leap, and on from there.
            let end = (at.div_euclid(segment * SECOND) + 1) * segment * SECOND - 1;
            times.extend([at, at + SECOND / 2, end, end + leap * SECOND, end + leap * SECOND + 1]);
            at += SECOND;
        }
        let data = timed(folder.path(), segment * SECOND, &times);
        let mut packets = 0;
        for file in all(&data) {
            let found = deep(&file);
            packets += found.facts.unwrap().packets;
            let place = belongs(&file, (None, found.facts.as_ref()), None);
            assert!(matches!(place, Belongs::Unknown(_)), "{segment} s, {}: {place:?}", file.path.display());
            let log = Volumes::of(&data).unwrap().log;
            assert_eq!(belongs(&file, (found.identity.as_ref(), found.facts.as_ref()), log), Belongs::Here);
        }
        assert_eq!(packets, times.len() as u64);
    }
}

/// Whatever time a file says, its packets get a segment, and it is the one of its name.
#[test]
fn the_first_and_the_last_time_of_all_have_segments() {
    let folder = tempfile::tempdir().unwrap();
    let times = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX];
    let data = timed(folder.path(), 60_000_000_000, &times);
    let (files, log) = (all(&data), Volumes::of(&data).unwrap().log);
    assert_eq!(files.len(), 2, "pcapng has no times before 1970");
    for file in files {
        let found = deep(&file);
        assert_eq!((found.index, &found.contents), (None, &Contents::Whole(Origin::Written)), "{file:?}");
        assert_eq!(belongs(&file, (found.identity.as_ref(), found.facts.as_ref()), log), Belongs::Here, "{file:?}");
    }
}

/// Where two data folders record to one volume, each says so when it starts: retention deletes the segments of both.
#[test]
fn a_volume_with_segments_of_another_log_is_told_at_a_start() {
    let folders = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let [one, other, volume] = folders.each_ref().map(|folder| folder.path().join("data"));
    let open = |data: &Path, beside: Option<&Path>| {
        let volumes = [Some(data), beside].into_iter().flatten().map(Volume::new).collect();
        let mut options = Options::new(volumes).memory(64 << 20);
        options.keep_free = 0;
        Recorder::open(options, Rules::default()).unwrap()
    };
    // Each has its own number already.
    drop(open(&one, None));
    drop(open(&other, None));
    let made = log(folders[2].path(), false);
    assert_eq!(made, volume);
    let of = Volumes::of(&volume).unwrap().log.unwrap();
    let (_, opened) = open(&one, Some(&volume));
    let text = format!("{}: its newest segment is of another log ({of})", volume.display());
    assert!(opened.notes.len() == 1 && opened.notes[0].starts_with(&text), "{:?}", opened.notes);
    let (_, opened) = open(&other, None);
    assert_eq!(opened.notes, Vec::<String>::new());
}
