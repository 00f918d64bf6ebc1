//! The rater: what usage costs, how many units money and bundles pay for, and when the price changes.
//!
//! All of it is a pure function of a [`Rule`], the [`Meter`] of a session's service, and a [`View`] of the account.
//!
//! **Steps.** Units are bought in steps. The first step of a session may be longer than the others (60+1 seconds); it
//! is a multiple of theirs, and costs as many of them. What is left of a step is used up before the next is bought,
//! after a change of the price, too: what is paid stays paid.
//!
//! **Who pays for a step**, in this order: it is free if it begins within the rule's free units; else the first
//! allowance that holds a whole step pays; else money does, at the tier that the counter has reached. What remains in
//! an allowance below a step is left for rules with smaller steps. The counter counts all steps, whoever paid.
//!
//! **Rounding.** Prices are added up exactly, in millionths; what is due is the sum, rounded up to a whole minor unit:
//! once for a session, or for each report, as the rule says. That is the only place.

mod buy;
mod call;
mod share;

pub use buy::{Bought, affordable, buy, dearer};
pub use call::price_of_call;
pub use share::{Piece, pieces};

use crate::money::Money;
use crate::tariff::RULE_ALLOWANCES_MAX;
use crate::units::Unit;
use serde::{Deserialize, Serialize};

/// What a session's service has bought so far. A new one is all zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// Units that were bought in the session.
    pub position: u64,
    /// Units that are bought and not yet used.
    pub rest: u64,
    /// The sum of prices, millionths.
    pub owed: i64,
    /// The least that is due, millionths.
    pub floor: i64,
    /// What was due already.
    pub settled: Money,
    /// Whether money paid any step.
    pub paying: bool,
}

impl Meter {
    /// The meter after a report whose rule rounds by report: the rest of a step is gone, and so is that of a minor
    /// unit.
    pub fn after_report(self) -> Meter {
        Meter { position: self.position, paying: self.paying, ..Meter::default() }
    }

    /// The meter where another unit is counted from now on: what is left of a step is of no use, the money is.
    pub fn in_other_unit(self) -> Meter {
        Meter { position: 0, rest: 0, ..self }
    }

    /// What is due in all.
    fn due(&self) -> Money {
        Money::paying(if self.paying { self.owed.max(self.floor) } else { 0 })
    }
}

/// What a rule sees of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What is left of each allowance of the rule, in the rule's order.
    pub left: [u64; RULE_ALLOWANCES_MAX],
    /// Units of the rule's counter in its period.
    pub counted: u64,
    /// The least that its caps leave to be charged; none where there is no cap.
    pub room: Option<Money>,
}

/// An amount of one kind of unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantity {
    /// The kind.
    pub unit: Unit,
    /// How many.
    pub amount: u64,
}
