//! Members of what is asked, read with a word about what is wrong.

use super::{Unanswered, few};
use serde_json::Value;

/// A text and its name.
type NamedText = (Box<str>, Box<str>);

/// An object that somebody sent.
#[derive(Clone, Copy)]
pub(super) struct Asked<'v>(pub &'v Value);

impl<'v> Asked<'v> {
    fn get(self, key: &str) -> Option<&'v Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn read<T>(
        self,
        key: &str,
        what: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, Unanswered> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| Unanswered::Asked(format!("\"{key}\" is {what}")))
    }

    fn needed<T>(self, key: &str, found: Option<T>) -> Result<T, Unanswered> {
        found.ok_or_else(|| Unanswered::Asked(format!("\"{key}\" is needed")))
    }

    pub fn maybe_text(self, key: &str) -> Result<Option<&'v str>, Unanswered> {
        self.read(key, "a text", Value::as_str)
    }

    pub fn text(self, key: &str) -> Result<&'v str, Unanswered> {
        let found = self.maybe_text(key)?;
        self.needed(key, found)
    }

    pub fn maybe_id(self, key: &str) -> Result<Option<u32>, Unanswered> {
        self.read(key, "a number", |value| value.as_u64().and_then(|number| u32::try_from(number).ok()))
    }

    pub fn id(self, key: &str) -> Result<u32, Unanswered> {
        let found = self.maybe_id(key)?;
        self.needed(key, found)
    }

    pub fn ids(self, key: &str, most: usize) -> Result<Vec<u32>, Unanswered> {
        let id = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let ids = self.read(key, "a list of numbers", |value| value.as_array()?.iter().map(id).collect())?;
        let ids: Vec<u32> = self.needed(key, ids)?;
        if ids.len() > most {
            return Err(Unanswered::Asked(format!("\"{key}\": {} numbers, {most} can be", ids.len())));
        }
        Ok(ids)
    }

    /// A list of texts; an empty one where nothing is said.
    pub fn texts(self, key: &str, most: usize) -> Result<Vec<&'v str>, Unanswered> {
        let texts = |value: &'v Value| value.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>();
        let texts = self.read(key, "a list of texts", texts)?.unwrap_or_default();
        few(key, texts.len(), most).map(|()| texts)
    }

    /// Texts by name; none where nothing is said.
    pub fn texts_by_name(self, key: &str, most: usize) -> Result<Vec<NamedText>, Unanswered> {
        let text = |(name, value): (&String, &Value)| Some((name.as_str().into(), value.as_str()?.into()));
        let texts = |value: &'v Value| value.as_object()?.iter().map(text).collect::<Option<Vec<_>>>();
        let texts = self.read(key, "an object of texts", texts)?.unwrap_or_default();
        few(key, texts.len(), most).map(|()| texts)
    }

    /// No where nothing is said.
    pub fn flag(self, key: &str) -> Result<bool, Unanswered> {
        Ok(self.read(key, "true or false", Value::as_bool)?.unwrap_or_default())
    }
}
