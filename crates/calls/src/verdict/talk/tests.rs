use super::*;
use crate::ledger::{Evidence, Tap};
use crate::signalling::Facts;
use trunkline_store::row::{Call, CallState};
use trunkline_wire::Address;

const SECOND: i64 = 1_000_000_000;
const CALLER: &str = "192.0.2.1:4000";
const CALLEE: &str = "198.51.100.1:5000";

/// A call of 60 s: its changes, its streams, and the rest as a test wants it.
struct World {
    call: Call,
    facts: Facts,
    evidence: Vec<Evidence>,
    tap: Tap,
}

fn endpoint(text: &str) -> Endpoint {
    text.parse().unwrap()
}

fn said(at: &str) -> Said {
    Said { endpoint: Some(endpoint(at)), sends: true, receives: true, ..Said::default() }
}

impl World {
    fn new() -> Self {
        let call = Call {
            state: CallState::Completed,
            answer_ns: Some(0),
            end_ns: Some(60 * SECOND),
            last_ns: 60 * SECOND,
            ..Call::default()
        };
        let hosts = [CALLER, CALLEE].map(|at| Some(endpoint(at).address));
        let facts = Facts { hosts, ..Facts::default() };
        let mut world = World { call, facts, evidence: Vec::new(), tap: Tap::default() };
        world.agree(0, said(CALLER), said(CALLEE));
        world
    }

    fn agree(&mut self, second: i64, caller: Said, callee: Said) {
        let hosts = [CALLER, CALLEE].map(|at| endpoint(at).address);
        self.facts.changes.push(Change { at_ns: second * SECOND, hosts, parties: [caller, callee], by: 1, tag: 0 });
    }

    /// A stream from one second to another, with pauses.
    fn stream(&mut self, from: &str, to: &str, seconds: (i64, i64), pauses: &[(i64, i64)]) -> &mut Stream {
        let direction =
            PARTIES[usize::from(self.facts.changes.iter().any(|c| {
                c.parties[1].endpoint == Some(endpoint(from)) || c.parties[0].endpoint == Some(endpoint(to))
            }))];
        let (first_ns, last_ns) = (seconds.0 * SECOND, seconds.1 * SECOND);
        let pauses = pauses.iter().map(|(from, to)| (from * SECOND, to * SECOND)).collect();
        let sound = Sound { first_ns, last_ns, pauses, ..Sound::default() };
        self.evidence.push(Evidence { sound, ..Evidence::default() });
        let packets = ((last_ns - first_ns) / (SECOND / 50)) as u64;
        let (src, dst) = (endpoint(from), endpoint(to));
        self.call.streams.push(Stream { src, dst, direction, first_ns, last_ns, packets, ..Stream::default() });
        self.call.streams.last_mut().unwrap()
    }

    fn judged(&self) -> Option<(String, String)> {
        let World { call, facts, evidence, tap } = self;
        let case = Case { call, facts, evidence, media_seen: true, tap };
        let verdict = one_way_from(&case).or_else(|| audio_stopped(&case)).or_else(|| late_audio(&case));
        verdict.map(|v| (v.kind, v.text))
    }

    fn kind(&self) -> Option<String> {
        self.judged().map(|(kind, _)| kind)
    }
}

/// The caller is there all along; the callee from one second to another.
fn callee(seconds: (i64, i64), pauses: &[(i64, i64)]) -> World {
    let mut world = World::new();
    world.stream(CALLER, CALLEE, (0, 60), &[]);
    world.stream(CALLEE, CALLER, seconds, pauses);
    world
}

#[test]
fn a_side_that_stops_for_good_is_not_heard_from_then_on() {
    let (kind, text) = callee((0, 40), &[]).judged().unwrap();
    assert_eq!(kind, "one-way-audio");
    assert!(
        text.starts_with("One-way audio: from 40.0 s to 60.0 s after the answer the caller did not hear the callee")
    );
    assert_eq!(callee((0, 56), &[]).kind(), None, "4 s are not enough");
    assert_eq!(callee((0, 60), &[]).kind(), None);
    // Who suppresses silence may be silent for long: told by its pauses, or by comfort noise.
    let pauses = [(5, 7), (9, 12), (20, 24)];
    assert_eq!(callee((0, 40), &pauses).kind(), None);
    assert_eq!(callee((0, 29), &pauses).kind().as_deref(), Some("one-way-audio"));
    let mut noisy = callee((0, 40), &[]);
    noisy.call.streams[1].comfort_noise = 1;
    assert_eq!(noisy.kind(), None);
}

#[test]
fn what_the_tap_may_not_have_seen_is_nobodys_fault() {
    let stopped = || callee((0, 40), &[]);
    let with = |change: fn(&mut World)| {
        let mut world = stopped();
        change(&mut world);
        world.kind()
    };
    assert!(with(|_| ()).is_some());
    assert_eq!(with(|w| w.tap.blind_ns = 10 * SECOND), None);
    assert_eq!(with(|w| w.tap.elsewhere[1] = 1), None, "it is kept with another call");
    assert_eq!(with(|w| w.tap.one_sided[1] = true), None);
    assert_eq!(with(|w| w.tap.unseen = Some((Direction::Callee, 100))), None);
    assert_eq!(with(|w| w.facts.changes_not_kept = true), None);
    assert_eq!(with(|w| w.facts.changes.clear()), None, "nothing is known of what was agreed");
}

#[test]
fn hold_and_fax_explain_silence() {
    let mut held = callee((0, 20), &[]);
    held.agree(20, Said { receives: false, ..said(CALLER) }, Said { sends: false, ..said(CALLEE) });
    assert_eq!(held.kind(), None, "held to the end");
    held.agree(30, said(CALLER), said(CALLEE));
    let (_, text) = held.judged().unwrap();
    assert!(
        text.contains("The call was held, and resumed at 30.0 s; the audio of the callee did not come back."),
        "{text}"
    );
    let mut fax = callee((0, 20), &[]);
    let image = Said { fax: true, ..Said::default() };
    fax.agree(20, image, image);
    assert_eq!(fax.kind(), None);
}

#[test]
fn what_goes_where_nobody_listens_is_not_heard() {
    let moved = "198.51.100.77:6000";
    let world = |back: &str, ice: bool| {
        let mut world = World::new();
        world.agree(10, Said { ice, ..said(CALLER) }, Said { ice, ..said(moved) });
        world.stream(CALLER, CALLEE, (0, 60), &[]);
        world.stream(CALLEE, CALLER, (0, 10), &[]);
        world.stream(back, CALLER, (10, 60), &[]);
        world
    };
    let (_, text) = world(moved, false).judged().unwrap();
    assert!(text.contains(&format!("The caller kept sending to {CALLEE}, which the callee had left")), "{text}");
    assert_eq!(world(CALLEE, false).kind(), None, "who sends from there listens there");
    assert_eq!(world(moved, true).kind(), None, "ICE decides where media goes");
}

#[test]
fn a_side_that_is_heard_late_is_named() {
    let (kind, text) = callee((6, 60), &[]).judged().unwrap();
    assert_eq!(kind, "late-audio");
    assert!(text.starts_with("Late audio: the first audio of the callee came 6.0 s after the answer"), "{text}");
    assert_eq!(callee((2, 60), &[]).kind(), None);
    // A ringing tone before the answer does not count.
    assert_eq!(callee((-8, 60), &[(0, 6)]).kind().as_deref(), Some("late-audio"));
    let mut noisy = callee((6, 60), &[]);
    noisy.call.streams[1].comfort_noise = 1;
    assert_eq!(noisy.kind(), None);
}

#[test]
fn both_sides_stop() {
    let both = |until: i64| {
        let mut world = World::new();
        world.stream(CALLER, CALLEE, (0, until), &[]);
        world.stream(CALLEE, CALLER, (0, until), &[]);
        world
    };
    let (kind, text) = both(40).judged().unwrap();
    assert_eq!(kind, "audio-stopped");
    assert!(text.starts_with("The audio of both sides stops 40.0 s after the answer, 20.0 s before the call is ended"));
    assert_eq!(both(52).kind(), None);
    // Media that was moved may have left this tap.
    let mut moved = both(40);
    moved.agree(40, said("192.0.2.9:7000"), said("198.51.100.9:8000"));
    assert_eq!(moved.kind(), None);
    // The end was not seen.
    let mut open = both(40);
    open.call.end_ns = None;
    assert_eq!(open.kind(), None);
}

#[test]
fn a_relay_is_judged_on_the_hop_that_was_seen() {
    let [near, far] = ["203.0.113.50:30000", "203.0.113.50:31000"];
    let proxy = Address::v4([203, 0, 113, 1]);
    let world = |caller_seen: bool, back: bool| {
        let mut world = World::new();
        world.facts.changes.clear();
        let [caller, callee] = [CALLER, CALLEE].map(|at| endpoint(at).address);
        let changes = [([proxy, callee], said(far), said(CALLEE)), ([caller, proxy], said(CALLER), said(near))];
        for (hosts, caller, callee) in changes {
            world.facts.changes.push(Change { at_ns: 0, hosts, parties: [caller, callee], by: 1, tag: 0 });
        }
        world.stream(far, CALLEE, (0, 60), &[]).direction = Direction::Caller;
        world.stream(CALLEE, far, (0, 60), &[]).direction = Direction::Callee;
        if caller_seen {
            world.stream(CALLER, near, (0, 60), &[]).direction = Direction::Caller;
        }
        if back {
            world.stream(near, CALLER, (0, 60), &[]).direction = Direction::Callee;
        }
        world
    };
    let (_, text) = world(true, false).judged().unwrap();
    assert!(text.contains(&format!("{near} sends nothing to {CALLER}")), "{text}");
    assert_eq!(world(false, false).kind(), None, "nothing of that hop was seen");
    assert_eq!(world(true, true).kind(), None);
}
