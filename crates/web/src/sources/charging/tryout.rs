//! What a plan would have charged.

use serde::{Deserialize, Serialize};
use trunkline_contract::time::as_maybe;
use utoipa::ToSchema;

/// What is to be tried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChargeTryAsk {
    /// The plan's text.
    pub text: String,
    /// Usage of then or later, seconds since 1970.
    pub from: i64,
    /// Usage before then.
    pub to: i64,
}

/// What usage came to, and would have come to under another text of its plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeTried {
    /// The plan.
    pub plan: String,
    /// The currency.
    pub currency: String,
    /// Digits behind the point of an amount in that currency.
    pub decimals: u32,
    /// Entries of the ledger that were read, those before the span among them.
    pub entries: u64,
    /// When the first usage of the span was; null if there was none.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first: Option<i64>,
    /// When the last was.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last: Option<i64>,
    /// All of it.
    pub all: ChargeTriedGroup,
    /// By rating group.
    pub groups: Vec<ChargeTriedGroup>,
    /// Accounts that used something.
    pub accounts: u64,
    /// Of these, those that would have paid more.
    pub dearer: u64,
    /// Of these, those that would have paid less.
    pub cheaper: u64,
    /// The accounts that would have differed most, at most 100.
    pub differences: Vec<ChargeTriedAccount>,
}

/// Of a rating group, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeTriedGroup {
    /// Rating-Group; null of all, of usage without one, and of `others`.
    pub rating_group: Option<u32>,
    /// It is the groups that are too many to be told apart.
    #[serde(default)]
    pub others: bool,
    /// Reports of usage.
    pub reports: u64,
    /// What was debited.
    pub was: i64,
    /// What would have been.
    pub would: i64,
    /// What should have been debited, too, and was not there.
    pub was_short: i64,
    /// What would not have been there.
    pub would_short: i64,
    /// Reports for which not all money would have been there: such use would have been refused.
    pub would_lack: u64,
    /// Reports that had no price.
    pub was_unrated: u64,
    /// Reports that would have had none: no rule, or one that denies the service.
    pub would_unrated: u64,
}

/// Of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeTriedAccount {
    /// Its number.
    pub account: u64,
    /// What was debited.
    pub was: i64,
    /// What would have been.
    pub would: i64,
}
