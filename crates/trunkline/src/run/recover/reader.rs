//! The thread that recovers: reads the log of before the start, then the calls that went on.

use super::checkpoint::{Checkpoint, Found};
use super::pass::{self, Keep, Seen};
use super::state::{Followed, Phase, Recovery, State};
use crate::run::engine::Shared;
use crate::run::now_ns;
use crate::run::rows::RowsOut;
use crate::show::figure;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use trunkline_calls::job::{FileSummary, Progress};
use trunkline_record::Class;
use trunkline_record::job::SegmentFile;

/// So much before the first call is read, so that what reaches into its time is not taken for a beginning.
const BEFORE_NS: i64 = 60_000_000_000;
/// A checkpoint may be so much later than the clock: what slews it makes no more of a start.
const AHEAD_NS: i64 = 1_000_000_000;
/// Calls that ended so shortly before the log's end may have stragglers.
const LINGER_NS: i64 = 120_000_000_000;
/// An INVITE without a final response is not waited for longer than that: timer C of RFC 3261 section 16.6 is 3
/// minutes.
const UNANSWERED: Duration = Duration::from_secs(300);
/// Between two readings of calls that went on at least, and so many times as long as the last one took.
const AGAIN: Duration = Duration::from_secs(5);
const AGAIN_TIMES: u32 = 3;
/// How long nothing is looked at, at least and at most.
const TICK: Duration = Duration::from_millis(100);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long reading pauses at a time while a ring is more than a quarter full.
const PAUSE: Duration = Duration::from_millis(5);
/// Pauses in a row: what fills a ring for so long is not this thread.
const PAUSES_MAX: u32 = 200;
/// The priority of the thread, as of nice(1).
const NICE: i32 = 19;
/// Times that segments are read anew at most because the packet log compressed or moved some meanwhile.
const READS: usize = 5;
/// A fault of a segment that is told by name; further ones are counted.
const TOLD_MAX: usize = 3;

/// What there is to read.
pub struct Log {
    data: PathBuf,
    checkpoint: Checkpoint,
    /// Segments of before the start.
    before: HashSet<(Option<Class>, i64, u16, u32)>,
    /// When the live capture begins.
    since_ns: i64,
    bound: Duration,
    /// How old what is not on the disk may be.
    flush: Duration,
}

impl Log {
    /// Looks what there is to recover, before the live capture begins; says in the log what it is. None: nothing.
    ///
    /// # Errors
    /// So many calls were up at the last checkpoint, and the packet log has nothing of their time: it was deleted.
    pub fn find(data: &std::path::Path, bound: Duration, flush: Duration, since_ns: i64) -> Result<Option<Log>, u64> {
        let back = |ns: i64| (ns.saturating_sub(nanoseconds(bound)), bound);
        let found = Checkpoint::load(data);
        let open = if let Found::Whole(found) = &found { found.open } else { 0 };
        let checkpoint = match found {
            Found::Nothing => blind(data, Some(back(since_ns)), "it is gone, or never was"),
            Found::Whole(found) if found.at_ns.max(found.from_ns) > since_ns.saturating_add(AHEAD_NS) => {
                let why = "it is of a later time than now: the clock was set back";
                blind(data, newest_ns(data).map(back), why)
            }
            Found::Whole(found) if found.ended && found.open == 0 => return Ok(None),
            Found::Whole(found) => Some(within(found, bound, since_ns)),
            Found::Damaged(why) => blind(data, newest_ns(data).map(back), &why),
        };
        let Some(checkpoint) = checkpoint else { return gone(open) };
        let listed = match pass::segments(data, checkpoint.from_ns.saturating_sub(BEFORE_NS), &Class::ALL) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::error!("recovery: the packet log cannot be listed: {error}");
                return Ok(None);
            }
        };
        if listed.is_empty() {
            return gone(open);
        }
        let before = listed.iter().map(name).collect();
        Ok(Some(Log { data: data.to_path_buf(), checkpoint, before, since_ns, bound, flush }))
    }

    /// From when on calls are recovered.
    pub fn begins_ns(&self) -> i64 {
        self.checkpoint.from_ns
    }
}

/// Nothing of the packet log is left of the time of so many calls that were up.
fn gone(open: u64) -> Result<Option<Log>, u64> {
    if open == 0 {
        return Ok(None);
    }
    let calls = figure::of(open, "call was", "calls were");
    tracing::error!(
        "recovery: {calls} up at the last checkpoint, and the packet log has nothing of that time any more (deleted \
         where the disk had no room, or removed): what they were before the start is lost"
    );
    Err(open)
}

/// A checkpoint that goes back no further than `bound` before it was written: however long nothing ran since, the log
/// has become no longer.
fn within(mut checkpoint: Checkpoint, bound: Duration, since_ns: i64) -> Checkpoint {
    let earliest_ns = checkpoint.at_ns.min(since_ns).saturating_sub(nanoseconds(bound));
    if checkpoint.from_ns < earliest_ns {
        if checkpoint.open > 0 {
            tracing::warn!(
                "recovery: some of the {} that were up began longer than calls.recover ({}) before the checkpoint; those \
                 are not recovered",
                figure::of(checkpoint.open, "call", "calls"),
                span(bound)
            );
        }
        checkpoint.from_ns = earliest_ns;
    }
    checkpoint
}

/// What stands for a checkpoint that says nothing, which is told: all of the packet log from then on, if there is any.
fn blind(data: &std::path::Path, back: Option<(i64, Duration)>, why: &str) -> Option<Checkpoint> {
    let (from_ns, bound) = back?;
    let has_log = pass::segments(data, from_ns, &Class::ALL).is_ok_and(|listed| !listed.is_empty());
    if has_log {
        let (path, bound) = (super::checkpoint::path(data), span(bound));
        tracing::error!("{}: {why}: the last {bound} of the packet log are read instead", path.display());
    }
    // Which calls were joined in mid-call is not known: all that seem so are kept.
    has_log.then(|| Checkpoint { at_ns: i64::MIN, from_ns, ..Checkpoint::default() })
}

/// When the newest segment of a packet log begins, nanoseconds since 1970.
fn newest_ns(data: &std::path::Path) -> Option<i64> {
    let listed = pass::segments(data, i64::MIN, &Class::ALL).unwrap_or_default();
    listed.iter().map(|segment| segment.begins_ns).max()
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn name(file: &SegmentFile) -> (Option<Class>, i64, u16, u32) {
    (file.class, file.begins_ns, file.lane, file.again)
}

/// The thread.
pub struct Reader {
    log: Log,
    recovery: Arc<Recovery>,
    shared: Arc<Shared>,
    out: RowsOut,
    begun: Instant,
}

impl Reader {
    /// Starts it.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start(
        log: Log,
        recovery: Arc<Recovery>,
        shared: Arc<Shared>,
        out: RowsOut,
    ) -> std::io::Result<std::thread::JoinHandle<()>> {
        let reader = Reader { log, recovery, shared, out, begun: Instant::now() };
        std::thread::Builder::new().name("recovery".to_owned()).spawn(move || {
            // Of this thread alone, as setpriority(2) does in Linux. Where it is refused, rings that fill make it wait.
            let _ = rustix::process::setpriority_process(None, NICE);
            reader.run();
        })
    }

    fn run(mut self) {
        if self.before().is_none() || !self.follow() {
            return;
        }
        self.done();
        let calls = figure::of(self.recovery.report().counted.calls, "row", "rows");
        tracing::info!("recovery: done after {}: {calls} of calls", span(self.begun.elapsed()));
    }

    fn done(&self) {
        self.recovery.change(|state| (state.until_ns, state.report.phase) = (now_ns(), Phase::Done));
    }

    /// Recovers what was before the start; none if it was stopped meanwhile.
    fn before(&mut self) -> Option<()> {
        let keep = |is_brief| Keep {
            from_ns: self.log.checkpoint.from_ns,
            cut_until_ns: self.log.checkpoint.at_ns,
            joined: self.log.checkpoint.joined.iter().copied().collect(),
            only: None,
            is_brief,
        };
        let (brief, whole) = (keep(true), keep(false));
        let found = self.pass(&brief, &[Class::Sip, Class::Other])?;
        self.tell_of_the_clock(&found);
        let up = self.recovery.change(|state| {
            let up = follow_all(state, &found);
            (state.until_ns, state.report.phase) = (i64::MAX, Phase::Reading);
            up
        });
        let (rows, up) = (figure::of(found.rows, "call", "calls"), figure::count(up));
        tracing::info!("recovery: signalling read: {rows}, {up} of them were up");
        let found = self.pass(&whole, &Class::ALL)?;
        self.recovery.change(|state| {
            follow_all(state, &found);
            state.report.counted.calls += found.rows;
            found.media.iter().for_each(|(media, first_ns)| state.know(*media, *first_ns));
            state.report.phase = Phase::Following;
        });
        tracing::info!("recovery: media read: {} of calls", figure::of(found.rows, "row", "rows"));
        Some(())
    }

    /// Says that the log ends later than the capture begins: a second half whose time lies before that of its first
    /// half is no part of it for whoever reads by the times.
    fn tell_of_the_clock(&self, found: &Seen) {
        let ends_ns = found.calls.values().map(|call| call.last_ns).max().unwrap_or(i64::MIN);
        let back_ns = ends_ns.saturating_sub(self.log.since_ns);
        if back_ns <= AHEAD_NS {
            return;
        }
        self.recovery.change(|state| state.report.counted.set_back += 1);
        tracing::warn!(
            "recovery: the clock was set back by {} or more between two runs: calls that went on over it and began \
             later than their second half have a row for each half",
            figure::duration(back_ns)
        );
    }

    /// Reads calls that went on when they have ended; false if it was stopped meanwhile.
    fn follow(&mut self) -> bool {
        let mut next = Instant::now();
        loop {
            let (is_any_left, has_ended) = self.look();
            if !is_any_left {
                return true;
            }
            let now = Instant::now();
            if !has_ended || now < next {
                if self.recovery.wait(next.saturating_duration_since(now).max(TICK).min(LOOK_EVERY)) {
                    return false;
                }
                continue;
            }
            // What ended a moment ago is on the disk by then.
            if self.is_stopped_within(self.log.flush * 2 + Duration::from_secs(1)) {
                return false;
            }
            let begun = Instant::now();
            if self.again().is_none() {
                return false;
            }
            next = Instant::now() + AGAIN.max(begun.elapsed() * AGAIN_TIMES);
        }
    }

    /// Gives up what has waited too long; whether anything is waited for or to be read, and whether there is to read.
    fn look(&self) -> (bool, bool) {
        let elapsed = self.begun.elapsed();
        let mut late = 0;
        let looked = self.recovery.change(|state| {
            if elapsed >= UNANSWERED {
                let waiting = state.followed.values_mut().filter(|call| call.is_up && !call.is_answered);
                waiting.for_each(Followed::give_up);
            }
            if elapsed >= self.log.bound {
                let up = state.followed.iter().filter(|(id, call)| call.is_up && !state.ended.contains(*id));
                let up: Vec<String> = up.map(|(id, _)| id.clone()).collect();
                late = up.len() as u64;
                state.ended.extend(up);
            }
            (state.pending().next().is_some(), !state.ended.is_empty())
        });
        if late > 0 {
            tracing::warn!(
                "recovery: {} still up after calls.recover ({}): not waited for any longer, the rest of each is a row \
                 of its own",
                figure::of(late, "call is", "calls are"),
                span(self.log.bound)
            );
        }
        looked
    }

    /// Reads the calls that have ended, from the first one's beginning to what is on the disk now.
    fn again(&mut self) -> Option<()> {
        let only: HashMap<String, i64> = self.recovery.change(|state| {
            let calls = state.ended.iter().filter_map(|id| Some((id.clone(), state.followed.get(id)?.start_ns)));
            calls.collect()
        });
        let from_ns = only.values().copied().min().unwrap_or(self.log.since_ns);
        let files = self.segments(from_ns, &Class::ALL)?;
        let (joined, asked) = (HashSet::new(), Some(only.clone()));
        let keep = Keep { from_ns, cut_until_ns: i64::MIN, joined, only: asked, is_brief: false };
        let found = self.read_all(files, &keep, &Class::ALL)?;
        self.recovery.change(|state| {
            state.report.counted.calls += found.rows;
            found.media.iter().for_each(|(media, first_ns)| state.know(*media, *first_ns));
            for id in only.keys() {
                state.ended.remove(id);
                let whole = found.calls.get(id);
                if let Some(call) = state.followed.get_mut(id) {
                    (call.is_up, call.is_given_up) = (false, whole.is_some_and(|whole| whole.is_up));
                    call.last_ns = call.last_ns.max(whole.map_or(i64::MIN, |whole| whole.last_ns));
                }
            }
        });
        tracing::info!(
            "recovery: {} that went on over the start, read as a whole",
            figure::of(found.rows, "call", "calls")
        );
        Some(())
    }

    /// Reads what was recorded before the start; none if it was stopped, or the folder cannot be listed.
    fn pass(&mut self, keep: &Keep, classes: &[Class]) -> Option<Seen> {
        let mut files = self.segments(keep.from_ns, classes)?;
        files.retain(|file| self.log.before.contains(&name(file)));
        self.read_all(files, keep, classes)
    }

    /// Reads segments; such as were compressed or moved meanwhile lie elsewhere, and all are read anew.
    fn read_all(&mut self, mut files: Vec<SegmentFile>, keep: &Keep, classes: &[Class]) -> Option<Seen> {
        let mut left = READS;
        loop {
            let (seen, has_missed) = self.read(&files, keep)?;
            left -= 1;
            if !has_missed {
                return Some(seen);
            }
            if left == 0 {
                tracing::warn!(
                    "recovery: segments left their places again and again: calls may lack packets of theirs"
                );
                self.recovery.change(|state| state.report.counted.faults += 1);
                return Some(seen);
            }
            let listed = self.segments(keep.from_ns, classes)?;
            let listed: HashMap<_, _> = listed.into_iter().map(|file| (name(&file), file)).collect();
            let before = files.len();
            files = files.into_iter().filter_map(|file| listed.get(&name(&file)).cloned()).collect();
            let deleted = (before - files.len()) as u64;
            if deleted > 0 {
                let what = figure::of(deleted, "segment was", "segments were");
                tracing::warn!("recovery: {what} deleted by retention and could not be read");
                self.recovery.change(|state| state.report.counted.faults += deleted);
            }
        }
    }

    fn segments(&self, from_ns: i64, classes: &[Class]) -> Option<Vec<SegmentFile>> {
        match pass::segments(&self.log.data, from_ns.saturating_sub(BEFORE_NS), classes) {
            Ok(files) => Some(files),
            Err(error) => {
                tracing::error!("recovery: the packet log cannot be listed: {error}");
                None
            }
        }
    }

    /// Reads segments; whether some had gone from their places before they were opened.
    fn read(&mut self, files: &[SegmentFile], keep: &Keep) -> Option<(Seen, bool)> {
        let progress = Arc::new(Progress::default());
        let octets = files.iter().filter_map(|file| file.path.metadata().ok()).map(|meta| meta.len()).sum();
        self.recovery.change(|state| state.report.octets = (octets, 0));
        let (recovery, shared) = (Arc::clone(&self.recovery), Arc::clone(&self.shared));
        let pause = || {
            let read = progress.octets.load(Ordering::Relaxed);
            let is_over = recovery.change(|state| {
                state.report.octets.1 = read.min(octets);
                state.stop
            });
            progress.stop.fetch_or(is_over, Ordering::Relaxed);
            let mut pauses = 0;
            while pauses < PAUSES_MAX && !recovery.lock().stop && is_busy(&shared) {
                pauses += 1;
                std::thread::park_timeout(PAUSE);
            }
            recovery.lock().report.counted.pauses += u64::from(pauses > 0);
        };
        let done = pass::read(files, keep, &mut self.out, &progress, &pause);
        let (summary, seen) = match done {
            Ok(done) => done,
            Err(why) => {
                tracing::error!("recovery: {why}");
                return None;
            }
        };
        // The last of a segment that is being written may be half a packet.
        let sealed = |path: &str| files.iter().any(|file| !file.growing && file.path.to_string_lossy() == path);
        let broken = summary.files.iter().filter(|file| file.error.is_some() && sealed(&file.path));
        let (broken, gone): (Vec<_>, Vec<_>) = broken.partition(|file| std::path::Path::new(&file.path).exists());
        let told = |file: &&FileSummary| format!("{}: {}", file.path, file.error.clone().unwrap_or_default());
        let faults: Vec<String> = broken.iter().map(told).collect();
        faults.iter().take(TOLD_MAX).for_each(|fault| tracing::warn!("recovery: {fault}"));
        let is_over = self.recovery.change(|state| {
            let counted = &mut state.report.counted;
            counted.passes += 1;
            counted.packets += summary.packets;
            counted.faults += faults.len() as u64;
            counted.beyond += seen.beyond;
            state.report.octets.1 = octets;
            state.stop
        });
        (!is_over).then_some((seen, !gone.is_empty()))
    }

    fn is_stopped_within(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            if self.recovery.wait(left) {
                return true;
            }
        }
    }
}

impl Drop for Reader {
    /// Whatever ended it, rows do not wait for it any more. Where the program ends, what is missing is left to the next
    /// start.
    fn drop(&mut self) {
        let (phase, is_stopped) = {
            let state = self.recovery.lock();
            (state.report.phase, state.stop)
        };
        if phase != Phase::Done && !is_stopped {
            tracing::error!(
                "recovery: failed: calls from before the start may be missing, or have a row for each half"
            );
            self.done();
        }
    }
}

/// So long, in words.
fn span(duration: Duration) -> String {
    figure::duration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}

/// Whether a ring is more than a quarter full.
fn is_busy(shared: &Shared) -> bool {
    let is_full = |ring: &trunkline_capture::live::RingStatistics| {
        ring.waiting.saturating_add(ring.held).saturating_mul(4) > ring.room && ring.room > 0
    };
    shared.lane_reports().iter().any(|lane| is_full(&lane.ring))
}

/// Follows calls that were up at the end of the log, and such as had ended only just; how many were up.
fn follow_all(state: &mut State, found: &Seen) -> u64 {
    let end_ns = found.calls.values().map(|call| call.last_ns).max().unwrap_or(i64::MIN);
    let mut up = 0;
    for (id, call) in &found.calls {
        if call.is_up || call.last_ns >= end_ns.saturating_sub(LINGER_NS) {
            up += u64::from(call.is_up);
            state.follow(id.clone(), *call);
        }
    }
    up
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    /// A log becomes no longer while nothing runs.
    #[test]
    fn the_bound_counts_from_the_checkpoint_and_not_from_the_start() {
        let (at_ns, bound) = (1_795_181_123_000_000_000, Duration::from_secs(600));
        let of = |from_ns| Checkpoint { at_ns, from_ns, open: 3, ..Checkpoint::default() };
        let day_later = at_ns + 24 * 60 * MINUTE;
        assert_eq!(within(of(at_ns - 9 * MINUTE), bound, day_later).from_ns, at_ns - 9 * MINUTE);
        assert_eq!(within(of(at_ns - 11 * MINUTE), bound, day_later).from_ns, at_ns - 10 * MINUTE);
    }

    #[test]
    fn without_a_packet_log_a_checkpoint_that_says_nothing_is_no_matter() {
        let data = tempfile::tempdir().unwrap();
        let find = |since_ns| Log::find(data.path(), Duration::from_secs(600), Duration::from_secs(1), since_ns);
        assert!(find(MINUTE).is_ok_and(|log| log.is_none()));
        let checkpoint = Checkpoint { at_ns: 100 * MINUTE, from_ns: 99 * MINUTE, ..Checkpoint::default() };
        checkpoint.store(data.path()).unwrap();
        assert!(find(MINUTE).is_ok_and(|log| log.is_none()));
        assert!(find(101 * MINUTE).is_ok_and(|log| log.is_none()));
        // Calls were up, which the log alone knows.
        Checkpoint { open: 7, ..checkpoint }.store(data.path()).unwrap();
        assert_eq!(find(101 * MINUTE).err(), Some(7));
        assert_eq!(find(MINUTE).err(), Some(7));
    }
}
