//! Files whose sections have the names that their authors give them: all mistakes at once, each with its place.

use super::mistake::{Mistake, Place};
use super::read::MISTAKES_MAX;
use super::section::Section;
use super::value::Raw;
use crate::nearest::suggestion;
use toml::de::{DeTable, DeValue};

/// A file that is being read, and what is wrong with it so far.
#[derive(Debug)]
pub struct Sheet<'a> {
    path: &'a str,
    text: &'a str,
    mistakes: Vec<Mistake>,
}

/// Reads a file of at most `octets_max`, which is named `path` when mistakes are told: `look` is shown its table, as
/// far as it could be read.
///
/// # Errors
/// All mistakes, in the order of the file; at most [`MISTAKES_MAX`].
pub fn sheet<'a, T>(
    path: &'a str,
    text: &'a str,
    octets_max: usize,
    look: impl FnOnce(&mut Sheet<'a>, &DeTable<'_>) -> T,
) -> Result<T, Vec<Mistake>> {
    let mut sheet = Sheet { path, text, mistakes: Vec::new() };
    if text.len() > octets_max {
        sheet.wrong(0, format!("longer than {octets_max} octets"));
        return Err(sheet.mistakes);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        sheet.wrong(error.span().unwrap_or_default().start, error.message().to_owned());
    }
    let seen = look(&mut sheet, table.get_ref());
    sheet.mistakes.sort();
    sheet.mistakes.dedup();
    if sheet.mistakes.is_empty() { Ok(seen) } else { Err(sheet.mistakes) }
}

impl Sheet<'_> {
    /// Sets the keys of a section as its table says, each value as `raw` reads it; where the value of each key stands.
    pub fn section(
        &mut self,
        name: &str,
        table: &DeTable<'_>,
        section: &mut dyn Section,
        raw: impl Fn(&DeValue<'_>) -> Raw,
    ) -> Vec<(String, usize)> {
        let names: Vec<String> = section.keys().into_iter().map(|key| key.name).collect();
        let mut keys = Vec::new();
        for (key, value) in table {
            let (word, at) = (key.get_ref().as_ref(), value.span().start);
            if !names.iter().any(|known| known == word) {
                let hint = suggestion(word, names.iter().map(String::as_str));
                self.wrong(key.span().start, format!("unknown key '{word}' in [{name}]{hint}"));
            } else if let Err(what) = section.set(word, &raw(value.get_ref())) {
                self.wrong(at, format!("{word}: {what}"));
            }
            keys.push((word.to_owned(), at));
        }
        keys
    }

    /// Something is wrong at an octet of the file.
    pub fn wrong(&mut self, at: usize, what: String) {
        if self.mistakes.len() < MISTAKES_MAX {
            let before = self.text.get(..at).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            self.mistakes.push(Mistake { place: Place::File { path: self.path.to_owned(), line, column }, what });
        }
    }
}
