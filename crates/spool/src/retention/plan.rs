//! The decision: segments, rules and a time in, steps out.

use std::cmp::Reverse;
use std::time::Duration;

/// A committed segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number of its class in [`Rules::classes`].
    pub class: usize,
    /// Number of its volume in [`Rules::volumes`].
    pub volume: usize,
    /// Time of its last record, nanoseconds since 1970.
    pub last_ns: i64,
    /// Its octets and those of the files beside it.
    pub octets: u64,
    /// It may not leave: somebody pinned or reads it.
    pub held: bool,
    /// It is no older than this, whatever a clock says: it was committed so long ago while we were there.
    pub age_max: Option<Duration>,
}

/// What may stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// By number of the class.
    pub classes: Vec<ClassRule>,
    /// By number of the volume.
    pub volumes: Vec<VolumeRule>,
    /// The volume that takes what others have no room for, before it is deleted.
    pub slow: Option<usize>,
}

/// Limits of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassRule {
    /// A segment goes when its last record is older.
    pub age: Option<Duration>,
    /// Octets of the class on all volumes together.
    pub octets: Option<u64>,
    /// A segment goes to the slow volume, if there is one, when its last record is older.
    pub move_after: Option<Duration>,
}

/// Limits of a volume, as of now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeRule {
    /// Octets of all its segments.
    pub octets: Option<u64>,
    /// Octets free on its file system now; unknown, none are missing.
    pub free: Option<u64>,
    /// Octets that are to be free.
    pub keep_free: u64,
}

/// What is to be done with one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its place in the list that was given.
    pub segment: usize,
    /// What.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

/// What happens to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is deleted.
    Delete,
    /// It goes to the slow volume.
    Move,
}

/// Why a segment leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It is older than its class may be.
    Age,
    /// Its class is larger than it may be.
    ClassOctets,
    /// Its volume holds more than it may.
    VolumeOctets,
    /// The file system has too little space left.
    FreeSpace,
}

impl Reason {
    /// Its name: the label of metrics.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Age => "age",
            Reason::ClassOctets => "class-size",
            Reason::VolumeOctets => "volume-size",
            Reason::FreeSpace => "free-space",
        }
    }
}

/// What has to leave, oldest first within each class. `now_ns` is the time against which ages count; without it (the
/// clock is in doubt) nothing leaves because of its age.
///
/// When a volume has too little room, classes give up the same share of the age that each may have: with 90 days of
/// signalling and 7 of media, media of 7 days goes before signalling of 80. Without ages the oldest of all goes first.
pub fn plan(stored: &[Stored], rules: &Rules, now_ns: Option<i64>) -> Vec<Step> {
    let mut order: Vec<usize> = (0..stored.len()).collect();
    order.sort_by_key(|i| stored.get(*i).map(|s| s.last_ns));
    let mut plan = Plan { stored, rules, order, steps: vec![None; stored.len()] };
    if let Some(now_ns) = now_ns {
        plan.by_age(now_ns);
    }
    for (class, rule) in rules.classes.iter().enumerate() {
        plan.by_class_octets(class, rule);
    }
    // Sorting a million segments is worth a look whether it is needed.
    let may_lack = |v: &VolumeRule| v.octets.is_some() || v.free.is_some_and(|free| free < v.keep_free);
    if rules.slow.is_some() || rules.volumes.iter().any(may_lack) {
        plan.order_by_share_of_age();
    }
    let is_slow = |volume: &usize| rules.slow == Some(*volume);
    for volume in (0..rules.volumes.len()).filter(|v| !is_slow(v)) {
        plan.by_volume(volume);
    }
    // Last, as it takes what the others give.
    for volume in (0..rules.volumes.len()).filter(is_slow) {
        plan.by_volume(volume);
    }
    plan.order.iter().filter_map(|i| plan.steps.get(*i).copied().flatten()).collect()
}

struct Plan<'a> {
    stored: &'a [Stored],
    rules: &'a Rules,
    order: Vec<usize>,
    steps: Vec<Option<Step>>,
}

impl Plan<'_> {
    fn by_age(&mut self, now_ns: i64) {
        for i in 0..self.stored.len() {
            let Some(stored) = self.stored.get(i) else { return };
            let Some(rule) = self.rules.classes.get(stored.class) else { continue };
            let by_clock = u64::try_from(now_ns.saturating_sub(stored.last_ns)).unwrap_or(0);
            let age = stored.age_max.unwrap_or(Duration::MAX).min(Duration::from_nanos(by_clock));
            let fast = self.rules.slow.is_some_and(|slow| slow != stored.volume);
            if rule.age.is_some_and(|limit| age > limit) {
                self.step(i, Action::Delete, Reason::Age);
            } else if fast && rule.move_after.is_some_and(|limit| age > limit) {
                self.step(i, Action::Move, Reason::Age);
            }
        }
    }

    fn by_class_octets(&mut self, class: usize, rule: &ClassRule) {
        let Some(limit) = rule.octets else { return };
        let of_class: Vec<usize> = self.left(|s| s.class == class);
        let mut octets: u64 = of_class.iter().filter_map(|i| self.stored.get(*i)).map(|s| s.octets).sum();
        for i in of_class {
            if octets <= limit {
                return;
            }
            octets -= self.step(i, Action::Delete, Reason::ClassOctets);
        }
    }

    /// Makes room on a volume: what must go is moved to the slow one, or deleted if this is it.
    fn by_volume(&mut self, volume: usize) {
        let Some(rule) = self.rules.volumes.get(volume) else { return };
        let is_slow = self.rules.slow == Some(volume);
        let action = if is_slow || self.rules.slow.is_none() { Action::Delete } else { Action::Move };
        let here = |i: usize, s: &Stored, step: Option<Step>| match step.map(|s| s.action) {
            _ if self.stored.get(i).is_none() => false,
            None => s.volume == volume,
            Some(Action::Move) => is_slow && s.volume != volume,
            Some(Action::Delete) => false,
        };
        let all = self.stored.iter().enumerate().zip(&self.steps);
        let will_be: u64 = all.clone().filter(|((i, s), step)| here(*i, s, **step)).map(|((_, s), _)| s.octets).sum();
        let now: u64 = self.stored.iter().filter(|s| s.volume == volume).map(|s| s.octets).sum();
        let lacking = rule.free.map_or(0, |free| (rule.keep_free + will_be).saturating_sub(now.saturating_add(free)));
        let too_much = rule.octets.map_or(0, |limit| will_be.saturating_sub(limit));
        let reason = if too_much >= lacking { Reason::VolumeOctets } else { Reason::FreeSpace };
        let candidates: Vec<usize> = self
            .order
            .iter()
            .copied()
            .filter(|i| {
                let step = self.steps.get(*i).copied().flatten();
                self.stored.get(*i).is_some_and(|s| !s.held && here(*i, s, step))
            })
            .collect();
        let mut needed = lacking.max(too_much);
        for i in candidates {
            if needed == 0 {
                return;
            }
            needed = needed.saturating_sub(self.step(i, action, reason));
        }
    }

    /// From now on what has used up the largest share of the age that its class may have comes first.
    fn order_by_share_of_age(&mut self) {
        let limit = |class: usize| self.rules.classes.get(class).and_then(|r| r.age);
        let longest = (0..self.rules.classes.len()).filter_map(limit).max().unwrap_or(Duration::from_secs(1));
        let newest = self.stored.iter().map(|s| s.last_ns).max().unwrap_or_default();
        let share = |s: &Stored| {
            let age = newest.abs_diff(s.last_ns);
            u128::from(age) * 1_000_000 / limit(s.class).unwrap_or(longest).as_nanos().max(1)
        };
        let stored = self.stored;
        // Stable: within a class the oldest stays first.
        self.order.sort_by_cached_key(|i| Reverse(stored.get(*i).map(share)));
    }

    /// What is not to be deleted already, oldest first.
    fn left(&self, of: impl Fn(&Stored) -> bool) -> Vec<usize> {
        let is_deleted = |i: usize| self.steps.get(i).copied().flatten().is_some_and(|s| s.action == Action::Delete);
        let left = |i: &usize| !is_deleted(*i) && self.stored.get(*i).is_some_and(&of);
        self.order.iter().copied().filter(left).collect()
    }

    /// Notes a step for a segment that is not held. Gives the octets that it frees.
    fn step(&mut self, segment: usize, action: Action, reason: Reason) -> u64 {
        match (self.stored.get(segment), self.steps.get_mut(segment)) {
            (Some(stored), Some(step)) if !stored.held => {
                *step = Some(Step { segment, action, reason });
                stored.octets
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
