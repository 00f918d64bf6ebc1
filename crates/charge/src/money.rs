//! Money and prices, in whole numbers.

use core::fmt;
use serde::{Deserialize, Serialize};
use trunkline_kit::config::{Raw, Value};

/// Millionths in a minor unit.
pub const MICROS: i64 = 1_000_000;
/// The largest amount that a plan, a balance or an entry may name, minor units: sums of all that is there stay far
/// from 63 bits.
// Limit: amount of a balance, credit or entry, in minor units
// Beyond: the order is refused
// Seen in: the error message
pub const MONEY_MAX: i64 = 1_000_000_000_000;
/// The largest price of a step, millionths of a minor unit: a million minor units.
pub const PRICE_MAX: i64 = 1_000_000 * MICROS;

/// An amount in the currency's minor unit (cents of euros).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(pub i64);

impl Money {
    /// Nothing.
    pub const ZERO: Money = Money(0);

    /// The amount that pays so many millionths: rounded up to a whole minor unit, the one place where money is rounded.
    pub fn paying(micros: i64) -> Money {
        Money(micros.div_euclid(MICROS) + i64::from(micros.rem_euclid(MICROS) != 0))
    }

    /// The sum; beyond 63 bits the greatest amount.
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }

    /// The difference; beyond 63 bits the least amount.
    pub fn minus(self, other: Money) -> Money {
        Money(self.0.saturating_sub(other.0))
    }

    /// The amount, or nothing where it is negative.
    pub fn or_nothing(self) -> Money {
        Money(self.0.max(0))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Value for Money {
    fn kind() -> String {
        "a whole number of minor units such as 250".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Integer(amount @ 0..=MONEY_MAX) => Ok(Money(*amount)),
            Raw::Integer(_) => Err(format!("an amount is from 0 to {MONEY_MAX}")),
            _ => Err(format!("expected {}, not {}", Self::kind(), raw.describe())),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// The price of a step, millionths of a minor unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub i64);

impl Price {
    /// Reads minor units with up to six places: `1.25`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Price, String> {
        let wrong = || format!("'{text}' is no price: minor units with up to six places, such as \"1.25\"");
        let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(places) || places.len() > 6 {
            return Err(wrong());
        }
        let whole: i64 = whole.parse().map_err(|_| wrong())?;
        let places: i64 = format!("{places:0<6}").parse().map_err(|_| wrong())?;
        match whole.checked_mul(MICROS).map(|micros| micros + places) {
            Some(micros) if micros <= PRICE_MAX => Ok(Price(micros)),
            _ => Err(format!("a price is at most {} minor units a step", PRICE_MAX / MICROS)),
        }
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.0 / MICROS, self.0 % MICROS);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Value for Price {
    fn kind() -> String {
        "minor units with up to six places such as \"1.25\"".to_owned()
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Integer(whole) => Price::read(&whole.to_string()),
            Raw::Text(text) => Price::read(text),
            _ => Err(format!("expected {}, not {}", Self::kind(), raw.describe())),
        }
    }

    fn text(&self) -> String {
        format!("\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_rounded_up_and_only_there() {
        let paid = [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2), (-1, 0), (-1_000_000, -1)];
        for (micros, minor) in paid {
            assert_eq!(Money::paying(micros), Money(minor), "{micros}");
        }
    }

    #[test]
    fn prices_as_they_are_written() {
        for (text, micros) in [("0", 0), ("1.25", 1_250_000), ("0.000001", 1), ("12", 12_000_000)] {
            assert_eq!(Price::read(text), Ok(Price(micros)));
            assert_eq!(Price(micros).to_string(), text);
        }
        for wrong in ["", ".5", "1.", "-1", "1.0000001", "1e3", "1,5", "1000001", "99999999999999999999"] {
            assert!(Price::read(wrong).is_err(), "{wrong}");
        }
    }
}
