//! Messages that wait for their channel: one at a time, in order, again after a while.

use super::Send;
use super::message::{Attempted, Message, Outcome, Outcomes};
use crate::rule::Channel;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages that wait in all; of more, the oldest of the same channel is given up.
// Limit: messages waiting for their channels
// Beyond: the oldest message of that channel is given up
// Seen in: `trunkline_alert_messages_overflow_total`
pub const MESSAGES_MAX: usize = 10_000;
/// Seconds before a second attempt; each next one waits twice as long.
const BACK_OFF_S: i64 = 5;
/// The longest wait between two attempts, seconds.
// Limit: time between two attempts to deliver a message
// Beyond: the wait does not grow further
// Seen in: `trunkline_alert_failed_attempts_total`
pub const BACK_OFF_MAX_S: i64 = 300;

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// It.
    pub message: Message,
    /// Attempts that were begun.
    pub attempts: u32,
    /// Whether one of them goes on.
    pub in_flight: bool,
    /// Whether the receiver may have it already.
    pub in_doubt: bool,
    /// When the next attempt may begin, seconds since 1970.
    pub next_s: i64,
}

/// All that wait.
#[derive(Debug, Default)]
pub struct Queues {
    messages: BTreeMap<String, Waiting>,
    channels: BTreeMap<String, VecDeque<String>>,
    to_send: VecDeque<Send>,
}

impl Queues {
    /// A message more; how many were given up for it.
    pub fn put(&mut self, message: Message) -> u64 {
        let next_s = message.made_s;
        self.restore(Waiting { message, attempts: 0, in_flight: false, in_doubt: false, next_s })
    }

    pub fn restore(&mut self, waiting: Waiting) -> u64 {
        let (id, channel) = (waiting.message.id.clone(), waiting.message.channel.clone());
        if self.messages.insert(id.clone(), waiting).is_none() {
            self.channels.entry(channel.clone()).or_default().push_back(id);
        }
        let mut lost = 0;
        while self.messages.len() > MESSAGES_MAX {
            let all = self.channels.get(&channel);
            let idle = |id: &&String| self.messages.get(*id).is_some_and(|waiting| !waiting.in_flight);
            let Some(oldest) = all.and_then(|all| all.iter().find(idle)).cloned() else { break };
            self.remove(&oldest);
            lost += 1;
        }
        lost
    }

    /// The attempts that are to be made now. What belongs to no channel is left.
    pub fn attempts(&self, channels: &BTreeMap<String, Channel>, now_s: i64) -> Vec<Attempted> {
        let fronts = self.fronts(channels).filter(|waiting| waiting.next_s <= now_s);
        let attempted = |waiting: &Waiting| Attempted {
            message: waiting.message.id.clone(),
            attempt: waiting.attempts + 1,
            at_s: now_s,
        };
        fronts.map(attempted).collect()
    }

    pub fn due_s(&self, channels: &BTreeMap<String, Channel>) -> Option<i64> {
        self.fronts(channels).map(|waiting| waiting.next_s).min()
    }

    /// An attempt begins; whether the receiver may have got an earlier one.
    pub fn attempted(&mut self, attempted: &Attempted) -> bool {
        let Some(waiting) = self.messages.get_mut(&attempted.message) else { return false };
        waiting.attempts = attempted.attempt;
        waiting.in_flight = true;
        self.to_send.push_back(Send { message: waiting.message.clone(), attempt: attempted.attempt });
        waiting.in_doubt
    }

    pub fn came(&mut self, outcome: &Outcome) {
        // When entries are read again, nothing is sent that has its outcome.
        self.to_send.retain(|send| send.message.id != outcome.message);
        let again = match &outcome.came {
            Outcomes::Failed(_) => false,
            Outcomes::InDoubt(_) => true,
            _ => return self.remove(&outcome.message),
        };
        if let Some(waiting) = self.messages.get_mut(&outcome.message) {
            waiting.in_flight = false;
            waiting.in_doubt |= again;
            waiting.next_s = outcome.at_s + back_off_s(waiting.attempts);
        }
    }

    pub fn poll_send(&mut self) -> Option<Send> {
        self.to_send.pop_front()
    }

    /// After a restart: what was on its way when the program ended is sent again at once where a copy is known by the
    /// channel; the others are given back.
    pub fn resume(&mut self, known: impl Fn(&str) -> bool, now_s: i64) -> Vec<String> {
        self.to_send.clear();
        let mut others = Vec::new();
        for (id, waiting) in self.messages.iter_mut().filter(|(_, waiting)| waiting.in_flight) {
            if known(&waiting.message.channel) {
                (waiting.in_flight, waiting.in_doubt, waiting.next_s) = (false, true, now_s);
            } else {
                others.push(id.clone());
            }
        }
        others
    }

    pub fn get(&self, message: &str) -> Option<&Waiting> {
        self.messages.get(message)
    }

    /// All, channel by channel, in their order.
    pub fn all(&self) -> impl Iterator<Item = &Waiting> {
        self.channels.values().flatten().filter_map(|id| self.messages.get(id))
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// The next message of each channel in which none is on its way.
    fn fronts(&self, channels: &BTreeMap<String, Channel>) -> impl Iterator<Item = &Waiting> {
        let known: BTreeSet<&String> = channels.keys().collect();
        let queues = self.channels.iter().filter(move |(name, _)| known.contains(name));
        let front = |ids: &VecDeque<String>| ids.front().and_then(|id| self.messages.get(id));
        queues.filter_map(move |(_, ids)| front(ids)).filter(|waiting| !waiting.in_flight)
    }

    fn remove(&mut self, id: &str) {
        let Some(waiting) = self.messages.remove(id) else { return };
        if let Some(ids) = self.channels.get_mut(&waiting.message.channel) {
            ids.retain(|other| other != id);
            if ids.is_empty() {
                self.channels.remove(&waiting.message.channel);
            }
        }
    }
}

/// Seconds after so many attempts.
fn back_off_s(attempts: u32) -> i64 {
    let doubled = BACK_OFF_S.checked_shl(attempts.saturating_sub(1).min(16)).unwrap_or(BACK_OFF_MAX_S);
    doubled.min(BACK_OFF_MAX_S)
}
