//! A picture as comma-separated values (RFC 4180): a row a time, a column a series.

use super::Picture;
use core::fmt::Write as _;
use trunkline_kit::untrusted::cell;

/// The text. Times are those at which rows begin, in UTC as RFC 3339 has them; what is unknown is empty. A text that a
/// spreadsheet would take for a formula begins with an apostrophe.
pub fn csv(picture: &Picture) -> String {
    let mut out = String::from("time");
    for drawn in &picture.drawn {
        out.push(',');
        out.push_str(&cell(if drawn.label.is_empty() { &drawn.name } else { &drawn.label }));
    }
    out.push_str("\r\n");
    for row in 0..picture.rows {
        out.push_str(&time(picture.start_s + row as i64 * picture.step_s));
        for drawn in &picture.drawn {
            out.push(',');
            if let Some(value) = drawn.values.get(row).filter(|value| !value.is_nan()) {
                let _ = write!(out, "{value}");
            }
        }
        out.push_str("\r\n");
    }
    out
}

/// Of seconds of Unix. Days become a date as in H. Hinnant, "chrono-compatible low-level date algorithms".
fn time(at_s: i64) -> String {
    let (days, seconds) = (at_s.div_euclid(86_400) + 719_468, at_s.rem_euclid(86_400));
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{of_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::time;

    /// From `date -u -d @SECONDS`.
    #[test]
    fn times_are_those_of_the_calendar() {
        for (at_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_790_035_201, "2026-09-22T00:00:01Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(time(at_s), text);
        }
    }
}
