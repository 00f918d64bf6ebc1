//! Who pays for which number, and by which plan: what of a ledger is needed to rate calls, or to say whose calls are to
//! be paid, without balances, sessions and answers.

use super::State;
use super::state::PlanText;
use crate::account::{Account, Identity, IdentityKind};

/// Accounts with their plans and bundles, their subscribers by telephone number, and the plans.
#[derive(Clone, Debug, Default)]
pub struct Payers(State);

impl Payers {
    /// Those of a state.
    pub fn new(state: State) -> Payers {
        Payers(state)
    }

    /// The account that pays for who has a number: digits of the international form.
    pub fn account(&self, digits: &str) -> Option<u64> {
        self.0.payer(&Identity::new(IdentityKind::E164, digits))
    }

    /// The plans.
    pub fn plans(&self) -> impl Iterator<Item = &PlanText> {
        self.0.plans()
    }

    /// An account: of it the plan and the names of its bundles say something.
    pub(super) fn of(&self, account: u64) -> Option<&Account> {
        self.0.account(account)
    }
}
