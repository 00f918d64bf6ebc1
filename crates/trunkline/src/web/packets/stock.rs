//! What the packet log holds: its segments, and how long they will be kept.

use crate::command::packet_log::segments;
use crate::failure::Failure;
use crate::run::config::{RecordedClass, Settings};
use crate::run::now_ns;
use crate::show::figure;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use trunkline_kit::config::Share;
use trunkline_record::Class;
use trunkline_record::index::{ReadAt, Span};
use trunkline_record::job::{FOLDER, PINS, SegmentFile, Volumes, index_file};
use trunkline_spool::retention::{Pin, Pins};
use trunkline_web::sources::{RetentionInfo, SegmentInfo};

/// Finished segments whose figures are remembered; beyond it all are read anew.
pub const REMEMBERED_MAX: usize = 1 << 17;
/// For how long it is believed what the disks hold.
const FRESH: Duration = Duration::from_secs(10);
const DAY_NS: i64 = 86_400_000_000_000;
/// From less than so much nothing is foretold.
const TELLING_NS: i64 = 10 * 60 * 1_000_000_000;
const SECONDS_A_DAY: f64 = 86_400.0;

/// The segments of a data folder.
pub struct Stock {
    data: PathBuf,
    rules: [RecordedClass; 3],
    limit: Share,
    remembered: Mutex<HashMap<PathBuf, SegmentInfo>>,
    kept: Mutex<Option<(Instant, Vec<RetentionInfo>)>>,
}

impl Stock {
    /// Of this folder, with what the settings say is kept.
    pub fn new(data: &Path, settings: &Settings) -> Self {
        let rules = [&settings.record_sip, &settings.record_rtp, &settings.record_other].map(RecordedClass::clone);
        let limit = settings.record.limit;
        Stock { data: data.to_path_buf(), rules, limit, remembered: Mutex::default(), kept: Mutex::default() }
    }

    /// Those that hold packets of a time, oldest first.
    pub fn segments(&self, span: Span) -> Result<Vec<SegmentInfo>, Failure> {
        let files = segments(std::slice::from_ref(&self.data), span, &Class::ALL)?;
        let roots = self.roots()?;
        let pins = self.pins();
        let mut list: Vec<(i64, SegmentInfo)> = Vec::with_capacity(files.len());
        for file in &files {
            let mut info = self.look(file, &roots);
            let (first_ns, last_ns) = (info.from.unwrap_or(file.begins_ns), info.to.unwrap_or(file.begins_ns));
            info.pinned = pins.iter().any(|pin| pin.holds(&info.class, (first_ns, last_ns)));
            // What has packets and none of that time is not meant.
            if info.to.is_none() || (first_ns <= span.last_ns && last_ns >= span.first_ns) {
                list.push((first_ns, info));
            }
        }
        list.sort_by_key(|(first_ns, _)| *first_ns);
        Ok(list.into_iter().map(|(_, info)| info).collect())
    }

    /// What is kept of each class.
    pub fn retention(&self) -> Result<Vec<RetentionInfo>, Failure> {
        if let Some((at, kept)) = lock(&self.kept).as_ref()
            && at.elapsed() < FRESH
        {
            return Ok(kept.clone());
        }
        let files = segments(std::slice::from_ref(&self.data), Span::ALL, &Class::ALL)?;
        let mut held = Class::ALL.map(|_| Held::default());
        for file in &files {
            if let Some(class) = file.class {
                held[class as usize].add(file.begins_ns, stored(file));
            }
        }
        let room = self.room(held.iter().map(|h| h.octets).sum())?;
        let daily: f64 = held.iter().filter_map(Held::daily).sum();
        let all = Class::ALL.iter().zip(&held);
        let kept: Vec<RetentionInfo> = all.map(|(class, held)| self.kept(*class, held, room, daily)).collect();
        *lock(&self.kept) = Some((Instant::now(), kept.clone()));
        Ok(kept)
    }

    fn kept(&self, class: Class, held: &Held, room: u64, daily: f64) -> RetentionInfo {
        let rule = &self.rules[class as usize];
        let (limit_octets, limit_s) = (rule.keep_size.map(|s| s.0), rule.keep_age.map(|age| age.as_secs()));
        let by_age = limit_s.map(|s| s as f64 / SECONDS_A_DAY);
        let by_size = held.daily().and_then(|daily| limit_octets.map(|limit| limit as f64 / daily));
        let by_room = held.daily().map(|_| room as f64 / daily.max(1.0));
        RetentionInfo {
            class: class.name().to_owned(),
            rule: words(rule, self.limit),
            stored_octets: held.octets,
            limit_octets,
            limit_s,
            oldest: held.first_ns,
            days_estimated: [by_age, by_size, by_room].into_iter().flatten().reduce(f64::min),
        }
    }

    /// Octets that the log may have on all volumes together, as [`trunkline_spool`] reckons: what others use counts.
    fn room(&self, stored: u64) -> Result<u64, Failure> {
        let volumes = self.volumes()?;
        let count = volumes.folders.len() as u64;
        let percent = match self.limit {
            Share::Octets(octets) => return Ok(octets.0.saturating_mul(count)),
            Share::Percent(percent) => percent,
        };
        let systems = volumes.folders.iter().filter_map(|folder| rustix::fs::statvfs(folder).ok());
        let room = systems.map(|s| {
            let size = s.f_blocks.saturating_mul(s.f_frsize);
            let others =
                size.saturating_sub(s.f_bavail.saturating_mul(s.f_frsize)).saturating_sub(stored / count.max(1));
            ((size as f64 * percent / 100.0) as u64).saturating_sub(others).max(size / 20)
        });
        Ok(room.sum())
    }

    fn volumes(&self) -> Result<Volumes, Failure> {
        Volumes::of(&self.data).map_err(|e| Failure::Failed(e.to_string()))
    }

    fn roots(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(self.volumes()?.all().map(|volume| volume.join(FOLDER)).collect())
    }

    /// Where the file of pins cannot be read, nothing is said of pins.
    fn pins(&self) -> Vec<Pin> {
        Pins::new(self.data.join(PINS)).list().unwrap_or_default()
    }

    fn look(&self, file: &SegmentFile, roots: &[PathBuf]) -> SegmentInfo {
        if let Some(known) = lock(&self.remembered).get(&file.path) {
            return known.clone();
        }
        let info = look(file, roots);
        if info.state == "sealed" {
            let mut remembered = lock(&self.remembered);
            if remembered.len() >= REMEMBERED_MAX {
                remembered.clear();
            }
            remembered.insert(file.path.clone(), info.clone());
        }
        info
    }
}

/// Segments of a class.
#[derive(Default)]
struct Held {
    octets: u64,
    first_ns: Option<i64>,
    last_ns: i64,
    /// Of each segment, to know how much came in the last day.
    begins: Vec<(i64, u64)>,
}

impl Held {
    fn add(&mut self, begins_ns: i64, octets: u64) {
        self.octets = self.octets.saturating_add(octets);
        self.first_ns = Some(self.first_ns.map_or(begins_ns, |first| first.min(begins_ns)));
        self.last_ns = self.last_ns.max(begins_ns);
        self.begins.push((begins_ns, octets));
    }

    /// Octets a day, by what came in the last day, or since it began; none if that is too short to tell.
    fn daily(&self) -> Option<f64> {
        let now = now_ns().max(self.last_ns);
        let since = self.first_ns?.max(now.saturating_sub(DAY_NS));
        let lasted = now.saturating_sub(since);
        let octets: u64 = self.begins.iter().filter(|(at, _)| *at >= since).map(|(_, octets)| octets).sum();
        (lasted >= TELLING_NS && octets > 0).then(|| octets as f64 * DAY_NS as f64 / lasted as f64)
    }
}

fn look(file: &SegmentFile, roots: &[PathBuf]) -> SegmentInfo {
    let name = roots.iter().find_map(|root| file.path.strip_prefix(root).ok()).unwrap_or(&file.path);
    let open = file.open();
    let index = file.indexes.iter().find(|path| path.exists());
    let view = match (&open, index) {
        (Ok(capture), Some(index)) => Some(index_file::open(index, capture).map(|view| view.facts())),
        _ => None,
    };
    let facts = view.as_ref().and_then(|view| view.as_ref().ok());
    let has_packets = facts.filter(|f| f.span.first_ns <= f.span.last_ns);
    let state = match (&open, &view) {
        _ if file.growing => "growing",
        (Err(_), _) | (_, Some(Err(_))) => "damaged",
        _ => "sealed",
    };
    let (octets, file_octets) = open.as_ref().map_or((0, 0), |capture| (capture.octets(), capture.file_octets()));
    SegmentInfo {
        name: name.to_string_lossy().into_owned(),
        class: file.class.map_or("other", Class::name).to_owned(),
        lane: file.lane,
        from: has_packets.map(|f| f.span.first_ns).or(file.growing.then_some(file.begins_ns)),
        to: has_packets.map(|f| f.span.last_ns).or(file.growing.then(|| now_ns().max(file.begins_ns))),
        packets: facts.map(|f| f.packets),
        octets,
        stored_octets: file_octets + facts.map_or(0, |f| f.index_octets),
        state: state.to_owned(),
        compressed: file.is_packed(),
        pinned: false,
    }
}

/// Octets on disk, with the index.
fn stored(file: &SegmentFile) -> u64 {
    let octets = |path: &PathBuf| std::fs::metadata(path).map_or(0, |m| m.len());
    octets(&file.path) + file.indexes.iter().map(octets).sum::<u64>()
}

/// `14 days, at most 200 GB, until the disk is 80 % full`.
fn words(rule: &RecordedClass, limit: Share) -> String {
    let age = rule.keep_age.map(|age| figure::duration(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX)));
    let size = rule.keep_size.map(|size| format!("at most {size}"));
    let room = match limit {
        Share::Percent(percent) => format!("until the disk is {percent} % full"),
        Share::Octets(octets) => format!("at most {octets} of all on a disk"),
    };
    let parts: Vec<String> = age.into_iter().chain(size).chain([room]).collect();
    parts.join(", ")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
