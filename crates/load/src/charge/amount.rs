//! Amounts and times as they are typed: `1000`, `1000-5000`, `all`; `30`, `500ms`, `5m`.

use std::str::FromStr;
use std::time::Duration;
use trunkline_kit::random::Random;

/// How much of a grant a session uses before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// All of it.
    All,
    /// As many units as lie between these, and at most what was granted.
    Between(u64, u64),
}

impl FromStr for Usage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Usage::All);
        }
        let number = |text: &str| text.parse::<u64>().map_err(|_| "all, N, or A-B".to_owned());
        let (least, most) = match text.split_once('-') {
            Some((least, most)) => (number(least)?, number(most)?),
            None => (number(text)?, number(text)?),
        };
        if least > most { Err("A-B: A is at most B".to_owned()) } else { Ok(Usage::Between(least, most)) }
    }
}

impl Usage {
    /// What is used of a grant.
    pub fn of(self, granted: u64, random: &mut Random) -> u64 {
        match self {
            Usage::All => granted,
            Usage::Between(least, most) if least == most => least.min(granted),
            Usage::Between(least, most) => {
                let wide = u128::from(most - least) + 1;
                let over = (u128::from(random.number()) * wide) >> 64;
                least.saturating_add(over as u64).min(granted)
            }
        }
    }
}

/// A time: seconds, or a number with `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// It is none, or longer than a hundred days.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "a time such as 30, 500ms, 2.5s or 10m".to_owned();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let seconds = match &text[split..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let number: f64 = text[..split].parse().map_err(|_| wrong())?;
    let seconds = number * seconds;
    if (0.0..=8_640_000.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_stays_within_bounds_and_grant() {
        let mut random = Random::new(1, 0);
        assert_eq!("all".parse::<Usage>().unwrap().of(77, &mut random), 77);
        assert_eq!("50".parse::<Usage>().unwrap().of(77, &mut random), 50);
        assert_eq!("500".parse::<Usage>().unwrap().of(77, &mut random), 77);
        let between: Usage = "10-12".parse().unwrap();
        let drawn: Vec<u64> = (0..100).map(|_| between.of(100, &mut random)).collect();
        assert!((10..=12).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| (10..=12).contains(n)), "{drawn:?}");
        assert_eq!(Usage::Between(0, u64::MAX).of(0, &mut random), 0);
        for bad in ["", "x", "5-4", "1-", "-1"] {
            assert!(bad.parse::<Usage>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_with_and_without_a_unit() {
        let ms = |text: &str| time(text).map(|time| time.as_millis());
        assert_eq!((ms("30"), ms("500ms"), ms("2.5s")), (Ok(30_000), Ok(500), Ok(2500)));
        assert_eq!((ms("10m"), ms("1h"), ms("1500us")), (Ok(600_000), Ok(3_600_000), Ok(1)));
        assert!(["", "s", "-1", "5d", "nan", "1e30"].into_iter().all(|bad| time(bad).is_err()));
    }
}
