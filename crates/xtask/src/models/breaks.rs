//! Deliberate breaks: a fence left out, an order made relaxed, a check left out. A list beside the models says each.

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "break")]
    breaks: Vec<Break>,
}

/// One break.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Break {
    /// What is broken, for people.
    pub what: String,
    /// The file, below the folder of the crate.
    pub file: String,
    /// What stands there, once.
    pub replace: String,
    /// What stands there instead.
    pub by: String,
    /// The models that must fail then, each of them.
    pub models: Vec<String>,
}

/// A list as its file says it.
///
/// # Errors
/// It is not TOML, or not a list of breaks; the place.
pub fn parse(text: &str) -> Result<Vec<Break>, String> {
    toml::from_str::<List>(text).map(|list| list.breaks).map_err(|e| e.to_string())
}

impl Break {
    /// The source with the break; none if what it replaces is not there exactly once.
    pub fn applied(&self, source: &str) -> Option<String> {
        let changes = self.replace != self.by && source.matches(&self.replace).count() == 1;
        changes.then(|| source.replacen(&self.replace, &self.by, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_applies_at_one_place_alone() {
        let list = "[[break]]\nwhat = 'w'\nfile = 'f'\nreplace = 'Release'\nby = 'Relaxed'\nmodels = ['m']\n";
        let [one] = &parse(list).expect("a list")[..] else { panic!("one") };
        assert_eq!(one.applied("store(0, Release)").as_deref(), Some("store(0, Relaxed)"));
        assert_eq!((one.applied("Release, Release"), one.applied("Acquire")), (None, None));
        assert!(parse("[[break]]\nwhat = 'w'\n").is_err());
    }
}
