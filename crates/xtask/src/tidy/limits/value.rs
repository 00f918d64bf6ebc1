//! The value of a constant: what its expression comes to, and how it is shown.
//!
//! Understood are numbers, names of other constants, the greatest values of integers, durations, `+ - * / <<`,
//! parentheses, `as`, and `if cfg!(..)` (what holds outside of tests).

/// Expressions of constants that name constants that name others.
const DEPTH_MAX: usize = 8;
/// Nanoseconds of a second.
const SECOND_NS: i128 = 1_000_000_000;

/// What a constant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i128),
    /// A time, nanoseconds.
    Time(i128),
}

/// The value of an expression; `find` gives that of another constant by its path. None if it is not understood.
pub fn of(expression: &str, find: &dyn Fn(&str) -> Option<String>) -> Option<Value> {
    within(expression, find, DEPTH_MAX)
}

fn within(expression: &str, find: &dyn Fn(&str) -> Option<String>, depth: usize) -> Option<Value> {
    let expression = match expression.strip_prefix("if cfg!") {
        Some(rest) => rest.split_once("else {")?.1.trim_end().strip_suffix('}')?.trim(),
        None => expression.trim(),
    };
    if let Some((unit, inner)) = expression.split_once("Duration::from_").and_then(|(_, rest)| rest.split_once('(')) {
        let nanoseconds = match unit {
            "secs" => SECOND_NS,
            "millis" => 1_000_000,
            "micros" => 1000,
            _ => return None,
        };
        return match within(inner.trim_end().strip_suffix(')')?, find, depth.checked_sub(1)?)? {
            Value::Number(number) => Some(Value::Time(number.checked_mul(nanoseconds)?)),
            Value::Time(_) => None,
        };
    }
    let mut reader = Reader { tokens: tokens(expression)?, at: 0, find, depth };
    let value = reader.shift()?;
    (reader.at == reader.tokens.len()).then_some(Value::Number(value))
}

/// The expression of a constant that a source defines; none if it does not, or in more than one line.
pub fn definition<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let begin = format!("const {name}: ");
    let mut defined = source.match_indices(&begin).filter_map(|(at, _)| {
        let line = source[at..].lines().next()?;
        line.split_once(" = ")?.1.split_once(';').map(|(value, _)| value)
    });
    defined.next()
}

/// Words and signs.
fn tokens(expression: &str) -> Option<Vec<&str>> {
    let mut found = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let length = match first {
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            '<' if rest.starts_with("<<") => 2,
            '+' | '-' | '*' | '/' | '(' | ')' => 1,
            _ => return None,
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    Some(found)
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    at: usize,
    find: &'a dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Reader<'_> {
    fn takes(&mut self, token: &str) -> bool {
        let is_there = self.tokens.get(self.at) == Some(&token);
        self.at += usize::from(is_there);
        is_there
    }

    fn shift(&mut self) -> Option<i128> {
        let mut value = self.sum()?;
        while self.takes("<<") {
            value = value.checked_mul(1_i128.checked_shl(u32::try_from(self.sum()?).ok()?)?)?;
        }
        Some(value)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        loop {
            value = match () {
                () if self.takes("+") => value.checked_add(self.product()?)?,
                () if self.takes("-") => value.checked_sub(self.product()?)?,
                () => return Some(value),
            };
        }
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.one()?;
        loop {
            value = match () {
                () if self.takes("*") => value.checked_mul(self.one()?)?,
                () if self.takes("/") => value.checked_div(self.one()?)?,
                () => return Some(value),
            };
        }
    }

    /// A number, a name or a parenthesis, and the types that it is taken as.
    fn one(&mut self) -> Option<i128> {
        let token = *self.tokens.get(self.at)?;
        self.at += 1;
        let value = match token {
            "(" => {
                let inner = self.shift()?;
                self.takes(")").then_some(inner)?
            }
            "u8::MAX" => u8::MAX.into(),
            "u16::MAX" => u16::MAX.into(),
            "u32::MAX" => u32::MAX.into(),
            "i32::MAX" => i32::MAX.into(),
            _ if token.starts_with(|c: char| c.is_ascii_digit()) => token.replace('_', "").parse().ok()?,
            _ => {
                let expression = (self.find)(token)?;
                match within(&expression, self.find, self.depth.checked_sub(1)?)? {
                    Value::Number(number) => number,
                    Value::Time(_) => return None,
                }
            }
        };
        while self.takes("as") {
            self.at += 1;
        }
        Some(value)
    }
}

/// A value with the unit that the constant's name says.
pub fn shown(value: Value, constant: &str) -> String {
    let has = |word: &str| constant.split('_').any(|part| part == word);
    match value {
        Value::Time(ns) => time(ns),
        Value::Number(number) if has("OCTETS") => octets(number),
        Value::Number(number) if has("NS") => time(number),
        Value::Number(number) if has("MS") => time(number.saturating_mul(1_000_000)),
        Value::Number(number) if has("S") || has("SECONDS") => time(number.saturating_mul(SECOND_NS)),
        Value::Number(number) if has("CHARS") || has("CHARACTERS") => format!("{} characters", grouped(number)),
        Value::Number(number) if has("DIGITS") => format!("{} digits", grouped(number)),
        Value::Number(number) => grouped(number),
    }
}

fn octets(number: i128) -> String {
    match [(30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(bits, _)| number % (1 << bits) == 0) {
        Some((bits, unit)) => format!("{} {unit}", grouped(number >> bits)),
        None => format!("{} octets", grouped(number)),
    }
}

/// A time in the greatest unit of which it is a whole number; days only from two on.
fn time(ns: i128) -> String {
    let day = 86_400 * SECOND_NS;
    let units = [
        (day, "days"),
        (3600 * SECOND_NS, "h"),
        (60 * SECOND_NS, "min"),
        (SECOND_NS, "s"),
        (1_000_000, "ms"),
        (1000, "us"),
    ];
    let fits = |(unit, _): &(i128, &str)| ns % unit == 0 && (*unit < day || ns >= 2 * day);
    match units.into_iter().find(fits) {
        Some((unit, name)) => format!("{} {name}", grouped(ns / unit)),
        None => format!("{} ns", grouped(ns)),
    }
}

/// A number with a comma before each three digits.
fn grouped(number: i128) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(expression: &str) -> Option<Value> {
        of(expression, &|name| match name {
            "super::PAGE" => Some("4 << 10".to_owned()),
            "LOOP" => Some("LOOP + 1".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn expressions_come_to_what_rust_makes_of_them() {
        for (expression, expected) in [
            ("1_000", 1000),
            ("(1 << 20) - 1024", 1_047_552),
            ("1 << 2 + 3", 32),
            ("4 * super::PAGE as u64 / 2 - 1", 8191),
            ("u16::MAX as usize", 65_535),
            ("if cfg!(test) { 700 } else { 65_536 }", 65_536),
        ] {
            assert_eq!(value(expression), Some(Value::Number(expected)), "{expression}");
        }
        assert_eq!(value("Duration::from_secs(10 * 60)"), Some(Value::Time(600 * SECOND_NS)));
    }

    #[test]
    fn what_is_not_understood_is_no_value() {
        for expression in ["", "f()", "UNKNOWN", "LOOP", "1 +", "1 2", "1.5", "Duration::MAX", "1 / 0", "1 << 200"] {
            assert_eq!(value(expression), None, "{expression}");
        }
    }

    #[test]
    fn values_are_shown_with_their_unit() {
        for (number, constant, expected) in [
            (1 << 20, "CALLS_MAX", "1,048,576"),
            (999, "CALLS_MAX", "999"),
            (64 << 20, "HELD_OCTETS_MAX", "64 MiB"),
            (65_535, "MESSAGE_OCTETS_MAX", "65,535 octets"),
            (500, "TEXT_CHARS_MAX", "500 characters"),
            (15, "PREFIX_DIGITS_MAX", "15 digits"),
            (366 * 86_400, "SILENCE_S_MAX", "366 days"),
            (86_400, "LATE_S_MAX", "24 h"),
            (900, "WAIT_MAX_S", "15 min"),
            (100_000_000, "STEP_NS_MAX", "100 ms"),
        ] {
            assert_eq!(shown(Value::Number(number), constant), expected);
        }
        assert_eq!(shown(Value::Time(10 * SECOND_NS), "FRAME_TIME_MAX"), "10 s");
    }

    #[test]
    fn a_definition_is_found_by_its_whole_name() {
        let source = "const A_MAX: u8 = 2; // two\npub const MAX: u8 = 3;\n";
        assert_eq!((definition(source, "A_MAX"), definition(source, "MAX")), (Some("2"), Some("3")));
        assert_eq!(definition(source, "B"), None);
    }
}
