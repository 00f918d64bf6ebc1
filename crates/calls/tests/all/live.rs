//! Live analysis gives what reading a file gives, however many lanes there are and however they take turns.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trunkline_calls::job::{Progress, ReadOptions, Sink, Summary, read};
use trunkline_calls::join::{Joiner, Names};
use trunkline_calls::live::{Epoch, Front, Gatherer, Owner};
use trunkline_calls::unread::{Protocol, Unread};
use trunkline_capture::{Batch, FileSource, Packet};
use trunkline_lane::class::lane_of;
use trunkline_lane::clock::Leap;
use trunkline_lane::{LaneJob, Origin, walk};
use trunkline_sim::{Preset, Settings};
use trunkline_store::row::Rows;
use trunkline_wire::Decoded;

#[derive(Default)]
struct Gathered(Rows);

impl Sink for Gathered {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        self.0.calls.extend(rows.calls);
        self.0.streams.extend(rows.streams);
        self.0.intervals.extend(rows.intervals);
        self.0.registrations.extend(rows.registrations);
        self.0.events.extend(rows.events);
        self.0.losses.extend(rows.losses);
        Ok(())
    }
}

/// SplitMix64: turns and sizes that are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) % n
    }
}

/// The file's packets by lane, as a ring would give them: a flow's packets always in the same one.
fn by_lane(file: &Path, lanes: usize) -> Vec<Vec<(Packet, Vec<u8>)>> {
    let mut source = FileSource::open(&[file.to_path_buf()]);
    let mut batch = Batch::default();
    let mut all = vec![Vec::new(); lanes];
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            let lane = match trunkline_wire::decode(packet.link, octets) {
                Decoded::Udp(d) | Decoded::Tcp(d, _) | Decoded::Sctp(d) => lane_of(&d, lanes),
                // Pieces of a datagram meet, but not where its flow is.
                _ => lanes - 1,
            };
            all[lane].push((*packet, octets.to_vec()));
        }
    }
    all
}

fn batch_of(packets: &[(Packet, Vec<u8>)]) -> Batch {
    let mut batch = Batch::default();
    for (packet, octets) in packets {
        batch.push(*packet, octets);
    }
    batch
}

/// The times of packets where the clock was set, which who captures knows.
struct Clock<'a> {
    leaps: &'a [Leap],
    /// Leaps before the last packet.
    behind: usize,
}

impl Origin for Clock<'_> {
    fn admit(&mut self, packet: &mut Packet) -> i64 {
        self.behind = self.leaps.partition_point(|leap| leap.number <= packet.number);
        packet.at_ns - self.behind.checked_sub(1).map_or(0, |at| self.leaps[at].offset_ns)
    }
}

/// Gives a front a batch; how many leaps there were before its last packet.
fn take(front: &mut Front, mut batch: Batch, leaps: &[Leap]) -> usize {
    let mut clock = Clock { leaps, behind: 0 };
    let counted = walk(&mut batch, &mut clock, front);
    front.keep(batch, &counted);
    clock.behind
}

/// Drives lanes in a random order, with batches of random size and answers that come late. Where the clock was set, who
/// captures knows it.
pub fn live(file: &Path, lanes: usize, seed: u64) -> Rows {
    let leaps = summary_of(file).leaps;
    let mut random = Random(seed);
    let packets = by_lane(file, lanes);
    let mut sink = Gathered::default();
    let names: Arc<dyn Names> = Arc::new(vec![file.canonicalize().unwrap().to_string_lossy().into_owned()]);
    let mut gatherer = Gatherer::new(lanes, Joiner::new(names, &mut sink));
    let mut owner = Owner::new(lanes);
    let mut fronts: Vec<Front> =
        (0..lanes).map(|me| Front::new(me as u16, Box::new(move |d| lane_of(d, lanes) == me))).collect();
    let (mut next, mut known) = (vec![0; lanes], vec![0; lanes]);
    let mut ended = vec![false; lanes];
    let mut epochs: Vec<Arc<Epoch>> = Vec::new();
    let mut answered = vec![0; lanes];
    while !gatherer.is_done() {
        let me = random.below(lanes as u64) as usize;
        let front = &mut fronts[me];
        if next[me] < packets[me].len() {
            let end = (next[me] + 1 + random.below(400) as usize).min(packets[me].len());
            let behind = take(front, batch_of(&packets[me][next[me]..end]), &leaps);
            for (at, leap) in leaps.iter().enumerate().take(behind).skip(known[me]) {
                front.clock_was_set(Leap { number: at as u64 + 1, ..*leap });
            }
            known[me] = behind.max(known[me]);
            next[me] = end;
            owner.tell(front.tell(None));
        } else if !ended[me] {
            ended[me] = true;
            owner.tell(front.end());
        }
        if random.below(2) == 0 {
            while let Some(owned) = owner.advance(false) {
                let (until_ns, last) = (owned.epoch.until_ns, owned.epoch.last);
                gatherer.epoch(until_ns, last, owned.output, owned.losses, owned.counters).unwrap();
                epochs.push(Arc::new(owned.epoch));
            }
        }
        let answers = random.below(4);
        for _ in 0..answers {
            if let Some(epoch) = epochs.get(answered[me]) {
                answered[me] += 1;
                gatherer.lane(epoch.number, fronts[me].epoch(epoch)).unwrap();
            }
        }
    }
    drop(gatherer);
    sink.0
}

fn from_file(file: &Path) -> Rows {
    let mut sink = Gathered::default();
    let options = ReadOptions { files: vec![file.to_path_buf()], threads: 1, expansion: None };
    read(&options, &mut sink, &Progress::default()).unwrap();
    sink.0
}

fn summary_of(file: &Path) -> Summary {
    let options = ReadOptions { files: vec![file.to_path_buf()], threads: 1, expansion: None };
    read(&options, &mut Gathered::default(), &Progress::default()).unwrap()
}

/// Rows in an order that does not depend on when they were handed over.
fn sorted(mut rows: Rows) -> Rows {
    rows.calls.sort_by_key(|c| c.id);
    rows.streams.sort_by_key(|s| (s.first_ns, s.id));
    rows.intervals.sort_by_key(|i| (i.stream, i.index));
    rows.registrations.sort_by_key(|r| r.id);
    rows.events.sort_by_key(|e| e.id);
    rows
}

/// Reads it live, with several numbers of lanes, and demands the rows that it gives as a file.
pub fn compare(file: &Path) {
    let expected = sorted(from_file(file));
    assert!(!expected.calls.is_empty());
    for (lanes, seed) in [(1, 1), (2, 2), (3, 3), (8, 4)] {
        let found = sorted(live(file, lanes, seed));
        assert_eq!(found.calls.len(), expected.calls.len(), "{lanes} lanes");
        for (found, expected) in found.calls.iter().zip(&expected.calls) {
            assert_eq!(found, expected, "{lanes} lanes");
        }
        assert_eq!(found.streams, expected.streams, "{lanes} lanes");
        assert_eq!(found.intervals, expected.intervals, "{lanes} lanes");
        assert_eq!(found.registrations, expected.registrations, "{lanes} lanes");
        assert_eq!(found.events, expected.events, "{lanes} lanes");
    }
}

fn world(settings: &Settings) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("world.pcap");
    trunkline_sim::write(settings, File::create(&file).unwrap(), None::<&mut Vec<u8>>, &mut |_, _| {}).unwrap();
    (folder, file)
}

#[test]
fn the_demo_world_is_the_same_live() {
    let (_folder, file) = world(&Settings { calls: 60, ..Settings::preset(Preset::Demo) });
    compare(&file);
}

/// What the tap lost is found by many streams at once, in whichever lanes they are.
#[test]
fn a_tap_that_loses_is_found_live() {
    let blind = |at_s, for_s, share| trunkline_sim::tap::Blind { at_s, for_s, share };
    let tap = trunkline_sim::Tap { blind: vec![blind(8.0, 0.3, 0.6), blind(12.0, 3.0, 1.0)], ..Default::default() };
    let settings = Settings { calls: 60, calls_per_second: 6.0, tap, ..Settings::preset(Preset::Clean) };
    let (_folder, file) = world(&settings);
    compare(&file);
    let places = |rows: &Rows| rows.losses.iter().map(|l| (l.place.clone(), l.since_ns, l.count)).collect::<Vec<_>>();
    let expected = places(&from_file(&file));
    assert!(expected.iter().any(|l| l.0 == "mirror") && expected.iter().any(|l| l.0 == "hole"), "{expected:?}");
    assert_eq!(places(&live(&file, 4, 5)), expected);
}

/// The clock is set an hour back and then two forward while calls go on.
#[test]
fn a_clock_that_is_set_is_the_same_live() {
    let (folder, file) = world(&Settings { calls: 60, calls_per_second: 6.0, ..Settings::preset(Preset::Impaired) });
    let packets = crate::clock::packets(&file);
    let at = |share: usize| packets[packets.len() * share / 10].0;
    let steps = [(at(3), -3600 * 1_000_000_000), (at(6), 3600 * 1_000_000_000)];
    let file = folder.path().join("set.pcap");
    crate::clock::capture(&file, &crate::clock::set(&packets, &steps));
    assert_eq!(summary_of(&file).leaps.len(), 2);
    compare(&file);
}

#[test]
fn impaired_calls_are_the_same_live() {
    let (_folder, file) = world(&Settings { calls: 80, ..Settings::preset(Preset::Impaired) });
    compare(&file);
}

/// Media of one of two calls is inside TURN: it is named and told in time, in whichever lanes it comes.
#[test]
fn what_is_not_analysed_is_the_same_live() {
    let Some(file) = crate::reported::case("c21") else { return };
    compare(&file);
    let summary = summary_of(&file);
    let mut seen = Unread::default();
    for packets in by_lane(&file, 3) {
        let mut front = Front::new(0, Box::new(|_| true));
        take(&mut front, batch_of(&packets), &[]);
        seen.add(&front.unread());
    }
    for protocol in Protocol::ALL.into_iter().filter(|p| *p != Protocol::RtpLike) {
        assert_eq!(seen.row(protocol), summary.unread.row(protocol), "{protocol:?}");
    }
    assert_eq!(seen.row(Protocol::TurnMedia).packets, 0, "it is media like any other");
}
