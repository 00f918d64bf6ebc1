//! What differs between two configurations, and what can be applied while the program runs.

use super::file;
use super::section::{Apply, Configuration};

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `log.level`.
    pub key: String,
    /// The value that it had, as it is written in the file.
    pub from: String,
    /// The value that it has now.
    pub to: String,
}

/// The keys whose values differ, by when that takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// At once.
    pub running: Vec<Change>,
    /// At the next start: until then the old values hold.
    pub restart: Vec<Change>,
}

impl Changes {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.running.is_empty() && self.restart.is_empty()
    }
}

/// Compares two configurations.
pub fn changes<C: Configuration>(old: &C, new: &C) -> Changes {
    let mut changes = Changes::default();
    for ((name, before), (_, after)) in old.sections().into_iter().zip(new.sections()) {
        for key in before.keys() {
            let (from, to) = (before.text(&key.name).unwrap_or_default(), after.text(&key.name).unwrap_or_default());
            if from != to {
                let change = Change { key: format!("{name}.{}", key.name), from, to };
                match key.apply {
                    Apply::Running => changes.running.push(change),
                    Apply::Restart => changes.restart.push(change),
                }
            }
        }
    }
    changes
}

/// Takes over what may change while the program runs, and leaves the rest as it was.
pub fn apply<C: Configuration>(running: &mut C, new: &C) {
    for (name, section) in new.sections() {
        let Some(target) = running.section_mut(name) else { continue };
        for key in section.keys().into_iter().filter(|key| key.apply == Apply::Running) {
            let text = section.text(&key.name).unwrap_or_default();
            // What a value writes it reads: the tests of each type say so.
            let _ = file::value(&text).map(|raw| target.set(&key.name, &raw));
        }
    }
}
