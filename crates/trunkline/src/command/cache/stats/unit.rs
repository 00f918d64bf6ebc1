//! What a figure of `stats` means, where its unit is known (memcached's doc/protocol.txt).

use crate::show::figure;
use jiff::tz::TimeZone;

/// Figures in octets.
const OCTETS: &[&str] = &[
    "bytes",
    "bytes_read",
    "bytes_written",
    "limit_maxbytes",
    "hash_bytes",
    "maxbytes",
    "item_size_max",
    "total_malloced",
    "mem_requested",
    "read_buf_bytes",
    "response_obj_bytes",
];
/// Figures in seconds.
const SECONDS: &[&str] = &["uptime", "idle_timeout", "age"];
/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;

/// The value for people: octets, durations, moments, thousands; empty where the value says it itself.
pub fn meaning(name: &str, value: &str, zone: &TimeZone) -> String {
    let Ok(number) = value.parse::<u64>() else { return seconds_of_processor(name, value) };
    // Of `items:1:age` and `1:mem_requested` the last word.
    let last = name.rsplit(':').next().unwrap_or(name);
    let ns = || i64::try_from(number).ok().and_then(|seconds| seconds.checked_mul(SECOND_NS));
    match last {
        _ if OCTETS.contains(&last) => figure::octets(number),
        _ if SECONDS.contains(&last) => ns().map_or_else(String::new, figure::duration),
        "time" => ns().map_or_else(String::new, |at| figure::second(at, zone)),
        "pid" | "tcpport" | "udpport" => String::new(),
        _ if number >= 10_000 => figure::count(number),
        _ => String::new(),
    }
}

fn seconds_of_processor(name: &str, value: &str) -> String {
    if name.starts_with("rusage_") && value.parse::<f64>().is_ok() { "s".to_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_known_figures() {
        let meaning = |name, value| meaning(name, value, &TimeZone::UTC);
        assert_eq!(meaning("limit_maxbytes", "67108864"), "67.1 MB");
        assert_eq!(meaning("uptime", "3723"), "1:02:03 h");
        assert_eq!(meaning("items:1:age", "12"), "12.0 s");
        assert_eq!(meaning("rusage_user", "0.5"), "s");
        assert_eq!(meaning("cmd_get", "1234567"), "1,234,567");
        assert_eq!([meaning("version", "1.6"), meaning("pid", "99999"), meaning("threads", "4")], ["", "", ""]);
        assert!(meaning("time", "1700000000").contains("2023"), "{}", meaning("time", "1700000000"));
        assert_eq!(meaning("uptime", "18446744073709551615"), "");
    }
}
