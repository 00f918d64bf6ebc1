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
//! | a value of CSV, also its title | [`cell`] |
//! | a word of a command line that people copy into a shell | [`shell_word`] |
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
const FORMULAS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// What begins another cell where spreadsheets are set to other lands, whatever a comma does.
const SEPARATOR: char = ';';

/// A value of CSV (RFC 4180), on one line: quoted where it has to be. What would end the line, and a tabulator, become
/// a space, as in [`line`]: the standard allows them within quotes, and who reads line by line, and a terminal, take
/// what follows for another row. Other characters that would move a terminal's cursor become U+FFFD. Spreadsheets run
/// what begins with `=`, `+`, `-` or `@` and is no number, some of them also behind white space: such text gets a `'`
/// in front.
pub fn cell(text: &str) -> String {
    let text = replaced(text, |c| match c {
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(' '),
        c => moves(c).then_some(REPLACEMENT),
    });
    let begin = text.trim_start();
    let is_formula = begin.starts_with(FORMULAS) && !is_number(begin);
    let mut value = if is_formula { format!("'{text}") } else { text.into_owned() };
    if value.contains(SEPARATOR) {
        value = disarmed(&value);
    }
    if value.contains([',', '"']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

/// The same with an apostrophe between such a separator and the beginning of a formula, whatever quotes and white space
/// are before it: the quotes of a value are doubled, and two of them are none for who begins a cell there.
fn disarmed(value: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    for part in value.split_inclusive(SEPARATOR) {
        let begin = part.trim_start_matches(|c: char| c == '"' || c.is_whitespace());
        if out.ends_with(SEPARATOR) && begin.starts_with(FORMULAS) {
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

/// A word of a command line that people copy into a shell: quoted where the shell would take it apart or do what it
/// says. What moves a terminal's cursor stands as escapes between `$'` and `'` (POSIX.1-2024 section 2.2.4).
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    if !text.chars().any(moves) {
        return Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")));
    }
    let mut out = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            // Three digits of an octet each: what follows is not taken for one more.
            _ if moves(c) => c.encode_utf8(&mut [0; 4]).bytes().for_each(|octet| out += &format!("\\{octet:03o}")),
            _ => out.push(c),
        }
    }
    Cow::Owned(out + "'")
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
            ("a; \"=1+1", "\"a;' \"\"=1+1\""),
            (" =1+1", "' =1+1"),
            (" +442079460123", " +442079460123"),
            ("a\x1b]0;x\x07\x1b[31m\u{202e}", "a\u{fffd}]0;x\u{fffd}\u{fffd}[31m\u{fffd}"),
            ("a\nb\r\nc\td\u{85}e\u{2028}f", "a b  c d e f"),
            ("\r\n=1+1", "'  =1+1"),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_word_of_a_shell_is_one_word_and_no_order() {
        for (text, expected) in [
            ("/var/lib/trunkline-data", "/var/lib/trunkline-data"),
            ("msisdn:+442079460123", "msisdn:+442079460123"),
            ("", "''"),
            ("a b", "'a b'"),
            ("o'brien;$(id)`id`", r"'o'\''brien;$(id)`id`'"),
            ("~root", "'~root'"),
            ("a\n\x1b[31m'1", r"$'a\012\033[31m\'1'"),
            ("\u{202e}x\\", r"$'\342\200\256x\\'"),
        ] {
            assert_eq!(shell_word(text), expected);
        }
    }

    /// bash takes what stands in POSIX.1-2024 for it; dash does not have that part yet.
    #[test]
    fn a_shell_reads_the_word_as_it_was() {
        for text in ["a b", "o'brien;$(id)`id`", "!x #y &", "a\n\x1b[31m'1\\2\u{9b}\u{202e}é", "*", "{a,b}"] {
            let line = format!("printf %s {}", shell_word(text));
            let Ok(done) = std::process::Command::new("bash").args(["-c", &line]).output() else {
                println!("SKIPPED: there is no bash");
                return;
            };
            assert_eq!(String::from_utf8_lossy(&done.stdout), text, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_anything_but_text(text in "[-=+@;\t\r\n\"',a0\\PC\\x00-\\x1f\u{7f}-\u{9f}]{0,20}") {
            prop_assert!(!argument(text.clone()).starts_with('-') && !without_nul(&text).contains('\0'));
            prop_assert!(!line(&text).chars().any(|c| c.is_control()));
            let cell = cell(&text);
            let begins = cell.strip_prefix('"').unwrap_or(&cell).trim_start();
            prop_assert!(!begins.starts_with(FORMULAS) || is_number(begins), "{cell:?}");
            prop_assert!(!cell.chars().any(moves), "{cell:?}");
            prop_assert!(!shell_word(&text).chars().any(moves));
        }
    }
}
