//! Behind a proxy or a back-to-back user agent: the targets that it asks besides the callee, at once or before it.

use crate::mixture::{Fate, OTHERS, Other};
use crate::scene::Party;
use crate::scribe::{Reach, Scribe};
use crate::sip::{Extra, Method, Step};

const MS: i64 = 1_000_000;
/// RFC 3261 section 17.1.1.1.
const T1: i64 = 500 * MS;
const T2: i64 = 4_000 * MS;
/// A 2xx that comes again so often is never acknowledged.
const IGNORED_MIN: u8 = 4;
/// The proxy's transactions with other targets are numbered from here on.
const FIRST_BRANCH: u16 = 500;
const PARTIES: [Party; 2] = [Party::Second, Party::Third];

/// Targets that still ring, or never said anything, with the INVITE that each got.
#[derive(Default)]
pub(crate) struct Branches {
    pending: Vec<(Step, Other)>,
    accept: Vec<(Step, Other)>,
}

/// What the caller does with a second 2xx (RFC 3261 section 13.2.2.4).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Release {
    /// It acknowledges it and hangs up.
    AtOnce,
    /// It hangs up and does not acknowledge it, as some do.
    Unacknowledged,
    /// It acknowledges it, and hangs up so long after it.
    Later(i64),
    /// It acknowledges it, and no BYE is ever seen.
    Never,
    /// It acknowledges it when it came again so often, or not at all.
    Repeated(u8),
}

impl Release {
    /// By what was drawn for the target; `talk_ns` is how long the call lasts.
    fn of(other: &Other, talk_ns: i64) -> Release {
        if let Fate::Repeats(times) = other.fate {
            return Release::Repeated(times);
        }
        match other.after_ns / 1000 % 4 {
            0 => Release::Unacknowledged,
            1 => Release::Later((talk_ns / 3).min(other.after_ns * 3)),
            2 if talk_ns > NEVER_NS => Release::Never,
            _ => Release::AtOnce,
        }
    }
}

/// A call is longer than this whose caller is not seen to hang up a second target: by then it has chosen one.
const NEVER_NS: i64 = 34_000 * MS;

impl Branches {
    /// The INVITE of the caller goes to all targets; when the callee got it.
    pub fn fan_out(scribe: &mut Scribe<'_>, invite: &Step, others: &[Other], hunts: bool) -> Branches {
        let mut branches = Branches::default();
        for (n, other) in others.iter().enumerate() {
            let step = Step { to: PARTIES[n % 2], relay: FIRST_BRANCH + n as u16, fork: 0, repeats: false, ..*invite };
            scribe.far(step);
            branches.ask(scribe, step, *other, hunts, n as u8);
            if !hunts {
                scribe.now += 300_000;
            }
        }
        scribe.far(Step { to: Party::Callee, repeats: false, ..*invite });
        scribe.reach = Reach::Both;
        branches
    }

    fn ask(&mut self, scribe: &mut Scribe<'_>, invite: Step, other: Other, hunts: bool, n: u8) {
        let begun = scribe.now;
        let fork = OTHERS + n;
        if other.fate == Fate::Dead {
            if hunts {
                repeat(scribe, &invite, begun, begun + other.after_ns);
                scribe.now = begun + other.after_ns;
            } else {
                self.pending.push((Step { at_ns: begun, ..invite }, other));
            }
            return;
        }
        scribe.now += 8 * MS;
        scribe.answer_of_target(&invite, 100, 0, false);
        scribe.now = begun + other.after_ns;
        match other.fate {
            Fate::Refuses(status) => {
                scribe.answer_of_target(&invite, status, fork, false);
                acknowledge(scribe, &invite, fork);
            }
            _ => {
                scribe.answer_of_target(&invite, 180, fork, true);
                if hunts {
                    scribe.now += other.ring_ns;
                    cancel(scribe, &invite, fork);
                } else if matches!(other.fate, Fate::Accepts | Fate::Repeats(_)) {
                    self.accept.push((Step { fork, ..invite }, other));
                } else {
                    self.pending.push((Step { fork, ..invite }, other));
                }
            }
        }
        if !hunts {
            scribe.now = begun;
        }
    }

    /// The call is taken, for a talk of so long, or given up: who still rings is cancelled, who accepted too late is
    /// hung up.
    pub fn close(&mut self, scribe: &mut Scribe<'_>, talk_ns: Option<i64>) {
        let now = scribe.now;
        for (n, (invite, other)) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            scribe.now = now + 2 * MS + n as i64 * 170_000;
            match other.fate {
                Fate::Dead => repeat(scribe, &invite, invite.at_ns, now),
                _ => cancel(scribe, &invite, invite.fork),
            }
        }
        for (invite, other) in std::mem::take(&mut self.accept) {
            scribe.now = now + 3 * MS;
            match talk_ns {
                Some(talk_ns) => accept(scribe, &invite, Release::of(&other, talk_ns)),
                None => cancel(scribe, &invite, invite.fork),
            }
        }
        scribe.now = now;
    }

    /// Who never said anything is asked again as long as the call is not decided.
    pub fn leave(&mut self, scribe: &mut Scribe<'_>) {
        let now = scribe.now;
        for (invite, _) in self.pending.iter().filter(|(_, other)| other.fate == Fate::Dead) {
            repeat(scribe, invite, invite.at_ns, now);
        }
        scribe.now = now;
    }
}

/// Timer A, from the INVITE on up to a time (timer B at most).
fn repeat(scribe: &mut Scribe<'_>, invite: &Step, begun: i64, until: i64) {
    // Over TCP nothing is repeated (RFC 3261 section 17.1.1.2).
    let until = if scribe.repeats() { until } else { begun };
    let (mut at_ns, mut distance) = (begun + T1, T1);
    while at_ns < until.min(begun + 64 * T1) {
        scribe.now = at_ns;
        scribe.far(Step { repeats: true, ..*invite });
        distance *= 2;
        at_ns += distance;
    }
}

fn cancel(scribe: &mut Scribe<'_>, invite: &Step, fork: u8) {
    scribe.far(Step { method: Method::Cancel, fork: 0, extra: Extra::None, ..*invite });
    scribe.now += 9 * MS;
    scribe.answer_of_target(&Step { method: Method::Cancel, extra: Extra::None, ..*invite }, 200, fork, false);
    scribe.now += MS;
    scribe.answer_of_target(invite, 487, fork, false);
    acknowledge(scribe, invite, fork);
}

/// The ACK of a failure (RFC 3261 section 17.1.1.3), by the proxy.
fn acknowledge(scribe: &mut Scribe<'_>, invite: &Step, fork: u8) {
    scribe.now += MS;
    scribe.far(Step { method: Method::Ack, fork, extra: Extra::OfFailure, ..*invite });
}

/// A second 2xx, and what the caller does with it.
fn accept(scribe: &mut Scribe<'_>, invite: &Step, release: Release) {
    let description = invite.extra.sdp().map_or(Extra::None, |sdp| Extra::Sdp(*sdp));
    let ok = Step { extra: description, ..*invite };
    scribe.answer_of_target(&ok, 200, invite.fork, true);
    if let Release::Repeated(times) = release {
        let mut distance = T1;
        for _ in 0..times {
            scribe.now += distance;
            scribe.answer_of_target(&Step { repeats: true, ..ok }, 200, invite.fork, true);
            distance = T2.min(2 * distance);
        }
        if times >= IGNORED_MIN {
            return;
        }
    }
    let ask = |scribe: &mut Scribe<'_>, method, cseq| {
        scribe.turn(Party::Caller);
        let request = Step { method, cseq, relay: 0, branch: scribe.next_branch(), extra: Extra::None, ..*invite };
        scribe.near(request);
        scribe.now += 400_000;
        scribe.far(request);
        request
    };
    if release != Release::Unacknowledged {
        ask(scribe, Method::Ack, invite.cseq);
    }
    match release {
        Release::Never => return,
        Release::Later(after_ns) => scribe.now += after_ns,
        _ => {}
    }
    let bye = ask(scribe, Method::Bye, invite.cseq + 1);
    scribe.now += 15 * MS;
    scribe.answer_of_target(&bye, 200, invite.fork, true);
}
