//! Names that say nothing: a type, module, file or crate is called by what it is in the field.

use super::{Finding, crate_of, lines};
use crate::repository::Text;

/// Last words of names that say nothing about what the thing is.
const EMPTY_WORDS: &[&str] = &["manager", "managers", "helper", "helpers", "util", "utils", "data", "common", "misc"];
/// What a declaration of a name begins with.
const DECLARATIONS: &[&str] = &["struct ", "enum ", "trait ", "type ", "mod ", "union "];

/// Checks one text file: its own name and the names declared in it.
pub fn check(text: &Text, findings: &mut Vec<Finding>) {
    let Some((folder, inside)) = crate_of(&text.path) else { return };
    let stem = inside.rsplit('/').next().and_then(|file| file.strip_suffix(".rs"));
    for name in [Some(folder), stem].into_iter().flatten() {
        if is_empty(name) {
            findings.push(Finding::new(&text.path, 0, format!("'{name}' says nothing: name it for what it is")));
        }
    }
    if stem.is_none() {
        return;
    }
    for (number, line) in lines(text) {
        if let Some(name) = declared(line).filter(|n| is_empty(n)) {
            findings.push(Finding::new(&text.path, number, format!("'{name}' says nothing: name it for what it is")));
        }
    }
}

/// The name that a line declares: `pub(crate) struct Name<T> {` gives `Name`.
///
/// What a type is called that belongs to a trait (`    type Data = Bytes;`) is the trait's to say.
fn declared(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if rest.len() < line.len() && rest.starts_with("type ") {
        return None;
    }
    if let Some(public) = rest.strip_prefix("pub") {
        rest = public.split_once(' ')?.1;
    }
    let after = DECLARATIONS.iter().find_map(|d| rest.strip_prefix(d))?;
    let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
    after.get(..end).filter(|name| !name.is_empty())
}

fn is_empty(name: &str) -> bool {
    EMPTY_WORDS.contains(&last_word(name).to_lowercase().as_str())
}

/// The last word of a name in CamelCase, snake_case or kebab-case.
fn last_word(name: &str) -> &str {
    let after_line = name.rsplit(['_', '-']).next().unwrap_or(name);
    let capital = after_line.rfind(|c: char| c.is_uppercase());
    match capital {
        Some(at) if after_line.chars().any(char::is_lowercase) => &after_line[at..],
        _ => after_line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_declared_name() {
        assert_eq!(declared("pub(crate) struct StreamTable<'a> {"), Some("StreamTable"));
        assert_eq!(declared("    mod tests {"), Some("tests"));
        assert_eq!(declared("let structure = 1;"), None);
        assert_eq!(declared("    type Data = Bytes;"), None);
        assert_eq!(declared("type Data = Bytes;"), Some("Data"));
    }

    #[test]
    fn names_that_say_nothing() {
        for name in ["CallManager", "utils", "common", "packet_helpers", "SessionData"] {
            assert!(is_empty(name), "{name}");
        }
        for name in ["DataChunk", "Dialog", "SCTP", "RTPStream", "metadata"] {
            assert!(!is_empty(name), "{name}");
        }
    }
}
