//! The engine: what rules say about their subjects, over time.
//!
//! A subject is one thing that a rule watches: an interface, a group of rows. It is shown its values one after the
//! other ([`Engine::observe`]), and time goes on by [`Engine::handle_timeout`]; both give the [`Entry`]s that came of
//! it. Given those again ([`Engine::apply`]), an engine knows what this one knew.
//!
//! ```text
//!   ok --bad--> pending --bad for `for`--> firing --good--> clearing --good for `clear-for`--> ok
//!    ^            |  \                      |  ^                |
//!    +--not bad---+   +--kept back--> suppressed: maintenance, dependency, not valid
//!   no value for `unknown-after`: unknown, until there is one
//! ```

mod baseline;
mod block;
mod machine;
mod notice;
mod reload;
mod silence;
mod subject;
mod window;

pub use baseline::{BASELINES_MAX, HourLearned, Learned};
pub use block::PARENTS_MAX;
pub use machine::{Block, Opinion, State, Timing, next};
pub use notice::{condition, limit};
pub use silence::{SILENCE_TESTS_MAX, SILENCES_MAX, Silence, Unsilenced};
pub use subject::{FIRED_MAX, Standing};
pub use window::WINDOW_POINTS_MAX;

use crate::counts::EngineCounts;
use crate::entry::Entry;
use crate::rule::{Condition, Rule, Rules};
use baseline::Baseline;
use block::{Topology, Trouble};
use silence::Silences;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Bound;
use std::sync::Arc;
use subject::Subject;

/// Subjects of all rules.
// Limit: subjects of all rules
// Beyond: a further subject is not followed
// Seen in: `trunkline_alert_subjects_overflow_total`
pub const SUBJECTS_MAX: usize = 1_000_000;
/// Fields of a subject, and characters of each and of its name; what is more is left out.
pub const FIELDS_MAX: usize = 32;
/// Characters of a field or a name.
pub const FIELD_CHARS_MAX: usize = 256;
const MINUTE_S: i64 = 60;

/// What a rule is shown of a subject.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// The rule.
    pub rule: &'a str,
    /// What names the subject for ever: `edge-1 Gi0/1`, or the group of rows.
    pub subject: &'a str,
    /// The device it is at, if it is at one: what dependencies go by.
    pub device: &'a str,
    /// What else is known of it: fields of texts, and labels of routes and maintenance windows.
    pub fields: &'a [(&'a str, &'a str)],
    /// Seconds since 1970; later than the one before.
    pub at_s: i64,
    /// The value ([`Expression::value`](crate::rule::Expression::value) or [`Measured`](crate::rule::Measured)); none
    /// where there is none.
    pub value: Option<f64>,
    /// Samples that it is made of.
    pub samples: u64,
}

/// All subjects of all rules.
#[derive(Debug, Default)]
pub struct Engine {
    rules: Vec<(String, Arc<Rule>)>,
    numbers: BTreeMap<String, usize>,
    subjects: Vec<BTreeMap<Box<str>, Subject>>,
    all: Arc<Rules>,
    topology: Topology,
    silences: Silences,
    count: usize,
    baselines: usize,
    /// When a subject is looked at without a value.
    due: BTreeSet<(i64, usize, Box<str>)>,
    /// Subjects that something may keep back or let go.
    active: BTreeSet<(usize, Box<str>)>,
    /// Something that others depend on has moved.
    moved: bool,
    looked_s: i64,
    /// What identifiers of alerts are made by; without it whoever knows one could try out of which subject it is.
    secret: Option<RandomState>,
    counts: EngineCounts,
}

impl Engine {
    /// With these rules, and no subject.
    pub fn new(rules: Arc<Rules>) -> Engine {
        let listed: Vec<(String, Arc<Rule>)> =
            rules.rules.iter().map(|(name, rule)| (name.clone(), Arc::new(rule.clone()))).collect();
        let numbers = listed.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
        let subjects = listed.iter().map(|_| BTreeMap::new()).collect();
        let depended = rules.rules.values().flat_map(|rule| &rule.depends).cloned().collect();
        let topology = Topology::new(depended);
        Engine { rules: listed, numbers, subjects, all: rules, topology, ..Engine::default() }
    }

    /// Identifiers of alerts tell nobody of what they are; without this, those of the same alert are the same.
    pub fn with_secret(mut self) -> Engine {
        self.secret = Some(RandomState::new());
        self
    }

    /// Through which devices a device is reached: if all of them are cut off, it is. Of more than [`PARENTS_MAX`] the
    /// first count.
    pub fn set_parents(&mut self, device: &str, parents: &[&str]) {
        self.topology.set_parents(device, parents);
        self.moved = true;
    }

    /// Rules and devices of which it is being found out whether they are in trouble, as something behind them was lost:
    /// until they are named no more, no alert begins that a trouble of theirs would keep back.
    pub fn set_doubted(&mut self, doubted: BTreeSet<(String, String)>) {
        self.moved |= self.topology.set_doubted(doubted);
    }

    /// Keeps alerts back for a time; false if there are too many silences, or its tests cannot be read.
    pub fn silence(&mut self, silence: &Silence) -> bool {
        let taken = self.silences.put(silence);
        self.moved |= taken;
        taken
    }

    /// Ends a silence; false if there is none of that name.
    pub fn unsilence(&mut self, id: &str) -> bool {
        let removed = self.silences.remove(id);
        self.moved |= removed;
        removed
    }

    /// Silences that are not over.
    pub fn silences(&self) -> impl Iterator<Item = &Silence> {
        self.silences.iter()
    }

    /// The devices that are worked at: nothing of them is an alert.
    pub fn set_maintained(&mut self, devices: BTreeSet<String>) {
        self.moved |= self.silences.set_maintained(devices);
    }

    /// How many subjects a rule has.
    pub fn watched(&self, rule: &str) -> usize {
        self.numbers.get(rule).map_or(0, |number| self.subjects[*number].len())
    }

    /// Shows a rule a value of a subject.
    pub fn observe(&mut self, seen: &Observation<'_>, out: &mut Vec<Entry>) {
        self.counts.observations += 1;
        let Some(number) = self.numbers.get(seen.rule).copied() else {
            self.counts.strays += 1;
            return;
        };
        let rule = Arc::clone(&self.rules[number].1);
        let name = cut(seen.subject);
        if !self.subjects[number].contains_key(name) && !self.begin(number, name, seen, out) {
            return;
        }
        let Some(subject) = self.subjects[number].get_mut(name) else { return };
        if seen.at_s <= subject.looked_s {
            self.counts.late += 1;
            return;
        }
        subject.looked_s = seen.at_s;
        subject.describe(seen);
        if let Some(value) = seen.value.filter(|value| value.is_finite()) {
            subject.last_s = seen.at_s;
            subject.value = Some(value);
            subject.whole_s.get_or_insert(seen.at_s.saturating_add(rule.looks_back_s()));
            let counts = &mut self.counts;
            counts.window_overflow += subject.window.take(seen.at_s, value, seen.samples, rule.window_s);
        }
        let opinion = self.opinion(number, name, &rule, seen.at_s, seen.value.is_some(), out);
        self.step(number, name, opinion, seen.at_s, out);
    }

    /// Lets time go on: subjects without values, and those that are kept back or let go.
    pub fn handle_timeout(&mut self, now_s: i64, out: &mut Vec<Entry>) {
        while let Some((due_s, number, name)) = self.due.first().cloned().filter(|(due_s, ..)| *due_s <= now_s) {
            self.due.remove(&(due_s, number, name.clone()));
            self.fall_due(number, &name, now_s, out);
        }
        self.moved |= self.silences.expire(now_s);
        if self.moved || now_s.div_euclid(MINUTE_S) != self.looked_s.div_euclid(MINUTE_S) {
            self.look_again(now_s, out);
        }
        self.looked_s = now_s;
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do, seconds since 1970; none while nothing has.
    pub fn poll_timeout(&self) -> Option<i64> {
        let due = self.due.first().map(|(due_s, ..)| *due_s);
        let minute = (self.looked_s.div_euclid(MINUTE_S) + 1) * MINUTE_S;
        let look = if self.moved { Some(self.looked_s) } else { (!self.active.is_empty()).then_some(minute) };
        due.into_iter().chain(look).min()
    }

    /// Takes over what an entry says; those of delivery say nothing here. After the last one comes
    /// [`resume`](Self::resume).
    pub fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Standing(standing) => self.stand(standing),
            Entry::Hour(hour) => self.learned(hour),
            Entry::Silenced(silence) => drop(self.silence(silence)),
            Entry::Unsilenced(over) => drop(self.unsilence(&over.id)),
            _ => {}
        }
    }

    /// Goes on after a restart: what was not seen meanwhile is not held against anybody.
    pub fn resume(&mut self, now_s: i64) {
        self.due.clear();
        for number in 0..self.rules.len() {
            let names: Vec<Box<str>> = self.subjects[number].keys().cloned().collect();
            for name in names {
                if let Some(subject) = self.subjects[number].get_mut(&name) {
                    subject.last_s = now_s;
                    subject.due_s = None;
                }
                self.enter(number, &name, now_s);
            }
        }
        (self.moved, self.looked_s) = (true, now_s);
    }

    /// All that must be known after a restart, as entries.
    pub fn snapshot(&self, mut put: impl FnMut(Entry)) {
        self.silences.iter().for_each(|silence| put(Entry::Silenced(silence.clone())));
        for ((rule, declared), subjects) in self.rules.iter().zip(&self.subjects) {
            for (name, subject) in subjects {
                if subject.is_to_be_kept(declared) {
                    put(Entry::Standing(subject.standing(rule, name)));
                }
                for hour in subject.baseline.iter().flat_map(|baseline| baseline.all()) {
                    put(Entry::Hour(HourLearned { rule: rule.clone(), subject: name.to_string(), ..hour }));
                }
            }
        }
    }

    /// Whether any subject is bad, told or not.
    pub fn is_any_bad(&self) -> bool {
        !self.active.is_empty()
    }

    /// How all subjects of a rule stand that are not simply well.
    pub fn standing(&self, rule: &str) -> impl Iterator<Item = Standing> {
        let number = self.numbers.get(rule).copied();
        let subjects = number.into_iter().flat_map(|number| &self.subjects[number]);
        let name = rule.to_owned();
        let troubled = subjects.filter(|(_, subject)| subject.state != State::Ok);
        troubled.map(move |(subject_name, subject)| subject.standing(&name, subject_name))
    }

    /// How subjects of a rule stand, well or not, in the order of their names, those after one.
    pub fn followed(&self, rule: &str, after: &str, limit: usize) -> Vec<Standing> {
        let Some(number) = self.numbers.get(rule).copied() else { return Vec::new() };
        let later = (Bound::Excluded(after), Bound::Unbounded);
        let subjects = self.subjects[number].range::<str, _>(later).take(limit);
        subjects.map(|(name, subject)| subject.standing(rule, name)).collect()
    }

    /// Forgets a subject that is there no more, whatever its state; an alert of it is over.
    pub fn forget(&mut self, rule: &str, subject: &str, at_s: i64, out: &mut Vec<Entry>) {
        let Some(number) = self.numbers.get(rule).copied() else { return };
        if self.subjects[number].contains_key(subject) {
            let from = out.len();
            self.change(number, subject, State::Ok, at_s, at_s, out);
            for entry in &mut out[from..] {
                if let Entry::Standing(standing) = entry {
                    standing.is_gone = true;
                }
            }
            self.leave(number, subject);
        }
    }

    /// What was counted.
    pub fn counts(&self) -> EngineCounts {
        self.counts
    }

    /// Subjects that are followed.
    pub fn subjects(&self) -> usize {
        self.count
    }

    /// A subject that was not seen before; false if there are too many.
    fn begin(&mut self, number: usize, name: &str, seen: &Observation<'_>, out: &mut Vec<Entry>) -> bool {
        if self.count >= SUBJECTS_MAX {
            self.counts.subjects_overflow += 1;
            return false;
        }
        let mut subject = Subject::new(seen.at_s);
        subject.looked_s = seen.at_s.saturating_sub(1);
        subject.describe(seen);
        if let Condition::Baseline { .. } = self.rules[number].1.condition {
            self.give_baseline(&mut subject);
        }
        if let Condition::Down { .. } = self.rules[number].1.condition {
            // Should it never be heard of again, a restart must know that it was there.
            out.push(Entry::Standing(subject.standing(&self.rules[number].0, name)));
        }
        self.subjects[number].insert(name.into(), subject);
        self.count += 1;
        self.enter(number, name, seen.at_s);
        true
    }

    fn give_baseline(&mut self, subject: &mut Subject) {
        if self.baselines >= BASELINES_MAX {
            self.counts.baselines_overflow += 1;
            return;
        }
        self.baselines += 1;
        subject.baseline = Some(Box::default());
    }

    fn leave(&mut self, number: usize, name: &str) {
        let Some(subject) = self.subjects[number].remove(name) else { return };
        self.count -= 1;
        self.baselines -= usize::from(subject.baseline.is_some());
        self.active.remove(&(number, name.into()));
        if let Some(due_s) = subject.due_s {
            self.due.remove(&(due_s, number, name.into()));
        }
        self.topology.set(&self.rules[number].0, &subject.device, name, None);
    }

    /// What the values of a subject say.
    fn opinion(
        &mut self,
        number: usize,
        name: &str,
        rule: &Rule,
        at_s: i64,
        fresh: bool,
        out: &mut Vec<Entry>,
    ) -> Opinion {
        let Some(subject) = self.subjects[number].get_mut(name) else { return Opinion::None };
        if let Condition::Down { after_s } = rule.condition {
            return match (fresh, at_s - subject.last_s >= after_s) {
                (true, _) => Opinion::Good,
                (false, true) => Opinion::Bad,
                (false, false) => Opinion::None,
            };
        }
        if !fresh && rule.window_s == 0 {
            return Opinion::None;
        }
        let samples = subject.window.samples(at_s, rule.window_s);
        let judged = subject.window.value(rule);
        if let (Condition::Baseline { weeks, .. }, Some(value), true) = (rule.condition, judged, fresh) {
            let place = rule.zone.place(at_s);
            if let Some(hour) = subject.baseline.as_mut().and_then(|baseline| baseline.learn(place, value, weeks)) {
                let rule = self.rules[number].0.clone();
                out.push(Entry::Hour(HourLearned { rule, subject: name.to_owned(), ..hour }));
            }
        }
        let opinion = match judged {
            Some(value) if samples >= rule.minimum => {
                subject.judged = Some(value);
                judge(rule, value, at_s, subject.baseline.as_deref())
            }
            _ => Opinion::None,
        };
        subject.as_far_as_seen(opinion, rule, at_s)
    }

    /// Moves a subject on by an opinion.
    fn step(&mut self, number: usize, name: &str, opinion: Opinion, at_s: i64, out: &mut Vec<Entry>) {
        let block = self.block(number, name, at_s);
        let rule = Arc::clone(&self.rules[number].1);
        let Some(subject) = self.subjects[number].get_mut(name) else { return };
        subject.opinion = opinion;
        let timing = subject.timing(&rule);
        let (state, since_s) =
            next((subject.state, subject.since_s), subject.incident.is_some(), opinion, at_s, block, &timing);
        if (state, since_s) != (subject.state, subject.since_s) {
            self.change(number, name, state, since_s, at_s, out);
        }
        self.enter(number, name, at_s);
    }

    /// What keeps an alert of a subject back.
    fn block(&self, number: usize, name: &str, at_s: i64) -> Block {
        let (rule_name, rule) = &self.rules[number];
        let Some(subject) = self.subjects[number].get(name) else { return Block::None };
        if !rule.valid.is_empty() {
            let place = rule.zone.place(at_s);
            if !rule.valid.iter().any(|span| span.holds(place)) {
                return Block::NotValid;
            }
        }
        let label = |label: &str| notice::label(rule_name, rule, name, subject, label);
        let maintained = || self.all.maintenance.values().any(|window| window.holds(at_s, label));
        if self.silences.hold(at_s, &subject.device, label) || maintained() {
            return Block::Maintenance;
        }
        self.topology.block(&rule.depends, &subject.device, (rule_name, name))
    }

    /// A subject stands otherwise from now on.
    fn change(&mut self, number: usize, name: &str, state: State, since_s: i64, at_s: i64, out: &mut Vec<Entry>) {
        let (rule_name, rule) = self.rules[number].clone();
        let named = format!("{rule_name}\0{name}").into_bytes();
        let named = self.secret.as_ref().map_or(named.clone(), |secret| secret.hash_one(&named).to_le_bytes().to_vec());
        let Some(subject) = self.subjects[number].get_mut(name) else { return };
        let before = subject.state;
        (subject.state, subject.since_s) = (state, since_s);
        let kind = subject.incident_moves(&rule, before, at_s, &named);
        self.counts.transitions += u64::from(before != state);
        let suppressed = |state: State| matches!(state, State::Suppressed(_));
        self.counts.suppressed += u64::from(suppressed(state) && !suppressed(before));
        let notice = kind.map(|kind| {
            self.counts.fired += u64::from(kind == crate::delivery::Kind::Fired);
            self.counts.resolved += u64::from(kind == crate::delivery::Kind::Resolved);
            notice::of(kind, &rule_name, &rule, name, subject, at_s)
        });
        if state == State::Ok {
            subject.incident = None;
        }
        out.push(Entry::Standing(subject.standing(&rule_name, name)));
        out.extend(notice.map(Entry::Notice));
        self.moved |=
            self.topology.set(&rule_name, &subject.device, name, Trouble::of(state, subject.incident.is_some()));
    }

    /// Where a subject belongs: what is due, what is active.
    fn enter(&mut self, number: usize, name: &str, now_s: i64) {
        let (rule_name, rule) = &self.rules[number];
        let Some(subject) = self.subjects[number].get_mut(name) else { return };
        let wanted = subject.wanted(rule, now_s);
        match (subject.due_s, wanted) {
            // It is looked at too early, and then put where it belongs.
            (Some(due_s), Some(wanted)) if due_s <= wanted => {}
            (due_s, wanted) => {
                if let Some(due_s) = due_s {
                    self.due.remove(&(due_s, number, name.into()));
                }
                subject.due_s = wanted;
                if let Some(wanted) = wanted {
                    self.due.insert((wanted, number, name.into()));
                }
            }
        }
        let active = matches!(subject.state, State::Firing | State::Clearing | State::Suppressed(_) | State::Pending);
        let key = (number, name.into());
        if active != self.active.contains(&key) {
            if active {
                self.active.insert(key)
            } else {
                self.active.remove(&key)
            };
        }
        let trouble = Trouble::of(subject.state, subject.incident.is_some());
        self.moved |= self.topology.set(rule_name, &subject.device, name, trouble);
    }

    /// A subject without a value for so long that something follows.
    fn fall_due(&mut self, number: usize, name: &str, now_s: i64, out: &mut Vec<Entry>) {
        let rule = Arc::clone(&self.rules[number].1);
        let Some(subject) = self.subjects[number].get_mut(name) else { return };
        subject.due_s = None;
        if subject.wanted(&rule, now_s).is_some_and(|wanted| wanted <= now_s) {
            match rule.condition {
                Condition::Down { .. } => self.step(number, name, Opinion::Bad, now_s, out),
                _ => self.change(number, name, State::Unknown, now_s, now_s, out),
            }
        }
        self.enter(number, name, now_s);
    }

    /// Looks again at all that something may keep back or let go. What that moves may let go or keep back others: a
    /// chain of dependencies is not longer than there are rules.
    fn look_again(&mut self, now_s: i64, out: &mut Vec<Entry>) {
        for _ in 0..=self.rules.len() {
            self.moved = false;
            for (number, name) in self.active.clone() {
                self.look_at(number, &name, now_s, out);
            }
            if !self.moved {
                break;
            }
        }
    }

    fn look_at(&mut self, number: usize, name: &str, now_s: i64, out: &mut Vec<Entry>) {
        let Some(subject) = self.subjects[number].get(name) else { return };
        let opinion = match (subject.state, subject.opinion) {
            // Good for long enough is for values to say.
            (State::Clearing, _) | (_, Opinion::Good) => return,
            // As it was when it was seen last.
            (_, opinion) => opinion,
        };
        self.step(number, name, opinion, now_s, out);
    }

    fn stand(&mut self, standing: &Standing) {
        let Some(number) = self.numbers.get(&standing.rule).copied() else { return };
        let name = cut(&standing.subject);
        if standing.is_gone {
            return self.leave(number, name);
        }
        let declared = Arc::clone(&self.rules[number].1);
        let subject = Subject::restored(standing);
        if !subject.is_to_be_kept(&declared) && !self.subjects[number].contains_key(name) {
            return;
        }
        if !self.subjects[number].contains_key(name) {
            if self.count >= SUBJECTS_MAX {
                self.counts.subjects_overflow += 1;
                return;
            }
            self.count += 1;
        }
        let before = self.subjects[number].remove(name);
        let mut subject = subject;
        subject.baseline = before.and_then(|before| before.baseline);
        self.subjects[number].insert(name.into(), subject);
    }

    fn learned(&mut self, hour: &HourLearned) {
        let Some(number) = self.numbers.get(&hour.rule).copied() else { return };
        let Condition::Baseline { weeks, .. } = self.rules[number].1.condition else { return };
        let name = cut(&hour.subject);
        let mut subject = self.subjects[number].remove(name).unwrap_or_else(|| {
            self.count += 1;
            Subject::new(0)
        });
        if subject.baseline.is_none() {
            self.give_baseline(&mut subject);
        }
        if let Some(baseline) = &mut subject.baseline {
            baseline.put(hour, weeks);
        }
        self.subjects[number].insert(name.into(), subject);
    }
}

/// What a value is by itself.
fn judge(rule: &Rule, value: f64, at_s: i64, baseline: Option<&Baseline>) -> Opinion {
    match rule.condition {
        Condition::High { limit, clear }
        | Condition::Rate { limit, clear, .. }
        | Condition::Flapping { limit, clear } => Opinion::of(value > limit, value <= clear),
        Condition::Low { limit, clear } => Opinion::of(value < limit, value >= clear),
        Condition::Baseline { side, deviations, clear, floor, weeks, weeks_min } => {
            let usual = baseline.and_then(|baseline| baseline.usual(rule.zone.place(at_s), weeks, weeks_min));
            usual.map_or(Opinion::None, |usual| {
                let far = usual.distance(value, side);
                Opinion::of(
                    far > deviations * usual.deviation && far > floor,
                    far <= clear * usual.deviation || far <= floor,
                )
            })
        }
        Condition::Down { .. } => Opinion::None,
    }
}

/// A name or a field, not longer than it may be.
fn cut(text: &str) -> &str {
    text.char_indices().nth(FIELD_CHARS_MAX).map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests;
