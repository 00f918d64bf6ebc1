//! Other rules: what was seen for those that are as they were stays.

use super::Engine;
use crate::entry::Entry;
use std::collections::BTreeMap;
use trunkline_kit::forgotten::is_forgotten;

impl Engine {
    /// Goes on by other rules than an engine before it. Subjects of rules that see the same keep their values; others
    /// are what they would be after a restart.
    pub fn go_on_from(&mut self, mut before: Engine, now_s: i64) {
        before.snapshot(|entry| self.apply(&entry));
        self.resume(now_s);
        for number in 0..self.rules.len() {
            let (name, rule) = self.rules[number].clone();
            let Some(other) = before.numbers.get(&name).copied() else { continue };
            if rule.sees_as(&before.rules[other].1) {
                self.subjects[number] = core::mem::take(&mut before.subjects[other]);
                self.due.retain(|(_, due, _)| *due != number);
                let names: Vec<Box<str>> = self.subjects[number].keys().cloned().collect();
                for name in names {
                    if let Some(subject) = self.subjects[number].get_mut(&name) {
                        subject.due_s = None;
                    }
                    self.enter(number, &name, now_s);
                }
            }
        }
        let all = || self.subjects.iter().flat_map(BTreeMap::values);
        (self.count, self.baselines) = (all().count(), all().filter(|subject| subject.baseline.is_some()).count());
        self.topology.go_on_from(before.topology);
        self.silences.set_maintained(before.silences.maintained().clone());
        (self.secret, self.counts) = (before.secret, before.counts);
    }

    /// Forgets the subjects that are numbers which were made unreadable: nothing will be seen of them any more.
    pub fn forget_forgotten(&mut self, at_s: i64, out: &mut Vec<Entry>) {
        for number in 0..self.rules.len() {
            let rule = self.rules[number].0.clone();
            let names = self.subjects[number].keys().filter(|name| is_forgotten(name));
            let names: Vec<Box<str>> = names.cloned().collect();
            names.iter().for_each(|name| self.forget(&rule, name, at_s, out));
        }
    }

    /// Takes over what is in no entry: what was counted, what lies behind what, and what is worked at.
    pub fn count_on_from(&mut self, before: Engine) {
        self.topology.go_on_from(before.topology);
        self.silences.set_maintained(before.silences.maintained().clone());
        (self.secret, self.counts) = (before.secret, before.counts);
    }
}
