//! One round of a device: what is still to be asked, and what is known.

use super::variables::Variables;
use super::{Reading, Unknown};

/// Octets of an answer that are no variables.
const HEAD_OCTETS: usize = 64;
/// The same of version 3.
pub(super) const SECURED_HEAD_OCTETS: usize = 192;

/// How far the question for sysUpTime has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UptimeState {
    Wanted,
    Asked,
    Done,
}

#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) deadline_ns: u64,
    /// The variables that are asked for.
    order: Vec<u32>,
    /// Ranges of it that were not asked for yet, the first one last.
    pending: Vec<(u32, u32)>,
    readings: Vec<Reading>,
    /// For each data source, when the last of its answers came.
    times_ms: Vec<i64>,
    unresolved: u32,
    pub(super) uptime: UptimeState,
    /// Only the small question is asked until it is answered.
    pub(super) is_careful: bool,
    pub(super) is_answered: bool,
    pub(super) is_restarted: bool,
    /// Tries that were not answered since the last answer.
    pub(super) silent: u8,
    /// Whether anything was lost.
    pub(super) is_lossy: bool,
}

impl Cycle {
    /// Of all variables but those that are known not to be there: for these `absent` counts down the cycles until they
    /// are asked for again.
    pub(super) fn new(variables: &Variables, absent: &mut [u8], deadline_ns: u64) -> Cycle {
        let mut readings = vec![Reading::Unknown(Unknown::NoTime); variables.len()];
        let mut order = Vec::with_capacity(variables.len());
        for (variable, reading) in readings.iter_mut().enumerate() {
            match absent.get_mut(variable) {
                Some(cycles @ 1..) => {
                    *cycles -= 1;
                    *reading = Reading::Unknown(Unknown::NoSuchInstance);
                }
                _ => order.push(variable as u32),
            }
        }
        let asked = order.len() as u32;
        Cycle {
            deadline_ns,
            order,
            pending: if asked > 0 { vec![(0, asked)] } else { Vec::new() },
            readings,
            times_ms: vec![0; variables.source_count()],
            unresolved: asked,
            uptime: UptimeState::Wanted,
            is_careful: true,
            is_answered: false,
            is_restarted: false,
            silent: 0,
            is_lossy: false,
        }
    }

    /// The next places of the order that go into one request: data sources are not torn apart if that can be.
    pub(super) fn next_piece(&mut self, variables: &Variables, most: u16, octets_max: usize) -> Option<(u32, u32)> {
        let (from, to) = self.pending.pop()?;
        let (mut end, mut octets) = (from, HEAD_OCTETS);
        while end < to && end - from < u32::from(most) {
            octets += variables.answer_octets(self.variable(end));
            if end > from && octets > octets_max {
                break;
            }
            end += 1;
        }
        if end < to {
            let torn = variables.source_of(self.variable(end));
            let whole = (from..end).rev().find(|place| variables.source_of(self.variable(*place)) != torn);
            end = whole.map_or(end, |last| last + 1);
            self.pending.push((end, to));
        }
        Some((from, end))
    }

    /// These places will be asked for again.
    pub(super) fn give_back(&mut self, from: u32, to: u32) {
        if from < to {
            self.pending.push((from, to));
        }
    }

    /// The same in two parts, which are not joined again.
    pub(super) fn divide(&mut self, from: u32, to: u32) {
        let middle = from + (to - from) / 2;
        self.give_back(middle, to);
        self.give_back(from, middle);
    }

    /// The variable at a place of the order.
    pub(super) fn variable(&self, place: u32) -> u32 {
        self.order[place as usize]
    }

    /// What is known of it now.
    pub(super) fn resolve(&mut self, variables: &Variables, place: u32, reading: Reading, unix_ms: i64) {
        let variable = self.variable(place);
        self.readings[variable as usize] = reading;
        let time = &mut self.times_ms[variables.source_of(variable) as usize];
        *time = (*time).max(unix_ms);
        self.unresolved -= 1;
    }

    /// All that was not answered is unknown for this reason.
    pub(super) fn give_up(&mut self, reason: Unknown) {
        let unknown = Reading::Unknown(Unknown::NoTime);
        self.readings.iter_mut().filter(|r| **r == unknown).for_each(|r| *r = Reading::Unknown(reason));
        self.unresolved = 0;
        self.pending.clear();
        self.uptime = UptimeState::Done;
    }

    pub(super) fn unresolved(&self) -> u32 {
        self.unresolved
    }

    pub(super) fn is_done(&self) -> bool {
        self.unresolved == 0 && self.uptime == UptimeState::Done
    }

    pub(super) fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// When the answers for a data source came; none if nothing has.
    pub(super) fn time_ms(&self, source: usize) -> Option<i64> {
        Some(self.times_ms[source]).filter(|time| *time != 0)
    }
}
