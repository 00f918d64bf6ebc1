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
    /// When it began, milliseconds since 1970, where somebody waits to hear that it was answered.
    pub(super) is_waited_for_since_ms: Option<i64>,
    /// The variables that are asked for.
    order: Vec<u32>,
    /// Ranges of it that were not asked for yet, the first one last.
    pending: Vec<(u32, u32)>,
    readings: Vec<Reading>,
    parts: Vec<Parts>,
    unresolved: u32,
    pub(super) uptime: UptimeState,
    /// Only the small question is asked until it is answered.
    pub(super) is_careful: bool,
    /// Whether anything was sent, and whether that had to wait for other devices of the lane.
    pub(super) is_asked: bool,
    pub(super) was_held: bool,
    pub(super) is_answered: bool,
    pub(super) is_restarted: bool,
    /// Tries that were not answered since the last answer.
    pub(super) silent: u8,
    /// Whether anything was lost.
    pub(super) is_lossy: bool,
}

/// A data source in a cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    /// Its first place in the order, if it has one.
    first: Option<u32>,
    /// When the last of its answers came: those of a source that is larger than a request are not of one time.
    last_ms: i64,
}

impl Cycle {
    /// Of all variables but those that are known not to be there: for these `absent` counts down the cycles until they
    /// are asked for again.
    pub(super) fn new(variables: &Variables, absent: &mut [u8], deadline_ns: u64) -> Cycle {
        let mut readings = vec![Reading::Unknown(Unknown::NoTime); variables.len()];
        let mut order = Vec::with_capacity(variables.len());
        let mut parts = vec![Parts::default(); variables.source_count()];
        for (variable, reading) in readings.iter_mut().enumerate() {
            match absent.get_mut(variable) {
                Some(cycles @ 1..) => {
                    *cycles -= 1;
                    *reading = Reading::Unknown(Unknown::NoSuchInstance);
                }
                _ => {
                    let parts = &mut parts[variables.source_of(variable as u32) as usize];
                    parts.first.get_or_insert(order.len() as u32);
                    order.push(variable as u32);
                }
            }
        }
        let asked = order.len() as u32;
        Cycle {
            deadline_ns,
            is_waited_for_since_ms: None,
            order,
            pending: if asked > 0 { vec![(0, asked)] } else { Vec::new() },
            readings,
            parts,
            unresolved: asked,
            uptime: UptimeState::Wanted,
            is_careful: true,
            is_asked: false,
            was_held: false,
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

    /// The same in two parts, which are not joined again: between data sources if it can be, as near to the middle as
    /// it can be, so that what belongs together has one time.
    pub(super) fn divide(&mut self, variables: &Variables, from: u32, to: u32) {
        let middle = from + (to - from) / 2;
        let source = |place: u32| variables.source_of(self.variable(place));
        let between = (from + 1..to).filter(|place| source(*place) != source(*place - 1));
        let middle = between.min_by_key(|place| place.abs_diff(middle)).unwrap_or(middle);
        self.give_back(middle, to);
        self.give_back(from, middle);
    }

    /// The variable at a place of the order.
    pub(super) fn variable(&self, place: u32) -> u32 {
        self.order[place as usize]
    }

    /// Moves the variable at a place before those of its data source that are asked for with it, so that these are
    /// asked for together without it; its new place.
    pub(super) fn put_aside(&mut self, variables: &Variables, from: u32, place: u32) -> u32 {
        let source = self.parts[variables.source_of(self.variable(place)) as usize];
        let first = source.first.unwrap_or(place).max(from);
        self.order[first as usize..=place as usize].rotate_right(1);
        first
    }

    /// What is known of it now.
    pub(super) fn resolve(&mut self, variables: &Variables, place: u32, reading: Reading, unix_ms: i64) {
        let variable = self.variable(place);
        self.readings[variable as usize] = reading;
        // That a part is given up later makes nothing of what is known later.
        if reading.is_known() {
            let parts = &mut self.parts[variables.source_of(variable) as usize];
            parts.last_ms = parts.last_ms.max(unix_ms);
        }
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

    /// Whether its device had the chance to answer: it was asked in time, or a try has gone by without an answer.
    pub(super) fn was_tried(&self) -> bool {
        self.silent > 0 || (self.is_asked && !self.was_held)
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
        Some(self.parts[source].last_ms).filter(|time| *time != 0)
    }
}
