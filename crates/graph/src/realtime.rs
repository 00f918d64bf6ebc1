//! Graphs in real time: while somebody looks at one, its data sources are read each second or few, and what comes is
//! kept in memory alone. No file and no journal sees it, and when nobody looks any more it is forgotten.

use crate::files::{Definition, Limits, limits};
use crate::inventory::Inventory;
use crate::picture::Files;
use crate::poller::Now;
use crate::targets;
use crate::template::Library;
use std::collections::BTreeMap;
use trunkline_rrd::{Consolidation, Fault, Image, Plan, Question, Refused, Series, Time, Value};

/// The longest step, seconds; the shortest is a second.
pub const REALTIME_STEP_S_MAX: u32 = 60;
/// Data sources that are read in real time at once.
// Limit: data sources read in real time at once
// Beyond: a further graph is refused
// Seen in: `trunkline_graph_realtime_refused_total`
pub const REALTIME_SOURCES_MAX: usize = 256;
/// Rows that are kept of each: a quarter of an hour of seconds.
pub const REALTIME_ROWS: u32 = 900;
/// How long nobody has to ask until a data source is not read any more, nanoseconds; three steps if those are longer.
const LAPSE_NS: u64 = 15_000_000_000;
/// A data source that said nothing for so many seconds, or for three steps, is unknown.
const HEARTBEAT_S: u32 = 10;

/// Data sources that are watched, and what came of them.
#[derive(Debug, Default)]
pub struct Realtime {
    watched: BTreeMap<u32, Watched>,
    version: u64,
}

/// A data source that is to be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The data source.
    pub source: u32,
    /// Its device.
    pub device: u32,
    /// How its file would be made.
    pub definition: Definition,
}

/// What is to be read of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfDevice {
    /// Seconds between two rounds.
    pub step_s: u32,
    /// The data sources, in the order of their numbers.
    pub sources: Vec<u32>,
}

/// Why something is not watched.
#[derive(Debug, thiserror::Error)]
pub enum NotWatched {
    /// More would be read at once than are to be.
    #[error(
        "at most {REALTIME_SOURCES_MAX} data sources can be read in real time at once: {asked} requested, {free} free"
    )]
    Full {
        /// How many were asked for that are not watched yet.
        asked: usize,
        /// How many more can be.
        free: usize,
    },
    /// What comes could not be kept.
    #[error("{0}")]
    Fault(#[from] Fault),
}

#[derive(Debug)]
struct Watched {
    device: u32,
    definition: Definition,
    image: Image,
    until_ns: u64,
    heard_ms: Option<i64>,
}

impl Wanted {
    /// Of a data source, at a step in seconds; none if its template is not there.
    pub fn of(inventory: &Inventory, library: &Library, source: u32, step_s: u32) -> Option<Wanted> {
        let template = targets::template(inventory, library, source)?;
        let heartbeat_s = HEARTBEAT_S.max(step_s.saturating_mul(3));
        let line = |series: &crate::template::Series| {
            let Limits { min, max, .. } = limits(inventory, library, source, series)?;
            Some(format!("DS:{}:{}:{heartbeat_s}:{min}:{max}", series.name, series.kind.name().to_uppercase()))
        };
        let mut lines = template.series.iter().map(line).collect::<Option<Vec<String>>>()?;
        // Of rows of one step any function is the same.
        lines.push(format!("RRA:{}:0.5:1:{REALTIME_ROWS}", Consolidation::Average.name()));
        let device = inventory.sources().get(source)?.device;
        Some(Wanted { source, device, definition: Definition { step_s: step_s.into(), lines } })
    }
}

impl Realtime {
    /// Has data sources watched, of which others may be watched already: those at a longer step begin anew.
    ///
    /// # Errors
    /// [`NotWatched`]: then nothing has changed.
    pub fn watch(&mut self, wanted: Vec<Wanted>, now: Now) -> Result<(), NotWatched> {
        self.lapse(now.steady_ns);
        let asked = wanted.iter().filter(|one| !self.watched.contains_key(&one.source)).count();
        let free = REALTIME_SOURCES_MAX - self.watched.len();
        if asked > free {
            return Err(NotWatched::Full { asked, free });
        }
        let mut fresh = Vec::new();
        for one in wanted {
            let until_ns = now.steady_ns + LAPSE_NS.max(one.definition.step_s * 3_000_000_000);
            match self.watched.get_mut(&one.source) {
                Some(there) if there.device == one.device && there.definition.step_s <= one.definition.step_s => {
                    there.until_ns = there.until_ns.max(until_ns);
                }
                _ => {
                    let image = begin(&one.definition, now.unix_ms)?;
                    let Wanted { source, device, definition } = one;
                    fresh.push((source, Watched { device, definition, image, until_ns, heard_ms: None }));
                }
            }
        }
        self.version += u64::from(!fresh.is_empty());
        self.watched.extend(fresh);
        Ok(())
    }

    /// Forgets what nobody looks at any more.
    pub fn lapse(&mut self, now_ns: u64) {
        let before = self.watched.len();
        self.watched.retain(|_, watched| watched.until_ns > now_ns);
        self.version += u64::from(self.watched.len() != before);
    }

    /// Changes with what is watched.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many data sources are watched.
    pub fn len(&self) -> usize {
        self.watched.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// What is to be read of which device.
    pub fn devices(&self) -> BTreeMap<u32, OfDevice> {
        let mut devices = BTreeMap::<u32, OfDevice>::new();
        for (source, watched) in &self.watched {
            let step_s = u32::try_from(watched.definition.step_s).unwrap_or(REALTIME_STEP_S_MAX);
            let of = devices.entry(watched.device).or_insert(OfDevice { step_s, sources: Vec::new() });
            of.step_s = of.step_s.min(step_s);
            of.sources.push(*source);
        }
        devices
    }

    /// Takes a sample of a data source that may be watched: a value for each of its series; whether it is.
    pub fn take(&mut self, source: u32, unix_ms: i64, values: &[Value<'_>]) -> bool {
        let Some(watched) = self.watched.get_mut(&source) else { return false };
        let time = Time {
            seconds: unix_ms.div_euclid(1000),
            microseconds: u32::try_from(unix_ms.rem_euclid(1000)).unwrap_or_default() * 1000,
        };
        let back_s = watched.image.last().seconds - time.seconds;
        if matches!(watched.image.update(time, values), Err(Refused::Past(_))) && back_s > 1 {
            // Somebody has set the clock back.
            if let Ok(anew) = begin(&watched.definition, unix_ms) {
                watched.image = anew;
            }
        }
        if values.iter().any(|value| !matches!(value, Value::Unknown)) {
            watched.heard_ms = watched.heard_ms.max(Some(unix_ms));
        }
        true
    }

    /// When the last of these said a number: milliseconds since 1970; none if none of them has.
    pub fn heard_ms(&self, sources: &[u32]) -> Option<i64> {
        sources.iter().filter_map(|source| self.watched.get(source)?.heard_ms).max()
    }
}

/// Nothing is known before the first sample.
fn begin(definition: &Definition, unix_ms: i64) -> Result<Image, Fault> {
    let plan = Plan::read(definition.step_s, definition.lines.iter().map(String::as_str))?;
    Image::new(&plan.create(unix_ms.div_euclid(1000) - 1, |_| 0)?)
}

/// What came, in the place of files.
impl Files for Realtime {
    fn path(&self, source: u32) -> Option<String> {
        self.watched.contains_key(&source).then(String::new)
    }

    fn rows(&self, source: u32, question: &Question) -> Result<Series, Fault> {
        let watched = self.watched.get(&source).ok_or_else(|| Fault::Io(std::io::ErrorKind::NotFound.into()))?;
        let mut series = watched.image.fetch(question)?;
        let width = series.names.len().max(1);
        // Of the first row after what is unknown a part is unknown, too; in files of short steps that part counts as
        // one in which nothing went (rrdtool counts it in whole seconds), which would be a dip that there never was.
        for at in (width..series.values.len()).rev() {
            if series.values[at - width].is_nan() {
                series.values[at] = f64::NAN;
            }
        }
        Ok(series)
    }

    fn last_s(&self, source: u32) -> Option<i64> {
        Some(self.watched.get(&source)?.image.last().seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN_MS: i64 = 1_700_000_000_000;

    fn wanted(source: u32, device: u32, step_s: u64) -> Wanted {
        let lines = vec!["DS:v:COUNTER:10:0:U".to_owned(), format!("RRA:AVERAGE:0.5:1:{REALTIME_ROWS}")];
        Wanted { source, device, definition: Definition { step_s, lines } }
    }

    fn at(seconds: u64) -> Now {
        Now { steady_ns: seconds * 1_000_000_000, unix_ms: BEGIN_MS + seconds as i64 * 1000 }
    }

    fn rows(realtime: &Realtime, source: u32, seconds: std::ops::Range<i64>) -> Vec<f64> {
        let (start_s, end_s) = (BEGIN_MS / 1000 + seconds.start, BEGIN_MS / 1000 + seconds.end);
        let question = Question { consolidation: Consolidation::Average, start_s, end_s, step_s: 1 };
        realtime.rows(source, &question).unwrap().values
    }

    #[test]
    fn what_is_watched_has_bounds_and_goes_when_nobody_asks() {
        let mut realtime = Realtime::default();
        realtime.watch((0..200).map(|source| wanted(source, source / 100, 1)).collect(), at(0)).unwrap();
        let version = realtime.version();
        assert_eq!(realtime.devices().len(), 2);
        let more = (150..300).map(|source| wanted(source, 7, 1)).collect();
        let refused = realtime.watch(more, at(1)).unwrap_err();
        assert!(matches!(refused, NotWatched::Full { asked: 100, free: 56 }), "{refused}");
        assert_eq!((realtime.len(), realtime.version()), (200, version), "nothing has changed");
        // Of one device the shortest step counts; one that is asked for again goes on.
        realtime.watch(vec![wanted(0, 0, 5), wanted(201, 0, 5)], at(10)).unwrap();
        let device = realtime.devices().remove(&0).unwrap();
        assert_eq!((device.step_s, device.sources.len()), (1, 101));
        realtime.lapse(at(16).steady_ns);
        assert_eq!(realtime.devices(), [(0, OfDevice { step_s: 1, sources: vec![0, 201] })].into());
        assert!(realtime.version() > version + 1);
        realtime.lapse(at(26).steady_ns);
        assert!(realtime.is_empty());
    }

    #[test]
    fn samples_are_rates_by_the_second_and_a_clock_may_be_set_back() {
        let mut realtime = Realtime::default();
        realtime.watch(vec![wanted(3, 1, 1)], at(0)).unwrap();
        assert!(!realtime.take(4, BEGIN_MS, &[Value::Unsigned(7)]), "nobody watches it");
        assert_eq!(realtime.heard_ms(&[3]), None);
        for second in 0..20 {
            assert!(realtime.take(3, BEGIN_MS + second * 1000 + 500, &[Value::Unsigned(second as u64 * 80)]));
        }
        assert_eq!(rows(&realtime, 3, 1..18), [80.0; 18]);
        assert!(rows(&realtime, 3, -2..18)[..3].iter().all(|value| value.is_nan()), "no half of a second is told");
        assert_eq!(realtime.heard_ms(&[3, 9]), Some(BEGIN_MS + 19_500));
        // What was asked for at a longer step, too, goes on as it is.
        realtime.watch(vec![wanted(3, 1, 5)], at(14)).unwrap();
        assert_eq!(rows(&realtime, 3, 1..18), [80.0; 18]);
        for second in 0..20 {
            realtime.take(3, BEGIN_MS - 3_600_000 + second * 1000, &[Value::Unsigned(second as u64 * 5)]);
        }
        assert_eq!(rows(&realtime, 3, -3598..-3584), [5.0; 15]);
    }

    #[test]
    fn no_more_rows_are_kept_than_are_said() {
        let mut realtime = Realtime::default();
        realtime.watch(vec![wanted(3, 1, 1)], at(0)).unwrap();
        for second in 0..2000 {
            realtime.take(3, BEGIN_MS + second * 1000, &[Value::Unsigned(second as u64)]);
        }
        let known = rows(&realtime, 3, 0..1999).iter().filter(|value| !value.is_nan()).count();
        assert_eq!(known, REALTIME_ROWS as usize - 1, "all but the first");
    }
}
