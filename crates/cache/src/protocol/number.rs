//! Decimal numbers as memcached reads and writes them: the C library's strtol and strtoul with their habits.
//!
//! Blanks before the number, a sign and anything after a blank behind it are taken; a number that does not fit its 64
//! bits is refused; 32-bit fields keep the low 32 bits (`util.c`: the number is read as a long and cut by assignment).

/// Digits that are sure to fit 64 bits.
const DIGITS_SURE: usize = 19;
/// Longest decimal of 64 bits.
const DECIMAL_OCTETS_MAX: usize = 20;
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// An unsigned number of 64 bits; a negative one wraps, as long as it then lies below 2^63.
pub fn unsigned(text: &[u8]) -> Option<u64> {
    if let Some(value) = digits_only(text) {
        return Some(value);
    }
    let (negative, magnitude) = signed_magnitude(text)?;
    let value = if negative { magnitude.wrapping_neg() } else { magnitude };
    let before_nul = text.split(|&o| o == 0).next().unwrap_or(text);
    (value >> 63 == 0 || !before_nul.contains(&b'-')).then_some(value)
}

/// An unsigned field of 32 bits: the low half of what was written.
pub fn unsigned_32(text: &[u8]) -> Option<u32> {
    unsigned(text).map(|value| value as u32)
}

/// A signed field of 32 bits: the low half of what was written, which has to fit a signed 64.
pub fn signed_32(text: &[u8]) -> Option<i32> {
    if let Some(value) = digits_only(text) {
        return i64::try_from(value).ok().map(|v| v as i32);
    }
    let (negative, magnitude) = signed_magnitude(text)?;
    let value = match negative {
        false => i64::try_from(magnitude).ok()?,
        true if magnitude <= 1 << 63 => (magnitude as i64).wrapping_neg(),
        true => return None,
    };
    Some(value as i32)
}

/// A decimal fraction as `lru tune` takes it; the C library's hexadecimal forms and infinities are not read.
pub fn fraction(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// Appends `value` in decimal.
#[inline]
pub fn write(out: &mut Vec<u8>, mut value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    let mut digits = [0; DECIMAL_OCTETS_MAX];
    let mut at = DECIMAL_OCTETS_MAX;
    while value >= 10 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value > 0 {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// What nearly all numbers are: one to nineteen digits and nothing else.
#[inline]
fn digits_only(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > DIGITS_SURE {
        return None;
    }
    text.iter().try_fold(0u64, |value, &octet| {
        let digit = octet.wrapping_sub(b'0');
        (digit < 10).then_some(value * 10 + u64::from(digit))
    })
}

/// Sign and magnitude of the number that `text` begins with; what follows must be its end, a NUL or a blank.
fn signed_magnitude(text: &[u8]) -> Option<(bool, u64)> {
    let start = text.iter().position(|&o| !is_space(o))?;
    let (negative, rest) = match text[start] {
        b'-' => (true, &text[start + 1..]),
        b'+' => (false, &text[start + 1..]),
        _ => (false, &text[start..]),
    };
    let count = rest.iter().position(|o| !o.is_ascii_digit()).unwrap_or(rest.len());
    if count == 0 || rest.get(count).is_some_and(|&after| after != 0 && !is_space(after)) {
        return None;
    }
    let magnitude = rest[..count]
        .iter()
        .try_fold(0u64, |value, &digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    Some((negative, magnitude))
}

/// C's isspace in the C locale.
fn is_space(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_c_library_reads() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"-18446744073709551615"), Some(1));
        assert_eq!(unsigned(b"12 abc"), Some(12));
        assert_eq!(unsigned(b" \t+12\0abc"), Some(12));
        assert_eq!(unsigned(b"12abc"), None);
        assert_eq!(unsigned(b""), None);
        assert_eq!(unsigned(b"-"), None);
        assert_eq!(unsigned_32(b"4294967296"), Some(0));
        assert_eq!(signed_32(b"-1"), Some(-1));
        assert_eq!(signed_32(b"4294967301"), Some(5));
        assert_eq!(signed_32(b"9223372036854775808"), None);
        assert_eq!(signed_32(b"-9223372036854775808"), Some(0));
        assert_eq!(fraction(b"0.5"), Some(0.5));
        assert_eq!(fraction(b"inf"), None);
    }

    #[test]
    fn written_as_the_standard_library_writes() {
        let mut value = 1u64;
        for n in 0..200u64 {
            for each in [value, value.wrapping_sub(1), n, n * n * 10] {
                let mut out = Vec::new();
                write(&mut out, each);
                assert_eq!(out, each.to_string().as_bytes());
            }
            value = value.wrapping_mul(3).rotate_left(1);
        }
        let mut out = Vec::new();
        write(&mut out, u64::MAX);
        assert_eq!(out, b"18446744073709551615");
    }
}
