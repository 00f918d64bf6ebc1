//! Names with `*`, and tests of labels.

use core::fmt;
use trunkline_kit::config::{Raw, Value, quoted};

/// A name in which `*` stands for any characters, none too. Compared with ASCII case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// From its text.
    pub fn new(text: &str) -> Pattern {
        Pattern(text.to_owned())
    }

    /// Whether a text is meant.
    pub fn takes(&self, text: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(mut rest) = text.strip_prefix(pieces.next().unwrap_or_default()) else { return false };
        let Some(last) = pieces.next_back() else { return rest.is_empty() };
        for piece in pieces {
            match rest.find(piece) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Value for Pattern {
    fn kind() -> String {
        "a name, with * for any characters".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let text = raw.as_text().filter(|text| !text.is_empty());
        text.map(Pattern::new).ok_or_else(|| format!("expected {}, not {}", Self::kind(), raw.describe()))
    }

    fn text(&self) -> String {
        quoted(&self.0)
    }
}

/// A test of a label: `site = north*, south` or `team != core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelTest {
    /// The label.
    pub label: String,
    /// Whether none of the values is wanted.
    pub not: bool,
    /// One of these.
    pub values: Vec<Pattern>,
}

impl LabelTest {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<LabelTest, String> {
        LabelTest::of(&Raw::Text(text.to_owned()))
    }

    /// Whether it holds; a label that is not there is none of the values.
    pub fn holds(&self, value: Option<&str>) -> bool {
        value.is_some_and(|value| self.values.iter().any(|pattern| pattern.takes(value))) != self.not
    }
}

impl fmt::Display for LabelTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<&str> = self.values.iter().map(Pattern::text).collect();
        write!(f, "{} {} {}", self.label, if self.not { "!=" } else { "=" }, values.join(", "))
    }
}

impl Value for LabelTest {
    fn kind() -> String {
        "a test such as \"site = north*, south\" or \"team != core\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        let (label, values) = raw.as_text().and_then(|text| text.split_once('=')).ok_or_else(wrong)?;
        let (label, not) = label.strip_suffix('!').map_or((label, false), |label| (label, true));
        let values: Vec<Pattern> = values.split(',').map(|value| Pattern::new(value.trim())).collect();
        let label = label.trim().to_owned();
        if label.is_empty() || values.iter().any(|value| value.0.is_empty()) {
            return Err(wrong());
        }
        Ok(LabelTest { label, not, values })
    }

    fn text(&self) -> String {
        quoted(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As the definition says it: each `*` tries every length.
    fn slowly(pattern: &[char], text: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('*', rest)) => (0..=text.len()).any(|skip| slowly(rest, &text[skip..])),
            Some((first, rest)) => text.split_first().is_some_and(|(t, text)| t == first && slowly(rest, text)),
        }
    }

    proptest! {
        #[test]
        fn takes_what_its_definition_says(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(Pattern::new(&pattern).takes(&text), slowly(&chars(&pattern), &chars(&text)));
        }
    }

    #[test]
    fn labels_are_tested() {
        let test = |text: &str| LabelTest::of(&Raw::Text(text.to_owned()));
        let site = test("site = north*, south").unwrap();
        assert!(site.holds(Some("north-1")) && site.holds(Some("south")));
        assert!(!site.holds(Some("west")) && !site.holds(None));
        let team = test("team != core").unwrap();
        assert!(team.holds(None) && team.holds(Some("access")) && !team.holds(Some("core")));
        assert_eq!(test(&team.to_string()), Ok(team));
        for wrong in ["", "site", "= a", "site =", "site = a,,b"] {
            assert!(test(wrong).is_err(), "{wrong}");
        }
    }
}
