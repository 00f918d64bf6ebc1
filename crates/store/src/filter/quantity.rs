//! Numbers with units as filters write them: `1m30s`, `500ms`, `2%`, `3.5`.

/// A duration: nanoseconds, and what its last digit stands for (so that `duration:60` means "60 and a bit").
/// `bare_ns` is the unit of a number without one. None if the text is not a duration that fits 64 bits.
pub fn duration(text: &str, bare_ns: i64) -> Option<(i64, i64)> {
    if text.is_empty() {
        return None;
    }
    let (mut sum, mut precision, mut rest) = (0i64, 0, text);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit_ns = match unit {
            "" if number.len() == text.len() => bare_ns,
            "ns" => 1,
            "us" | "µs" => 1000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        };
        let (value, step) = decimal(number, unit_ns)?;
        sum = sum.checked_add(value)?;
        precision = step;
        rest = behind;
    }
    Some((sum, precision))
}

/// A decimal number times `unit`, and `unit` times what its last digit stands for. At most nine decimals.
fn decimal(text: &str, unit: i64) -> Option<(i64, i64)> {
    let (whole, part) = text.split_once('.').map_or((text, None), |(w, p)| (w, Some(p)));
    let whole = whole.parse::<u32>().ok().map(i64::from)?.checked_mul(unit)?;
    let Some(part) = part else { return Some((whole, unit)) };
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let step = 10i64.pow(part.len() as u32);
    let share = i128::from(part.parse::<i64>().ok()?) * i128::from(unit) / i128::from(step);
    Some((whole.checked_add(i64::try_from(share).ok()?)?, (unit / step).max(1)))
}

/// A plain decimal number: digits with at most one point, no sign, no exponent.
pub fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.bytes().any(|b| b.is_ascii_digit());
    if plain && text.len() <= 18 { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        const S: i64 = 1_000_000_000;
        for (text, ns, precision) in [
            ("60", 60 * S, S),
            ("1m30s", 90 * S, S),
            ("1.5", S * 3 / 2, S / 10),
            ("500ms", S / 2, S / 1000),
            ("2h", 7200 * S, 3600 * S),
            ("250us", 250_000, 1000),
        ] {
            assert_eq!(duration(text, S), Some((ns, precision)), "{text}");
        }
        for bad in ["", "s", "1x", "1m30", "-1", "1.", "1.2.3", "99999999999", "4000000000d"] {
            assert_eq!(duration(bad, S), None, "{bad}");
        }
        assert_eq!((number("3.5"), number("1e5"), number("."), number("inf")), (Some(3.5), None, None, None));
    }
}
