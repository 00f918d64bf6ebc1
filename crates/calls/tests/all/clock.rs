//! The capture's clock is set while calls go on, or parts of a capture are in the wrong order: calls come out as they
//! were, and what happened is told. The situations are those that users report of call records and captures: negative
//! durations after the clock was set, timers that fire or stand still at the change of summer time, parts of a capture
//! that were put together in the wrong order, packets of several queues that are not in order.

use crate::world::{read_rows, world};
use std::fs;
use std::path::{Path, PathBuf};
use trunkline_calls::job::Summary;
use trunkline_capture::{Batch, FileSource};
use trunkline_lane::PacketClass;
use trunkline_lane::class::classify;
use trunkline_lane::clock::{Kind, Leap};
use trunkline_sim::settings::Duration;
use trunkline_sim::{Preset, Settings};
use trunkline_store::checked::checked;
use trunkline_store::row::{Call, CallState, Rows};

const SECOND_NS: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3600 * SECOND_NS;
/// How exactly the time at a step is known: two packets beside each other are not of one moment.
const NEAR_NS: i64 = 60_000_000;

pub type Packets = Vec<(i64, Vec<u8>)>;

/// All packets of a file, in its order.
pub fn packets(file: &Path) -> Packets {
    let mut source = FileSource::open(&[file.to_path_buf()]);
    let (mut batch, mut all) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        assert!(batch.packets.iter().all(|p| p.link == 1));
        all.extend(batch.packets.iter().map(|p| (p.at_ns, batch.octets_of(p).to_vec())));
    }
    all
}

/// A capture of these packets, in this order (pcap, nanoseconds).
pub fn capture(file: &Path, packets: &[(i64, Vec<u8>)]) {
    let mut out = Vec::new();
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, 0x0004_0000, 1u32] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    for (at_ns, octets) in packets {
        let (s, ns) = (at_ns.div_euclid(SECOND_NS), at_ns.rem_euclid(SECOND_NS));
        for word in [s as u32, ns as u32, octets.len() as u32, octets.len() as u32] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(octets);
    }
    fs::write(file, out).unwrap();
}

/// The packets as a clock saw them that was set so often: when, by how much in all from then on.
pub fn set(packets: &[(i64, Vec<u8>)], steps: &[(i64, i64)]) -> Packets {
    let offset = |at: i64| steps.iter().rev().find(|step| at >= step.0).map_or(0, |step| step.1);
    packets.iter().map(|(at, octets)| (at + offset(*at), octets.clone())).collect()
}

struct Case {
    packets: Packets,
    rows: Rows,
    folder: tempfile::TempDir,
}

/// A world as it was, and as it is read.
fn case(settings: &Settings) -> Case {
    let world = world(settings);
    let (mut rows, summary) = read_rows(&world.file, 1);
    assert_eq!(summary.leaps, [], "nothing is wrong with the clock");
    rows.calls.sort_by(|a, b| a.sip_call_id.cmp(&b.sip_call_id));
    Case { packets: packets(&world.file), rows, folder: tempfile::tempdir().unwrap() }
}

impl Case {
    /// Reads packets, with one thread and with three, and gives calls by their Call-IDs.
    fn read(&self, packets: &[(i64, Vec<u8>)]) -> (Rows, Summary) {
        read(&self.folder.path().join("case.pcap"), packets)
    }

    /// The middle of the talk of the n-th call that was answered.
    fn middle(&self, n: usize) -> i64 {
        let mut talks: Vec<_> = self.rows.calls.iter().filter_map(|c| c.answer_ns.zip(c.end_ns)).collect();
        talks.sort_unstable();
        talks[n].0 + (talks[n].1 - talks[n].0) / 2
    }
}

fn read(file: &Path, packets: &[(i64, Vec<u8>)]) -> (Rows, Summary) {
    capture(file, packets);
    let (mut rows, summary) = read_rows(file, 1);
    let (other, other_summary) = read_rows(file, 3);
    assert!(rows.calls == other.calls && rows.streams == other.streams && rows.intervals == other.intervals);
    assert_eq!((&summary.leaps, &summary.counters), (&other_summary.leaps, &other_summary.counters));
    rows.calls.sort_by(|a, b| a.sip_call_id.cmp(&b.sip_call_id));
    (rows, summary)
}

/// A call is what it is without the step: but for what the clock said at its start.
fn same(found: &Call, right: &Call, what: &str) {
    let id = &right.sip_call_id;
    assert_eq!((found.state, found.code, found.hangup), (right.state, right.code, right.hangup), "{what}: {id}");
    let kind = |c: &Call| c.verdict.as_ref().map(|v| (v.kind.clone(), v.text.clone()));
    assert_eq!(kind(found).map(|k| k.0), kind(right).map(|k| k.0), "{what}: {id}: {:?}", kind(found));
    let times = |c: &Call| {
        let moments = [c.ringing_ns, c.answer_ns, c.end_ns, Some(c.last_ns)];
        let mut all: Vec<Option<i64>> = moments.map(|at| at.map(|at| at - c.start_ns)).to_vec();
        all.extend(c.ladder.messages.iter().map(|m| Some(m.at_ns - c.start_ns)));
        all.extend(c.streams.iter().flat_map(|s| [s.first_ns, s.last_ns]).map(|at| Some(at - c.start_ns)));
        all
    };
    for (found, right) in times(found).into_iter().zip(times(right)) {
        assert_eq!(found.is_some(), right.is_some(), "{what}: {id}");
        assert!((found.unwrap_or(0) - right.unwrap_or(0)).abs() < NEAR_NS, "{what}: {id}: {found:?} {right:?}");
    }
    let flags = |c: &Call| c.ladder.messages.iter().map(|m| m.flags).collect::<Vec<_>>();
    assert_eq!(flags(found), flags(right), "{what}: {id}: repeated messages");
    assert_eq!(found.streams.len(), right.streams.len(), "{what}: {id}");
    for (found, right) in found.streams.iter().zip(&right.streams) {
        let numbers = |s: &trunkline_store::row::Stream| (s.ssrc, s.packets, s.missing, s.duplicates, s.talkspurts);
        assert_eq!(numbers(found), numbers(right), "{what}: {id}");
        assert_eq!((found.timestamp_jumps, found.sequence_jumps), (right.timestamp_jumps, right.sequence_jumps));
        assert!((found.jitter_mean_ms - right.jitter_mean_ms).abs() < 1.0, "{what}: {id}: {}", found.jitter_mean_ms);
    }
}

fn counted(summary: &Summary) -> [u64; 4] {
    let of = |name: &str| summary.counter(&format!("trunkline_calls_clock_{name}_total"));
    [of("set"), of("wrong_order"), of("back"), of("stray_packets")]
}

/// Steps are found where they are, by as much as they are.
fn right(leaps: &[Leap], steps: &[(i64, i64)], what: &str) {
    assert_eq!(leaps.len(), steps.len(), "{what}: {leaps:?}");
    let mut before = 0;
    for (leap, (at, offset)) in leaps.iter().zip(steps) {
        assert_eq!(leap.kind, Kind::Set, "{what}: {leap:?}");
        assert!((leap.by_ns - (offset - before)).abs() < NEAR_NS, "{what}: {leap:?}");
        assert!((leap.at_ns - at).abs() < SECOND_NS, "{what}: {leap:?}");
        before = *offset;
    }
}

fn busy() -> Settings {
    let duration = Duration { mean_s: 40.0, ..Settings::default().duration };
    Settings { calls: 40, calls_per_second: 1.0, duration, ..Settings::preset(Preset::Clean) }
}

#[test]
fn a_step_of_the_clock_is_no_time() {
    let case = case(&busy());
    let at = case.middle(15);
    for by in [HOUR_NS, -HOUR_NS, 1800 * SECOND_NS, 30 * SECOND_NS, -3 * SECOND_NS, 3 * SECOND_NS, -50 * HOUR_NS] {
        let what = format!("{} s", by / SECOND_NS);
        let (found, summary) = case.read(&set(&case.packets, &[(at, by)]));
        right(&summary.leaps, &[(at, by)], &what);
        assert!(summary.leaps[0].is_sure, "{what}");
        assert_eq!(counted(&summary), [1, 0, 0, 0], "{what}");
        assert_eq!(found.calls.len(), case.rows.calls.len(), "{what}");
        let mut across = 0;
        for (found, right) in found.calls.iter().zip(&case.rows.calls) {
            same(found, right, &what);
            // The clock's own time at the start.
            let said = if right.start_ns >= at { by } else { 0 };
            assert!((found.start_ns - right.start_ns - said).abs() < NEAR_NS, "{what}: {}", right.sip_call_id);
            let is_across = right.start_ns < at && right.last_ns >= at;
            assert_eq!(found.capture.note.contains("the clock of the capture was set"), is_across, "{what}");
            let told = checked(found).checked.iter().any(|c| c.starts_with("times, by RTP and the order of packets: "));
            assert_eq!((told, found.capture.complete), (is_across, right.capture.complete), "{what}");
            across += u32::from(is_across);
        }
        assert!(across > 5, "{what}: {across} calls");
        // Ended calls and streams are rows of their own, and nothing else is left over.
        assert_eq!(found.streams.len(), case.rows.streams.len(), "{what}");
        assert_eq!(found.intervals.len(), case.rows.intervals.len(), "{what}");
        assert_eq!(summary.counter("trunkline_calls_without_bye_total"), 0, "{what}");
    }
}

#[test]
fn a_clock_that_is_set_again_and_again_is_followed() {
    let case = case(&busy());
    let (first, last) = (case.middle(5), case.middle(25));
    let at = |n: i64| first + (last - first) * n / 4;
    // Summer time begins and ends, somebody corrects the date, and it is set back.
    let steps = [(at(0), HOUR_NS), (at(1), 0), (at(2), -26 * HOUR_NS), (at(3), 40 * SECOND_NS)];
    let (found, summary) = case.read(&set(&case.packets, &steps));
    right(&summary.leaps, &steps, "four steps");
    found.calls.iter().zip(&case.rows.calls).for_each(|(found, right)| same(found, right, "four steps"));
    assert_eq!(found.calls.len(), case.rows.calls.len());
}

/// One call alone: two senders, or one where the other direction does not pass.
#[test]
fn one_call_is_enough_to_tell() {
    for (seed, by) in [(1, HOUR_NS), (2, -HOUR_NS), (3, 30 * SECOND_NS), (4, -7 * SECOND_NS), (5, 26 * HOUR_NS)] {
        let duration = Duration { mean_s: 60.0, ..Settings::default().duration };
        let settings = Settings { calls: 1, seed, duration, answer_ratio: 1.0, ..Settings::preset(Preset::Busy) };
        let case = case(&Settings { dtx: 0.0, ..settings });
        let at = case.middle(0);
        let what = format!("{} s", by / SECOND_NS);
        let (found, summary) = case.read(&set(&case.packets, &[(at, by)]));
        right(&summary.leaps, &[(at, by)], &what);
        same(&found.calls[0], &case.rows.calls[0], &what);
    }
}

/// One sender may pause without counting the time, and two that are put on hold. Half hours are nobody's pause.
#[test]
fn what_may_be_a_pause_is_a_pause() {
    let duration = Duration { mean_s: 60.0, ..Settings::default().duration };
    let settings = Settings { calls: 1, duration, answer_ratio: 1.0, variety: 0.0, dtx: 0.0, ..busy() };
    let case = case(&settings);
    let at = case.middle(0);
    let sender = case.rows.calls[0].streams[0].src;
    let alone: Packets = case.packets.iter().filter(|p| !is_rtp_of(&p.1, sender)).cloned().collect();
    assert!(alone.len() < case.packets.len() * 2 / 3);
    let (_, summary) = case.read(&set(&alone, &[(at, 30 * SECOND_NS)]));
    assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
    let (_, summary) = case.read(&set(&alone, &[(at, 2 * HOUR_NS)]));
    right(&summary.leaps, &[(at, 2 * HOUR_NS)], "one sender");
    assert!(!summary.leaps[0].is_sure && summary.leaps[0].why().starts_with("likely"), "{:?}", summary.leaps);
    // Signalling beside the pause of both.
    let ack = case.packets.iter().find(|p| p.1.windows(8).any(|o| o == b"ACK sip:")).unwrap().1.clone();
    let mut hold = set(&case.packets, &[(at, 30 * SECOND_NS)]);
    let split = hold.iter().position(|p| p.0 > at + 20 * SECOND_NS).unwrap();
    hold.insert(split, (hold[split - 1].0, ack));
    let (found, summary) = case.read(&hold);
    assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
    let longer = found.calls[0].end_ns.unwrap() - case.rows.calls[0].end_ns.unwrap();
    assert_eq!(longer, 30 * SECOND_NS);
}

fn is_rtp_of(octets: &[u8], sender: trunkline_wire::Endpoint) -> bool {
    let decoded = trunkline_wire::decode(1, octets);
    let is_sender = matches!(&decoded, trunkline_wire::Decoded::Udp(datagram) if datagram.from() == sender);
    is_sender && classify(&decoded, octets) == PacketClass::Rtp
}

/// A recording that stood still is no clock that was set: time passed, and RTP says so.
#[test]
fn a_pause_of_the_recording_is_a_pause() {
    let case = case(&busy());
    let at = case.middle(15);
    for pause in [3 * SECOND_NS, 8 * SECOND_NS] {
        let kept: Packets = case.packets.iter().filter(|p| !(at..at + pause).contains(&p.0)).cloned().collect();
        let (found, summary) = case.read(&kept);
        assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
        let across = |c: &&Call| c.start_ns < at && c.last_ns > at + pause;
        for (found, right) in found.calls.iter().zip(&case.rows.calls).filter(|(_, right)| across(right)) {
            assert_eq!(found.end_ns, right.end_ns);
        }
    }
    // Two recordings, an hour between them, and the same in one file.
    let later = crate::clock::case(&Settings { seed: 9, start_ns: busy().start_ns + HOUR_NS, ..busy() });
    let both = [case.packets.clone(), later.packets.clone()].concat();
    let (found, summary) = case.read(&both);
    assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
    assert_eq!(found.calls.len(), case.rows.calls.len() + later.rows.calls.len());
    assert!(found.calls.iter().all(|c| !c.capture.note.contains("clock")));
}

/// The talk ends, an hour later there is another one: nobody was there meanwhile.
#[test]
fn silence_is_no_step() {
    let media = |mean_s: f64, seed, start_ns| {
        let duration = Duration { mean_s, ..Settings::default().duration };
        crate::clock::case(&Settings { calls: 1, seed, start_ns, duration, answer_ratio: 1.0, ..busy() })
    };
    let start_ns = busy().start_ns;
    let (first, second) = (media(20.0, 1, start_ns), media(20.0, 2, start_ns + HOUR_NS));
    let (found, summary) = first.read(&[first.packets.clone(), second.packets.clone()].concat());
    assert_eq!((found.calls.len(), &summary.leaps[..]), (2, &[][..]));
}

fn signalling_alone() -> Settings {
    Settings { media: false, variety: 0.0, background: 0.0, answer_ratio: 1.0, ..busy() }
}

/// Signalling alone does not tell what happened. Time goes on where it went back, and the doubt is told.
#[test]
fn without_rtp_a_step_back_is_told_and_a_step_forward_is_not_known() {
    let case = case(&signalling_alone());
    let at = case.middle(15);
    let (found, summary) = case.read(&set(&case.packets, &[(at, -HOUR_NS)]));
    assert_eq!(counted(&summary), [0, 0, 1, 0]);
    let [leap] = &summary.leaps[..] else { panic!("{:?}", summary.leaps) };
    assert_eq!((leap.kind, leap.is_sure), (Kind::Unclear, false));
    assert_eq!(found.calls.len(), case.rows.calls.len());
    let mut across = 0;
    for (found, right) in found.calls.iter().zip(&case.rows.calls) {
        let kind = found.verdict.as_ref().map(|verdict| verdict.kind.as_str());
        assert!(matches!((found.state, kind), (CallState::Completed, None | Some("media-not-captured"))), "{kind:?}");
        // What lay between the two packets beside the step is not known.
        let lasted = |c: &Call| c.end_ns.unwrap() - c.answer_ns.unwrap();
        assert!((0..2 * SECOND_NS).contains(&(lasted(right) - lasted(found))), "{}", right.sip_call_id);
        if right.start_ns < at && right.last_ns >= at {
            across += 1;
            let not_checked = checked(found).not_checked;
            assert!(
                not_checked.iter().any(|n| n.starts_with("times: ") && n.contains("cannot tell")),
                "{not_checked:?}"
            );
        }
    }
    assert!(across > 5);
    let (_, summary) = case.read(&set(&case.packets, &[(at, HOUR_NS)]));
    assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
}

/// Files are read by the time of their first packets, however they are named; one file whose parts are in the wrong
/// order is told to be so.
#[test]
fn parts_in_the_wrong_order_are_put_in_order_or_told() {
    let case = case(&busy());
    let at = case.middle(15);
    let split = case.packets.iter().position(|p| p.0 >= at).unwrap();
    let (early, late) = case.packets.split_at(split);
    let (found, summary) = case.read(&[late, early].concat());
    // No stream of the end is there at the beginning: it cannot be told why time goes back, only that it does.
    assert_eq!(counted(&summary), [0, 0, 1, 0], "{:?}", summary.leaps);
    let [leap] = &summary.leaps[..] else { panic!("{:?}", summary.leaps) };
    assert_eq!((leap.kind, leap.is_sure, leap.number), (Kind::Unclear, false, late.len() as u64 + 1));
    assert!(leap.what().contains("wrong order"), "{}", leap.what());
    // Whole calls of either part are as they were, and no call is blamed for what was cut.
    for found in &found.calls {
        let right = case.rows.calls.iter().find(|c| c.sip_call_id == found.sip_call_id).unwrap();
        let is_whole = right.last_ns < at || right.start_ns >= at;
        if is_whole && found.state != CallState::JoinedMidCall {
            same(found, right, "whole");
        }
        assert_eq!(found.verdict.as_ref().filter(|_| right.verdict.is_none()), None, "{}", right.sip_call_id);
    }
    // As two files, the later one named first.
    let name = |name: &str| -> PathBuf { case.folder.path().join(name) };
    capture(&name("a.pcap"), early);
    capture(&name("b.pcap"), late);
    let (rows, summary) = crate::world::read_files(&[name("b.pcap"), name("a.pcap")], 2);
    assert_eq!((rows.calls.len(), counted(&summary)), (case.rows.calls.len(), [0; 4]));
}

/// Rotated files: the clock is set within one, or between two of them.
#[test]
fn a_step_is_told_with_the_file_that_it_is_in_or_the_two_that_it_is_between() {
    let case = case(&busy());
    let names = ["a.pcap", "b.pcap", "c.pcap"].map(|name| case.folder.path().join(name));
    let third = case.packets.len() / 3;
    for (from, right) in [(third / 2, &[0][..]), (third, &[0, 1]), (third + third / 2, &[1]), (2 * third, &[1, 2])] {
        let mut packets = case.packets.clone();
        packets[from..].iter_mut().for_each(|packet| packet.0 += HOUR_NS);
        for (name, part) in names.iter().zip(packets.chunks(third)) {
            capture(name, part);
        }
        for threads in [1, 3] {
            let (_, summary) = crate::world::read_files(&names, threads);
            let [leap] = &summary.leaps[..] else { panic!("{from}: {:?}", summary.leaps) };
            let right: Vec<_> = right.iter().map(|at: &usize| names[*at].to_str().unwrap()).collect();
            assert_eq!((summary.files_of(leap), summary.clock_steps()), (right, 1), "{from}");
        }
    }
}

/// Where streams are on both sides, they tell that it is the order and not the clock.
#[test]
fn rtp_that_goes_back_with_the_time_tells_that_parts_are_in_the_wrong_order() {
    let case = case(&busy());
    let at = [10, 11, 12].map(|tenth| case.middle(10) + i64::from(tenth - 10) * 6 * SECOND_NS);
    let part = |n: usize| case.packets.iter().filter(move |p| (at[n]..at[n + 1]).contains(&p.0)).cloned();
    let (found, summary) = case.read(&part(1).chain(part(0)).collect::<Packets>());
    assert_eq!(counted(&summary), [0, 1, 0, 0], "{:?}", summary.leaps);
    let [leap] = &summary.leaps[..] else { panic!("{:?}", summary.leaps) };
    assert_eq!((leap.kind, leap.is_sure), (Kind::Disorder, true));
    for call in found.calls.iter().filter(|c| c.capture.note.contains("the clock of the capture")) {
        assert_eq!((call.capture.complete, &call.verdict), (false, &None));
    }
}

/// Queues that are not in step, and clocks that are slewed: no step, and no harm.
#[test]
fn packets_a_little_out_of_order_are_nothing() {
    let case = case(&busy());
    let at = case.middle(15);
    // A clock that is put back by 300 ms, and one that runs 500 ppm fast.
    for (what, moved) in [
        ("put back", Box::new(move |ns: i64| if ns >= at { ns - 300_000_000 } else { ns }) as Box<dyn Fn(i64) -> i64>),
        ("fast", Box::new(move |ns: i64| ns + (ns - busy().start_ns) / 2000)),
    ] {
        let packets: Packets = case.packets.iter().map(|(at, octets)| (moved(*at), octets.clone())).collect();
        let (found, summary) = case.read(&packets);
        assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]), "{what}");
        let states = |rows: &Rows| rows.calls.iter().map(|c| (c.state, c.verdict.clone())).collect::<Vec<_>>();
        assert_eq!(states(&found), states(&case.rows), "{what}");
    }
    // Packets in blocks of two queues.
    let mut blocks = case.packets.clone();
    blocks.chunks_mut(40).for_each(|some| some.sort_by_key(|p| (p.1[p.1.len() - 1] & 1, p.0)));
    let (found, summary) = case.read(&blocks);
    assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0; 4]));
    assert_eq!(found.calls.len(), case.rows.calls.len());
}

/// A single packet with the time of another century neither ends calls nor begins a new time.
#[test]
fn a_single_packet_of_another_time_is_a_stray() {
    let case = case(&busy());
    for by in [-400_000 * HOUR_NS, 400_000 * HOUR_NS, -10 * SECOND_NS, 10 * SECOND_NS] {
        let mut packets = case.packets.clone();
        for at in [packets.len() / 3, packets.len() / 2] {
            packets[at].0 += by;
        }
        let (found, summary) = case.read(&packets);
        assert_eq!((&summary.leaps[..], counted(&summary)), (&[][..], [0, 0, 0, 2]));
        found.calls.iter().zip(&case.rows.calls).for_each(|(found, right)| same(found, right, "stray"));
    }
}

/// A clock that leaps at each packet costs no more than a bounded number of looks.
#[test]
fn leaps_without_end_are_bounded() {
    let case = case(&busy());
    let packets: Packets = case
        .packets
        .iter()
        .take(20_000)
        .enumerate()
        .map(|(n, (at, o))| (at - (n as i64 / 9 % 2) * HOUR_NS, o.clone()))
        .collect();
    let (_, summary) = case.read(&packets);
    assert!(summary.leaps.len() <= trunkline_lane::clock::LEAPS_MAX);
    assert!(counted(&summary).iter().sum::<u64>() > 1000);
    assert_eq!(summary.clock_steps(), counted(&summary)[..3].iter().sum::<u64>());
}
