//! Times in answers: seconds since 1970 inside and between programs, RFC 3339 in texts for people and other programs.

use serde::Serializer;
use trunkline_kit::date;

/// Beyond the year 2262 nothing is told.
const NEVER_S: i64 = i64::MAX / 1_000_000_000;
const DAY_S: i64 = 86_400;

/// A time.
///
/// # Errors
/// The serializer's.
pub fn as_second<S: Serializer>(at_s: &i64, to: S) -> Result<S::Ok, S::Error> {
    match to.is_human_readable() {
        true => to.serialize_str(&rfc3339(*at_s)),
        false => to.serialize_i64(*at_s),
    }
}

/// A time that may never come: null is never.
///
/// # Errors
/// The serializer's.
pub fn as_maybe<S: Serializer>(at_s: &Option<i64>, to: S) -> Result<S::Ok, S::Error> {
    match at_s {
        Some(at_s) if !to.is_human_readable() || *at_s < NEVER_S => as_second(at_s, to),
        _ => to.serialize_none(),
    }
}

fn rfc3339(at_s: i64) -> String {
    let at_s = at_s.clamp(-NEVER_S, NEVER_S);
    let (year, month, day) = date::of_days(at_s.div_euclid(DAY_S));
    let second = at_s.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Told {
        #[serde(serialize_with = "as_maybe")]
        at: Option<i64>,
        #[serde(serialize_with = "as_second")]
        since: i64,
    }

    #[test]
    fn times_are_texts_in_json_and_numbers_between_programs() {
        let (midnight, long_ago) = ("2026-09-22T00:00:00.000000Z", "1677-09-21T00:12:44.000000Z");
        for (at, text) in [
            (Some(1_790_035_200), Some(midnight)),
            (Some(-1), Some("1969-12-31T23:59:59.000000Z")),
            (Some(i64::MIN), Some(long_ago)),
            (Some(i64::MAX), None),
            (None, None),
        ] {
            let told = Told { at, since: 1_790_035_200 };
            assert_eq!(serde_json::to_value(&told).unwrap(), json!({ "at": text, "since": midnight }));
            assert_eq!(crate::plain(&told).unwrap(), json!({ "at": at, "since": told.since }));
            assert_eq!(crate::frame::decode::<Told>(&crate::frame::encode(&told).unwrap()).unwrap(), told);
        }
    }
}
