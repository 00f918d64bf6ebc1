//! Files that stand alone: databases, round-robin files, journals, notes, images.

use super::packets::places;
use super::{HEAD_OCTETS, Item};
use crate::command::charge::records;
use crate::retention::clock::Noted;
use crate::run::recover::checkpoint::{Checkpoint, Found};
use crate::show::figure;
use crate::web::reader::noted;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use trunkline_charge::job::records::checkpoint;
use trunkline_charge::job::{received_witness, witness};
use trunkline_commit::Folder;
use trunkline_kit::place;
use trunkline_record::job::{PINS, Volumes, volumes};
use trunkline_rrd::{REDO_OCTETS_MAX, RedoCheck, RrdFile, redo_check};
use trunkline_spool::retention::Pins;
use trunkline_store::backend::sqlite::sums::{self, Contents};
use trunkline_store::journal;

/// Whether a file only goes with another one, or holds nothing that lasts.
pub fn is_beside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let with_day = name.ends_with(".sums") && path.with_extension("sqlite").exists();
    let lock = name == "lock" || name.ends_with(".lock");
    with_day || lock || ["-wal", "-shm", "-journal", ".sums.part"].iter().any(|end| name.ends_with(end))
}

/// Whether the program has a file of this name, which a folder or a pipe in its place is not.
pub fn is_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names = ["calls.checkpoint", "checkpoint", "cursor", "redo.0", "redo.1", "retention.clock", "rows.journal"];
    let endings = [".sqlite", ".rrd", ".ber"];
    let in_packets = path.ends_with(volumes::FILE) || path.ends_with(PINS);
    in_packets || names.contains(&&*name) || endings.iter().any(|end| name.ends_with(end))
}

/// Checks one, by what it is.
pub fn check(path: &Path, deep: bool) -> Item {
    if path.ends_with(PINS) {
        return pins(path);
    }
    match path.metadata() {
        Ok(about) if about.is_file() => {}
        Ok(_) if is_own(path) => {
            let what = "it is not a file: a folder, a pipe or a device, or a link to one";
            return Item::new("no file", path, "whether it is a file").fault(what);
        }
        Ok(_) => return Item::new("no file", path, "").left_out("it is a link to a folder, a pipe or a device"),
        Err(e) => return Item::new("file", path, "").unreadable(e),
    }
    let mut head = [0; HEAD_OCTETS];
    let begun = File::open(path).and_then(|file| file.take(HEAD_OCTETS as u64).read(&mut head));
    if let Err(e) = begun {
        return Item::new("file", path, "").unreadable(e);
    }
    if let Some(found) = noted::check(path) {
        return Item::new("note of a capture", path, "its checksum, every line").faults(found.err());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new("."));
    match &*name {
        _ if path.ends_with(volumes::FILE) => note(path),
        _ if path.extension().is_some_and(|e| e == "sqlite") => database(path, deep),
        _ if path.extension().is_some_and(|e| e == "rrd") => round_robin(path),
        "redo.0" | "redo.1" => redo(path),
        "rows.journal" => rows(path),
        "calls.checkpoint" => calls(path),
        "retention.clock" => time(path),
        _ if name.ends_with(".sums") => Item::new("sums of a day", path, "its day").fault("the day is gone"),
        _ if name.ends_with(".damaged") => {
            Item::new("damaged file", path, "").left_out("a repair kept it; it is not used any more")
        }
        _ if head.starts_with(&trunkline_cache::image::MAGIC) => image(path),
        _ if folder.ends_with("rules") || folder.ends_with("templates") => {
            Item::new("settings", path, "").left_out("written by people: its job reads it when it starts")
        }
        "cursor" | "checkpoint" if folder.parent().is_some_and(|at| at.ends_with("charge")) => beside(path, &name),
        _ if path.extension().is_some_and(|e| e == "ber") => charged(path),
        _ => Item::new("file", path, "").left_out("there is no check for this kind of file"),
    }
}

/// Pins of a data folder that are gone.
pub fn pins_gone(data: &Path) -> Option<PathBuf> {
    let path = data.join(PINS);
    (!path.exists() && Pins::new(&path).list().is_err()).then_some(path)
}

fn note(path: &Path) -> Item {
    let item = Item::new("note of volumes", path, "its checksum, every line");
    let data = path.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    match Volumes::salvaged(data) {
        Ok((_, None)) => item,
        Ok((_, Some(why))) => item.fault(format!("{why}; `trunkline packets repair` notes those that are found")),
        Err(e) => item.unreadable(e),
    }
}

fn pins(path: &Path) -> Item {
    let item = Item::new("pins", path, "every line");
    match Pins::new(path).list() {
        Ok(_) => item,
        Err(e) => item.fault(e.to_string()),
    }
}

/// A day of the store, or the users of the web.
fn database(path: &Path, deep: bool) -> Item {
    let is_day = path.parent().is_some_and(|folder| folder.ends_with("store"));
    let kind = if is_day { "day" } else { "database" };
    let checked = if deep { "pages, trees, indexes (integrity_check)" } else { "pages, trees (quick_check)" };
    let item = Item::new(kind, path, checked);
    let found = match sums::verify(path, deep) {
        Ok(found) => found,
        Err(e) => return item.unreadable(e),
    };
    let mut item = item.faults(found.faults);
    match found.contents {
        Contents::Whole => item.checked.push_str(", rows by their checksums"),
        Contents::Damaged(compared) => return item.faults(places(&compared)),
        Contents::SumsDamaged => return item.fault("its checksums (.sums) are damaged"),
        Contents::NotChecked(why) => {
            let never = "rows: it is written all the time and has no checksums";
            let why = if is_day || !deep { format!("rows: {why}") } else { never.to_owned() };
            return item.left_out(why);
        }
    }
    item
}

fn round_robin(path: &Path) -> Item {
    let item = Item::new("round-robin file", path, "head, length");
    let opened = match RrdFile::open(path) {
        Ok(file) => file,
        Err(trunkline_rrd::Fault::Locked) => {
            return Item::new("round-robin file", path, "").left_out("it is being written");
        }
        Err(trunkline_rrd::Fault::Io(e)) => return item.unreadable(e),
        Err(fault) => return item.fault(fault.to_string()),
    };
    let (wanted, has) = (opened.archive().shape().file_octets, std::fs::metadata(path).map_or(0, |m| m.len()));
    let item = if wanted == has { item } else { item.fault(format!("{has} octets long, not {wanted}")) };
    item.left_out("values: the format (rrdtool's) has no checksums")
}

fn redo(path: &Path) -> Item {
    let item = Item::new("redo file", path, "head, entries by their checksums");
    match place::read(path, REDO_OCTETS_MAX).map(|octets| redo_check(&octets)) {
        Err(e) => item.unreadable(e),
        Ok(RedoCheck::Unused) => Item::new("redo file", path, "").left_out("it was never written"),
        Ok(RedoCheck::Head) => item.fault("its head is damaged: the next start repeats nothing of it"),
        Ok(RedoCheck::Entry(at)) => item.fault(format!("the entry at octet {at} is damaged, whole ones are behind it")),
        Ok(RedoCheck::Whole(entries)) => {
            let mut item = item.left_out("whether a last entry is damaged: older octets look the same");
            item.checked = format!("head, {} by their checksums", figure::of(entries as u64, "entry", "entries"));
            item
        }
    }
}

/// Rows that wait for the store.
fn rows(path: &Path) -> Item {
    let item = Item::new("journal of rows", path, "every record by its checksum");
    let octets = match std::fs::read(path) {
        Ok(octets) => octets,
        Err(e) => return item.unreadable(e),
    };
    if octets.is_empty() {
        return Item::new("journal of rows", path, "").left_out("it was never written");
    }
    if octets.iter().all(|o| *o == 0) {
        return item.fault("nothing but zeros: rows that waited in it are gone");
    }
    if !octets.starts_with(&journal::head()) {
        let why = "its head is of another version of the program, or damaged: the next start puts it aside";
        return Item::new("journal of rows", path, "").left_out(why);
    }
    let mut at = journal::HEAD_OCTETS;
    while let Some((frame, rest)) = octets.get(at..).and_then(|rest| rest.split_first_chunk()) {
        if frame.iter().all(|o| *o == 0) {
            break;
        }
        let Some(frame) = journal::Frame::of(frame) else { return item.fault(format!("at octet {at}: no record")) };
        match rest.get(..frame.octets) {
            Some(body) if frame.is_of(body) => at += journal::FRAME_OCTETS + frame.octets,
            Some(_) => return item.fault(format!("at octet {at}: a damaged record of {} rows", frame.rows)),
            None => return item.fault(format!("at octet {at}: a record is cut off")),
        }
    }
    item
}

/// How far charging records are, made or received, and what of them is open.
fn beside(path: &Path, name: &str) -> Item {
    let (kind, folder) = (if name == "cursor" { "cursor" } else { "checkpoint" }, path.parent().unwrap_or(path));
    let item = Item::new(kind, path, "its checksum");
    let disk = match Folder::beside(folder) {
        Ok(disk) => disk,
        Err(e) => return item.unreadable(e),
    };
    item.faults(match name {
        "checkpoint" => checkpoint::load(&disk).err(),
        _ if folder.ends_with("received") => received_witness(&disk).err(),
        _ => witness(&disk).err(),
    })
}

/// A file of charging records that was closed.
fn charged(path: &Path) -> Item {
    let item = Item::new("charging records", path, "header, every record's form");
    match std::fs::read(path) {
        Err(e) => item.unreadable(e),
        Ok(octets) => item.faults(records::unsound(&octets)).left_out("values: the format has no checksums"),
    }
}

/// From where calls are recovered.
fn calls(path: &Path) -> Item {
    let item = Item::new("checkpoint of calls", path, "its checksum");
    // Its folder is that of what waits, in the data folder.
    match path.parent().and_then(Path::parent).map(Checkpoint::load) {
        Some(Found::Damaged(why)) => item.fault(why),
        _ => item,
    }
}

/// When rows were last looked at.
fn time(path: &Path) -> Item {
    let item = Item::new("time of retention", path, "its checksum, every line");
    match path.parent().and_then(Path::parent).map(Noted::load) {
        Some(Noted::Damaged(why)) => item.fault(why),
        _ => item,
    }
}

fn image(path: &Path) -> Item {
    let item = Item::new("cache image", path, "every block by its checksum");
    match trunkline_cache::job::check(path) {
        Err(e) => item.unreadable(e),
        Ok(checked) => item.faults(checked.places.iter().map(|(at, spoilt)| format!("at octet {at}: {spoilt}"))),
    }
}
