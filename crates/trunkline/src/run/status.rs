//! The status line: what happened since the one before.

pub mod process;

use crate::show::figure;
use core::fmt::Write as _;
use std::time::Duration;
use trunkline_capture::LossPlace;
use trunkline_job::Figure;
use trunkline_spool::Waits;

/// Threads that the line names, the busiest; the others are added up.
const THREADS_SHOWN_MAX: usize = 12;

/// Packets that were in memory for longer are told: what `kill -9` would have taken with it is more than the default
/// `flush` of the packet log promises.
const HELD_TOLD: Duration = Duration::from_secs(2);

/// Totals since the start, and levels, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The moment, since the start.
    pub at: Duration,
    /// Calls that are up.
    pub calls: u64,
    /// Packets seen, by class: sip, rtp, other.
    pub packets: [u64; 3],
    /// Octets of these packets on the wire.
    pub octets: u64,
    /// How full the fullest ring is, 0 to 1.
    pub ring_fill: f64,
    /// How full the memory between rings and disks is, 0 to 1.
    pub buffer_fill: f64,
    /// Octets that were compressed in that memory, before.
    pub squeezed_from: u64,
    /// And after.
    pub squeezed_to: u64,
    /// Packets lost, by place, in the order in which they are to be told.
    pub drops: Vec<(LossPlace, u64)>,
    /// How often something waited for a disk.
    pub disk_waits: u64,
    /// For how long, in all.
    pub disk_waited: Duration,
    /// How long packets were in memory before their disk had them, by disk.
    pub held: Vec<Waits>,
    /// How long the oldest that was given to a disk, and that it does not have, is there now.
    pub unwritten: Duration,
    /// Finished segments that wait for room to be compressed.
    pub compress_waiting: u64,
    /// The jobs beside the capture: name and figures.
    pub jobs: Vec<(&'static str, Vec<Figure>)>,
    /// Processor time of each thread.
    pub threads: Vec<Thread>,
    /// Memory of the process, octets.
    pub resident: u64,
}

/// A thread and what it used of the processors since it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number in the system.
    pub id: u32,
    /// Its name, of at most 15 octets.
    pub name: String,
    /// Its processor time.
    pub cpu: Duration,
}

/// The line: rates and losses between the two, levels of the later one.
///
/// `calls 1,204 | packets/s sip 812 rtp 120,400 other 12 | 214.5 Mbit/s | ring 3 % buffer 0 % | lost none |
/// disk waits none | packets 3.1 s in memory | no room to compress 3 | cpu lane-0 43 % lane-1 41 % | rss 512.3 MB`
pub fn line(before: &Snapshot, now: &Snapshot) -> String {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64();
    let rate = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let mut out = format!("calls {} | packets/s", figure::count(now.calls));
    for (i, class) in ["sip", "rtp", "other"].iter().enumerate() {
        let more = |s: &Snapshot| s.packets.get(i).copied().unwrap_or_default();
        let per_second = rate(more(now).saturating_sub(more(before)));
        // Writing to a String cannot fail.
        let _ = write!(out, " {class} {}", figure::count(per_second.round() as u64));
    }
    let bits = rate(now.octets.saturating_sub(before.octets)) * 8.0;
    let _ = write!(out, " | {:.1} Mbit/s", bits / 1e6);
    let _ = write!(out, " | ring {} buffer {}", share(now.ring_fill), share(now.buffer_fill));
    compression(before, now, &mut out);
    let _ = write!(out, " | lost {}", lost(before, now));
    let _ = write!(out, " | disk waits {}", waits(before, now));
    if let Some(held) = held(before, now) {
        let ns = i64::try_from(held.as_nanos()).unwrap_or(i64::MAX);
        let _ = write!(out, " | packets {} in memory", figure::duration(ns));
    }
    if now.compress_waiting > 0 {
        let _ = write!(out, " | no room to compress {}", figure::count(now.compress_waiting));
    }
    for (name, figures) in &now.jobs {
        let before = before.jobs.iter().find(|(other, _)| other == name);
        job(name, before.map_or(&[], |(_, figures)| figures), figures, seconds, &mut out);
    }
    let _ = write!(out, " | cpu {} | rss {}", cpu(before, now, seconds), figure::octets(now.resident));
    out
}

/// `3 %`.
fn share(part: f64) -> String {
    format!("{:.0} %", part.clamp(0.0, 1.0) * 100.0)
}

/// ` | cache gets/s 12,000 hits 93.2 % sets/s 800 evicted/s 0 items 81,204 memory 33 %`
fn job(name: &str, before: &[Figure], now: &[Figure], seconds: f64, out: &mut String) {
    if now.is_empty() {
        return;
    }
    let _ = write!(out, " | {name}");
    for (i, figure) in now.iter().enumerate() {
        let (label, text) = told(before.get(i), figure, seconds);
        let _ = write!(out, " {label} {text}");
    }
}

/// A figure's label and what is shown of it; a job that is new counts from 0.
fn told(before: Option<&Figure>, now: &Figure, seconds: f64) -> (&'static str, String) {
    let more = |total: u64, earlier: u64| total.saturating_sub(earlier);
    match *now {
        Figure::PerSecond(label, total) => {
            let earlier = if let Some(Figure::PerSecond(_, total)) = before { *total } else { 0 };
            let rate = if seconds > 0.0 { (more(total, earlier) as f64 / seconds).round() as u64 } else { 0 };
            (label, figure::count(rate))
        }
        Figure::Since(label, total) => {
            let earlier = if let Some(Figure::Since(_, total)) = before { *total } else { 0 };
            (label, figure::count(more(total, earlier)))
        }
        Figure::Share(label, part, whole) => {
            let earlier = if let Some(Figure::Share(_, part, whole)) = before { (*part, *whole) } else { (0, 0) };
            let (part, whole) = (more(part, earlier.0), more(whole, earlier.1));
            (label, if whole > 0 { figure::percent(part, whole) } else { "none".to_owned() })
        }
        Figure::Level(label, level) => (label, figure::count(level)),
        Figure::Fill(label, part) => (label, share(part)),
    }
}

/// What compression left of what went in, where it was at work.
fn compression(before: &Snapshot, now: &Snapshot, out: &mut String) {
    let from = now.squeezed_from.saturating_sub(before.squeezed_from);
    let to = now.squeezed_to.saturating_sub(before.squeezed_to);
    if from > 0 {
        let _ = write!(out, " compressed to {}", share(to as f64 / from as f64));
    }
}

/// `none`, `none (12 before)`, `ring 3 disk 5 (20 in all)`.
fn lost(before: &Snapshot, now: &Snapshot) -> String {
    let total = |s: &Snapshot, place: LossPlace| {
        s.drops.iter().filter(|(p, _)| *p == place).fold(0u64, |sum, (_, n)| sum.saturating_add(*n))
    };
    let mut places: Vec<LossPlace> = Vec::new();
    for (place, _) in &now.drops {
        if !places.contains(place) {
            places.push(*place);
        }
    }
    let fresh = |place: &LossPlace| total(now, *place).saturating_sub(total(before, *place));
    let words: Vec<String> = places
        .iter()
        .filter(|place| fresh(place) > 0)
        .map(|place| format!("{} {}", place.name(), figure::count(fresh(place))))
        .collect();
    let all = now.drops.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n));
    match (words.is_empty(), all) {
        (true, 0) => "none".to_owned(),
        (true, all) => format!("none ({} before)", figure::count(all)),
        (false, all) => format!("{} ({} in all)", words.join(" "), figure::count(all)),
    }
}

/// `none`, `3 (120 ms)`.
fn waits(before: &Snapshot, now: &Snapshot) -> String {
    let waits = now.disk_waits.saturating_sub(before.disk_waits);
    let waited = now.disk_waited.saturating_sub(before.disk_waited);
    if waits == 0 {
        return "none".to_owned();
    }
    let ns = i64::try_from(waited.as_nanos()).unwrap_or(i64::MAX);
    format!("{} ({})", figure::count(waits), figure::duration(ns))
}

/// The longest that packets were in memory before their disk had them, if it is worth telling: as long as it was if it
/// was never longer, else to a factor of two and not too long.
fn held(before: &Snapshot, now: &Snapshot) -> Option<Duration> {
    let none = Waits::default();
    let of_disk = |(i, now): (usize, &Waits)| {
        let before = before.held.get(i).unwrap_or(&none);
        let class = now.buckets.iter().zip(&before.buckets).rposition(|(now, before)| now > before)?;
        Some(Duration::from_micros(if now.max_us > before.max_us { now.max_us } else { 1 << class >> 1 }))
    };
    let longest = now.held.iter().enumerate().filter_map(of_disk).max().unwrap_or_default();
    Some(longest.max(now.unwritten)).filter(|held| *held >= HELD_TOLD)
}

/// `lane-0 43 % disk 3 % others 1 %`: the busiest threads by name, in percent of one processor.
fn cpu(before: &Snapshot, now: &Snapshot, seconds: f64) -> String {
    let used = |thread: &Thread| {
        let earlier = before.threads.iter().find(|t| t.id == thread.id).map_or(Duration::ZERO, |t| t.cpu);
        let used = thread.cpu.saturating_sub(earlier).as_secs_f64();
        if seconds > 0.0 { used / seconds } else { 0.0 }
    };
    let mut threads: Vec<(f64, &Thread)> = now.threads.iter().map(|thread| (used(thread), thread)).collect();
    // The busiest by what is shown, so that equal ones stay in their order.
    threads.sort_by(|a, b| (b.0 * 100.0).round().total_cmp(&(a.0 * 100.0).round()));
    let (shown, rest) = threads.split_at(threads.len().min(THREADS_SHOWN_MAX));
    let mut shown: Vec<_> = shown.iter().filter(|(used, _)| *used >= 0.005).collect();
    shown.sort_by(|a, b| a.1.name.cmp(&b.1.name).then(a.1.id.cmp(&b.1.id)));
    let others: f64 = rest.iter().map(|(used, _)| used).sum();
    let mut words: Vec<String> =
        shown.iter().map(|(used, thread)| format!("{} {:.0} %", thread.name, used * 100.0)).collect();
    if others >= 0.005 {
        words.push(format!("others {:.0} %", others * 100.0));
    }
    if words.is_empty() { "idle".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(id: u32, name: &str, ms: u64) -> Thread {
        Thread { id, name: name.to_owned(), cpu: Duration::from_millis(ms) }
    }

    fn earlier() -> Snapshot {
        Snapshot {
            at: Duration::from_secs(10),
            calls: 1000,
            packets: [100, 1000, 10],
            octets: 1_000_000,
            drops: vec![(LossPlace::Ring, 5)],
            threads: vec![thread(1, "trunkline", 10), thread(2, "lane-0", 1000), thread(3, "lane-1", 0)],
            ..Snapshot::default()
        }
    }

    #[test]
    fn tells_what_happened_in_between() {
        let now = Snapshot {
            at: Duration::from_secs(20),
            calls: 1204,
            packets: [8220, 1_205_000, 130],
            octets: 269_125_000,
            ring_fill: 0.031,
            buffer_fill: 1.7,
            squeezed_from: 1000,
            squeezed_to: 520,
            drops: vec![(LossPlace::Ring, 12), (LossPlace::Buffer, 3), (LossPlace::Disk, 0)],
            disk_waits: 3,
            disk_waited: Duration::from_millis(120),
            held: Vec::new(),
            unwritten: Duration::ZERO,
            compress_waiting: 1200,
            jobs: Vec::new(),
            threads: vec![thread(1, "trunkline", 11), thread(3, "lane-1", 4100), thread(2, "lane-0", 5300)],
            resident: 512_300_000,
        };
        assert_eq!(
            line(&earlier(), &now),
            "calls 1,204 | packets/s sip 812 rtp 120,400 other 12 | 214.5 Mbit/s | ring 3 % buffer 100 % \
             compressed to 52 % | lost ring 7 buffer 3 (15 in all) | disk waits 3 (120 ms) | \
             no room to compress 1,200 | cpu lane-0 43 % lane-1 41 % | rss 512.3 MB"
        );
    }

    #[test]
    fn a_quiet_time_is_told_as_such() {
        let now = Snapshot { at: Duration::from_secs(20), ..earlier() };
        assert_eq!(
            line(&earlier(), &now),
            "calls 1,000 | packets/s sip 0 rtp 0 other 0 | 0.0 Mbit/s | ring 0 % buffer 0 % | lost none (5 before) | \
             disk waits none | cpu idle | rss 0 B"
        );
        let same = line(&now, &now);
        assert!(same.contains("sip 0 rtp 0"), "no time passed: {same}");
        assert!(line(&now, &Snapshot::default()).contains("lost none |"), "counters that went back");
    }

    #[test]
    fn jobs_are_told_of_where_there_are_some() {
        let with = |seconds, jobs| Snapshot { at: Duration::from_secs(seconds), jobs, ..earlier() };
        let graphs = |samples| vec![Figure::PerSecond("samples/s", samples), Figure::Level("up", 48)];
        let before = with(10, vec![("graphs", graphs(1_000))]);
        let charging = vec![Figure::PerSecond("requests/s", 30), Figure::Since("busy", 3)];
        let now = with(20, vec![("charging", charging), ("quiet", Vec::new()), ("graphs", graphs(13_000))]);
        let text = line(&before, &now);
        assert!(text.contains("| charging requests/s 3 busy 3 | graphs samples/s 1,200 up 48 | cpu"), "{text}");
        assert!(line(&now, &now).contains("| charging requests/s 0 busy 0 |"), "no time passed");
        assert!(!line(&earlier(), &earlier()).contains("graphs"));
    }

    #[test]
    fn a_share_is_of_what_came_in_between() {
        let with = |seconds, hits, gets| {
            let figures = vec![Figure::Share("hits", hits, gets), Figure::Fill("memory", 0.333)];
            Snapshot { at: Duration::from_secs(seconds), jobs: vec![("cache", figures)], ..earlier() }
        };
        let (before, now) = (with(10, 900, 1_000), with(20, 112_740, 121_000));
        assert!(line(&before, &now).contains("| cache hits 93.2 % memory 33 % | cpu"), "{}", line(&before, &now));
        assert!(line(&now, &now).contains("| cache hits none memory 33 %"), "{}", line(&now, &now));
    }

    #[test]
    fn packets_that_are_long_in_memory_are_told() {
        let held = |seconds: &[u64]| {
            let mut waits = Waits::default();
            seconds.iter().for_each(|s| waits.add(Duration::from_secs(*s)));
            Snapshot { held: vec![Waits::default(), waits], ..Snapshot::default() }
        };
        let told = |before: &Snapshot, now: &Snapshot| {
            let text = line(before, now);
            text.split(" | ")
                .find_map(|part| part.strip_prefix("packets ")?.strip_suffix(" in memory"))
                .map(str::to_owned)
        };
        assert_eq!(told(&held(&[]), &held(&[])), None);
        assert_eq!(told(&held(&[]), &held(&[1])), None, "as the flush promises");
        assert_eq!(told(&held(&[1]), &held(&[1, 7])).as_deref(), Some("7.0 s"));
        assert_eq!(told(&held(&[1, 7]), &held(&[1, 7, 1])), None, "it was told");
        assert_eq!(told(&held(&[7]), &held(&[7, 6])).as_deref(), Some("4.1 s"));
        let hangs = Snapshot { unwritten: Duration::from_secs(40), ..held(&[7]) };
        assert_eq!(told(&held(&[7]), &hangs).as_deref(), Some("40.0 s"));
    }

    #[test]
    fn many_threads_are_added_up() {
        let threads = (0..40).map(|i| thread(i, &format!("lane-{i:02}"), 1000)).collect();
        let now = Snapshot { at: Duration::from_secs(10), threads, ..Snapshot::default() };
        let text = line(&Snapshot::default(), &now);
        assert!(text.contains("lane-11 10 % others 280 %"), "{text}");
    }
}
