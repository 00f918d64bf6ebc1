//! What a disk can do wrong while it goes on, and what samples and files can do to the room that there is.

use crate::power;
use std::path::{Path, PathBuf};

use power::{Fails, World};
use trunkline_rrd::{
    Archive, FILE_OCTETS_MAX, Fault, Folder, Made, Options, Plan, Reading, Rows, RrdFile, Time, Tune, Value, Writer,
};

const START_S: i64 = 1_700_000_000;
const REDO_OCTETS: u64 = 1 << 16;

/// Archives of so many rows.
fn made(rows: u64) -> Made {
    let average = format!("RRA:AVERAGE:0.5:1:{rows}");
    let last = format!("RRA:LAST:0.5:2:{rows}");
    let definitions = ["DS:in:GAUGE:120:U:U", "DS:out:GAUGE:120:U:U", &average, &last];
    Plan::read(60, definitions).unwrap().create(START_S, |rows| rows / 3).unwrap()
}

fn path(file: u64) -> PathBuf {
    PathBuf::from(format!("{file}.rrd"))
}

fn named(file: u64) -> Option<PathBuf> {
    Some(path(file))
}

fn sample(number: i64) -> (Time, [Reading; 2]) {
    (Time::at(START_S + number * 60), [Value::Unsigned(number as u64), Value::Float(number as f64 / 2.0)])
}

/// A file after these samples, each by itself.
fn expected(rows: u64, samples: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let Made { mut archive, still } = made(rows);
    let mut octets = made(rows).octets();
    for number in samples {
        let (time, values) = sample(number);
        let mut rows = Rows::default();
        archive.update(time, &values, &mut rows).unwrap();
        for write in rows.writes(archive.shape()) {
            let all: Vec<u8> = write.words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let (from, all) = (write.at as usize, all.repeat(write.times as usize));
            octets[from..from + all.len()].copy_from_slice(&all);
        }
    }
    let mut live = Vec::new();
    archive.write_live(&mut live);
    octets[still.len()..still.len() + live.len()].copy_from_slice(&live);
    octets
}

fn world(files: u64, rows: u64) -> World {
    let world = World::default();
    (0..files).for_each(|file| world.put(&path(file), made(rows).octets()));
    world
}

fn open(world: &World) -> Writer<World> {
    Writer::open(world.clone(), Options { redo_octets: REDO_OCTETS, ..Options::default() }).unwrap().0
}

fn put(writer: &mut Writer<World>, file: u64, number: i64) {
    let (time, values) = sample(number);
    writer.put(file, time, &values, 0).unwrap();
}

#[test]
fn a_long_gap_of_many_files_is_written_and_not_larger_than_the_redo_file() {
    let (files, rows) = (40, 3000);
    let world = world(files, rows);
    let mut writer = open(&world);
    // All rows of all files are new: fifty times what a redo file has.
    (0..files).for_each(|file| put(&mut writer, file, 1));
    assert_eq!(writer.flush_all(named).unwrap().stored.len() as u64, files);
    (0..files).for_each(|file| put(&mut writer, file, 100_000));
    let before = writer.counters().redo_octets_total;
    assert_eq!(writer.flush_all(named).unwrap().stored.len() as u64, files);
    assert!(writer.counters().redo_octets_total - before < 2 * REDO_OCTETS, "{:?}", writer.counters());
    let whole = expected(rows, [1, 100_000]);
    (0..files).for_each(|file| assert!(world.octets(&path(file)) == whole, "file {file}"));
    // The start repeats it.
    world.lose_power(7);
    drop(open(&world));
    (0..files).for_each(|file| assert!(world.octets(&path(file)) == whole, "file {file}"));
}

#[test]
fn more_samples_of_a_file_than_a_redo_file_holds_go_in_rounds() {
    let rows = 9000;
    let world = world(2, rows);
    let mut writer = open(&world);
    for number in 1..=8000 {
        (0..2).for_each(|file| put(&mut writer, file, number));
    }
    let flushed = writer.flush_all(named).unwrap();
    assert!(flushed.failed.is_empty() && flushed.stored.len() > 10, "{flushed:?}");
    assert_eq!((writer.counters().samples_stored_total, writer.waiting_octets()), (16_000, 0));
    assert!(writer.counters().full_syncs_total > 5, "{:?}", writer.counters());
    (0..2).for_each(|file| assert!(world.octets(&path(file)) == expected(rows, 1..=8000), "file {file}"));
}

#[test]
fn samples_behind_a_round_that_fails_keep_their_order() {
    let rows = 9000;
    let world = world(1, rows);
    let mut writer = open(&world);
    (1..=2000).for_each(|number| put(&mut writer, 0, number));
    let waiting = writer.waiting_octets();
    world.fail(Some(Fails::Writes("redo.0")));
    assert!(matches!(writer.flush_all(named), Err(Fault::Io(_))));
    assert_eq!(writer.waiting_octets(), waiting);
    world.fail(None);
    writer.flush_all(named).unwrap();
    assert_eq!(writer.counters().samples_past_total, 0);
    assert!(world.octets(&path(0)) == expected(rows, 1..=2000));
}

#[test]
fn a_file_whose_header_is_too_large_for_the_redo_file_is_told() {
    let sources: Vec<String> = (0..200).map(|number| format!("DS:s{number}:GAUGE:120:U:U")).collect();
    let definitions = sources.iter().map(String::as_str).chain(["RRA:AVERAGE:0.5:1:10"]);
    let wide = Plan::read(60, definitions).unwrap().create(START_S, |_| 0).unwrap();
    let world = world(1, 10);
    world.put(&path(1), wide.octets());
    let mut writer = open(&world);
    put(&mut writer, 0, 1);
    writer.put(1, sample(1).0, &[Value::Unsigned(1); 200], 0).unwrap();
    let flushed = writer.flush_all(named).unwrap();
    assert_eq!(flushed.stored, [(0, sample(1).0)]);
    assert!(matches!(&flushed.failed[..], [(1, Fault::Asked(why))] if why.contains("redo file")), "{flushed:?}");
    assert_eq!((writer.counters().samples_lost_total, writer.waiting_octets()), (1, 0));
}

/// The second sync would say that all is well, and nothing of what the first one was for is anywhere.
#[test]
fn after_a_sync_that_failed_nothing_is_said_to_be_stored() {
    for how in [Fails::Sync, Fails::SyncAll] {
        let world = world(4, 50);
        let mut writer = open(&world);
        let mut stored = [Time::at(START_S); 4];
        let mut failed = None;
        for number in 1..=2000 {
            (0..4).for_each(|file| put(&mut writer, file, number));
            world.fail((number >= 1000).then_some(how).filter(|_| failed.is_none()));
            match writer.flush_all(named) {
                Ok(flushed) => {
                    assert!(failed.is_none(), "stored after a sync failed");
                    flushed.stored.iter().for_each(|(file, time)| stored[*file as usize] = *time);
                }
                Err(Fault::Unsynced(_)) => failed = failed.or(Some(number)),
                Err(fault) => panic!("{fault}"),
            }
            assert_eq!(writer.is_broken(), failed.is_some());
        }
        let failed = failed.expect("a sync has failed");
        assert!(writer.waiting_octets() > 0 && stored[0] == sample(failed - 1).0);
        drop(writer);
        world.lose_power(failed as u64);
        let mut writer = open(&world);
        for file in 0..4 {
            let last = Archive::open(&world.octets(&path(file))).unwrap().last();
            assert!(last >= stored[file as usize], "{last:?} of {stored:?}");
            let samples = (last.seconds - START_S) / 60;
            assert!(world.octets(&path(file)) == expected(50, 1..=samples), "file {file}");
            // What waited comes out of a journal again.
            (samples + 1..=2000).for_each(|number| put(&mut writer, file, number));
        }
        writer.flush_all(named).unwrap();
        (0..4).for_each(|file| assert!(world.octets(&path(file)) == expected(50, 1..=2000), "file {file}"));
    }
}

#[test]
fn what_a_file_did_not_take_does_not_go_to_one_that_is_made_anew() {
    for is_told in [true, false] {
        let world = world(2, 50);
        let mut writer = open(&world);
        (0..2).for_each(|file| put(&mut writer, file, 1));
        world.fail(Some(Fails::Writes("1.rrd")));
        let flushed = writer.flush_all(named).unwrap();
        assert!(matches!(flushed.failed[..], [(1, Fault::Io(_))]), "{flushed:?}");
        world.fail(None);
        world.put(&path(1), made(50).octets());
        if is_told {
            writer.forget(1);
        }
        put(&mut writer, 1, 2);
        writer.flush_all(named).unwrap();
        assert!(world.octets(&path(1)) == expected(50, [2]), "told: {is_told}");
    }
}

#[test]
fn what_a_file_did_not_take_goes_in_before_the_next_samples() {
    let world = world(1, 50);
    let mut writer = open(&world);
    put(&mut writer, 0, 1);
    world.fail(Some(Fails::Writes("0.rrd")));
    assert_eq!(writer.flush_all(named).unwrap().failed.len(), 1);
    put(&mut writer, 0, 2);
    assert_eq!(writer.flush_all(named).unwrap().failed.len(), 1);
    world.fail(None);
    writer.flush_all(named).unwrap();
    assert!(world.octets(&path(0)) == expected(50, 1..=2));
}

/// A header of two kilobytes that claims rows without number, and holes of the file where they should be.
#[test]
fn a_file_of_holes_takes_neither_memory_nor_the_disk() {
    let rows: u64 = 1 << 26;
    let definitions: Vec<String> = (0..8).map(|number| format!("DS:s{number}:GAUGE:120:U:U")).collect();
    let plan = definitions.iter().map(String::as_str).chain(["RRA:AVERAGE:0.5:1:10"]);
    let made = Plan::read(60, plan).unwrap().create(START_S, |_| 0).unwrap();
    let mut header = made.still.clone();
    made.archive.write_live(&mut header);
    let definition = 128 + 8 * 120;
    header[definition + 24..definition + 32].copy_from_slice(&rows.to_le_bytes());
    let folder = tempfile::tempdir().unwrap();
    let hostile = folder.path().join("0.rrd");
    std::fs::write(&hostile, &header).unwrap();
    let file = std::fs::File::options().write(true).open(&hostile).unwrap();
    file.set_len(header.len() as u64 + rows * 8 * 8).unwrap();
    let far = Time::at(START_S + 60 * rows as i64);
    // It is read as any other.
    assert_eq!(RrdFile::open(&hostile).unwrap().archive().shape().rings[0].rows, rows);
    let too_large = |fault: &Fault| matches!(fault, Fault::Asked(why) if why.contains(&FILE_OCTETS_MAX.to_string()));
    assert!(RrdFile::open_to_update(&hostile).is_err_and(|fault| too_large(&fault)));
    assert!(RrdFile::tune(&hostile, &[Tune::Heartbeat("s0".into(), 1)]).is_err_and(|fault| too_large(&fault)));
    let options = Options { redo_octets: REDO_OCTETS, ..Options::default() };
    let mut writer = Writer::open(Folder::open(folder.path()).unwrap(), options).unwrap().0;
    writer.put(0, far, &[Value::Unsigned(1); 8], 0).unwrap();
    let flushed = writer.flush_all(named).unwrap();
    assert!(matches!(&flushed.failed[..], [(0, fault)] if too_large(fault)), "{flushed:?}");
    // Of rows that are equal one is kept.
    let mut archive = Archive::open(&header).unwrap();
    let mut new = Rows::default();
    archive.update(far, &[Value::Unsigned(1); 8], &mut new).unwrap();
    let writes: Vec<_> = new.writes(archive.shape()).collect();
    assert_eq!(writes.iter().map(|write| write.octets()).sum::<u64>(), rows * 8 * 8);
    assert!(writes.iter().map(|write| write.words.len()).sum::<usize>() < 100);
    assert!(
        trunkline_rrd::tune(&self::made(10).octets(), &[Tune::Rows(0, rows)]).is_err_and(|fault| too_large(&fault))
    );
}

/// Makes a file, for who looks on.
#[test]
fn maker() {
    let Some(path) = std::env::var_os("TRUNKLINE_RRD_MAKE") else { return };
    RrdFile::create(Path::new(&path), &made(10)).unwrap();
}

#[test]
fn the_name_of_a_file_that_is_made_is_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls");
    let looked_on = std::process::Command::new("strace")
        .args(["-f", "-y", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "-o"])
        .arg(&calls)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "failures::maker"])
        .env("TRUNKLINE_RRD_MAKE", folder.path().join("0.rrd"))
        .output();
    let Ok(looked_on) = looked_on else {
        eprintln!("SKIPPED: strace is not there; scripts/setup test installs it");
        return;
    };
    let calls = std::fs::read_to_string(&calls).unwrap_or_default();
    if !looked_on.status.success() && !calls.contains("sync(") {
        eprintln!("SKIPPED: strace may not look on here: {}", String::from_utf8_lossy(&looked_on.stderr));
        return;
    }
    let place = |what: &str| calls.find(what).unwrap_or_else(|| panic!("{what} is not in:\n{calls}"));
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert!(place("0.rrd.part>)") < place("rename") && place("rename") < place(&format!("{name}>)")), "{calls}");
}
