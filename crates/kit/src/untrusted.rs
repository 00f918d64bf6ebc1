//! Text that strangers wrote, made safe for where it goes: a function for each kind of sink. What comes from the
//! network (names, numbers, User-Agent, system descriptions) is data; nothing of it becomes an option, a formula,
//! another line, or an order to a terminal.
//!
//! | where it goes | function |
//! |---|---|
//! | the beginning of an argument of a program | [`argument`] |
//! | any word or variable with which a program is started | [`without_nul`] |
//! | one line for people: a title, a log line, a label | [`line`] |
//! | several lines for people | [`lines`] |
//! | a value of CSV | [`cell`] |
//! | a parameter's value of syslog's structured data | [`syslog_value`] |

use std::borrow::Cow;

/// Stands for a character that cannot be passed on (U+FFFD).
const REPLACEMENT: char = '\u{fffd}';

/// The same without NUL, which ends a text where programs are started; each becomes U+FFFD.
pub fn without_nul(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// An argument of a program of which strangers wrote the beginning: with a space before a `-`, as it would be taken for
/// an option. Whoever starts programs ([`crate::program`]) takes NUL out of all words.
pub fn argument(text: String) -> String {
    if text.starts_with('-') { format!(" {text}") } else { text }
}

/// Control characters, and those that turn the direction of what follows (bidirectional overrides and isolates).
pub fn moves(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// One line for people: what would end it, or move a cursor, becomes a space.
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, |c| moves(c).then_some(' '))
}

/// Lines for people: as [`line`], but the ends of lines stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| (c != '\n' && moves(c)).then_some(' '))
}

fn replaced(text: &str, with: impl Fn(char) -> Option<char>) -> Cow<'_, str> {
    match text.chars().any(|c| with(c).is_some()) {
        true => Cow::Owned(text.chars().map(|c| with(c).unwrap_or(c)).collect()),
        false => Cow::Borrowed(text),
    }
}

/// The value of a parameter of structured data (RFC 5424 section 6.3.3): three characters escaped, and no control
/// characters, as receivers write lines.
pub fn syslog_value(text: &str) -> String {
    line(text).replace('\\', "\\\\").replace('"', "\\\"").replace(']', "\\]")
}

/// With what a formula begins; East Asian spreadsheets take the full-width forms as well.
const FORMULAS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// What begins another cell where spreadsheets are set to other lands, whatever a comma does.
const SEPARATORS: [char; 2] = [';', '\t'];

/// A value of CSV (RFC 4180): quoted where it has to be. Spreadsheets run what begins with `=`, `+`, `-` or `@` and is
/// no number: such text gets a `'` in front. Characters that would move a terminal's cursor become U+FFFD; ends of
/// lines and tabulators stay.
pub fn cell(text: &str) -> String {
    let stays = |c: char| matches!(c, '\n' | '\r' | '\t');
    let text = replaced(text, |c| (moves(c) && !stays(c)).then_some(REPLACEMENT));
    let is_formula = text.starts_with(FORMULAS) && !is_number(&text);
    let mut value = if is_formula { format!("'{text}") } else { text.into_owned() };
    if value.contains(SEPARATORS) {
        value = disarmed(&value);
    }
    if value.contains([',', '"', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

/// The same with an apostrophe between such a separator and the beginning of a formula.
fn disarmed(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    for part in value.split_inclusive(SEPARATORS) {
        if out.ends_with(SEPARATORS) && part.starts_with(FORMULAS) {
            out.push('\'');
        }
        out.push_str(part);
    }
    out
}

/// A sign and digits with at most one point, also an exponent: a telephone number or a figure, which a spreadsheet does
/// not run.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['+', '-']).unwrap_or_default();
    let (digits, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let points = digits.bytes().filter(|b| *b == b'.').count();
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    points <= 1 && all_digits(&digits.replacen('.', "", 1)) && all_digits(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_are_no_options_and_end_where_they_end() {
        for (text, expected) in [("1001", "1001"), ("-rf", " -rf"), ("--", " --"), ("", "")] {
            assert_eq!(argument(text.to_owned()), expected);
        }
        assert_eq!(without_nul("a\0-b"), "a\u{fffd}-b");
        assert_eq!(without_nul("\0-x"), "\u{fffd}-x");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(line("a\nFIRING\x1b]0;x\x07\u{202e}b\u{85}\u{9b}1m"), "a FIRING ]0;x  b  1m");
        assert_eq!(lines("a\nb\x1b[2J"), "a\nb [2J");
        assert!(matches!(line("Zoë 日本"), Cow::Borrowed("Zoë 日本")));
        assert_eq!(syslog_value("a\n<13>1 \"x\" \\ ]"), "a <13>1 \\\"x\\\" \\\\ \\]");
    }

    #[test]
    fn cells_are_quoted_and_disarmed() {
        for (text, expected) in [
            ("1001", "1001"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd|'/C calc'!A0", "'=cmd|'/C calc'!A0"),
            ("@x", "'@x"),
            ("+442079460123", "+442079460123"),
            ("-1.5", "-1.5"),
            ("-2.5e-7", "-2.5e-7"),
            ("+44 20 7946", "'+44 20 7946"),
            ("-1-2", "'-1-2"),
            ("+", "'+"),
            ("-.", "'-."),
            ("-e5", "'-e5"),
            ("\u{ff1d}1+1", "'\u{ff1d}1+1"),
            ("a;=1+1", "a;'=1+1"),
            ("a\x1b[31m\u{202e}", "a\u{fffd}[31m\u{fffd}"),
            ("a\nb", "\"a\nb\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_anything_but_text(text in "[-=+@;\t\r\n\"',a0\\PC\\x00-\\x1f\u{7f}-\u{9f}]{0,20}") {
            prop_assert!(!argument(text.clone()).starts_with('-') && !without_nul(&text).contains('\0'));
            prop_assert!(!line(&text).chars().any(|c| c.is_control()));
            let cell = cell(&text);
            let begins = cell.strip_prefix('"').unwrap_or(&cell);
            prop_assert!(!begins.starts_with(FORMULAS) || is_number(&text), "{cell:?}");
            let orders = ['\x1b', '\u{9b}'];
            prop_assert!(!cell.contains(orders));
        }
    }
}
