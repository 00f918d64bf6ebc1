//! Segments of the packet log, on all its volumes.

use super::Item;
use crate::show::figure;
use std::io;
use std::path::{Path, PathBuf};
use trunkline_kit::sums::{Compared, Origin};
use trunkline_record::Class;
use trunkline_record::identity::LogId;
use trunkline_record::index::Span;
use trunkline_record::job::verify::{Belongs, Contents, Depth, NotChecked, belongs, verify};
use trunkline_record::job::{FOLDER, SegmentFile, Volumes, Wish, list_on};

/// The segments; where the note of volumes is damaged, of what it still names. And which log it is, if it says so.
pub fn segments(data: &Path) -> io::Result<(Vec<SegmentFile>, Option<LogId>)> {
    let (volumes, _) = Volumes::salvaged(data)?;
    Ok((list_on(&volumes, 0, &Wish { span: Span::ALL, classes: Class::ALL.to_vec() })?, volumes.log))
}

/// Whether a file is a segment of the log, or its index.
pub fn is_of_segment(data: &Path, path: &Path) -> bool {
    let in_log = path.strip_prefix(data.join(FOLDER)).is_ok_and(|rest| rest.components().count() > 1);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    in_log && [".idx", ".pcapng", ".pcapng.zst", ".pcapng.part"].iter().any(|end| name.ends_with(end))
}

/// Indexes on all volumes whose segments are gone.
pub fn orphans(data: &Path) -> io::Result<Vec<PathBuf>> {
    let (volumes, _) = Volumes::salvaged(data)?;
    let (mut found, mut folders) = (Vec::new(), volumes.all().map(|at| at.join(FOLDER)).collect::<Vec<_>>());
    while let Some(folder) = folders.pop() {
        // A volume that is not there now: its segments are told as unlisted.
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_orphan(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Whether it is an index without a segment, in whichever state.
fn is_orphan(path: &Path) -> bool {
    let has = |end: &str| path.with_extension(end).exists();
    let is_index = path.extension().is_some_and(|end| end == "idx");
    // What leaves meanwhile takes its index along: looked at last.
    is_index && !["pcapng", "pcapng.zst", "pcapng.part"].into_iter().any(has) && path.exists()
}

/// Tells of an index whose segment is gone.
pub fn orphan(path: &Path) -> Item {
    Item::new("segment", path, "whether it is there").fault("there is its index alone: the segment is gone")
}

/// Checks a segment and its index, and whether it is the one of its name and of its log.
pub fn check(file: &SegmentFile, log: Option<LogId>, deep: bool) -> Item {
    let depth = if deep { Depth::Contents } else { Depth::Index };
    let checked = match (file.growing, deep) {
        (true, true) => "frames",
        (true, false) => "",
        (false, true) => "frames, index",
        (false, false) => "length, index",
    };
    let item = Item::new("segment", &file.path, checked);
    let found = match verify(file, depth) {
        Ok(found) => found,
        Err(e) => return item.fault(format!("at octet {}: {}", e.offset, e.fault)),
    };
    let mut item = item.faults(found.fault.map(|e| format!("at octet {}: {}", e.offset, e.fault)));
    item = item.faults(found.index.map(|e| format!("its index: {e}")));
    match belongs(file, (found.identity.as_ref(), found.facts.as_ref()), log) {
        Belongs::Here if item.checked.is_empty() => {}
        Belongs::Here => item.checked.push_str(", name"),
        Belongs::Elsewhere(why) => item = item.fault(why),
        Belongs::Unknown(why) => item = item.left_out(why),
    }
    match &found.contents {
        Contents::Whole(origin) => {
            item.checked.push_str(", contents by their checksums");
            if *origin == Origin::Found {
                item = item.left_out("what happened to them before its repair, when the checksums were made");
            }
            item
        }
        Contents::Damaged(compared) => item.faults(places(compared)),
        Contents::NotChecked(why) => item.left_out(reason(*why)),
    }
}

/// Why contents were not compared.
pub fn reason(why: NotChecked) -> &'static str {
    match why {
        NotChecked::Growing => "contents: it is being written, or a crash left it behind (trunkline packets repair)",
        NotChecked::NotRead => "contents: not read without --deep",
        NotChecked::NoSums => "contents: written before there were checksums",
        NotChecked::NoIndex => "contents: the index that has their checksums cannot be used",
    }
}

/// Where contents differ from their checksums.
pub fn places(compared: &Compared) -> Vec<String> {
    let blocks = figure::of(compared.damaged, "block", "blocks");
    let place = |(first, last): &(u64, u64)| format!("octets {first} to {last}");
    let places: Vec<_> = compared.places.iter().map(place).collect();
    vec![format!("contents: {blocks} not as written: {}", places.join(", "))]
}
