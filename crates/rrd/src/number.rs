//! Numbers as rrdtool reads them from text: digit by digit in double precision, which is not always the nearest double.
//! Files are the same octet by octet only if this is the same, too.

/// What rrdtool stores for "unknown": the NaN that x86 makes of 0/0.
pub const UNKNOWN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// Powers of ten beyond these are no numbers to rrdtool (DBL_MIN_EXP and DBL_MAX_EXP, which are powers of two).
const EXPONENT_MIN: i64 = -1021;
const EXPONENT_MAX: i64 = 1024;

/// A whole text as a number: sign, digits, a point, `e` and a power; or `nan` and `inf` with what may follow them.
#[must_use]
pub fn parse(text: &str) -> Option<f64> {
    match prefix(text) {
        Some((number, rest)) => rest.is_empty().then_some(number),
        None => special(text),
    }
}

/// The number at the beginning of a text, and what follows it; none if no digits are there or the power is too large.
fn prefix(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let (negative, text) = sign(text);
    let (whole, rest) = digits(text);
    let (fraction, rest) = rest.strip_prefix('.').map_or(("", rest), digits);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let number =
        whole.bytes().chain(fraction.bytes()).fold(0.0, |number, digit| number * 10.0 + f64::from(digit - b'0'));
    let number = if negative { -number } else { number };
    let (power, rest) = exponent(rest);
    let power = power - i64::try_from(fraction.len()).ok()?;
    (EXPONENT_MIN..=EXPONENT_MAX).contains(&power).then(|| (scaled(number, power), rest))
}

/// A number that a digit at a time makes of whole digits, as of text.
#[must_use]
pub fn of_digits(mut value: u128) -> f64 {
    if value < 1 << 53 {
        return value as f64;
    }
    let mut digits = [0u8; 40];
    let mut at = digits.len();
    while value > 0 {
        at -= 1;
        digits[at] = (value % 10) as u8;
        value /= 10;
    }
    digits[at..].iter().fold(0.0, |number, digit| number * 10.0 + f64::from(*digit))
}

fn special(text: &str) -> Option<f64> {
    let begins = |with: &str| text.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    if begins("-nan") {
        return Some(UNKNOWN);
    }
    if begins("nan") {
        return Some(-UNKNOWN);
    }
    if begins("inf") {
        return Some(f64::INFINITY);
    }
    begins("-inf").then_some(f64::NEG_INFINITY)
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn exponent(text: &str) -> (i64, &str) {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return (0, text) };
    let (negative, rest) = sign(rest);
    let (power, rest) = digits(rest);
    let power = power.bytes().fold(0i64, |n, d| (n * 10 + i64::from(d - b'0')).min(1_000_000));
    (if negative { -power } else { power }, rest)
}

/// By squares of ten, one rounding for each bit of the power.
fn scaled(mut number: f64, power: i64) -> f64 {
    let (mut ten, mut left) = (10.0, power.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            number = if power < 0 { number / ten } else { number * ten };
        }
        left >>= 1;
        ten *= ten;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_rrdtool_reads_them() {
        assert_eq!(parse("1700000060.25"), Some(1_700_000_060.25));
        assert_eq!(parse(" -12e2"), Some(-1200.0));
        assert_eq!(parse(".5"), Some(0.5));
        assert_eq!(parse("5."), Some(5.0));
        assert_eq!(parse("1e"), Some(1.0));
        assert_eq!(parse("InfinitY"), Some(f64::INFINITY));
        assert!(parse("nan").is_some_and(f64::is_nan));
        for bad in ["", "-", ".", "e5", "5x", "1e1025", "0x10", "U"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn digits_make_the_number_that_their_text_makes() {
        for value in [0, 9, 1 << 53, (1 << 53) + 1, u128::from(u64::MAX), 10u128.pow(29) - 1] {
            assert_eq!(Some(of_digits(value)), parse(&value.to_string()));
        }
    }
}
