//! Dependencies: an alert at a device stands for those behind it.

use super::machine::{Block, State};
use std::collections::{BTreeMap, BTreeSet};

/// Devices through which a device is reached.
pub const PARENTS_MAX: usize = 16;
/// Devices on a way; what is farther counts as reached.
const WAY_MAX: usize = 32;

/// How bad a subject is for those that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// It may be an alert soon.
    Undecided,
    /// It is one, told or kept back.
    Down,
}

impl Trouble {
    /// Of a state; none if there is no trouble. `told` says whether people know of an alert.
    pub fn of(state: State, told: bool) -> Option<Trouble> {
        match state {
            State::Firing | State::Clearing | State::Suppressed(_) => Some(Trouble::Down),
            State::Pending | State::Unknown if told => Some(Trouble::Down),
            State::Pending => Some(Trouble::Undecided),
            State::Ok | State::Unknown => None,
        }
    }
}

/// Which device is reached through which, and what is in trouble.
#[derive(Debug, Default)]
pub struct Topology {
    /// Rules that others depend on.
    depended: BTreeSet<String>,
    parents: BTreeMap<String, Vec<String>>,
    /// By rule and device: not seen since something behind them was lost.
    doubted: BTreeSet<(String, String)>,
    /// By rule and device: subjects.
    trouble: BTreeMap<(String, String), BTreeMap<String, Trouble>>,
}

impl Topology {
    pub fn new(depended: BTreeSet<String>) -> Topology {
        Topology { depended, ..Topology::default() }
    }

    /// Takes over what is known of devices.
    pub fn go_on_from(&mut self, before: Topology) {
        (self.parents, self.doubted) = (before.parents, before.doubted);
    }

    pub fn set_parents(&mut self, device: &str, parents: &[&str]) {
        let parents = parents.iter().filter(|parent| **parent != device).take(PARENTS_MAX);
        self.parents.insert(device.to_owned(), parents.map(|parent| (*parent).to_owned()).collect());
    }

    /// Whether these are in trouble is being found out; whether that is new.
    pub fn set_doubted(&mut self, doubted: BTreeSet<(String, String)>) -> bool {
        let moved = doubted != self.doubted;
        self.doubted = doubted;
        moved
    }

    /// Says how a subject is; whether that is new to those that depend on it.
    pub fn set(&mut self, rule: &str, device: &str, subject: &str, trouble: Option<Trouble>) -> bool {
        if device.is_empty() || !self.depended.contains(rule) {
            return false;
        }
        let key = (rule.to_owned(), device.to_owned());
        let Some(trouble) = trouble else {
            let Some(subjects) = self.trouble.get_mut(&key) else { return false };
            let moved = subjects.remove(subject).is_some();
            if subjects.is_empty() {
                self.trouble.remove(&key);
            }
            return moved;
        };
        self.trouble.entry(key).or_default().insert(subject.to_owned(), trouble) != Some(trouble)
    }

    /// What keeps back an alert at a device whose rule depends on these; `own` is the rule and the subject itself.
    pub fn block(&self, depends: &[String], device: &str, own: (&str, &str)) -> Block {
        if device.is_empty() || depends.is_empty() {
            return Block::None;
        }
        let here = self.worst(depends, device, Some(own));
        let way = self.cut_off(depends, device, &mut BTreeSet::new());
        match here.max(way) {
            Some(Trouble::Down) => Block::Dependency,
            Some(Trouble::Undecided) => Block::Undecided,
            None => Block::None,
        }
    }

    fn worst(&self, depends: &[String], device: &str, own: Option<(&str, &str)>) -> Option<Trouble> {
        let of_rule = |rule: &String| {
            let subjects = self.trouble.get(&(rule.clone(), device.to_owned()))?;
            let others = subjects.iter().filter(|(subject, _)| own != Some((rule, subject)));
            others.map(|(_, trouble)| *trouble).max()
        };
        depends.iter().filter_map(of_rule).max()
    }

    fn doubt(&self, depends: &[String], device: &str) -> Option<Trouble> {
        let is_doubted = |rule: &String| self.doubted.contains(&(rule.clone(), device.to_owned()));
        (!self.doubted.is_empty() && depends.iter().any(is_doubted)).then_some(Trouble::Undecided)
    }

    /// Whether all ways to a device are cut off: each device before it is in trouble, or is cut off itself. A way that
    /// leads back to itself leads nowhere, and is none.
    fn cut_off(&self, depends: &[String], device: &str, way: &mut BTreeSet<String>) -> Option<Trouble> {
        let parents = self.parents.get(device).filter(|parents| !parents.is_empty())?;
        if way.len() >= WAY_MAX || !way.insert(device.to_owned()) {
            return None;
        }
        let before = parents.iter().filter(|parent| !way.contains(*parent)).cloned().collect::<Vec<_>>();
        let mut worst = (!before.is_empty()).then_some(Trouble::Down);
        for parent in &before {
            let known = self.worst(depends, parent, None).max(self.doubt(depends, parent));
            let trouble = known.max(self.cut_off(depends, parent, way));
            worst = worst.min(trouble);
            if worst.is_none() {
                break;
            }
        }
        way.remove(device);
        worst
    }
}
