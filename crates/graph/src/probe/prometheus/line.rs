//! Lines of the text format.

use super::Number;
use std::borrow::Cow;

/// Labels of one metric; a line with more is not understood.
// Limit: labels of one metric on a fetched page
// Beyond: the line counts as malformed
// Seen in: the device's page
pub const LABELS_MAX: usize = 64;

/// What is counted or measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts of classes, each with what is less, their count and their sum.
    Histogram,
    /// Quantiles, their count and their sum.
    Summary,
    /// It is not told.
    Untyped,
}

impl Kind {
    /// Whether a metric of this name counts, given the name of its family.
    pub fn counts(self, family: &str, name: &str) -> bool {
        let rest = name.strip_prefix(family);
        match self {
            Kind::Counter => matches!(rest, Some("" | "_total")),
            Kind::Histogram => matches!(rest, Some("_bucket" | "_count" | "_sum")),
            Kind::Summary => matches!(rest, Some("_count" | "_sum")),
            Kind::Gauge | Kind::Untyped => false,
        }
    }

    fn parse(text: &str) -> Option<Kind> {
        Some(match text {
            "counter" => Kind::Counter,
            "gauge" => Kind::Gauge,
            "histogram" => Kind::Histogram,
            "summary" => Kind::Summary,
            "untyped" => Kind::Untyped,
            _ => return None,
        })
    }
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// What the metrics that follow are.
    Type {
        /// The name of their family.
        name: &'a str,
        /// What they are.
        kind: Kind,
    },
    /// What it means, for people.
    Help {
        /// The name of the family.
        name: &'a str,
    },
    /// Nothing for us.
    Comment,
    /// A metric.
    Metric(Metric<'a>),
}

/// A metric with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric<'a> {
    /// Its name.
    pub name: &'a str,
    /// What tells it from others of the name.
    pub labels: Labels<'a>,
    /// The value.
    pub value: Number,
    /// When it was so, if that is told: milliseconds since 1970.
    pub unix_ms: Option<i64>,
}

/// Labels, as they lie there: known to be well formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels<'a>(&'a str);

/// A line that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("octet {at} of line {line} is not of the text format of metrics")]
pub struct Malformed {
    /// Which line, from 1.
    pub line: u32,
    /// Which octet of it, from 0.
    pub at: usize,
}

/// All lines that are not empty.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    line: u32,
}

impl<'a> Lines<'a> {
    /// Of a whole exposition.
    pub fn new(octets: &'a [u8]) -> Lines<'a> {
        Lines { rest: octets, line: 0 }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Result<Line<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let end = memchr::memchr(b'\n', self.rest);
            let line = &self.rest[..end.unwrap_or(self.rest.len())];
            self.rest = end.map_or(&[][..], |end| &self.rest[end + 1..]);
            self.line += 1;
            let malformed = |at| Malformed { line: self.line, at };
            match core::str::from_utf8(line) {
                Err(error) => return Some(Err(malformed(error.valid_up_to()))),
                Ok(text) if text.trim_matches(BLANKS).is_empty() => {}
                Ok(text) => return Some(line_of(text).map_err(malformed)),
            }
        }
        None
    }
}

/// What stands between the parts of a line; a carriage return at its end is forgiven.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

fn line_of(text: &str) -> Result<Line<'_>, usize> {
    let inside = text.trim_matches(BLANKS);
    if let Some(comment) = inside.strip_prefix('#') {
        return Ok(comment_of(comment));
    }
    let mut cursor = Cursor { whole: text, rest: text };
    metric(&mut cursor).map(Line::Metric).ok_or(cursor.at())
}

fn comment_of(text: &str) -> Line<'_> {
    let mut words = text.split(BLANKS).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some("TYPE"), Some(name), Some(kind)) => match Kind::parse(kind) {
            Some(kind) => Line::Type { name, kind },
            None => Line::Comment,
        },
        (Some("HELP"), Some(name), _) => Line::Help { name },
        _ => Line::Comment,
    }
}

fn metric<'a>(cursor: &mut Cursor<'a>) -> Option<Metric<'a>> {
    cursor.blanks();
    let name = cursor.word(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':')?;
    cursor.blanks();
    let labels = if cursor.eat('{') { labels(cursor)? } else { Labels("") };
    cursor.blanks();
    let value = number(cursor.word(|b| !BLANKS.contains(&char::from(b)))?)?;
    cursor.blanks();
    let unix_ms = match cursor.rest {
        "" => None,
        _ => Some(cursor.word(|b| !BLANKS.contains(&char::from(b)))?.parse().ok()?),
    };
    cursor.blanks();
    cursor.rest.is_empty().then_some(Metric { name, labels, value, unix_ms })
}

/// What stands behind the first brace, up to the last one.
fn labels<'a>(cursor: &mut Cursor<'a>) -> Option<Labels<'a>> {
    let begin = cursor.rest;
    for _ in 0..=LABELS_MAX {
        cursor.blanks();
        let inside = &begin[..begin.len() - cursor.rest.len()];
        if cursor.eat('}') {
            return Some(Labels(inside));
        }
        label(cursor)?;
        cursor.blanks();
        if !cursor.eat(',') && !cursor.rest.starts_with('}') {
            return None;
        }
    }
    None
}

fn label<'a>(cursor: &mut Cursor<'a>) -> Option<(&'a str, &'a str)> {
    cursor.blanks();
    let name = cursor.word(|b| b.is_ascii_alphanumeric() || b == b'_')?;
    cursor.blanks();
    cursor.eat('=').then_some(())?;
    cursor.blanks();
    cursor.eat('"').then_some(())?;
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', &cursor.rest.as_bytes()[from..])?;
        if cursor.rest.as_bytes()[at] == b'"' {
            let value = &cursor.rest[..at];
            cursor.rest = &cursor.rest[at + 1..];
            return Some((name, value));
        }
        // What follows a backslash does not end the value.
        from = at + 2;
        if from > cursor.rest.len() {
            return None;
        }
    }
}

fn number(text: &str) -> Option<Number> {
    if text.bytes().all(|b| b.is_ascii_digit())
        && let Ok(whole) = text.parse()
    {
        return Some(Number::Whole(whole));
    }
    text.parse().ok().map(Number::Real)
}

impl<'a> Labels<'a> {
    /// Their names and values.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> {
        let mut cursor = Cursor { whole: self.0, rest: self.0 };
        core::iter::from_fn(move || {
            let (name, value) = label(&mut cursor)?;
            cursor.blanks();
            cursor.eat(',');
            Some((name, unescaped(value)))
        })
    }
}

/// A backslash, a quote and an end of a line are written with a backslash before; any other one is itself.
pub(super) fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return Cow::Borrowed(value);
    }
    let (mut out, mut letters) = (String::with_capacity(value.len()), value.chars().peekable());
    while let Some(letter) = letters.next() {
        let meant = match (letter, letters.peek()) {
            ('\\', Some('\\')) => Some('\\'),
            ('\\', Some('"')) => Some('"'),
            ('\\', Some('n')) => Some('\n'),
            _ => None,
        };
        if meant.is_some() {
            letters.next();
        }
        out.push(meant.unwrap_or(letter));
    }
    Cow::Owned(out)
}

#[derive(Clone, Copy)]
struct Cursor<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn at(&self) -> usize {
        self.whole.len() - self.rest.len()
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(BLANKS);
    }

    fn eat(&mut self, letter: char) -> bool {
        let rest = self.rest.strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The octets up to the first one that is not inside; names do not begin with a digit.
    fn word(&mut self, inside: impl Fn(u8) -> bool) -> Option<&'a str> {
        let end = self.rest.bytes().position(|b| !inside(b)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Line<'_>, Malformed> {
        let mut lines = Lines::new(text.as_bytes());
        let line = lines.next().unwrap();
        assert!(lines.next().is_none(), "{text}");
        line
    }

    fn labels_of(text: &str) -> Vec<(String, String)> {
        let Ok(Line::Metric(metric)) = one(text) else { panic!("{text}") };
        metric.labels.iter().map(|(name, value)| (name.to_owned(), value.into_owned())).collect()
    }

    /// The examples of the format's own description.
    #[test]
    fn lines_of_the_description() {
        let text = "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9";
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let labels = [pair("path", "C:\\DIR\\FILE.TXT"), pair("error", "Cannot find file:\n\"FILE.TXT\"")];
        assert_eq!(labels_of(text), labels);
        let metric = |name, value, unix_ms| Ok(Line::Metric(Metric { name, labels: Labels(""), value, unix_ms }));
        assert_eq!(
            one("metric_without_timestamp_and_labels 12.47"),
            metric("metric_without_timestamp_and_labels", Number::Real(12.47), None)
        );
        let Ok(Line::Metric(weird)) = one("something_weird{problem=\"division by zero\"} +Inf -3982045") else {
            panic!()
        };
        assert_eq!((weird.value, weird.unix_ms), (Number::Real(f64::INFINITY), Some(-3_982_045)));
        assert_eq!(one("# TYPE x  counter "), Ok(Line::Type { name: "x", kind: Kind::Counter }));
        assert_eq!(one("#  HELP x It is {an} x"), Ok(Line::Help { name: "x" }));
        assert_eq!(one("# anything"), Ok(Line::Comment));
        assert_eq!(labels_of("x { a = \"b\" , c=\"d\", } 1\r"), [pair("a", "b"), pair("c", "d")]);
        assert_eq!(labels_of("x{a=\"},\\x\"} 1"), [pair("a", "},\\x")]);
    }

    #[test]
    fn what_is_malformed_is_told_with_its_place() {
        for (text, at) in [
            ("x", 1),
            ("x{", 2),
            ("x{a=\"b} 1", 5),
            ("x{a=b} 1", 4),
            ("x{a=\"b\" c=\"d\"} 1", 8),
            ("x 1 2 3", 6),
            ("x one", 5),
            ("x{a=\"b\\", 5),
            ("\u{e9} 1", 0),
        ] {
            assert_eq!(one(text), Err(Malformed { line: 1, at }), "{text}");
        }
        let mut lines = Lines::new(b"\n\nx 1\n\xff\ny 2");
        assert!(lines.next().unwrap().is_ok());
        assert_eq!(lines.next(), Some(Err(Malformed { line: 4, at: 0 })));
        assert!(lines.next().unwrap().is_ok() && lines.next().is_none());
        let many = |count: usize| format!("x{{{}}} 1", "a=\"b\",".repeat(count));
        assert!(one(&many(LABELS_MAX)).is_ok() && one(&many(LABELS_MAX + 1)).is_err());
    }

    #[test]
    fn what_counts_is_known_by_its_family() {
        assert!(Kind::Counter.counts("a_total", "a_total") && !Kind::Counter.counts("a", "b"));
        assert!(Kind::Histogram.counts("a", "a_bucket") && Kind::Summary.counts("a", "a_sum"));
        assert!(!Kind::Summary.counts("a", "a") && !Kind::Gauge.counts("a", "a"));
    }
}
