//! What could be checked of a call, and what could not: without it "nothing wrong was found" would promise too much.

use crate::json::was_answered;
use crate::row::{Call, Direction, Message, SharedStream, Stream};
use std::collections::BTreeSet;

/// A verdict about loss or jitter that rests on fewer packets (10 s of usual speech) has thin evidence.
pub const THIN_PACKETS: u64 = 500;

/// Silence of one side up to the end that is worth a word, nanoseconds.
const SILENT_MIN_NS: i64 = 5_000_000_000;

/// The other side goes on if it sent this near to the end, nanoseconds.
const GOES_ON_NS: i64 = 3_000_000_000;

/// A stream of which fewer packets, or a smaller part, came again was captured once.
const AGAIN_MIN: u64 = 25;
const AGAIN_SHARE_MIN: u64 = 10;

/// How a note in the ledger of a call begins that says what the capture's clock did during the call.
pub const CLOCK: &str = "the clock of the capture";

/// What follows it where the clock was set and RTP went on: then times are known.
pub const CLOCK_SET: &str = " was set ";

/// What was there to be looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The call was answered: there is audio to be heard.
    pub is_answered: bool,
    /// RTP of the caller was seen, of the callee, and of a side that is not known.
    pub heard: [bool; 3],
    /// A receiver reported what it got (RTCP).
    pub is_reported: bool,
    /// Media is encrypted.
    pub is_encrypted: bool,
    /// RTP was captured more than once.
    pub is_repeated: bool,
    /// There are streams, and none has a score.
    pub is_unscored: bool,
    /// The capture lost nothing of the call, as far as it can be told.
    pub is_complete: bool,
    /// SIP messages that the snap length cut.
    pub cut: u64,
    /// SIP messages that were counted and not kept.
    pub not_kept: u64,
}

impl Facts {
    /// Of a call.
    pub fn of(call: &Call) -> Facts {
        let sent_by = |direction| {
            call.streams.iter().any(|s| s.direction == direction && s.packets > 0)
                || call.shared.iter().any(|s| s.sender == direction)
        };
        Facts {
            is_answered: was_answered(call.state),
            heard: [Direction::Caller, Direction::Callee, Direction::Unknown].map(sent_by),
            is_reported: call.streams.iter().any(|s| s.rtcp.receiver_reports > 0),
            is_encrypted: call.streams.iter().any(|s| s.encrypted),
            is_repeated: call.streams.iter().any(is_repeated),
            is_unscored: call.mos.is_none() && !call.streams.is_empty(),
            is_complete: call.capture.complete,
            cut: call.ladder.messages.iter().filter(|m| m.flags & Message::CUT != 0).count() as u64,
            not_kept: u64::from(call.ladder.not_kept),
        }
    }

    /// RTP of both sides was seen.
    pub fn is_two_way(&self) -> bool {
        self.heard[0] && self.heard[1]
    }

    /// Any RTP was seen.
    pub fn is_any_heard(&self) -> bool {
        self.heard.contains(&true)
    }
}

/// Whether the packets of a stream, or a tenth of them, are there more than once: a mirror of several ports, or
/// captures of several places. Each number counts where any of them has it, so that nothing is missing that was lost
/// between.
pub fn is_repeated(stream: &Stream) -> bool {
    let (distinct, again) = again(stream);
    distinct > 0 && again >= AGAIN_MIN && again * AGAIN_SHARE_MIN >= distinct
}

/// The numbers of a stream that came, and packets beyond one of each.
fn again(stream: &Stream) -> (u64, u64) {
    let distinct = stream.expected.saturating_sub(stream.missing);
    (distinct, stream.packets.saturating_sub(distinct))
}

/// What was checked, what could not be, and why a verdict is not certain: phrases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What was looked at.
    pub checked: Vec<String>,
    /// What could not be, and why.
    pub not_checked: Vec<String>,
    /// What is thin about the evidence of the verdict; nothing where there is no verdict.
    pub thin: Vec<String>,
}

/// What was checked of a call.
pub fn checked(call: &Call) -> Checked {
    let facts = Facts::of(call);
    let mut told = Checked::default();
    signalling(call, &facts, &mut told);
    if facts.is_answered || facts.is_any_heard() {
        media(call, &facts, &mut told);
    } else {
        told.not_checked.push("audio: the call was not answered".to_owned());
    }
    capture(call, &facts, &mut told);
    told.thin = thin(call, &facts);
    told
}

fn capture(call: &Call, facts: &Facts, told: &mut Checked) {
    let notes = call.capture.note.split("; ").filter(|note| !note.is_empty());
    let (clock, other): (Vec<&str>, Vec<&str>) = notes.partition(|note| note.starts_with(CLOCK));
    let mut is_open = false;
    for note in clock {
        let is_set = note[CLOCK.len()..].starts_with(CLOCK_SET);
        let list = if is_set { &mut told.checked } else { &mut told.not_checked };
        let times = if is_set { "times, by RTP and the order of packets" } else { "times" };
        list.push(format!("{times}: {note}"));
        is_open |= !is_set;
    }
    if facts.is_complete {
        told.checked.push("losses of the capture: none".to_owned());
    } else if !other.is_empty() || !is_open {
        let why = if other.is_empty() { "packets were lost at the tap" } else { &other.join("; ") };
        told.not_checked.push(format!("all of the call: {why}"));
    }
}

fn signalling(call: &Call, facts: &Facts, told: &mut Checked) {
    let messages = call.ladder.messages.len() as u64 + facts.not_kept;
    told.checked.push(format!("signalling ({})", of(messages, "SIP message")));
    if facts.cut > 0 {
        told.not_checked.push(format!("the end of {}: cut by the snap length", of(facts.cut, "SIP message")));
    }
    if facts.not_kept > 0 {
        told.not_checked.push(format!("{} beyond those that are kept", of(facts.not_kept, "SIP message")));
    }
}

fn media(call: &Call, facts: &Facts, told: &mut Checked) {
    let elsewhere = call.streams.is_empty().then(|| kept_elsewhere(&call.shared)).flatten();
    let codecs = elsewhere.clone().unwrap_or_else(|| codecs(&call.streams));
    match facts.heard {
        [true, true, _] => told.checked.push(format!("RTP of both directions ({codecs})")),
        [false, false, true] => told.checked.push(format!("RTP of one side ({codecs})")),
        [false, false, false] => told.not_checked.push("audio: no RTP of the call was seen".to_owned()),
        [caller, ..] => {
            let (seen, missing) = if caller { ("caller", "callee") } else { ("callee", "caller") };
            told.checked.push(format!("RTP of the {seen} ({codecs})"));
            told.not_checked.push(format!("audio of the {missing}: none was seen"));
        }
    }
    if let Some((party, ns)) = silent_at_the_end(call) {
        told.not_checked.push(format!(
            "whether the {party} was to be heard in the last {:.1} s: it sent nothing, as on hold, or as a voice mail \
             that records and a menu that waits do",
            ns as f64 / 1e9
        ));
    }
    if let Some(kept) = elsewhere {
        told.not_checked.push(format!("loss, jitter and scores: the streams are {kept}"));
        return;
    }
    if !facts.is_any_heard() {
        return;
    }
    if facts.is_reported {
        told.checked.push("what the receivers report (RTCP)".to_owned());
    } else {
        told.not_checked.push("what arrived behind the tap: no RTCP was seen".to_owned());
    }
    if facts.is_repeated {
        let all = call.streams.iter().filter(|stream| is_repeated(stream)).map(again);
        let (distinct, again) = all.fold((0, 0), |(all, more), (distinct, again)| (all + distinct, more + again));
        told.not_checked.push(format!(
            "loss between the places of capture: {} of RTP came {} more",
            of(distinct, "packet"),
            of(again, "time")
        ));
    }
    if facts.is_encrypted {
        told.not_checked.push("what was said: the media is encrypted".to_owned());
    }
    if facts.is_unscored {
        told.not_checked.push("a score: none is published for the codec, or too little was seen".to_owned());
    }
}

/// Who sent nothing for the last while though the other one did, and for how long, nanoseconds; none where a verdict
/// speaks of audio.
fn silent_at_the_end(call: &Call) -> Option<(&'static str, i64)> {
    let end_ns = call.end_ns.filter(|_| call.verdict.is_none())?;
    let since = |direction| {
        let last = call.streams.iter().filter(|s| s.direction == direction && s.packets > 0).map(|s| s.last_ns).max();
        last.map(|last_ns| end_ns - last_ns)
    };
    let [caller, callee] = [since(Direction::Caller)?, since(Direction::Callee)?];
    match (caller, callee) {
        (..GOES_ON_NS, SILENT_MIN_NS..) => Some(("callee", callee)),
        (SILENT_MIN_NS.., ..GOES_ON_NS) => Some(("caller", caller)),
        _ => None,
    }
}

/// Which calls have the streams; none if none has any.
fn kept_elsewhere(shared: &[SharedStream]) -> Option<String> {
    let calls: BTreeSet<String> = shared.iter().map(|s| s.call.to_string()).collect();
    let which = match calls.len() {
        0 => return None,
        1 => "call",
        _ => "calls",
    };
    Some(format!("kept with {which} {}", calls.into_iter().collect::<Vec<_>>().join(", ")))
}

/// The codecs of all streams, each once.
fn codecs(streams: &[Stream]) -> String {
    let mut names: Vec<&str> = streams.iter().flat_map(|s| s.codec.split('+')).map(str::trim).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { "codec not known".to_owned() } else { names.join(", ") }
}

fn thin(call: &Call, facts: &Facts) -> Vec<String> {
    let Some(verdict) = &call.verdict else { return Vec::new() };
    let mut thin = Vec::new();
    match verdict.kind.as_str() {
        "no-audio" | "one-way-audio" if !facts.is_reported => {
            thin.push("no RTCP says what the parties received".to_owned());
        }
        "loss" | "jitter" | "codec-mismatch" => {
            let most = call.streams.iter().map(|s| s.expected).max().unwrap_or_default();
            if most < THIN_PACKETS {
                thin.push(format!("the longest stream has {} only", of(most, "packet")));
            }
        }
        _ => {}
    }
    let is_about_capture = matches!(verdict.kind.as_str(), "not-captured" | "media-not-captured");
    if !facts.is_complete && !is_about_capture {
        thin.push("the capture does not hold all of the call".to_owned());
    }
    if facts.cut > 0 {
        thin.push("the snap length cut SIP messages".to_owned());
    }
    thin
}

fn of(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{CallState, CaptureLedger, Ladder, RtcpSummary, Verdict};

    fn stream(direction: Direction, codec: &str) -> Stream {
        Stream { direction, codec: codec.to_owned(), packets: 200, expected: 200, ..Stream::default() }
    }

    fn call(streams: Vec<Stream>) -> Call {
        let capture = CaptureLedger { complete: true, ..CaptureLedger::default() };
        let ladder = Ladder { messages: vec![Message::default(); 6], ..Ladder::default() };
        Call { state: CallState::Completed, streams, capture, ladder, mos: Some(4.4), ..Call::default() }
    }

    #[test]
    fn what_was_captured_more_than_once_hides_losses() {
        let twice = |direction, again: u64| Stream { packets: 200 + again, ..stream(direction, "PCMA") };
        for (again, expected) in [(24, false), (25, true), (160, true), (400, true)] {
            let both = call(vec![twice(Direction::Caller, again), twice(Direction::Callee, 0)]);
            let told = checked(&both);
            let text = format!("loss between the places of capture: 200 packets of RTP came {again} times more");
            assert_eq!(told.not_checked.contains(&text), expected, "{:?}", told.not_checked);
        }
        // A few copies of many packets; what is missing is no copy.
        let few = Stream { packets: 2_150, expected: 2_000, ..Stream::default() };
        let lossy = Stream { packets: 150, expected: 200, missing: 50, ..Stream::default() };
        assert!(!is_repeated(&few) && !is_repeated(&lossy) && !is_repeated(&Stream::default()));
    }

    #[test]
    fn both_directions_and_their_reports() {
        let mut good = call(vec![stream(Direction::Caller, "PCMA"), stream(Direction::Callee, "PCMA")]);
        good.streams[0].rtcp = RtcpSummary { receiver_reports: 2, ..RtcpSummary::default() };
        let told = checked(&good);
        let right = [
            "signalling (6 SIP messages)",
            "RTP of both directions (PCMA)",
            "what the receivers report (RTCP)",
            "losses of the capture: none",
        ];
        assert_eq!((told.checked, told.not_checked, told.thin), (right.map(str::to_owned).to_vec(), vec![], vec![]));
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut one = call(vec![Stream { encrypted: true, ..stream(Direction::Callee, "opus") }]);
        one.mos = None;
        one.capture = CaptureLedger { note: "the call was up when the capture began".to_owned(), ..Default::default() };
        one.ladder.messages[1].flags = Message::CUT;
        assert_eq!(
            checked(&one).not_checked,
            [
                "the end of 1 SIP message: cut by the snap length",
                "audio of the caller: none was seen",
                "what arrived behind the tap: no RTCP was seen",
                "what was said: the media is encrypted",
                "a score: none is published for the codec, or too little was seen",
                "all of the call: the call was up when the capture began",
            ]
        );
        assert_eq!(checked(&call(Vec::new())).not_checked, ["audio: no RTP of the call was seen"]);
        let busy = Call { state: CallState::Rejected, ..call(Vec::new()) };
        assert_eq!(checked(&busy).not_checked, ["audio: the call was not answered"]);
    }

    #[test]
    fn who_was_silent_at_the_end_is_said() {
        let until = |direction, last_ns| Stream { last_ns, ..stream(direction, "PCMA") };
        let mut one = call(vec![until(Direction::Caller, 59_900_000_000), until(Direction::Callee, 20_000_000_000)]);
        one.end_ns = Some(60_000_000_000);
        let told =
            |call: &Call| checked(call).not_checked.iter().filter(|what| what.contains("was to be heard")).count();
        assert_eq!(
            checked(&one).not_checked[0],
            "whether the callee was to be heard in the last 40.0 s: it sent nothing, as on hold, or as a voice mail that \
             records and a menu that waits do"
        );
        one.verdict = Some(Verdict { kind: "one-way-audio".to_owned(), ..Verdict::default() });
        assert_eq!(told(&one), 0);
        one.verdict = None;
        // Both sides until near the end, and neither.
        one.streams[1].last_ns = 57_500_000_000;
        assert_eq!(told(&one), 0);
        one.streams.iter_mut().for_each(|s| s.last_ns = 20_000_000_000);
        assert_eq!(told(&one), 0);
    }

    #[test]
    fn what_the_clock_did_is_said() {
        let mut set = call(Vec::new());
        set.state = CallState::Rejected;
        set.capture.note = format!("{CLOCK}{CLOCK_SET}back by 3 s");
        let times = "times, by RTP and the order of packets: the clock of the capture was set back by 3 s";
        assert_eq!(checked(&set).checked[1..], [times, "losses of the capture: none"]);
        set.capture.complete = false;
        set.capture.note.push_str("; no BYE was seen");
        let told = checked(&set);
        assert_eq!(told.checked[1..], [times]);
        assert_eq!(told.not_checked[1..], ["all of the call: no BYE was seen"]);
        set.capture.note = format!("{CLOCK} goes back by 3 s");
        let told = checked(&set);
        assert_eq!(told.checked.len(), 1);
        assert_eq!(told.not_checked[1..], ["times: the clock of the capture goes back by 3 s"]);
    }

    #[test]
    fn a_verdict_that_rests_on_little_says_so() {
        let mut lossy = call(vec![stream(Direction::Caller, "PCMA")]);
        lossy.verdict = Some(Verdict { kind: "loss".to_owned(), ..Verdict::default() });
        assert_eq!(checked(&lossy).thin, ["the longest stream has 200 packets only"]);
        lossy.streams[0].expected = THIN_PACKETS;
        assert!(checked(&lossy).thin.is_empty());
        lossy.verdict = Some(Verdict { kind: "one-way-audio".to_owned(), ..Verdict::default() });
        assert_eq!(checked(&lossy).thin, ["no RTCP says what the parties received"]);
        lossy.streams[0].rtcp.receiver_reports = 1;
        assert!(checked(&lossy).thin.is_empty());
        lossy.capture.complete = false;
        assert_eq!(checked(&lossy).thin, ["the capture does not hold all of the call"]);
    }
}
