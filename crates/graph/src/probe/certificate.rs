//! Until when a certificate holds (X.509, RFC 5280 section 4.1.2.5).

use trunkline_kit::date::days_of;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The `notAfter` of a certificate in DER: seconds since 1970. None if it is no certificate.
pub fn not_after(octets: &[u8]) -> Option<i64> {
    let (certificate, _) = element(octets, SEQUENCE)?;
    let (signed, _) = element(certificate, SEQUENCE)?;
    // version, serialNumber, signature, issuer; the version may be left out.
    let mut rest = element(signed, VERSION).map_or(signed, |(_, rest)| rest);
    for _ in 0..3 {
        rest = any(rest)?.2;
    }
    let (validity, _) = element(rest, SEQUENCE)?;
    let (_, _, rest) = any(validity)?;
    let (tag, time, _) = any(rest)?;
    let digits = core::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let (year, digits) = match tag {
        UTC_TIME => {
            let (year, digits) = digits.split_at_checked(2)?;
            let year: i64 = number(year)?.into();
            (if year < 50 { 2000 + year } else { 1900 + year }, digits)
        }
        GENERALIZED_TIME => {
            let (year, digits) = digits.split_at_checked(4)?;
            (number(year)?.into(), digits)
        }
        _ => return None,
    };
    let part = |at: usize| number(digits.get(at..at + 2)?);
    let [month, day, hour, minute, second] = [part(0)?, part(2)?, part(4)?, part(6)?, part(8)?];
    let is_right = digits.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
    let seconds = days_of(year, month, day) * 86_400 + i64::from(hour * 3600 + minute * 60 + second);
    (is_right && minute < 60 && second < 61).then_some(seconds)
}

fn number(digits: &str) -> Option<u32> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn element(octets: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    any(octets).filter(|(found, ..)| *found == tag).map(|(_, inside, rest)| (inside, rest))
}

/// Tag, content, and what follows (X.690 section 8.1; lengths of up to four octets).
fn any(octets: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = octets.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (length.iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet)), rest)
        }
        _ => return None,
    };
    let (inside, rest) = rest.split_at_checked(length)?;
    Some((tag, inside, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(year: i32) -> Vec<u8> {
        let mut parameters = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 11, 23);
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    /// `date -u -d 2026-11-23 +%s`, and 2051-11-23: from 2050 on the year has four digits.
    #[test]
    fn ends_of_both_forms() {
        assert_eq!(not_after(&certificate(2026)), Some(1_795_392_000));
        assert_eq!(not_after(&certificate(2051)), Some(2_584_310_400));
    }

    #[test]
    fn what_is_none_is_none() {
        let whole = certificate(2026);
        assert!((0..whole.len()).all(|end| not_after(&whole[..end]).is_none()));
    }
}
