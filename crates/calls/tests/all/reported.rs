//! Calls modelled on what users of such programs reported, each with what is right about it
//! (`cases/voip/cases.tsv`). Skipped where the shared cases are absent.

use crate::world::read_rows;
use std::path::PathBuf;
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
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    let file = shared.join("cases/voip").join(case).with_extension("pcap.gz");
    if !file.exists() {
        println!("SKIPPED: no shared cases");
        return None;
    }
    let (one, _) = read_rows(&file, 1);
    let (three, _) = read_rows(&file, 3);
    assert!(one == three, "{case}: three threads read it otherwise");
    Some(one)
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
