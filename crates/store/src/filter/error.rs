//! What is wrong with a filter: where, what was expected, and the nearest right name.

use core::fmt;

pub use trunkline_kit::nearest::suggestion;

/// The first mistake in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// Where it is: characters from 1.
    pub column: usize,
    /// How many characters are meant, at least 1.
    pub width: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

impl FilterError {
    /// The filter and, below it, a line that points at the mistake.
    pub fn caret(&self, text: &str) -> String {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{line}\n{}{}", " ".repeat(self.column.saturating_sub(1)), "^".repeat(self.width.max(1)))
    }
}

/// `column 8: unknown field 'calee'; did you mean 'callee'?`
impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl core::error::Error for FilterError {}
