//! The segments of a data folder, by class, time and lane.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::{FOLDER, FileAt, Volumes};
use crate::Class;
use crate::index::Span;
use trunkline_kit::date;
use trunkline_spool::PACKED;

/// A segment of the log, or a capture file that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFile {
    /// Its path.
    pub path: PathBuf,
    /// Where its index is, or may be.
    pub indexes: Vec<PathBuf>,
    /// Which of the folders and files that were named, from 0.
    pub source: usize,
    /// Its class; none of a file that was named.
    pub class: Option<Class>,
    /// Its lane.
    pub lane: u16,
    /// Which of the segments of this class, lane and time, from 0.
    pub again: u32,
    /// When it begins, as its name says, nanoseconds since 1970; 0 of a file that was named.
    pub begins_ns: i64,
    /// Whether it is being written.
    pub growing: bool,
}

impl SegmentFile {
    /// Whether it was rewritten to take less room.
    pub fn is_packed(&self) -> bool {
        self.path.extension().is_some_and(|e| e == PACKED)
    }

    /// Opens it; a segment that was being written when it was listed may have been sealed since, and a sealed one
    /// rewritten.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(&self) -> io::Result<FileAt> {
        let sealed = if self.growing { self.path.with_extension("") } else { self.path.clone() };
        let is_gone = |opened: &io::Result<FileAt>| {
            self.class.is_some() && opened.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::NotFound)
        };
        let mut opened = FileAt::open(&self.path);
        if self.growing && is_gone(&opened) {
            opened = FileAt::open(&sealed);
        }
        if !self.is_packed() && is_gone(&opened) {
            let mut packed = sealed.into_os_string();
            packed.push(".");
            packed.push(PACKED);
            // What is told is that the one that was listed is gone.
            opened = FileAt::open(Path::new(&packed)).or(opened);
        }
        opened
    }
}

/// Which segments are wished for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Those that may hold packets of this time.
    pub span: Span,
    /// Of these classes.
    pub classes: Vec<Class>,
}

const MINUTE_NS: i64 = 60_000_000_000;
pub(super) const HOUR_NS: i64 = 60 * MINUTE_NS;
/// How long behind its name a segment has packets at most: `record.segment-time`, and what names leave out.
pub(super) const LENGTH_MAX_NS: i64 = HOUR_NS + MINUTE_NS;

/// The segments of a data folder, on all its volumes, that may hold what is wished for, ordered by class, time, lane
/// and number; `source` is what they are to bear. A folder without a log has none.
///
/// # Errors
/// A folder cannot be listed, or what the data folder notes of its volumes is damaged.
pub fn list(data: &Path, source: usize, wish: &Wish) -> io::Result<Vec<SegmentFile>> {
    list_on(&Volumes::of(data)?, source, wish)
}

/// The same on these volumes.
///
/// # Errors
/// A folder cannot be listed.
pub fn list_on(volumes: &Volumes, source: usize, wish: &Wish) -> io::Result<Vec<SegmentFile>> {
    let mut found = Vec::new();
    for class in &wish.classes {
        let mut of_class = Vec::new();
        for volume in volumes.all() {
            hours(&volume.join(FOLDER).join(class.name()), *class, source, &wish.span, &mut of_class)?;
        }
        // What is being moved to the slow tier or rewritten is there twice for a moment.
        let mut seen = HashSet::new();
        of_class.retain(|f: &SegmentFile| seen.insert((f.begins_ns, f.lane, f.again, f.growing)));
        found.extend(near(of_class, &wish.span));
    }
    found.sort_by(|a, b| order(a).cmp(&order(b)));
    Ok(found)
}

/// The segments of a class on one volume, from all hours near the span.
fn hours(folder: &Path, class: Class, source: usize, span: &Span, out: &mut Vec<SegmentFile>) -> io::Result<()> {
    for (year, path) in numbered(folder)? {
        for (month, path) in numbered(&path)? {
            for (day, path) in numbered(&path)? {
                for (hour, path) in numbered(&path)? {
                    let minutes = minutes_of(year, month, day, hour);
                    let at_ns = minutes.saturating_mul(MINUTE_NS);
                    let (first_ns, last_ns) = (at_ns.saturating_sub(HOUR_NS), at_ns.saturating_add(2 * HOUR_NS));
                    if (Span { first_ns, last_ns }).meets(span) {
                        segments(&path, minutes, class, source, out)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// When the hour begins that the newest folder of a data folder is named after, nanoseconds since 1970; none where
/// there is no log.
///
/// # Errors
/// As [`list`].
pub fn newest_hour(data: &Path, classes: &[Class]) -> io::Result<Option<i64>> {
    let volumes = Volumes::of(data)?;
    let mut newest = None;
    for (class, volume) in classes.iter().flat_map(|class| volumes.all().map(move |volume| (class, volume))) {
        let (mut folder, mut parts) = (volume.join(FOLDER).join(class.name()), Vec::new());
        while parts.len() < 4 {
            let Some((number, path)) = numbered(&folder)?.pop() else { break };
            parts.push(number);
            folder = path;
        }
        if let [year, month, day, hour] = parts[..] {
            newest = newest.max(Some(minutes_of(year, month, day, hour).saturating_mul(MINUTE_NS)));
        }
    }
    Ok(newest)
}

/// What segments are ordered by.
fn order(file: &SegmentFile) -> (usize, Option<Class>, i64, u16, u32, &Path) {
    (file.source, file.class, file.begins_ns, file.lane, file.again, &file.path)
}

/// Leaves out the segments of a lane that ended before the span, or began after it. A segment holds packets of its own
/// interval of time, and late ones of the one before: none from before its lane's segment before, and none from after
/// the next one began, but where `segment-time` became longer meanwhile.
fn near(mut files: Vec<SegmentFile>, span: &Span) -> Vec<SegmentFile> {
    files.sort_by_key(|f| (f.lane, f.begins_ns));
    let begin_of = |from: Option<&SegmentFile>, lane: u16| from.filter(|f| f.lane == lane).map(|f| f.begins_ns);
    let keep: Vec<bool> = (0..files.len())
        .map(|at| {
            let file = &files[at];
            let earlier = files[..at].iter().rev().find(|f| f.lane != file.lane || f.begins_ns < file.begins_ns);
            let later = files[at..].iter().find(|f| f.lane != file.lane || f.begins_ns > file.begins_ns);
            let first_ns = begin_of(earlier, file.lane).unwrap_or(i64::MIN);
            let last_ns = begin_of(later, file.lane).unwrap_or(i64::MAX);
            Span { first_ns, last_ns }.meets(span) || goes_on(file, last_ns, span.first_ns)
        })
        .collect();
    let mut keep = keep.into_iter();
    files.retain(|_| keep.next().unwrap_or(true));
    files
}

/// Whether a segment may hold packets of a time that is after the next one's name: one of an hour that was begun beside
/// those of its minutes, since the setting was changed, is named after the full hour. It was written until then.
fn goes_on(file: &SegmentFile, next_ns: i64, from_ns: i64) -> bool {
    let until_ns = file.begins_ns.saturating_add(LENGTH_MAX_NS);
    if !(next_ns..=until_ns).contains(&from_ns) {
        return false;
    }
    let since = |at: std::time::SystemTime| at.duration_since(std::time::UNIX_EPOCH).ok();
    let modified = file.path.metadata().and_then(|about| about.modified()).ok().and_then(since);
    let modified_ns = modified.and_then(|since| i64::try_from(since.as_nanos()).ok());
    // What is written now is not on the disk yet; of what cannot be asked nobody knows.
    file.growing || modified_ns.is_none_or(|at| at >= from_ns)
}

/// Folders whose names are numbers.
fn numbered(folder: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(io::Error::new(e.kind(), format!("{}: {e}", folder.display()))),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|n| n.parse().ok());
        if let Some(number) = number.filter(|_| entry.file_type().is_ok_and(|t| t.is_dir())) {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The segments of the folder of an hour, which begins so many minutes after 1970.
fn segments(folder: &Path, hour: i64, class: Class, source: usize, out: &mut Vec<SegmentFile>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_symlink()) {
            continue;
        }
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else { continue };
        let (plain, growing) = match (name.strip_suffix(".part"), name.strip_suffix(".zst")) {
            (Some(plain), _) => (plain, true),
            (None, plain) => (plain.unwrap_or(name), false),
        };
        let Some((minute, lane, again)) = parts_of(plain) else { continue };
        let index = if growing { Vec::new() } else { vec![folder.join(plain).with_extension("idx")] };
        let begins_ns = hour.saturating_add(i64::from(minute)).saturating_mul(MINUTE_NS);
        out.push(SegmentFile { path, indexes: index, source, class: Some(class), lane, again, begins_ns, growing });
    }
    Ok(())
}

/// `05-3.1.pcapng`: minute, lane, which one.
fn parts_of(name: &str) -> Option<(u32, u16, u32)> {
    let (minute, rest) = name.strip_suffix(".pcapng")?.split_once('-')?;
    let (lane, again) = rest.split_once('.').unwrap_or((rest, "0"));
    Some((minute.parse().ok().filter(|m| *m < 60)?, lane.parse().ok()?, again.parse().ok()?))
}

/// The minute in which an hour begins, since 1970.
fn minutes_of(year: u32, month: u32, day: u32, hour: u32) -> i64 {
    date::days_of(i64::from(year), month, day).saturating_mul(24).saturating_add(i64::from(hour)).saturating_mul(60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::segment_name;

    const MINUTE: i64 = MINUTE_NS;

    #[test]
    fn names_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let at = 1_795_181_100_000_000_000;
        let mut names = Vec::new();
        for minute in [0, 1, 2, 200, 1500] {
            for lane in [0, 3] {
                for again in [0, 1] {
                    names.push(segment_name(Class::Rtp, at + minute * MINUTE, lane, again));
                }
            }
        }
        names.push(segment_name(Class::Sip, at, 0, 0) + ".part");
        names.push(segment_name(Class::Other, at, 0, 7) + ".zst");
        for name in &names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, b"").unwrap();
            std::fs::write(path.with_extension("idx"), b"").unwrap();
        }
        // Twice for a moment, and half made.
        std::fs::write(folder.path().join(segment_name(Class::Other, at, 0, 7)), b"").unwrap();
        std::fs::write(folder.path().join(segment_name(Class::Rtp, at, 0, 0) + ".zst.part"), b"").unwrap();
        let found = |first_ns, last_ns, classes: &[Class]| {
            let wish = Wish { span: Span { first_ns, last_ns }, classes: classes.to_vec() };
            list(folder.path(), 0, &wish).unwrap()
        };
        let all = found(i64::MIN, i64::MAX, &Class::ALL);
        assert_eq!(all.len(), names.len());
        for file in &all {
            let name = segment_name(file.class.unwrap(), file.begins_ns, file.lane, file.again);
            assert!(file.path.to_string_lossy().contains(&name), "{name}");
            assert_eq!(file.growing, file.class == Some(Class::Sip));
            let index = file.path.to_string_lossy().replace(".pcapng.zst", ".pcapng").replace(".pcapng", ".idx");
            assert!(file.growing || file.indexes == [PathBuf::from(index)], "{file:?}");
        }
        // A minute, the one before it for its late packets, and the one after for its.
        let some = found(at + MINUTE, at + MINUTE + 5, &[Class::Rtp]);
        let minutes: Vec<i64> = some.iter().map(|f| (f.begins_ns - at) / MINUTE).collect();
        assert_eq!(minutes, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        assert!(found(at - 100 * HOUR_NS, at - 99 * HOUR_NS, &[Class::Rtp]).is_empty());
        assert!(
            list(&folder.path().join("none"), 0, &Wish { span: Span::ALL, classes: vec![Class::Sip] })
                .unwrap()
                .is_empty()
        );
    }

    /// Users of other recorders miss packets where the length of segments was changed within an hour.
    #[test]
    fn a_segment_of_an_hour_beside_those_of_minutes_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let hour = 1_795_179_600_000_000_000;
        assert_eq!(hour % HOUR_NS, 0);
        let put = |name: String, until_ns: i64| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let until = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(until_ns as u64);
            std::fs::File::create(path).unwrap().set_modified(until).unwrap();
        };
        // Of minutes until half past, then one of an hour: it is named after the full hour.
        for minute in 0..30 {
            let at = hour + minute * MINUTE;
            put(segment_name(Class::Rtp, at, 0, 0), at + MINUTE + 2_000_000_000);
        }
        put(segment_name(Class::Rtp, hour, 0, 1), hour + HOUR_NS + 2_000_000_000);
        put(segment_name(Class::Rtp, hour + HOUR_NS, 0, 0), hour + 2 * HOUR_NS);
        let found = |first_ns: i64, last_ns: i64| -> Vec<(i64, u32)> {
            let wish = Wish { span: Span { first_ns, last_ns }, classes: vec![Class::Rtp] };
            let found = list(folder.path(), 0, &wish).unwrap();
            found.iter().map(|file| ((file.begins_ns - hour) / MINUTE, file.again)).collect()
        };
        let at = hour + 45 * MINUTE;
        assert_eq!(found(at, at + MINUTE), [(0, 1), (29, 0), (60, 0)]);
        // Those of minutes are found as before: no more of them are opened.
        let at = hour + 20 * MINUTE;
        assert_eq!(found(at, at + 1), [(0, 1), (19, 0), (20, 0), (21, 0)]);
    }

    /// The first time there is: the name's minute begins before it.
    #[test]
    fn the_first_minute_of_all_is_read_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let name = segment_name(Class::Sip, i64::MIN, 0, 0);
        let path = folder.path().join(&name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, b"").unwrap();
        let found = list(folder.path(), 0, &Wish { span: Span::ALL, classes: vec![Class::Sip] }).unwrap();
        assert_eq!(segment_name(Class::Sip, found[0].begins_ns, 0, 0), name);
    }
}
