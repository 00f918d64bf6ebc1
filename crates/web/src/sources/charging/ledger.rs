//! The ledger of accounts and sessions.

use serde::{Deserialize, Serialize};
use trunkline_contract::time::{as_maybe, as_second};
use utoipa::ToSchema;

/// Where a ledger goes on, backwards: before an entry, with the balance after what is before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChargeMark {
    /// The entry.
    pub next: u64,
    /// The balance.
    pub balance: i64,
}

/// A part of an account's ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeLedgerPart {
    /// The newest first.
    pub lines: Vec<ChargeLine>,
    /// Where it goes on; none at the beginning of the ledger.
    pub next: Option<ChargeMark>,
}

/// What came to an account, or went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeLine {
    /// The entry of the ledger.
    pub sequence: u64,
    /// When.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
    /// `top-up`, `refund`, `adjustment`, `bought`, `renewed`, `expired`, `units-adjusted`, `charge`.
    pub kind: String,
    /// Money that came, or below zero, went.
    pub amount: i64,
    /// The balance after it.
    pub balance: i64,
    /// Who, and for what; null where nothing was said. Numbers in it are masked for who may not see whole ones.
    pub note: Option<String>,
    /// Of a charge: Rating-Group.
    pub rating_group: Option<u32>,
    /// Of a charge: Service-Identifier.
    pub service: Option<u32>,
    /// Of a charge: the rule by which, as the plan calls it now; null where it has none of that name any more.
    pub rule: Option<String>,
    /// What the units are.
    pub unit: Option<String>,
    /// How many: used, or of a bundle came, or below zero, went.
    pub units: Option<i64>,
    /// Of a charge: what should have been debited, too, and was not there.
    pub short: i64,
    /// The bundle that units came to or went from.
    pub allowance: Option<String>,
    /// Of a bundle: until when it lasts now; null is for ever.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ends: Option<i64>,
}

/// What an account used on a day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeDay {
    /// The day, `2026-11-20` (UTC).
    pub day: String,
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// What was counted.
    pub unit: String,
    /// How many.
    pub units: u64,
    /// What was debited for them.
    pub money: i64,
    /// What should have been, too, and was not there.
    pub short: i64,
    /// Charges.
    pub charges: u64,
}

/// What an account used by day and rating group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeUsage {
    /// By day, the oldest first, and rating group.
    pub days: Vec<ChargeDay>,
    /// Since when all of it was looked at: what was asked for, or later where that would take too long.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub complete_since: i64,
}

/// Something that happened in a session; members that do not belong to its kind are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeEvent {
    /// The entry of the ledger.
    pub sequence: u64,
    /// When.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
    /// `opened`, `moved`, `charged`, `granted`, `answered`, `aborting`, `closed`, `forgotten`.
    pub kind: String,
    /// Where: access point and network; masked as numbers are.
    pub place: Option<String>,
    /// The number that is called; masked as numbers are.
    pub called: Option<String>,
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Service-Identifier.
    pub service: Option<u32>,
    /// What the units are.
    pub unit: Option<String>,
    /// Units that were used, or are granted.
    pub units: Option<u64>,
    /// Money that was debited, or is reserved.
    pub money: Option<i64>,
    /// What should have been debited, too, and was not there.
    pub short: Option<i64>,
    /// Until when a grant is valid.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<i64>,
    /// Whether a grant is the last that can be paid.
    pub last: Option<bool>,
    /// Of an answer: CC-Request-Number.
    pub number: Option<u32>,
    /// Of an answer: Result-Code; where the command succeeded, that of the first service that did not.
    pub result: Option<u32>,
    /// Of an end: `terminated`, `event`, `supervision`.
    pub cause: Option<String>,
}

/// What happened in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct ChargeTimeline {
    /// The oldest first.
    pub events: Vec<ChargeEvent>,
    /// Where it goes on: its slot and the next entry; none once it is over.
    pub next: Option<(u32, u64)>,
}
