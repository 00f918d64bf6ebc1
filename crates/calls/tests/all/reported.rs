//! Calls modelled on what users of such programs reported, each with what is right about it
//! (`cases/voip/cases.tsv`). Skipped where the shared cases are absent.

use crate::world::read_rows;
use std::path::PathBuf;
use trunkline_calls::job::Summary;
use trunkline_calls::unread::Protocol;
use trunkline_store::row::{Call, CallState, Hangup, Rows};

const SECOND_NS: i64 = 1_000_000_000;

/// What one call has to be: state, status code, whole seconds from the first message to the answer, who hung up, and
/// the kind of its verdict.
type Right = (CallState, u16, Option<i64>, Hangup, Option<&'static str>);

fn told(call: &Call) -> Right {
    let setup = call.answer_ns.map(|answer| (answer - call.start_ns + SECOND_NS / 2) / SECOND_NS);
    // Kinds are few, and tests end.
    let kind = call.verdict.as_ref().map(|v| &*Box::leak(v.kind.clone().into_boxed_str()));
    (call.state, call.code, setup, call.hangup, kind)
}

fn rows(case: &str) -> Option<Rows> {
    read(case).map(|(rows, _)| rows)
}

/// The file of a case; none where the shared cases are absent.
pub fn case(name: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let file = shared.join("cases/voip").join(name).with_extension("pcap.gz");
    if !file.exists() {
        println!("SKIPPED: no shared cases");
        return None;
    }
    Some(file)
}

fn read(name: &str) -> Option<(Rows, Summary)> {
    let file = case(name)?;
    let (one, summary) = read_rows(&file, 1);
    let (three, other) = read_rows(&file, 3);
    assert!(one == three, "{name}: three threads read it otherwise");
    assert_eq!(format!("{:?}", summary.unread), format!("{:?}", other.unread), "{name}: with three threads");
    Some((one, summary))
}

#[track_caller]
fn right(case: &str, calls: &[Right]) {
    let Some(rows) = rows(case) else { return };
    let told: Vec<Right> = rows.calls.iter().map(told).collect();
    assert_eq!(told, calls, "{case}");
}

#[test]
fn one_call_is_one_call() {
    use CallState::{Cancelled, Completed, Rejected, Ringing};
    // Challenged, then 40 s of ringing.
    right("b05c", &[(Completed, 200, Some(40), Hangup::Caller, None)]);
    // The same, still ringing at the end.
    right("b05", &[(Ringing, 180, None, Hangup::None, None)]);
    // A second gateway after the 503 of the first, which rings for 45 s.
    right("b07b", &[(Completed, 200, Some(45), Hangup::Caller, None)]);
    // One target of a fork is busy, the other answers after 40 s.
    right("b34", &[(Completed, 200, Some(40), Hangup::Caller, None)]);
    // A proxy's time for ringing is over: it cancels its branch, the caller gets 408.
    right("b02", &[(Rejected, 408, None, Hangup::None, None)]);
    // 487, and the CANCEL went another way.
    right("b30", &[(Cancelled, 487, None, Hangup::None, None)]);
}

#[test]
fn the_end_of_one_dialog_is_not_the_end_of_the_other() {
    let Some(rows) = rows("b37") else { return };
    let [call] = &rows.calls[..] else { panic!("{} calls", rows.calls.len()) };
    assert_eq!((call.state, &call.verdict), (CallState::Completed, &None));
    let talk_ns = call.end_ns.unwrap() - call.answer_ns.unwrap();
    assert!((9 * SECOND_NS..11 * SECOND_NS).contains(&talk_ns), "{talk_ns}");
    assert!(rows.streams.is_empty(), "{} streams without a call", rows.streams.len());
}

#[test]
fn every_media_section_is_read() {
    use CallState::Completed;
    let right = |case: &str, kind: Option<&'static str>| {
        let rows = rows(case)?;
        let told: Vec<_> = rows.calls.iter().map(|c| (c.state, c.verdict.as_ref().map(|v| v.kind.clone()))).collect();
        assert_eq!(told, [(Completed, kind.map(str::to_owned))], "{case}");
        Some(rows)
    };
    let codecs = |rows: &Rows| {
        let mut codecs: Vec<_> = rows.calls[0].streams.iter().map(|s| s.codec.clone()).collect();
        codecs.sort();
        codecs
    };
    // Audio and video on ports of their own, and on one (RFC 9143).
    for case in ["c24c", "c24"] {
        let Some(rows) = right(case, None) else { return };
        assert_eq!(codecs(&rows), ["VP8", "VP8", "opus", "opus"], "{case}");
        let scored = rows.calls[0].streams.iter().filter(|s| s.mos.vm_f1.is_some()).count();
        assert_eq!(scored, 2, "{case}");
    }
    // Video came of the callee, and no audio.
    right("c23", Some("one-way-audio"));
    // Of two audio sections the answer takes the second; the callee is silent.
    let rows = right("a20", Some("one-way-audio")).unwrap();
    let text = &rows.calls[0].verdict.as_ref().unwrap().text;
    assert!(text.ends_with("The caller asked for audio at 198.51.100.10:16466."), "{text}");
    // The answer takes PCMA alone, and PCMU is sent all the same.
    right("c47", Some("codec-mismatch"));
}

#[test]
fn media_that_does_not_pass_here_is_no_fault_of_the_call() {
    let kinds = |case: &str| {
        let kind = |c: &Call| c.verdict.as_ref().map_or(String::new(), |v| v.kind.clone());
        let mut kinds: Vec<String> = rows(case)?.calls.iter().map(kind).collect();
        kinds.sort();
        Some(kinds)
    };
    let times = |n: usize, kind: &str| vec![kind.to_owned(); n];
    // Two calls each, with the media of both between the phones: it is in one of them, and silent is none.
    let Some(direct) = kinds("m29") else { return };
    assert_eq!(direct, times(12, ""));
    // One of ten is relayed and passes the tap; nothing is known of the others.
    assert_eq!(kinds("m28").unwrap(), [times(1, ""), times(9, "media-not-captured")].concat());
    // A mirror of one direction.
    assert_eq!(kinds("b21c").unwrap(), times(8, "media-not-captured"));
}

#[test]
fn audio_is_judged_over_the_life_of_the_call() {
    // The kind of the only verdict, and what its text says.
    let right = |case: &str, kind: &str, says: &str| {
        let Some(rows) = rows(case) else { return };
        let [call] = &rows.calls[..] else { panic!("{case}: {} calls", rows.calls.len()) };
        let verdict = call.verdict.as_ref().unwrap_or_else(|| panic!("{case}: no verdict"));
        assert_eq!(verdict.kind, kind, "{case}: {}", verdict.text);
        assert!(verdict.text.contains(says), "{case}: {}", verdict.text);
    };
    // Fax was offered and refused: the call goes on, and the callee is silent from the start.
    right("b10", "one-way-audio", "only the caller could be heard");
    // A relay between two hops that sends nothing to the caller.
    right("b23b", "one-way-audio", "192.0.2.51:30000 sends nothing to 198.51.100.10:16600");
    // The callee stops after 10 s of 60.
    right("c25", "one-way-audio", "from 10.0 s to 60.3 s after the answer the caller did not hear the callee");
    right("c26b", "one-way-audio", "resumed at 8.1 s; the audio of the callee did not come back");
    right("c27", "one-way-audio", "The caller kept sending to 203.0.113.20:20352, which the callee had left");
    right("c36", "late-audio", "the first audio of the callee came 6.0 s after the answer");
    // Addresses that are still to come are no hold (RFC 8840 section 4.1.1).
    right("c39", "one-way-audio", "only the caller could be heard");
    // A ringing tone before the answer, and nothing after it: of the callee, of both.
    right("c46", "one-way-audio", "the callee sent no packet (what it sent before the answer is no talk)");
    right("c46b", "no-audio", "no RTP was seen in either direction");
    right("c12b", "one-way-audio", "no packet of audio and 50 packets without content");
    // Two hops: who loses is the callee.
    right("b45", "loss", "from the callee (203.0.113.20:20148)");
}

#[test]
fn a_capture_that_begins_in_mid_call_makes_no_new_attempt() {
    use CallState::{Completed, JoinedMidCall};
    // A refresh by the side that may have been called, and no BYE.
    right("m23", &[(JoinedMidCall, 0, None, Hangup::None, None)]);
    let Some(rows) = rows("m23") else { return };
    let call = &rows.calls[0];
    assert_eq!((call.ringing_ns, call.answer_ns, call.end_ns, call.streams.len()), (None, None, None, 2));
    assert!(call.capture.note.contains("which side called is not known"), "{}", call.capture.note);
    // What the caller sends alone: its ACK shows the answer.
    right("b21", &[(Completed, 0, Some(3), Hangup::Caller, Some("not-captured"))]);
}

#[test]
fn signalling_fails_without_a_status_code() {
    use CallState::{Attempted, AuthChallenged, Cancelled, Completed};
    // 100, 40 s of nothing, CANCEL.
    right("b29", &[(Cancelled, 487, None, Hangup::None, Some("no-progress"))]);
    // 200 again and again although each ACK passes.
    right("b32", &[(Completed, 200, Some(3), Hangup::Callee, Some("ack-lost"))]);
    // One INVITE over TCP, and no word for 60 s.
    right("m19", &[(Attempted, 0, None, Hangup::None, Some("no-response"))]);
    // 407 to the credentials as well.
    right("b06b", &[(AuthChallenged, 407, None, Hangup::None, Some("credentials-refused"))]);
    // 481 to the refresh.
    right("b11", &[(Completed, 200, Some(3), Hangup::Caller, Some("reinvite-refused"))]);
    right("b13", &[(Completed, 200, Some(3), Hangup::Callee, Some("session-expired"))]);
    // NOTIFY about the REFER: 486.
    right("b14", &[(Completed, 200, Some(3), Hangup::Caller, Some("transfer-failed"))]);
}

#[test]
fn timestamps_and_numbers_that_jump_are_neither_jitter_nor_loss() {
    // Timestamps back and to a third base at the answer; silence that is not counted; a timestamp of 0 now and then;
    // prompts with numbers of their own. Jumps of timestamps and of numbers in all.
    for (case, timestamps, numbers) in [("c02", 2, 0), ("c02c", 4, 0), ("c03", 10, 0), ("c30", 5, 5)] {
        let Some(rows) = rows(case) else { return };
        let [call] = &rows.calls[..] else { panic!("{case}: {} calls", rows.calls.len()) };
        assert_eq!(call.verdict, None, "{case}");
        assert!(call.mos.unwrap() > 4.4, "{case}: {:?}", call.mos);
        let mut jumps = [0, 0];
        for stream in &call.streams {
            assert_eq!((stream.missing, stream.discarded), (0, 0), "{case}");
            assert!(stream.jitter_max_ms < 0.1, "{case}: {}", stream.jitter_max_ms);
            jumps = [jumps[0] + stream.timestamp_jumps, jumps[1] + stream.sequence_jumps];
        }
        assert!(jumps[0] >= timestamps && jumps[1] == numbers, "{case}: {jumps:?}");
    }
}

#[test]
fn what_the_receiver_lost_is_behind_the_tap() {
    let Some(rows) = rows("c20") else { return };
    let Some(verdict) = &rows.calls[0].verdict else { panic!("none: {:?}", rows.calls[0].streams) };
    assert_eq!(verdict.kind, "lost-after-tap");
    let begin = "Lost after the tap: the callee (203.0.113.20:20320) reports that it lost 20.0 % of the packets from \
                 the caller: ";
    assert!(verdict.text.starts_with(begin), "{}", verdict.text);
    let stream = rows.calls[0].streams.iter().find(|s| s.rtcp.lost_after_tap > 0).unwrap();
    assert_eq!((stream.missing, stream.mos.g107.unwrap() > 4.4), (0, true));
    assert!(stream.mos_receiver.unwrap() < 3.0, "{:?}", stream.mos_receiver);
}

#[test]
fn what_is_not_analysed_is_told() {
    // SIP in HEP version 3.
    let Some((rows, summary)) = read("d01") else { return };
    let hep = summary.unread.row(Protocol::Hep);
    assert_eq!((rows.calls.len(), hep.packets), (0, 7));
    assert_eq!(Protocol::Hep.place(hep).unwrap(), "UDP 9060 from 192.0.2.70");
    // A snap length of 128 octets: media is whole, SIP is cut.
    let (_, summary) = read("c33").unwrap();
    assert_eq!((summary.streams, summary.unread.cut_to), (2, 128));
    assert!(summary.counter("trunkline_calls_sip_cut_total") >= 5, "{:?}", summary.counters);
}

#[test]
fn media_inside_turn_is_media() {
    // The audio of one call is inside TURN, that of the other one is not.
    let Some((rows, summary)) = read("c21") else { return };
    assert_eq!(summary.unread.row(Protocol::TurnMedia).packets, 0);
    for call in &rows.calls {
        assert_eq!(call.verdict, None);
        let mut packets: Vec<_> = call.streams.iter().map(|s| (s.direction as u8, s.packets)).collect();
        packets.sort();
        assert!(packets == [(1, 400), (2, 400)] || packets == [(1, 300), (2, 300)], "{packets:?}");
    }
}

#[test]
fn numbers_are_those_that_people_search_for() {
    let Some(rows) = rows("a14") else { return };
    let [call] = &rows.calls[..] else { panic!("{} calls", rows.calls.len()) };
    assert_eq!((call.from.as_str(), call.to.as_str()), ("+442079460114", "+442079460214"));
    // As sent.
    assert_eq!(call.from_uri, "tel:+44-20-7946-0114;phone-context=example.org");
    assert_eq!(call.to_uri, "sip:%2B442079460214;npdi;rn=+442071234567@gw.example.org:5060");
    assert_eq!((call.state, &call.verdict, &call.numbers[..]), (CallState::Completed, &None, &[][..]));
    for text in ["number:+442079460214", "number:\"+44 20 7946 0114\"", "caller:+44-20-7946*", "callee:+442079460214"] {
        let filter = trunkline_store::Filter::parse(text).unwrap();
        assert!(filter.matches(call), "{text}");
    }
}
