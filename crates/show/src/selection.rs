//! What of a run is kept for the printed report: counts of everything, examples of what matters, all of it bounded.

use std::collections::BTreeMap;
use trunkline_kit::Id;
use trunkline_store::checked::{Facts, is_repeated};
use trunkline_store::json::STATES;
use trunkline_store::row::{Call, Ladder, Loss, Registration, Rows, Stream};

/// Calls that are kept whole, with their ladders, in case there are no more.
pub const CALLS_WHOLE_MAX: usize = 3;
/// Calls with a verdict that are listed one by one; more are told by kind.
// Limit: calls with a verdict listed in the report of `trunkline read`
// Beyond: the others are counted by kind
// Seen in: the report
pub const BAD_LISTED_MAX: usize = 8;
/// Kinds of verdicts that are told apart; calls of further kinds are counted among the others.
pub const KINDS_MAX: usize = 64;
/// Calls without a verdict that are listed.
pub const GOOD_LISTED_MAX: usize = 10;
/// Registrations that failed that are listed.
pub const REGISTRATIONS_LISTED_MAX: usize = 6;
/// Streams without signalling that the report lists.
pub const ORPHANS_LISTED_MAX: usize = 6;
/// Streams without signalling that the JSON summary lists; `streams` of the store has them all.
// Limit: streams without signalling in `trunkline read --json`
// Beyond: the others are counted
// Seen in: the number beside the list
pub const ORPHANS_IN_JSON_MAX: usize = 10_000;
/// Losses that are listed.
pub const LOSSES_LISTED_MAX: usize = 20;

/// What is kept.
#[derive(Debug, Default)]
pub struct Selection {
    /// Keep every call (its ladder aside), whatever that takes: `--all`.
    pub all: bool,
    /// Calls by state, indexed by [`trunkline_store::row::CallState`].
    pub states: [u64; STATES.len()],
    /// Calls.
    pub calls: u64,
    /// Calls with a verdict.
    pub bad_calls: u64,
    /// The first calls, whole.
    pub whole: Vec<Call>,
    /// The first calls with a verdict.
    pub bad: Vec<Call>,
    /// The first calls without.
    pub good: Vec<Call>,
    /// By kind of verdict: how many, and the first of them.
    pub kinds: BTreeMap<String, (u64, Call)>,
    /// What could be checked of the calls without a verdict.
    pub checks: Checks,
    /// Streams whose packets were captured more than once, of whatever call or none.
    pub repeated: u64,
    /// The lowest score, and whose it is.
    pub worst: Option<(f32, Id)>,
    /// Registrations, and those that failed.
    pub registrations: (u64, u64),
    /// The first registrations that failed.
    pub failed: Vec<Registration>,
    /// Streams without signalling.
    pub orphans: u64,
    /// The first of them.
    pub orphan_list: Vec<Stream>,
    /// Other transactions, and those without an answer.
    pub events: (u64, u64),
    /// Losses.
    pub losses: Vec<Loss>,
}

/// Of how many calls without a verdict what could be checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Answered ones.
    pub answered: u64,
    /// RTP of both sides was seen.
    pub two_way: u64,
    /// RTP of one side was seen.
    pub one_way: u64,
    /// RTCP says what a receiver got.
    pub reported: u64,
    /// Media is encrypted.
    pub encrypted: u64,
    /// RTP was captured more than once.
    pub repeated: u64,
    /// The capture does not hold all of the call; answered or not.
    pub incomplete: u64,
    /// SIP messages were cut; answered or not.
    pub cut: u64,
}

impl Checks {
    fn take(&mut self, facts: &Facts) {
        self.incomplete += u64::from(!facts.is_complete);
        self.cut += u64::from(facts.cut > 0);
        if facts.is_answered {
            self.answered += 1;
            self.two_way += u64::from(facts.is_two_way());
            self.one_way += u64::from(facts.is_any_heard() && !facts.is_two_way());
            self.reported += u64::from(facts.is_reported);
            self.encrypted += u64::from(facts.is_encrypted);
            self.repeated += u64::from(facts.is_repeated);
        }
    }
}

impl Selection {
    /// Counts rows and keeps what the report may want to show.
    pub fn take(&mut self, rows: &Rows) {
        rows.calls.iter().for_each(|call| self.call(call));
        rows.registrations.iter().for_each(|registration| self.registration(registration));
        let of_calls = rows.calls.iter().flat_map(|call| &call.streams);
        self.repeated += of_calls.chain(&rows.streams).filter(|stream| is_repeated(stream)).count() as u64;
        for stream in &rows.streams {
            self.orphans += 1;
            keep(&mut self.orphan_list, ORPHANS_IN_JSON_MAX, stream);
        }
        for event in &rows.events {
            self.events.0 += 1;
            self.events.1 += u64::from(event.code == 0);
        }
        for loss in &rows.losses {
            keep(&mut self.losses, LOSSES_LISTED_MAX, loss);
        }
    }

    fn call(&mut self, call: &Call) {
        self.calls += 1;
        self.states[call.state as usize] += 1;
        keep(&mut self.whole, CALLS_WHOLE_MAX, call);
        if let Some(mos) = call.mos.filter(|mos| self.worst.is_none_or(|(worst, _)| *mos < worst)) {
            self.worst = Some((mos, call.id));
        }
        let Some(verdict) = &call.verdict else {
            self.checks.take(&Facts::of(call));
            let limit = if self.all { usize::MAX } else { GOOD_LISTED_MAX };
            return keep_light(&mut self.good, limit, call);
        };
        self.bad_calls += 1;
        keep_light(&mut self.bad, if self.all { usize::MAX } else { BAD_LISTED_MAX }, call);
        if let Some((count, _)) = self.kinds.get_mut(&verdict.kind) {
            *count += 1;
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.insert(verdict.kind.clone(), (1, light(call)));
        }
    }

    fn registration(&mut self, registration: &Registration) {
        self.registrations.0 += 1;
        if registration.verdict.is_some() {
            self.registrations.1 += 1;
            keep(&mut self.failed, REGISTRATIONS_LISTED_MAX, registration);
        }
    }
}

fn keep<T: Clone>(list: &mut Vec<T>, limit: usize, item: &T) {
    if list.len() < limit {
        list.push(item.clone());
    }
}

fn keep_light(list: &mut Vec<Call>, limit: usize, call: &Call) {
    if list.len() < limit {
        list.push(light(call));
    }
}

/// A call without its ladder, which is most of it.
fn light(call: &Call) -> Call {
    let whole = |ladder: &Ladder| Ladder { not_kept: ladder.not_kept, ..Ladder::default() };
    Call {
        ladder: whole(&call.ladder),
        id: call.id,
        sip_call_id: call.sip_call_id.clone(),
        from: call.from.clone(),
        to: call.to.clone(),
        reason: call.reason.clone(),
        verdict: call.verdict.clone(),
        streams: call.streams.clone(),
        shared: call.shared.clone(),
        from_uri: call.from_uri.clone(),
        to_uri: call.to_uri.clone(),
        numbers: Vec::new(),
        user_agent: String::new(),
        capture: call.capture.clone(),
        files: Vec::new(),
        ..*call
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn keeps_a_bounded_part_of_a_hundred_thousand_calls() {
        let mut selection = Selection::default();
        let calls = vec![samples::good(), samples::one_way(), samples::retransmissions(), samples::forked()];
        let rows = Rows { calls, ..Rows::default() };
        for _ in 0..25_000 {
            selection.take(&rows);
        }
        assert_eq!((selection.calls, selection.bad_calls), (100_000, 50_000));
        assert_eq!(
            (selection.whole.len(), selection.bad.len(), selection.good.len()),
            (3, BAD_LISTED_MAX, GOOD_LISTED_MAX)
        );
        assert_eq!(selection.kinds["one-way-audio"].0, 25_000);
        assert_eq!(selection.worst, Some((3.62, samples::one_way().id)));
        assert!(selection.bad.iter().all(|call| call.ladder.messages.is_empty()));
    }
}
