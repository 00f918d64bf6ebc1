//! Calls that are up: how many, and the newest of them, without a look at all there are.

use super::call::Call;
use super::{Signalling, Slot};
use crate::limits::BEGUN_KEPT_MAX;
use crate::media::Serial;
use std::collections::VecDeque;
use trunkline_kit::Id;
use trunkline_lane::clock::Leap;
use trunkline_store::row::CallState;
use trunkline_wire::Endpoint;

/// A call that is up, as far as its messages tell.
#[derive(Clone, Debug, PartialEq)]
pub struct CallUp {
    /// The identifier that its row will have.
    pub id: Id,
    /// Call-ID.
    pub sip_call_id: String,
    /// User part of From.
    pub from: String,
    /// User part of To.
    pub to: String,
    /// First message, nanoseconds since 1970.
    pub start_ns: i64,
    /// The first 2xx to INVITE.
    pub answer_ns: Option<i64>,
    /// How it stands.
    pub state: CallState,
    /// Where the first INVITE came from.
    pub src: Endpoint,
    /// Where it went.
    pub dst: Endpoint,
}

/// What is not closed yet at a moment: what a program that ends without warning has to make anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What began up to then is in it, if it is not closed; what came later may not be, nanoseconds since 1970.
    pub until_ns: i64,
    /// Calls that are not closed.
    pub open: u64,
    /// When the first of them began, nanoseconds since 1970.
    pub oldest_ns: Option<i64>,
    /// The identifiers of those that were joined in mid-call: of any other, whoever reads its packets from the
    /// beginning sees that it is the beginning.
    pub joined: Vec<Id>,
}

/// How many calls have not ended, and the last that began.
#[derive(Debug, Default)]
pub(super) struct CallsUp {
    up: u64,
    begun: VecDeque<(Serial, u32)>,
}

impl CallsUp {
    /// Calls that have begun and not ended.
    pub fn count(&self) -> u64 {
        self.up
    }

    /// A call began in this slot.
    pub fn begin(&mut self, serial: Serial, at: u32, slots: &[Slot]) {
        self.up += 1;
        if self.begun.len() >= BEGUN_KEPT_MAX {
            self.begun.retain(|entry| call(slots, *entry).is_some());
            // All the others are up: the newest are those that are asked for.
            if self.begun.len() > BEGUN_KEPT_MAX / 2 {
                self.begun.drain(..self.begun.len() - BEGUN_KEPT_MAX / 2);
            }
        }
        self.begun.push_back((serial, at));
    }

    /// A message ended a call, or took its end back.
    pub fn turn(&mut self, was_up: bool, is_up: bool) {
        self.up = match (was_up, is_up) {
            (true, false) => self.up.saturating_sub(1),
            (false, true) => self.up + 1,
            _ => self.up,
        };
    }

    /// The newest that are up, at most so many, newest first.
    pub fn newest(&self, limit: usize, slots: &[Slot]) -> Vec<CallUp> {
        self.begun.iter().rev().filter_map(|entry| call(slots, *entry)).take(limit).map(Call::up).collect()
    }
}

/// The call of an entry, if it is still there and up.
fn call(slots: &[Slot], (serial, at): (Serial, u32)) -> Option<&Call> {
    let slot = slots.get(at as usize).filter(|slot| slot.serial == serial)?;
    slot.call.as_deref().filter(|call| call.until_ns().is_none())
}

impl Signalling {
    /// What is not closed of all that came up to a time: a look at every open call.
    pub fn standing(&self, until_ns: i64) -> Standing {
        let mut standing = Standing { until_ns: self.timeline.clock_ns(until_ns), ..Standing::default() };
        for call in self.slots.iter().filter_map(|slot| slot.call.as_deref()) {
            standing.open += 1;
            let (start_ns, joined) = call.begun();
            let start_ns = self.timeline.clock_ns(start_ns);
            standing.oldest_ns = Some(standing.oldest_ns.map_or(start_ns, |oldest| oldest.min(start_ns)));
            standing.joined.extend(joined);
        }
        standing
    }

    /// Calls that have not ended.
    pub fn calls_up(&self) -> u64 {
        self.up.count()
    }

    /// The newest calls that have not ended, at most so many, newest first; of those that began before
    /// [`BEGUN_KEPT_MAX`] others not all.
    pub fn newest_up(&self, limit: usize) -> Vec<CallUp> {
        let mut newest = self.up.newest(limit, &self.slots);
        for call in &mut newest {
            // What is up now lasts until now.
            call.start_ns = self.timeline.now_ns(call.start_ns);
            call.answer_ns = call.answer_ns.map(|at_ns| self.timeline.now_ns(at_ns));
        }
        newest
    }

    /// Is told where the clock was set, before the messages behind it come.
    pub fn learn(&mut self, leaps: &[Leap]) {
        self.timeline.learn(leaps);
        self.output.leaps.extend_from_slice(leaps);
    }
}
