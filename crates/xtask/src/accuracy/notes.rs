//! The explanations of differences, checked in and read by people: docs/accuracy-notes.toml.

use super::compare::Difference;
use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// Where they lie.
pub const PATH: &str = "docs/accuracy-notes.toml";

/// One explanation. It holds for differences of `file` in `what`; with `theirs` and `ours` only for these very values,
/// with `within` only for figures that close. One of the two must be given, so that a note never hides a new fault.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// The capture; `*` at the end stands for any rest.
    pub file: String,
    /// The figure; `*` at the end stands for any rest.
    pub what: String,
    /// The other program's value.
    pub theirs: Option<String>,
    /// Our value.
    pub ours: Option<String>,
    /// The figures differ by this at most.
    pub within: Option<f64>,
    /// Whose the difference is.
    pub whose: Whose,
    /// Why, in a sentence.
    pub why: String,
}

/// Whose a difference is.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// We are wrong, or do not do it yet.
    Ours,
    /// The other program is wrong, or does not do it.
    Theirs,
    /// Both are right: they count different things.
    Definition,
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whose::Ours => "ours",
            Whose::Theirs => "theirs",
            Whose::Definition => "definition",
        })
    }
}

/// All explanations, and which of them were needed.
pub struct Notes {
    notes: Vec<(Note, bool)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    note: Vec<Note>,
}

impl Notes {
    /// Reads them.
    ///
    /// # Errors
    /// The file cannot be read, or a note is not as [`Note`] says.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{PATH}: {e}"))?;
        Self::parse(&text).map_err(|e| format!("{PATH}: {e}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let document: Document = toml::from_str(text).map_err(|e| e.to_string())?;
        for note in &document.note {
            if note.ours.is_none() && note.within.is_none() {
                return Err(format!("the note on '{}' of '{}' says neither 'ours' nor 'within'", note.what, note.file));
            }
        }
        Ok(Notes { notes: document.note.into_iter().map(|note| (note, false)).collect() })
    }

    /// The explanation of a difference, if there is one; it counts as needed from then on.
    pub fn find(&mut self, file: &str, difference: &Difference) -> Option<Note> {
        let (note, needed) = self.notes.iter_mut().find(|(note, _)| note.explains(file, difference))?;
        *needed = true;
        Some(note.clone())
    }

    /// Those that explained nothing.
    pub fn unused(&self) -> Vec<Note> {
        self.notes.iter().filter(|(_, needed)| !needed).map(|(note, _)| note.clone()).collect()
    }
}

impl Note {
    fn explains(&self, file: &str, difference: &Difference) -> bool {
        let same = |given: &Option<String>, value: &str| given.as_ref().is_none_or(|given| given == value);
        matches(&self.file, file)
            && matches(&self.what, &difference.what)
            && same(&self.theirs, &difference.theirs)
            && same(&self.ours, &difference.ours)
            && self.within.is_none_or(|within| distance(difference).is_some_and(|d| d <= within))
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == text, |begin| text.starts_with(begin))
}

fn distance(difference: &Difference) -> Option<f64> {
    let (theirs, ours) = (difference.theirs.parse::<f64>().ok()?, difference.ours.parse::<f64>().ok()?);
    Some((theirs - ours).abs())
}

/// What to add to the file for a difference, but for the reason.
pub fn template(file: &str, difference: &Difference) -> String {
    let Difference { what, theirs, ours, .. } = difference;
    format!(
        "[[note]]\nfile = {file:?}\nwhat = {what:?}\ntheirs = {theirs:?}\nours = {ours:?}\nwhose = \"\"\nwhy = \"\"\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(what: &str, theirs: &str, ours: &str) -> Difference {
        Difference { what: what.to_owned(), theirs: theirs.to_owned(), ours: ours.to_owned(), note: None }
    }

    #[test]
    fn a_note_holds_for_its_values_only() {
        let text = "[[note]]\nfile = 'a/*'\nwhat = 'packets'\ntheirs = '1'\nours = '2'\nwhose = 'theirs'\nwhy = 'x'";
        let mut notes = Notes::parse(text).unwrap();
        assert!(notes.find("a/b.pcap", &difference("packets", "1", "3")).is_none());
        assert_eq!(notes.unused().len(), 1);
        assert!(notes.find("a/b.pcap", &difference("packets", "1", "2")).is_some());
        assert!(notes.unused().is_empty());
    }

    #[test]
    fn a_distance_bounds_what_is_explained() {
        let text = "[[note]]\nfile = '*'\nwhat = 'jitter *'\nwithin = 0.01\nwhose = 'definition'\nwhy = 'x'";
        let mut notes = Notes::parse(text).unwrap();
        assert!(notes.find("b", &difference("jitter mean s", "1.000", "1.009")).is_some());
        assert!(notes.find("b", &difference("jitter mean s", "1.000", "1.011")).is_none());
        assert!(notes.find("b", &difference("jitter mean s", "1.000", "none")).is_none());
    }

    #[test]
    fn a_note_that_bounds_nothing_is_refused() {
        assert!(Notes::parse("[[note]]\nfile = '*'\nwhat = '*'\nwhose = 'ours'\nwhy = 'x'").is_err());
    }

    #[test]
    fn the_template_is_a_note_but_for_the_reason() {
        let text = template("a.pcap", &difference("state \"x\"", "1", "2")).replace("whose = \"\"", "whose = \"ours\"");
        assert!(Notes::parse(&text).is_ok());
    }
}
