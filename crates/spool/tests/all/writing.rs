//! Segments written and sealed: octets on disk are those appended, on every engine, and nothing is lost silently.

use crate::support;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use support::{Pattern, extra, files, options, volume};
use trunkline_kit::sums::{Origin, Sums};
use trunkline_spool::{Direct, Engine, Fault, Faults, Options, Priority, Spool, State, What};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_is_appended_is_what_is_sealed() {
    for (engine, direct) in [
        (Engine::Auto, Direct::Auto),
        (Engine::Pwrite, Direct::Auto),
        (Engine::Auto, Direct::Off),
        (Engine::Pwrite, Direct::Off),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sums = Some("idx");
        let (spool, opened) =
            Spool::open(Options { engine, direct, sums, ..options(volume(folder.path())).memory(64 << 20) }).unwrap();
        assert!(opened.notes.is_empty() || !cfg!(target_os = "linux"), "{:?}", opened.notes);
        let mut writer = spool.writer(Priority::Highest, 7);
        let mut pattern = Pattern::new(1);
        writer.begin(Path::new("packets/sip/12-0.seg")).unwrap();
        for i in 0..40_000 {
            pattern.append(&mut writer, i).unwrap();
            if i % 1711 == 0 {
                writer.flush();
            }
        }
        let octets = writer.position();
        writer.seal(vec![extra(b"index")]);
        assert!(spool.settle(PATIENCE));
        let path = folder.path().join("packets/sip/12-0.seg");
        assert!(
            spool.events().iter().any(|e| e.what == What::Sealed { path: path.clone(), octets, span_ns: (0, 39_999) })
        );
        let written = std::fs::read(&path).unwrap();
        assert!(pattern.is(&written));
        // Behind the index stand the checksums of what was written, flushes and all.
        let index = std::fs::read(path.with_extension("idx")).unwrap();
        let sums = Sums::parse(index.strip_prefix(b"index").unwrap()).unwrap();
        assert_eq!((sums.origin, sums.octets), (Origin::Written, octets));
        assert!(sums.compare(&written[..]).unwrap().is_whole());
        let stats = spool.close(PATIENCE).stats;
        assert_eq!(stats.counts.appended_octets, octets);
        assert_eq!(stats.counts.written_octets, octets);
        assert_eq!(stats.counts.appended_records, 40_000);
        assert_eq!(stats.memory.used, 0);
        assert_eq!(files(folder.path()).len(), 2);
    }
}

#[test]
fn records_longer_than_a_block_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(volume(folder.path()))).unwrap();
    let mut writer = spool.writer(Priority::Middle, 0);
    writer.begin(Path::new("a.seg")).unwrap();
    let mut expected = Vec::new();
    for i in 0..30u32 {
        let part: Vec<u8> = (0..i * 9001).map(|o| (o ^ i) as u8).collect();
        assert_eq!(writer.append(0, &[&part, &[7; 3]]).unwrap(), expected.len() as u64);
        expected.extend_from_slice(&part);
        expected.extend_from_slice(&[7; 3]);
        // A disk that is slow for a moment is not what this is about.
        assert!(spool.settle(PATIENCE));
    }
    writer.seal(Vec::new());
    assert!(spool.settle(PATIENCE));
    assert_eq!(std::fs::read(folder.path().join("a.seg")).unwrap(), expected);
}

#[test]
fn a_taken_name_gets_a_number() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let (spool, _) = Spool::open(options(volume(folder.path()))).unwrap();
        for _ in 0..2 {
            let mut writer = spool.writer(Priority::Middle, 0);
            writer.begin(Path::new("p/12-3.seg")).unwrap();
            writer.append(0, &[b"x"]).unwrap();
            writer.seal(vec![extra(b"i")]);
        }
        assert!(spool.settle(PATIENCE));
    }
    let names =
        ["12-3.1.idx", "12-3.1.seg", "12-3.2.idx", "12-3.2.seg", "12-3.3.idx", "12-3.3.seg", "12-3.idx", "12-3.seg"];
    assert_eq!(files(folder.path()), names.map(|n| format!("p/{n}")));
}

#[test]
fn a_flush_leaves_what_was_appended_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(options(volume(folder.path()))).unwrap();
    let mut writer = spool.writer(Priority::Highest, 0);
    let mut pattern = Pattern::new(2);
    writer.begin(Path::new("a.seg")).unwrap();
    for i in 0..100 {
        pattern.append(&mut writer, i).unwrap();
        assert!(writer.flush());
        assert!(spool.settle(PATIENCE));
        assert_eq!(writer.on_disk(), writer.position());
        let on_disk = std::fs::read(folder.path().join("a.seg.part")).unwrap();
        let whole = &on_disk[..writer.position() as usize];
        assert!(pattern.is(whole));
        assert!(on_disk[whole.len()..].iter().all(|o| *o == 0));
    }
    drop(writer);
    assert!(spool.settle(PATIENCE));
    assert_eq!(files(folder.path()), ["a.seg.part"]);
    assert_eq!(std::fs::metadata(folder.path().join("a.seg.part")).unwrap().len(), pattern.octets());
}

#[test]
fn segments_go_to_the_volumes_in_turn() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut two = options(volume(folders[0].path()));
    two.volumes.push(volume(folders[1].path()));
    let (spool, _) = Spool::open(two).unwrap();
    let mut writer = spool.writer(Priority::Highest, 0);
    for _ in 0..4 {
        writer.begin(Path::new("a.seg")).unwrap();
        writer.append(0, &[b"x"]).unwrap();
        writer.seal(Vec::new());
        assert!(spool.settle(PATIENCE));
    }
    assert_eq!(files(folders[0].path()), ["a.2.seg", "a.seg"]);
    assert_eq!(files(folders[1].path()), ["a.1.seg", "a.3.seg"]);
}

#[test]
fn a_slow_disk_drops_the_lowest_first_and_counts_all() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Arc::new(Faults::default());
    let mut slow = volume(folder.path());
    slow.faults = Some(faults.clone());
    faults.set(Fault { write_delay: Duration::from_millis(20), ..Fault::default() });
    let (spool, _) = Spool::open(options(slow)).unwrap();
    let mut writers = Priority::ALL.map(|p| (spool.writer(p, p.index() as u32), Pattern::new(p.index() as u64)));
    let mut dropped = [0u64; 3];
    for (writer, _) in &mut writers {
        writer.begin(Path::new(&format!("{}.seg", writer.tag()))).unwrap();
    }
    for i in 0..6_000 {
        // The most precious brings less than what is reserved for it, the least much.
        for (writer, pattern) in writers.iter_mut() {
            let often = [i64::from(i % 10 == 0), 3, 30][writer.priority().index()];
            for _ in 0..often {
                dropped[writer.priority().index()] += u64::from(pattern.append(writer, i).is_err());
            }
        }
    }
    for (writer, _) in &mut writers {
        writer.seal(Vec::new());
    }
    assert!(spool.settle(PATIENCE));
    let stats = spool.stats();
    assert!(dropped[2] > 0 && dropped[0] == 0, "{dropped:?}");
    for p in 0..3 {
        assert_eq!(stats.drops[p].buffer.records, dropped[p]);
        assert_eq!(stats.drops[p].lost.records, 0);
        assert!(writers[p].1.is(&std::fs::read(folder.path().join(format!("{p}.seg"))).unwrap()));
    }
    assert_eq!(stats.counts.written_octets, stats.counts.appended_octets);
    assert!(stats.volumes[0].waits.count > 0 && stats.volumes[0].waits.max_us > 10_000);
    assert!(stats.counts.packed_blocks > 0);
    assert!(spool.events().iter().any(|e| e.what == What::State(State::Lagging)));
}
