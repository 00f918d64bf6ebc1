//! The newest packets of a packet log, as its recorder flushes them: segments that are being written are read on, new
//! ones begun.
//!
//! Lanes and classes are flushed one after the other. What is found is held back for as long as they may differ, so
//! that it comes in the order of time; what is later than that comes at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use trunkline_capture::{FileError, FileFault};

use super::folder::{HOUR_NS, SegmentFile, Wish, list, newest_hour};
use super::index_file::FileAt;
use super::source::{Found, Matchers, STEP_OCTETS, Selection, Take};
use crate::Class;
use crate::index::Span;
use crate::query::Compile;
use crate::segment::{Read, Region, Segment, SegmentFault};

/// Segments that are followed at once; further ones are passed over, and an error says so.
// Limit: segments followed at once by `trunkline extract --live`
// Beyond: further ones are passed over
// Seen in: an error for each segment
pub const FOLLOWED_FILES_MAX: usize = 512;
/// Octets of packets that are held back; beyond them the earliest go, though earlier ones may still come.
pub const HELD_OCTETS_MAX: usize = 64 << 20;
/// Faults that wait to be asked for; further ones are not told.
pub const FAULTS_MAX: usize = 1000;
/// How long packets are held back: lanes flush once a second, each at a moment of its own.
const HOLD: Duration = Duration::from_millis(1200);
/// How often new segments are looked for.
const LIST_EVERY: Duration = Duration::from_millis(400);
/// How often the newest time is noted.
const MARK_EVERY: Duration = Duration::from_millis(50);
/// How long what is at the end of a growing segment may make no sense: a page may be read while it is written.
const PATIENCE: Duration = Duration::from_secs(5);
/// Steps that one segment is read before another's turn.
const STEPS_MAX: usize = 8;

/// What a segment is known by: data folder, class, time, lane, which one. Its path changes when it is sealed or moved.
type Name = (usize, Option<Class>, i64, u16, u32);

/// Follows a packet log.
pub struct Follow<'a> {
    data: &'a [PathBuf],
    classes: Vec<Class>,
    selection: &'a Selection,
    compiler: &'a dyn Compile,
    /// None when they were read to their end.
    files: BTreeMap<Name, Option<Tail>>,
    matchers: Matchers,
    held: BinaryHeap<Reverse<Held>>,
    held_octets: usize,
    /// Up to when packets had been seen at a moment.
    marks: VecDeque<(Instant, i64)>,
    newest_ns: i64,
    listed: Option<Instant>,
    numbered: usize,
    sequence: u64,
    faults: Vec<FileError>,
}

impl<'a> Follow<'a> {
    /// Follows the logs of these data folders from the first round on: what is in them before does not count.
    pub fn new(
        data: &'a [PathBuf],
        classes: &[Class],
        selection: &'a Selection,
        compiler: &'a dyn Compile,
    ) -> Follow<'a> {
        Follow {
            data,
            classes: classes.to_vec(),
            selection,
            compiler,
            files: BTreeMap::new(),
            matchers: Matchers::new(),
            held: BinaryHeap::new(),
            held_octets: 0,
            marks: VecDeque::new(),
            newest_ns: i64::MIN,
            listed: None,
            numbered: 0,
            sequence: 0,
            faults: Vec::new(),
        }
    }

    /// Reads what has come, at a moment that is not before the last one, and hands out what need not be held back any
    /// more. True if there is more to read at once; else the next round may wait.
    pub fn round(&mut self, now: Instant, out: &mut VecDeque<Found>) -> bool {
        if self.listed.is_none_or(|at| now.duration_since(at) >= LIST_EVERY) {
            self.look();
            self.listed = Some(now);
        }
        let more = self.read(now);
        if self.marks.back().is_none_or(|(at, _)| now.duration_since(*at) >= MARK_EVERY) {
            self.marks.push_back((now, self.newest_ns));
        }
        self.release(now, out);
        more
    }

    /// What was broken or could not be read, since the last call.
    pub fn faults(&mut self) -> Vec<FileError> {
        core::mem::take(&mut self.faults)
    }

    /// Link types whose packets are left out because the expression does not apply to them, with what libpcap says.
    pub fn refusals(&self) -> impl Iterator<Item = (u16, &str)> {
        self.matchers.iter().filter_map(|(link, m)| Some((*link, m.as_ref().err()?.as_str())))
    }

    /// Looks for new segments.
    fn look(&mut self) {
        let first = self.listed.is_none();
        let mut listed = HashSet::new();
        for (source, data) in self.data.iter().enumerate() {
            for file in self.newest(data, source) {
                let name = (file.source, file.class, file.begins_ns, file.lane, file.again);
                listed.insert(name);
                if !self.files.contains_key(&name) {
                    let tail = if first && !file.growing { None } else { self.begin(&file, first) };
                    self.files.insert(name, tail);
                }
            }
        }
        self.files.retain(|name, tail| tail.is_some() || listed.contains(name));
    }

    /// The segments of the newest hours of a folder: those by its own names and, if a clock was wrong, those of today.
    fn newest(&mut self, data: &Path, source: usize) -> Vec<SegmentFile> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let mut found = newest_hour(data, &self.classes).and_then(|hour| {
            let mut found = Vec::new();
            let hour = hour.unwrap_or(now);
            for span in [
                Span { first_ns: hour, last_ns: i64::MAX },
                Span { first_ns: now.saturating_sub(HOUR_NS), last_ns: now.saturating_add(HOUR_NS) },
            ] {
                found.extend(list(data, source, &Wish { span, classes: self.classes.clone() })?);
            }
            Ok(found)
        });
        if let Err(error) = &mut found {
            let fault = FileFault::Unreadable(error.to_string());
            self.say(FileError { path: data.to_path_buf(), offset: 0, decompressed: false, fault });
        }
        found.unwrap_or_default()
    }

    fn begin(&mut self, file: &SegmentFile, passing: bool) -> Option<Tail> {
        let error = |fault| FileError { path: file.path.clone(), offset: 0, decompressed: false, fault };
        if self.files.values().flatten().count() >= FOLLOWED_FILES_MAX {
            self.say(error(FileFault::TooManyFiles(FOLLOWED_FILES_MAX)));
            return None;
        }
        self.numbered += 1;
        match Tail::open(file, self.numbered - 1, passing) {
            Ok(tail) => Some(tail),
            Err(fault) => {
                self.say(error(fault.fault));
                None
            }
        }
    }

    /// Reads on in every segment. True if one of them has more.
    fn read(&mut self, now: Instant) -> bool {
        let (mut more, mut queue, mut faults) = (false, VecDeque::new(), Vec::new());
        for tail in self.files.values_mut() {
            let Some(reading) = tail else { continue };
            let mut take = Take {
                selection: self.selection,
                compiler: self.compiler,
                matchers: &mut self.matchers,
                queue: &mut queue,
                file: reading.number,
                packets: 0,
            };
            match reading.read(now, &mut take) {
                Ok(Progress::More) => more = true,
                Ok(Progress::Waits) => {}
                Ok(Progress::Ended) => *tail = None,
                Err(fault) => {
                    faults.push(fault);
                    *tail = None;
                }
            }
        }
        faults.into_iter().for_each(|fault| self.say(fault));
        for found in queue {
            self.newest_ns = self.newest_ns.max(found.at_ns);
            self.held_octets += found.octets.len();
            self.sequence += 1;
            self.held.push(Reverse(Held { at_ns: found.at_ns, sequence: self.sequence, found }));
        }
        more
    }

    fn release(&mut self, now: Instant, out: &mut VecDeque<Found>) {
        while self.marks.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= HOLD) {
            self.marks.pop_front();
        }
        let until_ns =
            self.marks.front().filter(|(at, _)| now.duration_since(*at) >= HOLD).map_or(i64::MIN, |mark| mark.1);
        while self.held.peek().is_some_and(|Reverse(h)| h.at_ns <= until_ns) || self.held_octets > HELD_OCTETS_MAX {
            let Some(Reverse(held)) = self.held.pop() else { return };
            self.held_octets -= held.found.octets.len();
            out.push_back(held.found);
        }
    }

    fn say(&mut self, fault: FileError) {
        if self.faults.len() < FAULTS_MAX && !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }
}

/// A packet that is held back.
struct Held {
    at_ns: i64,
    sequence: u64,
    found: Found,
}

impl Held {
    fn key(&self) -> (i64, u64) {
        (self.at_ns, self.sequence)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

enum Progress {
    /// There is more.
    More,
    /// That is all until now.
    Waits,
    /// That is all.
    Ended,
}

/// The end of a segment.
struct Tail {
    path: PathBuf,
    growing: bool,
    segment: Segment<FileAt>,
    region: Region,
    number: usize,
    /// What it holds before following begins is passed over.
    passing: bool,
    /// Since when its end makes no sense.
    stuck: Option<Instant>,
}

impl Tail {
    fn open(file: &SegmentFile, number: usize, passing: bool) -> Result<Tail, SegmentFault> {
        let unreadable = |e: std::io::Error| SegmentFault { offset: 0, fault: FileFault::Unreadable(e.to_string()) };
        let opened = file.open().map_err(unreadable)?;
        let segment = Segment::open(opened, true)?;
        let region = Region { from: segment.first(), until: u64::MAX };
        let (path, growing) = (file.path.clone(), file.growing);
        Ok(Tail { path, growing, segment, region, number, passing, stuck: None })
    }

    fn read(&mut self, now: Instant, take: &mut Take<'_>) -> Result<Progress, FileError> {
        // Asked before it is read: then what is read is all.
        let is_sealed = !self.growing || !self.path.exists();
        let _ = self.segment.file_mut().refresh();
        for _ in 0..STEPS_MAX {
            let passing = self.passing;
            let from = self.region.from;
            let step = self.segment.step(&mut self.region, STEP_OCTETS, &mut |read: &Read<'_>| {
                if !passing {
                    take.see(read);
                }
            });
            if self.region.from > from {
                self.stuck = None;
            }
            match step {
                Ok(true) => {}
                Ok(false) if is_sealed => return Ok(Progress::Ended),
                Ok(false) => {
                    self.passing = false;
                    return Ok(Progress::Waits);
                }
                Err(SegmentFault { offset, fault }) => {
                    let since = *self.stuck.get_or_insert(now);
                    if is_sealed || now.duration_since(since) >= PATIENCE {
                        return Err(FileError { path: self.path.clone(), offset, decompressed: false, fault });
                    }
                    self.passing = false;
                    return Ok(Progress::Waits);
                }
            }
        }
        Ok(Progress::More)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Wanted;
    use crate::names::segment_name;
    use crate::query::{Query, parse};
    use trunkline_capture::PcapWriter;
    use trunkline_capture::filter::Expression;

    const AT: i64 = 1_795_181_100_000_000_000;

    fn selection(query: Query) -> Selection {
        Selection { query, span: Span::ALL, wanted: Wanted::Matching }
    }

    /// Packets at these times, so many octets long, as a file.
    fn file(times: &[i64], octets: usize) -> Vec<u8> {
        let mut writer = PcapWriter::pcapng(Vec::new());
        times.iter().for_each(|at| writer.write(AT + at, 1, octets as u32, &vec![*at as u8; octets]).unwrap());
        writer.finish().unwrap()
    }

    /// Writes the beginning of a file as the recorder does: up to a page's end with zeros.
    fn grow(path: &Path, whole: &[u8], until: usize) {
        let mut octets = whole[..until.min(whole.len())].to_vec();
        octets.resize(octets.len().next_multiple_of(4096), 0);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // In place, as the recorder writes: the file is the same.
        let mut file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).unwrap();
        std::io::Write::write_all(&mut file, &octets).unwrap();
    }

    fn part(path: &Path) -> PathBuf {
        PathBuf::from(format!("{}.part", path.display()))
    }

    #[test]
    fn what_is_flushed_comes_once_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let data = [folder.path().to_path_buf()];
        let selection = selection(Query::all());
        let name = |class, lane, at| folder.path().join(segment_name(class, AT + at, lane, 0));
        let (a, b) = (name(Class::Sip, 0, 0), name(Class::Rtp, 1, 0));
        let (evens, odds): (Vec<i64>, Vec<i64>) = (0..4000).map(|n| n * 1000).partition(|n| n % 2000 == 0);
        let (whole_a, whole_b) = (file(&evens, 90), file(&odds, 217));
        // What was there before does not count: neither sealed nor growing.
        let old = name(Class::Other, 0, 0);
        grow(&part(&old), &file(&[5], 60), 100);
        std::fs::rename(part(&old), &old).unwrap();
        grow(&part(&a), &whole_a, whole_a.len() / 10);
        let mut follow = Follow::new(&data, &Class::ALL, &selection, &Expression);
        let (mut out, mut now) = (VecDeque::new(), Instant::now());
        let mut rounds = |now: &mut Instant, n| {
            let before = out.len();
            for _ in 0..n {
                while follow.round(*now, &mut out) {}
                *now += Duration::from_millis(200);
            }
            let times: Vec<i64> = out.iter().skip(before).map(|f: &Found| f.at_ns - AT).collect();
            assert!(follow.faults().is_empty());
            times
        };
        assert_eq!(rounds(&mut now, 10), []);
        let mut seen = Vec::new();
        for tenths in 2..=10 {
            grow(&part(&a), &whole_a, whole_a.len() * tenths / 10);
            seen.extend(rounds(&mut now, 2));
            grow(&part(&b), &whole_b, whole_b.len() * tenths / 10 - (tenths % 2));
            seen.extend(rounds(&mut now, 4));
        }
        // Sealed while nobody looks, and a further one that was never seen growing.
        for (path, whole) in [(&a, &whole_a), (&b, &whole_b)] {
            std::fs::write(part(path), whole).unwrap();
            std::fs::rename(part(path), path).unwrap();
        }
        let next = name(Class::Sip, 0, 60_000_000_000);
        grow(&part(&next), &file(&[60_000_000_000], 60), 200);
        std::fs::rename(part(&next), &next).unwrap();
        seen.extend(rounds(&mut now, 20));
        let begun = *seen.iter().find(|at| *at % 2000 == 0).unwrap();
        assert!(begun > 300_000 && begun < 500_000, "{begun}");
        let late = evens.iter().filter(|at| **at >= begun);
        let mut expected: Vec<i64> = late.chain(&odds).copied().chain([60_000_000_000]).collect();
        expected.sort_unstable();
        let mut once = seen.clone();
        once.sort_unstable();
        assert_eq!(once, expected);
        assert!(follow.files.values().all(Option::is_none), "a sealed file stays open");
    }

    #[test]
    fn lanes_that_flush_at_different_moments_are_one_timeline() {
        let folder = tempfile::tempdir().unwrap();
        let data = [folder.path().to_path_buf()];
        let selection = selection(parse("less 100").unwrap());
        let path = |lane| part(&folder.path().join(segment_name(Class::Rtp, AT, lane, 0)));
        let mut follow = Follow::new(&data, &Class::ALL, &selection, &Expression);
        let (mut out, mut now) = (VecDeque::new(), Instant::now());
        follow.round(now, &mut out);
        let times: Vec<Vec<i64>> = (0..3).map(|lane| (0..900).map(|n| n * 30 + lane * 10).collect()).collect();
        let whole: Vec<Vec<u8>> = times.iter().map(|times| file(times, 80)).collect();
        for second in 1..=9 {
            for (lane, whole) in whole.iter().enumerate() {
                now += Duration::from_millis(330);
                grow(&path(lane as u16), whole, whole.len() * second / 9);
                follow.round(now, &mut out);
            }
        }
        for _ in 0..10 {
            now += Duration::from_millis(330);
            follow.round(now, &mut out);
        }
        let found: Vec<i64> = out.iter().map(|f| f.at_ns - AT).collect();
        assert_eq!(found, (0..2700).map(|n| n * 10).collect::<Vec<_>>());
    }

    #[test]
    fn what_stays_broken_is_told_once() {
        let folder = tempfile::tempdir().unwrap();
        let data = [folder.path().to_path_buf()];
        let selection = selection(Query::all());
        let path = part(&folder.path().join(segment_name(Class::Rtp, AT, 0, 0)));
        let mut follow = Follow::new(&data, &Class::ALL, &selection, &Expression);
        let (mut out, mut now) = (VecDeque::new(), Instant::now());
        follow.round(now, &mut out);
        let mut octets = file(&[1, 2, 3], 80);
        octets.extend([0xee; 4096]);
        grow(&path, &octets, octets.len());
        let mut faults = Vec::new();
        for _ in 0..60 {
            now += Duration::from_millis(200);
            follow.round(now, &mut out);
            faults.extend(follow.faults());
        }
        assert_eq!((out.len(), faults.len()), (3, 1), "{faults:?}");
    }
}
