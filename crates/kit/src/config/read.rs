//! Defaults, file, environment and command line become one configuration, or the list of all that is wrong with them.

use super::file::{self, Found};
use super::mistake::{Mistake, Place};
use super::names::Names;
use super::section::Configuration;
use super::value::Raw;
use std::collections::BTreeMap;

/// The longest file that is read, octets.
// Limit: size of the configuration file
// Beyond: the file is refused
// Seen in: the error message
pub const FILE_OCTETS_MAX: usize = 1 << 20;
/// Mistakes that are told; a file with more is something else.
// Limit: mistakes listed for one configuration
// Beyond: further mistakes are not listed
// Seen in: the list ends there
pub const MISTAKES_MAX: usize = 100;

/// Where values come from, each over the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// The file: its name as it is told, and its text.
    pub file: Option<(&'a str, &'a str)>,
    /// The environment, or those of its variables that begin with `prefix`.
    pub environment: &'a [(String, String)],
    /// What variables begin with: `TRUNKLINE_`.
    pub prefix: &'a str,
    /// Options of the command line: section, key, value, and the option as it was written.
    pub options: &'a [(&'a str, &'a str, String, &'a str)],
}

/// A configuration and where its values come from.
#[derive(Clone, Debug)]
pub struct Loaded<C> {
    /// The values.
    pub settings: C,
    places: BTreeMap<(String, String), Place>,
}

/// Where a value comes from, if not from the default.
pub type Origin = Option<Place>;

/// A key with the value that it has, for `config show`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// `capture.ring`.
    pub key: String,
    /// The value as it is written in the file.
    pub text: String,
    /// Where it comes from; none is the default.
    pub origin: Origin,
}

/// What a whole configuration gets wrong that none of its values alone does: section, key, what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// The section.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// What is wrong with its value.
    pub what: String,
}

impl<C: Configuration> Loaded<C> {
    /// All keys with their values, in the order of their declaration.
    pub fn effective(&self) -> Vec<Effective> {
        let sections = self.settings.sections().into_iter();
        let keys = sections.flat_map(|(name, section)| section.keys().into_iter().map(move |key| (name, section, key)));
        keys.map(|(name, section, key)| Effective {
            text: section.text(&key.name).unwrap_or_default(),
            origin: self.place(name, &key.name).cloned(),
            key: format!("{name}.{}", key.name),
        })
        .collect()
    }

    /// Where a value was given; none if it is the default.
    pub fn place(&self, section: &str, key: &str) -> Option<&Place> {
        self.places.get(&(section.to_owned(), key.to_owned()))
    }
}

/// Reads a configuration; `check` says what is wrong with values beside each other.
///
/// # Errors
/// Every mistake of every source, in the order of file, environment, command line; at most [`MISTAKES_MAX`].
pub fn read<C: Configuration>(
    sources: &Sources<'_>,
    check: impl Fn(&C) -> Vec<Objection>,
) -> Result<Loaded<C>, Vec<Mistake>> {
    let mut loaded = Loaded { settings: C::default(), places: BTreeMap::new() };
    let names = Names::of(&loaded.settings);
    let mut mistakes = Vec::new();
    let mut found = from_file(sources, &names, &mut mistakes);
    found.extend(from_environment(sources, &names, &mut mistakes));
    found.extend(sources.options.iter().map(from_option));
    for found in found {
        loaded.set(found, &mut mistakes);
    }
    for objection in check(&loaded.settings) {
        // A value that was refused has been told; its default was never chosen.
        let default = || Place::Default(format!("{}.{}", objection.section, objection.key));
        let place = loaded.place(objection.section, objection.key).cloned().unwrap_or_else(default);
        mistakes.push(Mistake { place, what: objection.what });
    }
    if mistakes.is_empty() {
        return Ok(loaded);
    }
    mistakes.sort();
    mistakes.truncate(MISTAKES_MAX);
    Err(mistakes)
}

impl<C: Configuration> Loaded<C> {
    fn set(&mut self, found: Found, mistakes: &mut Vec<Mistake>) {
        let Found { section, key, raw, place } = found;
        let set = self.settings.section_mut(&section).map(|s| s.set(&key, &raw));
        match set {
            Some(Ok(())) => {
                self.places.insert((section, key), place);
            }
            Some(Err(what)) => mistakes.push(Mistake { place, what: format!("{key}: {what}") }),
            None => {}
        }
    }
}

fn from_file(sources: &Sources<'_>, names: &Names, mistakes: &mut Vec<Mistake>) -> Vec<Found> {
    let Some((path, text)) = sources.file else { return Vec::new() };
    if text.len() > FILE_OCTETS_MAX {
        let place = Place::File { path: path.to_owned(), line: 1, column: 1 };
        mistakes.push(Mistake { place, what: format!("is longer than {FILE_OCTETS_MAX} octets") });
        return Vec::new();
    }
    let (found, wrong) = file::read(path, text, names);
    mistakes.extend(wrong);
    found
}

fn from_option((section, key, text, option): &(&str, &str, String, &str)) -> Found {
    Found {
        section: (*section).to_owned(),
        key: (*key).to_owned(),
        raw: Raw::Word(text.clone()),
        place: Place::CommandLine((*option).to_owned()),
    }
}

/// `TRUNKLINE_RECORD__SIP__KEEP_AGE` is `keep-age` of `[record.sip]`.
fn from_environment(sources: &Sources<'_>, names: &Names, mistakes: &mut Vec<Mistake>) -> Vec<Found> {
    let mut found = Vec::new();
    for (variable, text) in sources.environment {
        let Some(path) = variable.strip_prefix(sources.prefix).filter(|_| !sources.prefix.is_empty()) else { continue };
        let place = Place::Environment(variable.clone());
        match parts(path, sources.prefix, names) {
            Some(Ok((section, key))) => found.push(Found { section, key, raw: Raw::Word(text.clone()), place }),
            Some(Err(what)) => mistakes.push(Mistake { place, what }),
            None => {}
        }
    }
    found
}

/// Section and key of a variable; none if it is not meant for the configuration.
fn parts(path: &str, prefix: &str, names: &Names) -> Option<Result<(String, String), String>> {
    let lower = path.to_ascii_lowercase();
    let Some((section, key)) = lower.rsplit_once("__") else {
        // One underscore where two belong would be passed over without a word.
        let (section, key) = lower.split_once('_')?;
        let key = key.replace('_', "-");
        let meant = names.is_key(section, &key);
        let right = || format!("{prefix}{}__{}", section, key.replace('-', "_")).to_ascii_uppercase();
        return meant.then(|| Err(format!("two underscores stand between section and key: {}", right())));
    };
    let (section, key) = (section.replace("__", ".").replace('_', "-"), key.replace('_', "-"));
    Some(if !names.is_section(&section) {
        Err(names.unknown_section(&section))
    } else if !names.is_key(&section, &key) {
        Err(names.unknown_key(&section, &key))
    } else {
        Ok((section, key))
    })
}
