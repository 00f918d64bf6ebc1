//! The time by which rows get old. A clock that leaps ahead would make all that is kept too old at once, so what was
//! the time is noted, and one that does not go on from there is in doubt: nothing leaves because of its age then, nor
//! what has a minimum age, until the clock has gone on steadily for a day or somebody says that it is right.
//!
//! ```text
//! trunkline-retention-clock 1
//! at 1795181123000000000          the time, nanoseconds since 1970
//! since-boot 86400000000000       how long the machine had been up then, nanoseconds
//! boot 5f0c1ad0-...               which start of the machine that was
//! sum 51a3...                     FNV-1a of all octets before this line
//! ```

use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use trunkline_kit::clock_watch::{ClockWatch, JUMP};
use trunkline_kit::{place, sealed};
use trunkline_store::retention::Now;
use trunkline_store::time::SECOND_NS;

/// How long a machine may have been off without anybody asking whether its clock is right.
const OFF_MAX: Duration = Duration::from_secs(7 * 86_400);
/// How long a clock in doubt must go on steadily to be believed.
const CONFIRM: Duration = Duration::from_secs(86_400);
/// Below the data folder.
const FILE: &str = "spool/retention.clock";
const HEAD: &str = "trunkline-retention-clock 1";
const SUM: &str = "sum ";
/// Octets of a file: one that has more is none of ours.
const OCTETS_MAX: u64 = 4096;

/// What the machine's clocks say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since 1970.
    pub wall_ns: i64,
    /// How long the machine has been up, also while it slept.
    pub since_boot: Duration,
    /// Which of its starts this is; none where the system does not tell.
    pub boot: Option<String>,
}

impl Moment {
    /// That of now.
    pub fn now() -> Moment {
        let at = clock_gettime(ClockId::Boottime);
        let since_boot = Duration::new(at.tv_sec.unsigned_abs(), u32::try_from(at.tv_nsec).unwrap_or_default());
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        Moment { wall_ns: crate::run::now_ns(), since_boot, boot: boot.map(|id| id.trim().to_owned()) }
    }

    fn text(&self) -> String {
        let Moment { wall_ns, since_boot, boot } = self;
        let boot = boot.as_deref().unwrap_or("unknown");
        let text = format!("{HEAD}\nat {wall_ns}\nsince-boot {}\nboot {boot}\n", since_boot.as_nanos());
        sealed::seal(&text, SUM)
    }

    fn parse(text: &str) -> Option<Moment> {
        let mut lines = sealed::open(text, SUM)?.lines();
        let mut value = |key: &str| lines.next()?.strip_prefix(key);
        value(HEAD)?;
        let (wall_ns, since_boot) = (value("at ")?.parse().ok()?, value("since-boot ")?.parse().ok()?);
        let boot = Some(value("boot ")?.to_owned()).filter(|boot| boot != "unknown");
        Some(Moment { wall_ns, since_boot: Duration::from_nanos(since_boot), boot })
    }
}

/// What a data folder has noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Noted {
    /// Nothing: rows leave for the first time.
    Nothing,
    /// A moment that was believed.
    Moment(Moment),
    /// It cannot be read: why.
    Damaged(String),
}

/// Where it lies in a data folder.
pub fn path(data: &Path) -> PathBuf {
    data.join(FILE)
}

impl Noted {
    /// What this data folder has.
    pub fn load(data: &Path) -> Noted {
        match place::read_own(&path(data), OCTETS_MAX) {
            Ok(None) => Noted::Nothing,
            Ok(Some(octets)) => Moment::parse(&String::from_utf8_lossy(&octets))
                .map_or_else(|| Noted::Damaged("its checksum is wrong or missing".to_owned()), Noted::Moment),
            Err(e) => Noted::Damaged(e.to_string()),
        }
    }

    /// A watch that goes on from it.
    fn watch(&self, now: &Moment) -> ClockWatch {
        let watch = match self {
            Noted::Nothing => ClockWatch::new(None, now.since_boot),
            // Nothing is near that time: in doubt.
            Noted::Damaged(_) => ClockWatch::new(Some(i64::MIN), now.since_boot),
            Noted::Moment(before) if before.boot.is_some() && before.boot == now.boot => {
                ClockWatch::new(Some(before.wall_ns), before.since_boot)
            }
            Noted::Moment(before) => {
                let off_ns = now.wall_ns.saturating_sub(before.wall_ns);
                let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
                let goes_on = (-ns(JUMP)..=ns(OFF_MAX)).contains(&off_ns);
                ClockWatch::new((!goes_on).then_some(before.wall_ns), now.since_boot)
            }
        };
        watch.confirmed_after(CONFIRM)
    }
}

/// The clock of a data folder's rows.
pub struct Clock {
    data: PathBuf,
    noted: Noted,
    watch: ClockWatch,
}

impl Clock {
    /// Goes on from what is noted.
    pub fn open(data: &Path, now: &Moment) -> Clock {
        let noted = Noted::load(data);
        Clock { data: data.to_owned(), watch: noted.watch(now), noted }
    }

    /// The time, and whether it can be believed.
    pub fn look(&mut self, now: &Moment) -> Now {
        // Another process may have noted that it is right.
        let noted = Noted::load(&self.data);
        if noted != self.noted {
            (self.watch, self.noted) = (noted.watch(now), noted);
        }
        let believed = self.watch.believe(now.wall_ns, now.since_boot);
        Now { ns: now.wall_ns, is_believed: believed.is_some() }
    }

    /// Notes a moment that is believed.
    ///
    /// # Errors
    /// Those of the disk; then the note is that of before.
    pub fn note(&mut self, now: &Moment) -> io::Result<()> {
        let path = path(&self.data);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        place::replace(&path, now.text().as_bytes(), place::PRIVATE)?;
        self.noted = Noted::Moment(now.clone());
        self.watch = ClockWatch::new(Some(now.wall_ns), now.since_boot).confirmed_after(CONFIRM);
        Ok(())
    }

    /// Whether it was, when it was last looked at.
    pub fn is_in_doubt(&self) -> bool {
        self.watch.is_in_doubt()
    }

    /// Why the clock is in doubt, and what to do.
    pub fn doubt(&self, now: &Moment) -> String {
        let what = match &self.noted {
            Noted::Damaged(why) => format!("{}: {why}", path(&self.data).display()),
            Noted::Moment(before) => {
                let time = |ns: i64| trunkline_store::time::rfc3339(ns.div_euclid(SECOND_NS) * SECOND_NS);
                format!("it says {}, after {} when rows were last looked at", time(now.wall_ns), time(before.wall_ns))
            }
            Noted::Nothing => "it leapt".to_owned(),
        };
        format!(
            "the clock is in doubt: {what}. Nothing leaves because of its age, nor what keep-at-least names, until \
             it has gone on steadily for a day; if it is right: trunkline store prune --clock-is-right"
        )
    }
}

/// The same for the web and for alerts: what they keep gets old by this clock.
pub struct Ages(Mutex<Clock>);

impl Ages {
    /// That of a data folder.
    pub fn of(data: &Path) -> Ages {
        Ages(Mutex::new(Clock::open(data, &Moment::now())))
    }
}

impl trunkline_web::sources::Ages for Ages {
    fn believed_ns(&self) -> Option<i64> {
        let (moment, mut clock) = (Moment::now(), self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let now = clock.look(&moment);
        if !now.is_believed {
            tracing::warn!("{}", clock.doubt(&moment));
        } else if let Err(e) = clock.note(&moment) {
            tracing::warn!("the time could not be noted: {e}");
        }
        now.is_believed.then_some(now.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const NOW: i64 = 1_795_132_800_000_000_000;

    fn moment(days: f64, up: f64, boot: &str) -> Moment {
        let wall_ns = NOW + (days * 86_400e9) as i64;
        Moment { wall_ns, since_boot: DAY.mul_f64(up), boot: Some(boot.to_owned()) }
    }

    /// Whether it is believed, and noted if so.
    fn looked(clock: &mut Clock, at: &Moment) -> bool {
        let now = clock.look(at);
        if now.is_believed {
            clock.note(at).unwrap();
        }
        now.is_believed
    }

    #[test]
    fn the_first_time_is_believed_and_what_goes_on_from_it() {
        let data = tempfile::tempdir().unwrap();
        let mut clock = Clock::open(data.path(), &moment(0.0, 1.0, "a"));
        assert!(looked(&mut clock, &moment(0.0, 1.0, "a")));
        // The same start of the machine, however long nobody looked; another one, for a week.
        assert!(looked(&mut Clock::open(data.path(), &moment(300.0, 301.0, "a")), &moment(300.0, 301.0, "a")));
        assert!(looked(&mut Clock::open(data.path(), &moment(306.9, 0.1, "b")), &moment(306.9, 0.1, "b")));
        assert!(looked(&mut Clock::open(data.path(), &moment(306.0, 0.1, "c")), &moment(306.0, 0.1, "c")));
    }

    #[test]
    fn a_leap_is_in_doubt_for_a_day_also_over_starts_of_the_program() {
        for (leap, boot) in [(400.0, "a"), (-400.0, "a"), (2.0, "a"), (8.0, "b"), (-2.0, "b")] {
            let data = tempfile::tempdir().unwrap();
            let first = moment(0.0, 1.0, "a");
            assert!(looked(&mut Clock::open(data.path(), &first), &first));
            let leapt = moment(leap, 1.1, boot);
            for _ in 0..3 {
                let mut clock = Clock::open(data.path(), &leapt);
                assert!(!looked(&mut clock, &leapt), "{leap} {boot}");
                assert!(clock.doubt(&leapt).contains("--clock-is-right"));
            }
            let mut clock = Clock::open(data.path(), &leapt);
            assert!(!looked(&mut clock, &leapt));
            assert!(!looked(&mut clock, &moment(leap + 0.99, 2.09, boot)));
            assert!(looked(&mut clock, &moment(leap + 1.01, 2.11, boot)));
            let later = moment(leap + 1.1, 2.2, boot);
            assert!(looked(&mut Clock::open(data.path(), &later), &later));
        }
    }

    #[test]
    fn whoever_says_that_it_is_right_is_believed_by_a_run_as_well() {
        let data = tempfile::tempdir().unwrap();
        let (first, leapt) = (moment(0.0, 1.0, "a"), moment(90.0, 0.1, "b"));
        assert!(looked(&mut Clock::open(data.path(), &first), &first));
        let mut run = Clock::open(data.path(), &leapt);
        assert!(!looked(&mut run, &leapt));
        Clock::open(data.path(), &leapt).note(&leapt).unwrap();
        assert!(looked(&mut run, &moment(90.01, 0.11, "b")));
    }

    #[test]
    fn a_damaged_note_is_in_doubt() {
        let data = tempfile::tempdir().unwrap();
        let first = moment(0.0, 1.0, "a");
        assert!(looked(&mut Clock::open(data.path(), &first), &first));
        let whole = std::fs::read(path(data.path())).unwrap();
        for at in 0..whole.len() {
            let mut octets = whole.clone();
            octets[at] ^= 4;
            std::fs::write(path(data.path()), &octets).unwrap();
            assert!(matches!(Noted::load(data.path()), Noted::Damaged(_)), "{at}");
        }
        let mut clock = Clock::open(data.path(), &first);
        assert!(!looked(&mut clock, &first) && clock.doubt(&first).contains("checksum"));
        assert!(looked(&mut clock, &moment(1.01, 2.01, "a")));
    }
}
