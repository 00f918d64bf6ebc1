//! Calls of the store, rated by the plans of who made them (docs/manual/wire-against-bill.md).

use serde::{Deserialize, Serialize};
use trunkline_store::filter::Filter;
use utoipa::ToSchema;

/// What is to be rated.
#[derive(Clone, Debug)]
pub struct ChargeRateAsk {
    /// The text of the profile: how numbers are written.
    pub profile: String,
    /// The text of a plan that holds in place of the one of its name, and its number; 0 where the ledger has no such
    /// text.
    pub plan: Option<(String, u32)>,
    /// Only calls of accounts under the plan of this name.
    pub plan_name: Option<String>,
    /// From when to when, nanoseconds since 1970.
    pub span_ns: (i64, i64),
    /// Which calls are told; all are rated. None for all.
    pub filter: Option<Filter>,
    /// The Rating-Group that calls have in the plans.
    pub rating_group: Option<u32>,
    /// The Service-Identifier that calls have in the plans.
    pub service: Option<u32>,
}

/// What calls come to. Amounts are minor units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ChargeRated {
    /// From when on was looked at.
    #[schema(format = DateTime)]
    pub from: String,
    /// Until when.
    #[schema(format = DateTime)]
    pub to: String,
    /// Calls with a price, which may be nothing.
    pub priced: u64,
    /// Of these, calls of which the capture did not see all.
    pub incomplete: u64,
    /// Calls that nobody answered.
    pub unanswered: u64,
    /// Calls without a price: their end was not seen.
    pub open: u64,
    /// Other legs and copies of calls.
    pub legs: u64,
    /// Calls without a price: a number is not understood.
    pub not_understood: u64,
    /// Calls for which nobody pays.
    pub nobody_pays: u64,
    /// How many callers those had.
    pub nobody_pays_numbers: u64,
    /// Calls without a price: no rule of the plan is for that number then.
    pub no_rule: u64,
    /// Calls without a price: a rule denies them, and they were there.
    pub blocked: u64,
    /// Calls that are left out: who pays for them has another plan than the one that was asked for, or none.
    pub other_plan: u64,
    /// What all come to, by currency.
    pub sums: Vec<ChargeRatedTotal>,
    /// By destination of the plans, the dearest first; of numbers that no destination has, the name is null.
    pub destinations: Vec<ChargeRatedTotal>,
    /// By prefix, with the destination that it is of.
    pub prefixes: Vec<ChargeRatedTotal>,
    /// By rule.
    pub rules: Vec<ChargeRatedTotal>,
    /// By account.
    pub accounts: Vec<ChargeRatedTotal>,
    /// Days of the store that could not be read, a sentence each.
    pub skipped: Vec<String>,
}

/// What some of the calls come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeRatedTotal {
    /// The destination, the prefix, the rule or the account; null of what has none, of all, and of `others`.
    pub name: Option<String>,
    /// Of a prefix, the destination that it is of.
    pub destination: Option<String>,
    /// The plan; null of all and of `others`.
    pub plan: Option<String>,
    /// It is those that are too many to be told apart.
    pub others: bool,
    /// The currency (ISO 4217).
    pub currency: String,
    /// Digits of its minor unit.
    pub decimals: u32,
    /// Calls with a price.
    pub calls: u64,
    /// Their seconds, each call's rounded up to a whole one.
    pub seconds: u64,
    /// Seconds that bundles paid for.
    pub bundle_seconds: u64,
    /// What they cost.
    pub money: i64,
    /// Of it, what calls cost of which the capture did not see all.
    pub incomplete_money: i64,
    /// Calls that were to be paid and have no price.
    pub without_price: u64,
}

impl ChargeRatedTotal {
    /// Adds what others come to.
    pub fn join(&mut self, other: &ChargeRatedTotal) {
        self.calls += other.calls;
        self.seconds = self.seconds.saturating_add(other.seconds);
        self.bundle_seconds = self.bundle_seconds.saturating_add(other.bundle_seconds);
        self.money = self.money.saturating_add(other.money);
        self.incomplete_money = self.incomplete_money.saturating_add(other.incomplete_money);
        self.without_price += other.without_price;
    }
}

/// A call, and what became of it. Numbers are masked for who may not see whole ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeRatedCall {
    /// Its identifier: /calls/{id}.
    pub call: String,
    /// Who called, as the wire has it.
    pub caller: String,
    /// Who was called.
    pub called: String,
    /// When it was answered.
    #[schema(format = DateTime)]
    pub answer: String,
    /// How long it was, a second that began counted as whole.
    pub seconds: u64,
    /// `priced`, `nobody-pays`, `open`, `not-understood`, `no-rule`, `blocked`, `leg`.
    pub outcome: String,
    /// The number that is not understood.
    pub not_understood: Option<String>,
    /// The account that pays.
    pub account: Option<u64>,
    /// The rule that rated it first, or that denies it.
    pub rule: Option<String>,
    /// The destination that was called, in the words of the plan.
    pub destination: Option<String>,
    /// The prefix by which it is that one.
    pub prefix: Option<String>,
    /// What it costs, minor units; null: it has no price.
    pub money: Option<i64>,
    /// The plan.
    pub plan: Option<String>,
    /// The number of its text, from 1 on; null of a text that the ledger does not have.
    pub plan_version: Option<u32>,
    /// Its currency (ISO 4217).
    pub currency: Option<String>,
    /// Seconds that bundles paid for.
    pub bundle_seconds: Option<u64>,
    /// Whether the capture saw all of it; a call that it did not is rated by what was seen.
    pub complete: bool,
}
