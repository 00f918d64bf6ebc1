//! What is counted: seconds, octets, units of the service, events.

use serde::{Deserialize, Serialize};
use std::time::Duration;
use trunkline_kit::config::{Octets, Raw, Value};

/// The most units that a report, a step or an allowance may name: a pebi-octet. What a stranger reports beyond it is
/// not usage, but a mistake.
pub const UNITS_MAX: u64 = 1 << 50;

/// What a rule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Octets of both directions together (CC-Total-Octets).
    Octets,
    /// Octets from the subscriber (CC-Input-Octets).
    OctetsIn,
    /// Octets to the subscriber (CC-Output-Octets).
    OctetsOut,
    /// Seconds (CC-Time).
    Seconds,
    /// Units that the service defines (CC-Service-Specific-Units).
    ServiceUnits,
    /// Events: messages, downloads; on the wire service-specific units.
    Events,
}

impl Unit {
    /// All of them, with their words in a plan's file.
    pub const ALL: [(Unit, &'static str); 6] = [
        (Unit::Octets, "octets"),
        (Unit::OctetsIn, "octets-in"),
        (Unit::OctetsOut, "octets-out"),
        (Unit::Seconds, "seconds"),
        (Unit::ServiceUnits, "service-units"),
        (Unit::Events, "events"),
    ];
}

impl Value for Unit {
    fn kind() -> String {
        format!("one of {}", Self::ALL.map(|(_, word)| word).join(", "))
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        let at = trunkline_kit::config::choice(raw, &Self::ALL.map(|(_, word)| word))?;
        Ok(Self::ALL[at].0)
    }

    fn text(&self) -> String {
        format!("\"{}\"", Self::ALL[*self as usize].1)
    }
}

/// What was used or is asked for, of each kind (RFC 8506 section 8.17 to 8.26). Zero is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amounts {
    /// Octets of both directions; where it is zero, the sum of both.
    pub octets: u64,
    /// Octets from the subscriber.
    pub octets_in: u64,
    /// Octets to the subscriber.
    pub octets_out: u64,
    /// Seconds.
    pub seconds: u64,
    /// Units of the service, or events.
    pub service_units: u64,
}

impl Amounts {
    /// So many of one kind.
    pub fn of(unit: Unit, amount: u64) -> Amounts {
        let mut amounts = Amounts::default();
        *match unit {
            Unit::Octets => &mut amounts.octets,
            Unit::OctetsIn => &mut amounts.octets_in,
            Unit::OctetsOut => &mut amounts.octets_out,
            Unit::Seconds => &mut amounts.seconds,
            Unit::ServiceUnits | Unit::Events => &mut amounts.service_units,
        } = amount;
        amounts
    }

    /// How many there are of one kind.
    pub fn get(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Octets if self.octets == 0 => self.octets_in.saturating_add(self.octets_out),
            Unit::Octets => self.octets,
            Unit::OctetsIn => self.octets_in,
            Unit::OctetsOut => self.octets_out,
            Unit::Seconds => self.seconds,
            Unit::ServiceUnits | Unit::Events => self.service_units,
        }
    }

    /// Whether nothing is there.
    pub fn is_nothing(&self) -> bool {
        *self == Amounts::default()
    }

    /// Whether each is at most [`UNITS_MAX`].
    pub fn is_within_limits(&self) -> bool {
        let all = [self.octets, self.octets_in, self.octets_out, self.seconds, self.service_units];
        all.iter().all(|amount| *amount <= UNITS_MAX) && self.get(Unit::Octets) <= UNITS_MAX
    }
}

/// A number of units in a plan's file: `60`, `"1 KiB"`, `"1 min"`; times are whole seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u64);

impl Amount {
    /// Reads it as it stands in a text.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(text: &str) -> Result<Amount, String> {
        let raw = Raw::Text(text.to_owned());
        let wrong = || format!("expected {}, not {}", Self::kind(), raw.describe());
        if let Ok(number) = text.trim().parse::<u64>() {
            return Some(Amount(number)).filter(|amount| amount.0 <= UNITS_MAX).ok_or_else(wrong);
        }
        let found = match (Octets::of(&raw), Duration::of(&raw)) {
            (Ok(octets), _) => octets.0,
            (_, Ok(time)) if time.subsec_nanos() == 0 => time.as_secs(),
            _ => return Err(wrong()),
        };
        Some(Amount(found)).filter(|amount| amount.0 <= UNITS_MAX).ok_or_else(wrong)
    }
}

impl Value for Amount {
    fn kind() -> String {
        format!("a number of units, a size or a time such as 60, \"1 KiB\" or \"10 s\", at most {UNITS_MAX}")
    }

    fn of(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Integer(number) => Amount::read(&number.to_string()),
            Raw::Text(text) => Amount::read(text),
            _ => Err(format!("expected {}, not {}", Self::kind(), raw.describe())),
        }
    }

    fn text(&self) -> String {
        self.0.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_as_they_are_written() {
        for (text, units) in [("60", 60), ("1 KiB", 1024), ("10 s", 10), ("1 h", 3600), ("2 GB", 2_000_000_000)] {
            assert_eq!(Amount::read(text), Ok(Amount(units)), "{text}");
        }
        for wrong in ["", "-1", "500 ms", "9999 TiB", "ten"] {
            assert!(Amount::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn octets_of_both_directions_are_their_sum_where_it_is_not_told() {
        let told = Amounts { octets_in: 3, octets_out: 4, ..Amounts::default() };
        assert_eq!((told.get(Unit::Octets), told.get(Unit::OctetsIn)), (7, 3));
        assert_eq!(Amounts { octets: 9, ..told }.get(Unit::Octets), 9);
        assert!(!Amounts { octets_in: u64::MAX, ..told }.is_within_limits());
    }
}
