//! Retention at work: lists the segments of all volumes, asks [`plan`], removes and moves.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::pins::{Pin, Pinned, Pins};
use super::plan::{Action, ClassRule, Reason, Rules, Step, Stored, VolumeRule, plan};
use crate::disk::Space;
use crate::error::SpoolError;
use crate::name::{Kinds, PACKED, with};
use crate::options::{Limit, Volume};
use crate::rewrite::Rewritten;
use crate::{Listing, leave};
use trunkline_kit::clock_watch::ClockWatch;
use trunkline_kit::date;

/// Times that a run plans anew because a segment turned out to be in use.
const PLANS_MAX: usize = 8;
/// Nanoseconds of the minute that a segment's name tells.
const MINUTE_NS: i64 = 60_000_000_000;
/// How long behind the minute of its name a segment is written at most.
const LENGTH_MAX_NS: i64 = 60 * MINUTE_NS;
/// Files of folders of passing files that are counted.
const PASSING_FILES_MAX: usize = 100_000;
/// Percent of its file system that segments may have though others have filled it beyond a limit in percent.
pub const SHARE_PERCENT_MIN: u64 = 5;

/// What is kept where.
#[derive(Clone, Debug)]
pub struct RetentionOptions {
    /// The folder of all segments, below each volume: `packets`. In it a folder for each class, in it
    /// `YYYY/MM/DD/HH/MM-...`.
    pub folder: PathBuf,
    /// Classes by the names of their folders, with their limits. What is in another folder counts as the last class.
    pub classes: Vec<(String, ClassRule)>,
    /// The volumes, as given to [`crate::Spool::open`].
    pub volumes: Vec<Volume>,
    /// The volume that takes what the others have no room for.
    pub slow: Option<Volume>,
    /// Extensions of segments and what stands beside them.
    pub kinds: Kinds,
    /// Octets that stay free on each file system; more than [`crate::Options::keep_free`], so that segments leave
    /// before writing stops.
    pub keep_free: u64,
    /// Folders of files that are there for a while, as what somebody extracted: they take nothing away from what a
    /// limit in percent gives to segments.
    pub passing: Vec<PathBuf>,
    /// The file of pins.
    pub pins: PathBuf,
}

/// Keeps a list of all segments and sees to it that they leave in time. Belongs to one thread; as it reads and deletes
/// files, to none that must not wait.
#[derive(Debug)]
pub struct Retention {
    options: RetentionOptions,
    segments: Vec<Listed>,
    clock: ClockWatch,
    pins: Pins,
}

#[derive(Debug)]
struct Listed {
    class: usize,
    volume: usize,
    /// Below the volume's folder.
    relative: Box<Path>,
    span_ns: (i64, i64),
    octets: u64,
    /// When it was committed, if we saw it, by the monotonic clock.
    committed: Option<Duration>,
}

/// A segment that left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Where it was.
    pub path: PathBuf,
    /// Octets, with the files beside it.
    pub octets: u64,
    /// Deleted or moved.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// What left.
    pub removed: Vec<Removed>,
    /// Segments that would have left but are being read or moved.
    pub in_use: usize,
    /// Why nothing leaves because of its age now: the clock is in doubt.
    pub ages_suspended: bool,
    /// What could not be removed, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// Octets of all segments, by class.
    pub octets: Vec<u64>,
    /// Time of the first record that is still there, by class.
    pub oldest_ns: Vec<Option<i64>>,
}

impl Retention {
    /// Lists the segments on all volumes. `monotonic` is any clock that never jumps.
    ///
    /// # Errors
    /// A volume cannot be listed, or no class is given.
    pub fn open(options: RetentionOptions, monotonic: Duration) -> Result<Retention, SpoolError> {
        Retention::open_listed(options, &[], monotonic)
    }

    /// The same where folders were listed just now.
    ///
    /// # Errors
    /// As [`Retention::open`].
    pub fn open_listed(
        options: RetentionOptions,
        listings: &[Listing],
        monotonic: Duration,
    ) -> Result<Retention, SpoolError> {
        if options.classes.is_empty() {
            return Err(SpoolError::Option("retention without a class".to_owned()));
        }
        let pins = Pins::new(&options.pins);
        let mut retention = Retention { options, segments: Vec::new(), clock: ClockWatch::new(None, monotonic), pins };
        for volume in 0..retention.volumes().count() {
            retention.list(volume, listings)?;
        }
        retention.drop_moved_twice();
        let newest = retention.segments.iter().map(|s| s.span_ns.1).max();
        retention.clock = ClockWatch::new(newest, monotonic);
        Ok(retention)
    }

    /// From now on these limits: of the classes in their order, and of every volume.
    pub fn limit(&mut self, classes: &[ClassRule], volumes: Limit) {
        for ((_, rule), limits) in self.options.classes.iter_mut().zip(classes) {
            *rule = *limits;
        }
        let all = self.options.volumes.iter_mut().chain(&mut self.options.slow);
        all.for_each(|volume| volume.limit = volumes);
    }

    /// Takes in a segment that was just committed: what [`crate::What::Sealed`] told.
    pub fn committed(&mut self, path: &Path, octets: u64, span_ns: (i64, i64), monotonic: Duration) {
        let Some((volume, relative)) = self.place_of(path) else { return };
        let beside = self.beside(path);
        // It may have been listed already, if it was committed while that went on; and even rewritten since.
        let (name, packed) = (relative.as_os_str(), with(&relative, PACKED));
        let listed = self.segments.iter().rposition(|s| {
            s.volume == volume && (s.relative.as_os_str() == name || s.relative.as_os_str() == packed.as_os_str())
        });
        if let Some(listed) = listed.and_then(|at| self.segments.get_mut(at))
            && self.options.kinds.is_packed(&listed.relative)
        {
            (listed.span_ns, listed.committed) = (span_ns, Some(monotonic));
            return;
        }
        let segment = Listed {
            class: self.class_of(&relative),
            volume,
            relative: relative.into(),
            span_ns,
            octets: octets + beside,
            committed: Some(monotonic),
        };
        match listed.and_then(|at| self.segments.get_mut(at)) {
            Some(listed) => *listed = segment,
            None => self.segments.push(segment),
        }
    }

    /// A segment was rewritten ([`crate::rewrite`]).
    pub fn rewritten(&mut self, from: &Path, to: &Rewritten) {
        let places = (self.place_of(from), self.place_of(&to.path));
        let (Some((volume, before)), Some((_, relative))) = places else { return };
        let at = |name: &Path| {
            let name = name.as_os_str();
            self.segments.iter().position(|s| s.volume == volume && s.relative.as_os_str() == name)
        };
        match (at(&before), at(&relative)) {
            (Some(at), _) => {
                let octets = to.octets + self.beside(&to.path);
                if let Some(listed) = self.segments.get_mut(at) {
                    (listed.relative, listed.octets) = (relative.into(), octets);
                }
            }
            (None, Some(_)) => {}
            // Listing came upon the folder before and upon the file after it was renamed, and found neither.
            (None, None) => self.take_in(volume, &to.path),
        }
    }

    /// Segments of these classes that were not rewritten, the newest first, at most so many; none of those that `skip`
    /// names.
    pub fn plain(&self, classes: &[bool], max: usize, skip: &HashSet<PathBuf>) -> Vec<PathBuf> {
        let is_wanted = |s: &&Listed| {
            classes.get(s.class).is_some_and(|wanted| *wanted) && !self.options.kinds.is_packed(&s.relative)
        };
        let mut found: Vec<&Listed> = self.segments.iter().filter(is_wanted).collect();
        found.sort_by_key(|s| Reverse(s.span_ns.0));
        found.into_iter().map(|s| self.path_of(s)).filter(|path| !skip.contains(path)).take(max).collect()
    }

    /// Removes and moves what has to leave now.
    ///
    /// # Errors
    /// The pins cannot be read: nothing was removed.
    pub fn run(&mut self, wall: SystemTime, monotonic: Duration) -> Result<Swept, SpoolError> {
        let pins = self.pins.list().map_err(|e| SpoolError::io(&self.options.pins, e))?;
        let wall_ns =
            wall.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
        let now_ns = self.clock.believe(wall_ns, monotonic);
        let mut swept = Swept { ages_suspended: now_ns.is_none(), ..Swept::default() };
        let mut in_use = HashSet::new();
        for _ in 0..PLANS_MAX {
            let stored = self.stored(&pins, &in_use, monotonic);
            let steps = plan(&stored, &self.rules(), now_ns);
            let before = in_use.len();
            self.carry_out(&steps, &mut in_use, &mut swept);
            if in_use.len() == before {
                break;
            }
        }
        swept.in_use = in_use.len();
        self.sum_up(&mut swept);
        Ok(swept)
    }

    /// Carries steps out; what turns out to be in use is noted, and with it the run is planned anew.
    fn carry_out(&mut self, steps: &[Step], in_use: &mut HashSet<Box<Path>>, swept: &mut Swept) {
        let mut gone = HashSet::new();
        for step in steps {
            let Some(listed) = self.segments.get(step.segment) else { continue };
            let path = self.path_of(listed);
            let left = match (step.action, &self.options.slow) {
                (Action::Move, Some(slow)) => {
                    leave::move_to(&path, &slow.path.join(&listed.relative), self.options.kinds)
                }
                _ => leave::delete(&path, self.options.kinds),
            };
            match left {
                Ok(true) => {
                    let (octets, action, reason) = (listed.octets, step.action, step.reason);
                    swept.removed.push(Removed { path, octets, action, reason });
                    gone.insert(step.segment);
                }
                // It was rewritten at this moment, and leaves when that is known.
                Err(error) if error.kind() == io::ErrorKind::NotFound && with(&path, PACKED).exists() => {
                    in_use.insert(listed.relative.clone());
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    gone.insert(step.segment);
                }
                Ok(false) => {
                    in_use.insert(listed.relative.clone());
                }
                Err(error) => {
                    swept.failed.push((path, error.to_string()));
                    in_use.insert(listed.relative.clone());
                }
            }
        }
        self.forget(&gone, steps);
    }

    /// Takes what left out of the list, or to its new volume.
    fn forget(&mut self, gone: &HashSet<usize>, steps: &[Step]) {
        let slow = self.options.volumes.len();
        for step in steps.iter().filter(|s| s.action == Action::Move && gone.contains(&s.segment)) {
            if let Some(listed) = self.segments.get_mut(step.segment) {
                listed.volume = slow;
            }
        }
        let deleted: HashSet<usize> = steps
            .iter()
            .filter(|s| s.action == Action::Delete && gone.contains(&s.segment))
            .map(|s| s.segment)
            .collect();
        let mut number = 0;
        self.segments.retain(|_| {
            number += 1;
            !deleted.contains(&(number - 1))
        });
    }

    fn stored(&self, pins: &[Pin], in_use: &HashSet<Box<Path>>, monotonic: Duration) -> Vec<Stored> {
        let pinned: Vec<Pinned> = self.options.classes.iter().map(|(name, _)| Pinned::of(pins, name)).collect();
        let stored = |s: &Listed| Stored {
            class: s.class,
            volume: s.volume,
            last_ns: s.span_ns.1,
            octets: s.octets,
            held: in_use.contains(&s.relative) || pinned.get(s.class).is_some_and(|p| p.holds(s.span_ns)),
            age_max: s.committed.map(|at| monotonic.saturating_sub(at)),
        };
        self.segments.iter().map(stored).collect()
    }

    fn rules(&self) -> Rules {
        let mut own = vec![0u64; self.volumes().count()];
        for listed in &self.segments {
            own.iter_mut().skip(listed.volume).take(1).for_each(|sum| *sum += listed.octets);
        }
        let passing: Vec<(u64, u64)> = self.options.passing.iter().flat_map(|folder| passing(folder)).collect();
        let rule = |(volume, own): (&Volume, u64)| {
            let space = crate::disk::space(&volume.path, volume.faults.as_deref()).ok();
            let (octets, share) = match volume.limit {
                Limit::Octets(octets) => (Some(octets), 0),
                Limit::Percent(percent) => (None, 100 - u64::from(percent.min(100))),
            };
            let device = std::fs::metadata(&volume.path).map(|m| m.dev()).ok();
            let lent: u64 = passing.iter().filter(|(on, _)| Some(*on) == device).map(|(_, octets)| octets).sum();
            let wanted = |s: Space| (s.size / 100 * share).saturating_sub(lent);
            let of = |s: Space| keep_free(s, own, wanted(s)).max(self.options.keep_free);
            let keep_free = space.map_or(0, of);
            VolumeRule { octets, free: space.map(|s| s.free), keep_free }
        };
        Rules {
            classes: self.options.classes.iter().map(|(_, rule)| *rule).collect(),
            volumes: self.volumes().zip(own).map(rule).collect(),
            slow: self.options.slow.as_ref().map(|_| self.options.volumes.len()),
        }
    }

    fn sum_up(&self, swept: &mut Swept) {
        let classes = self.options.classes.len();
        (swept.octets, swept.oldest_ns) = (vec![0; classes], vec![None; classes]);
        for listed in &self.segments {
            if let (Some(sum), Some(oldest)) =
                (swept.octets.get_mut(listed.class), swept.oldest_ns.get_mut(listed.class))
            {
                *sum += listed.octets;
                *oldest = Some(oldest.map_or(listed.span_ns.0, |o: i64| o.min(listed.span_ns.0)));
            }
        }
    }

    /// The volume of a path, and its name there.
    fn place_of(&self, path: &Path) -> Option<(usize, PathBuf)> {
        self.volumes().enumerate().find_map(|(i, v)| Some((i, path.strip_prefix(&v.path).ok()?.to_path_buf())))
    }

    /// Octets of what stands beside a segment.
    fn beside(&self, segment: &Path) -> u64 {
        self.options.kinds.all_beside(segment).filter_map(|p| Some(p.metadata().ok()?.len())).sum()
    }

    /// All volumes, the slow one last.
    fn volumes(&self) -> impl Iterator<Item = &Volume> {
        self.options.volumes.iter().chain(&self.options.slow)
    }

    fn path_of(&self, listed: &Listed) -> PathBuf {
        let root = self.volumes().nth(listed.volume).map(|v| v.path.as_path());
        root.unwrap_or(Path::new("")).join(&listed.relative)
    }

    /// The class of a segment by its folder.
    fn class_of(&self, relative: &Path) -> usize {
        let below = relative.strip_prefix(&self.options.folder).unwrap_or(relative);
        let name = below.iter().next();
        let found = self.options.classes.iter().position(|(class, _)| name.is_some_and(|n| n == class.as_str()));
        found.unwrap_or(self.options.classes.len() - 1)
    }

    fn list(&mut self, volume: usize, listings: &[Listing]) -> Result<(), SpoolError> {
        let Some(root) = self.volumes().nth(volume).map(|v| v.path.clone()) else { return Ok(()) };
        let top = root.join(&self.options.folder);
        let kinds = self.options.kinds;
        let listed;
        let listing = match listings.iter().find(|listing| listing.folder() == top) {
            Some(listing) => listing,
            None => {
                listed = Listing::of(&top)?;
                &listed
            }
        };
        let found = || listing.files().filter(|path| kinds.is_segment(path));
        let packed: HashSet<&Path> = found().filter(|path| kinds.is_packed(path)).collect();
        for path in found() {
            // Being rewritten, it is there twice for a moment.
            if packed.contains(with(path, PACKED).as_path()) {
                continue;
            }
            self.take_in(volume, path);
        }
        Ok(())
    }

    /// Takes in a segment that is there, and was committed nobody knows when.
    fn take_in(&mut self, volume: usize, path: &Path) {
        let Some(root) = self.volumes().nth(volume).map(|v| &v.path) else { return };
        let (Ok(metadata), Ok(relative)) = (path.metadata(), path.strip_prefix(root)) else { return };
        self.segments.push(Listed {
            class: self.class_of(relative),
            volume,
            relative: relative.into(),
            span_ns: span_of_file(relative, modified_ns(&metadata)),
            octets: metadata.len() + self.beside(path),
            committed: None,
        });
    }

    /// A move that was cut off between commit and removal left two: the first goes.
    fn drop_moved_twice(&mut self) {
        let slow = self.options.volumes.len();
        let there: HashSet<(Box<Path>, u64)> =
            self.segments.iter().filter(|s| s.volume == slow).map(|s| (s.relative.clone(), s.octets)).collect();
        let twice = |s: &Listed| s.volume != slow && there.contains(&(s.relative.clone(), s.octets));
        let paths: Vec<PathBuf> = self.segments.iter().filter(|s| twice(s)).map(|s| self.path_of(s)).collect();
        self.segments.retain(|s| !twice(s));
        for path in paths {
            // If it is in use, the next start removes it.
            let _ = leave::delete(&path, self.options.kinds);
        }
    }
}

/// Device and octets of each file in a folder and in those in it.
fn passing(folder: &Path) -> Vec<(u64, u64)> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |entry: std::fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder { entries(&entry.path()).collect() } else { vec![entry] }
    };
    let files = entries(folder).flat_map(below).take(PASSING_FILES_MAX).filter_map(|entry| entry.metadata().ok());
    files.filter(std::fs::Metadata::is_file).map(|m| (m.dev(), m.blocks().saturating_mul(512))).collect()
}

/// Octets to keep free for a limit in percent: `wanted`, but if others have filled the file system, the segments, `own`
/// octets of it, still have their share of it, and what was just recorded is not deleted for their sake.
fn keep_free(space: Space, own: u64, wanted: u64) -> u64 {
    let within_reach = space.free.saturating_add(own);
    wanted.min(within_reach.saturating_sub(space.size / 100 * SHARE_PERCENT_MIN))
}

/// The time of a segment that was not seen to be written: from the minute of its name to when it was, which is an hour
/// later at most. Pins hold it, and its age counts, by that.
fn span_of_file(relative: &Path, modified_ns: i64) -> (i64, i64) {
    let Some((first, last)) = span_of(relative) else { return (modified_ns, modified_ns) };
    (first, modified_ns.clamp(last, last.saturating_add(LENGTH_MAX_NS)))
}

/// The minute that the name of a segment tells: `.../2026/11/20/13/46-3.pcapng`.
fn span_of(relative: &Path) -> Option<(i64, i64)> {
    let parts: Vec<&str> = relative.iter().rev().take(5).map(|p| p.to_str()).collect::<Option<_>>()?;
    let [file, hour, day, month, year] = parts[..] else { return None };
    let number = |text: &str, digits: usize| (text.len() == digits).then(|| text.parse::<u32>().ok()).flatten();
    let minute = number(file.get(..2)?, 2)?;
    let days = date::days_of(i64::from(number(year, 4)?), number(month, 2)?, number(day, 2)?);
    let minutes = (days * 24 + i64::from(number(hour, 2)?)) * 60 + i64::from(minute);
    let first = minutes.checked_mul(MINUTE_NS)?;
    Some((first, first + MINUTE_NS - 1))
}

fn modified_ns(metadata: &std::fs::Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_a_full_disk_keeps_a_part_of_it() {
        let free_of = |free, own| keep_free(Space { size: 1000, free }, own, 200);
        assert_eq!(free_of(900, 0), 200);
        assert_eq!(free_of(100, 500), 200, "our own segments leave");
        assert_eq!(free_of(150, 80), 180, "they have no more than 50");
        assert_eq!(free_of(40, 50), 40, "others have 910");
        assert_eq!(free_of(10, 20), 0);
    }

    #[test]
    fn what_passes_is_counted_by_what_it_takes() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("x"), [7; 5000]).unwrap();
        std::fs::write(folder.path().join("a/y"), [7; 5000]).unwrap();
        let device = std::fs::metadata(folder.path()).unwrap().dev();
        let all = passing(folder.path());
        assert!(all.len() == 2 && all.iter().all(|(on, octets)| *on == device && *octets >= 5000), "{all:?}");
        assert!(passing(&folder.path().join("none")).is_empty());
    }

    /// Segments of an hour are named after its first minute: a pin on their middle holds them after a restart, too.
    #[test]
    fn a_segment_lasts_from_its_name_until_it_was_written() {
        let (name, minute) = (Path::new("sip/1970/01/01/00/10-0.pcapng"), |n: i64| n * MINUTE_NS);
        for (written, last) in [(0, minute(11) - 1), (minute(11), minute(11)), (minute(69), minute(69))] {
            assert_eq!(span_of_file(name, written), (minute(10), last));
        }
        // One that was copied here, or read from a capture of that time.
        assert_eq!(span_of_file(name, i64::MAX), (minute(10), minute(71) - 1));
        assert_eq!(span_of_file(Path::new("x.pcapng"), 7), (7, 7));
    }

    #[test]
    fn names_tell_the_time() {
        let of = |name: &str| span_of(Path::new(name)).map(|s| s.0 / 1_000_000_000);
        assert_eq!(of("packets/sip/1970/01/01/00/00-0.pcapng"), Some(0));
        assert_eq!(of("packets/sip/2024/02/29/23/59-11.2.pcapng"), Some(1_709_251_140));
        assert_eq!(of("2026/11/20/13/46-3.pcapng"), Some(1_795_182_360));
        assert_eq!(of("2026/11/20/x/46-3.pcapng"), None);
        assert_eq!(of("46-3.pcapng"), None);
    }
}
