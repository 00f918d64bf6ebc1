//! Usage over a change of the price: to whom it belongs where the report does not say.

use super::Quantity;
use crate::calendar::Moment;
use crate::tariff::{Context, Plan, Rule};
use crate::units::{Amounts, Unit};

/// Pieces of one report: day and night for six days. All those of a request are one record of the ledger (1 MiB): 64
/// services with three reports each of so many, each charge at most 330 octets.
// Limit: changes of price within one report of usage
// Beyond: the last price is used for the rest
// Seen in: the entry of the ledger
pub const PIECES_MAX: usize = 12;

/// A part of usage at one price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece<'a> {
    /// The rule; none holds where nothing is said of such a service.
    pub rule: Option<&'a Rule>,
    /// When it began.
    pub at: Moment,
    /// What was used.
    pub used: Quantity,
}

/// The parts of what was used from `begin` to `end`.
///
/// Seconds are shared by time: those before a change are as many as their part of the interval says, rounded down.
/// Everything else is rated at the price of the interval's begin, and so are seconds where the rule after a change does
/// not count seconds. Where the interval is shorter than the seconds in it,
/// the same holds; one that ends before it begins is rated at its begin. Changes beyond [`PIECES_MAX`] are not looked
/// at.
pub fn pieces<'a>(plan: &'a Plan, context: &Context<'_>, begin: Moment, end: Moment, used: &Amounts) -> Vec<Piece<'a>> {
    let rule = plan.rule(context, begin);
    let unit = rule.map_or(Unit::Octets, |rule| rule.unit);
    let all = used.get(unit);
    let whole = Piece { rule, at: begin, used: Quantity { unit, amount: all } };
    if unit != Unit::Seconds || end <= begin || plan.versions.is_empty() {
        return vec![whole];
    }
    let (mut pieces, mut last, mut shared) = (Vec::new(), whole, 0);
    let mut looked = begin;
    while let Some(change) = plan.next_change(context, looked, end - 1).filter(|_| pieces.len() + 1 < PIECES_MAX) {
        looked = change;
        let rule = plan.rule(context, change);
        if rule.is_some_and(|rule| rule.unit == Unit::Seconds) {
            let until = share(all, change - begin, end - begin);
            pieces.push(Piece { used: Quantity { unit, amount: until - shared }, ..last });
            (last, shared) = (Piece { rule, at: change, used: whole.used }, until);
        }
    }
    pieces.push(Piece { used: Quantity { unit, amount: all - shared }, ..last });
    pieces
}

/// `all` times `part` over `whole`, rounded down.
fn share(all: u64, part: i64, whole: i64) -> u64 {
    let shared = u128::from(all) * part.unsigned_abs() as u128 / u128::from(whole.unsigned_abs());
    (shared as u64).min(all)
}
