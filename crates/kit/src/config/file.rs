//! The TOML file: what it sets and where, and what is wrong with its syntax and names.

use super::mistake::{Mistake, Place};
use super::names::Names;
use super::read::MISTAKES_MAX;
use super::units::short;
use super::value::{Raw, quoted};
use core::ops::Range;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// Errors of syntax that are looked at: several may stand in the line of one mistake.
const ERRORS_MAX: usize = 10 * MISTAKES_MAX;

/// A key that is there, and its value.
pub struct Found {
    pub section: String,
    pub key: String,
    pub raw: Raw,
    pub place: Place,
}

/// Reads a file: all that can be read of it, and all mistakes of syntax and names.
pub fn read(path: &str, text: &str, names: &Names) -> (Vec<Found>, Vec<Mistake>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let lines = core::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut walk = Walk { path, text, lines, names, found: Vec::new(), mistakes: Vec::new() };
    walk.table("", table.get_ref());
    let (broken, syntax) = walk.syntax(&errors);
    // What could be guessed of a broken line would be told as a second mistake.
    walk.mistakes.retain(|mistake| line(&mistake.place).is_none_or(|line| !broken.contains(&line)));
    walk.found.retain(|found| line(&found.place).is_none_or(|line| !broken.contains(&line)));
    walk.mistakes.extend(syntax);
    (walk.found, walk.mistakes)
}

/// A value as it is written in a file; none if it is not one.
pub fn value(text: &str) -> Option<Raw> {
    DeValue::parse(text).ok().map(|value| raw(value.get_ref()))
}

fn line(place: &Place) -> Option<usize> {
    match place {
        Place::File { line, .. } => Some(*line),
        _ => None,
    }
}

struct Walk<'a> {
    path: &'a str,
    text: &'a str,
    /// Where each line begins.
    lines: Vec<usize>,
    names: &'a Names,
    found: Vec<Found>,
    mistakes: Vec<Mistake>,
}

impl Walk<'_> {
    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let inner = if section.is_empty() { name.to_owned() } else { format!("{section}.{name}") };
            let at = key.span().start;
            match value.get_ref() {
                _ if self.names.is_key(section, name) => self.key(section, name, value),
                DeValue::Table(table) if self.names.is_section(&inner) || self.names.is_above(&inner) => {
                    self.table(&inner, table);
                }
                DeValue::Table(_) => {
                    let names = self.names;
                    self.wrong(at, || names.unknown_section(&inner));
                }
                _ if self.names.is_section(&inner) => {
                    self.wrong(at, || format!("'{inner}' is a section: write [{inner}] and its keys below"));
                }
                _ => {
                    let names = self.names;
                    self.wrong(at, || names.unknown_key(section, name));
                }
            }
        }
    }

    fn key(&mut self, section: &str, key: &str, value: &Spanned<DeValue<'_>>) {
        let place = self.place(value.span().start);
        self.found.push(Found { section: section.to_owned(), key: key.to_owned(), raw: raw(value.get_ref()), place });
    }

    fn wrong(&mut self, at: usize, what: impl FnOnce() -> String) {
        // A file with so many is something else: the rest would only take time.
        if self.mistakes.len() < MISTAKES_MAX {
            let place = self.place(at);
            self.mistakes.push(Mistake { place, what: what() });
        }
    }

    fn place(&self, at: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let column = self.text.get(start..at).unwrap_or_default().chars().count() + 1;
        Place::File { path: self.path.to_owned(), line, column }
    }

    /// The first mistake of each line: what follows on it is its consequence.
    fn syntax(&self, errors: &[Error]) -> (BTreeSet<usize>, Vec<Mistake>) {
        let (mut broken, mut mistakes) = (BTreeSet::new(), Vec::new());
        let mut ordered: Vec<_> = errors.iter().map(|e| (e.span().unwrap_or_default(), e.message())).collect();
        ordered.sort_by_key(|(span, _)| (span.start, span.end));
        for (span, message) in ordered.into_iter().take(ERRORS_MAX) {
            let place = self.place(span.start);
            if line(&place).is_some_and(|line| broken.insert(line)) {
                mistakes.push(Mistake { place, what: self.explain(span, message) });
            }
        }
        (broken, mistakes)
    }

    /// The parser's words, or plainer ones for the mistakes that are made most.
    fn explain(&self, span: Range<usize>, message: &str) -> String {
        let meant = self.text.get(span.clone()).unwrap_or_default();
        if message.contains("duplicate key") {
            return format!("'{}' is given a second time", short(meant));
        }
        if message.contains("must be quoted") {
            let value = self.text.get(span.start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
            let value = value.split(['#', ',', ']', '}']).next().unwrap_or_default().trim_end();
            return format!(
                "a value that is neither a number nor true or false stands in quotes: {}",
                quoted(&short(value))
            );
        }
        message.to_owned()
    }
}

/// A value of a file as settings take it.
pub fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::Boolean(value) => Raw::Bool(*value),
        DeValue::String(text) => Raw::Text(text.as_ref().to_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Raw::Integer(number),
            Err(_) => Raw::Other("a number of more than 63 bits"),
        },
        DeValue::Array(list) => Raw::List(list.iter().map(|value| raw(value.get_ref())).collect()),
        DeValue::Float(_) => Raw::Other("a number with a fraction"),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}
