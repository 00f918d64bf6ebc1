//! Calls of the store beside a bill, or beside what was charged online (docs/manual/wire-against-bill.md).

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use trunkline_store::filter::Filter;
use utoipa::ToSchema;

/// What is to be compared.
#[derive(Clone, Debug)]
pub struct ChargeCompareAsk {
    /// The file of the bill; none for what was charged online.
    pub bill: Option<PathBuf>,
    /// The text of the profile: how numbers and the bill are written.
    pub profile: String,
    /// The text of the plan that says what lines should cost.
    pub plan: Option<String>,
    /// From when to when, nanoseconds since 1970; none for all days that the bill touches.
    pub span_ns: Option<(i64, i64)>,
    /// Which calls have to have a line; none for all.
    pub filter: Option<Filter>,
    /// How far begins may be apart, milliseconds.
    pub begin_ms: i64,
    /// How far lengths may be apart, milliseconds.
    pub length_ms: i64,
    /// How much the bill's clock is ahead, milliseconds; none: it is measured.
    pub ahead_ms: Option<i64>,
    /// For how long nothing at all has to be seen until it counts as not captured, milliseconds.
    pub silence_ms: i64,
    /// The Rating-Group that calls have in the plan and in charges.
    pub rating_group: Option<u32>,
}

/// What came of a comparison. Amounts are millionths of a minor unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct ChargeCompared {
    /// From when on was looked at.
    #[schema(format = DateTime)]
    pub from: String,
    /// Until when.
    #[schema(format = DateTime)]
    pub to: String,
    /// Differences by kind.
    pub kinds: Vec<ChargeComparedKind>,
    /// Calls that were answered and count.
    pub calls: u64,
    /// Lines of that time.
    pub lines: u64,
    /// Lines that agree with their call.
    pub agreed: u64,
    /// Calls that are another leg or a copy of one that counts.
    pub legs: u64,
    /// Calls that nobody answered and nobody billed.
    pub unanswered: u64,
    /// Calls that need no line: nobody here pays for them.
    pub unowed: u64,
    /// Calls that need no line: they may have been without length.
    pub exempt: u64,
    /// Lines without length and amount, for calls that nobody answered.
    pub attempts: u64,
    /// Lines beyond that time.
    pub outside: u64,
    /// Lines whose call the filter leaves out.
    pub left_out: u64,
    /// What has a number that the profile does not cover.
    pub not_understood: ChargeComparedVague,
    /// Lines that are off by less than counts as a difference.
    pub deviations: ChargeComparedDeviations,
    /// What lines ask for.
    pub asked_micros: i64,
    /// Lines without a price by the plan.
    pub unpriced: u64,
    /// Lines of the bill that could not be read.
    pub unread: u64,
    /// The clock of the bill.
    pub clock: ChargeComparedClock,
    /// Of what nothing can be said.
    pub blind: ChargeComparedBlind,
    /// When the first and last was captured in and around that time; null: nothing was.
    pub captured: Option<ChargeComparedTime>,
    /// Candidates that were too many at once: the nearest were taken.
    pub inexact: u64,
    /// The currency (ISO 4217), where it is known and one alone.
    pub currency: Option<String>,
    /// Digits of its minor unit.
    pub decimals: u32,
    /// The first lines of the bill that could not be read.
    pub unread_lines: Vec<ChargeComparedUnread>,
    /// Days of the store that could not be read, a sentence each.
    pub skipped: Vec<String>,
}

/// Differences of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedKind {
    /// `not-billed`, `not-on-wire`, `longer`, `shorter`, `twice`, `other-number`, `other-amount`, `unanswered`,
    /// `no-price`.
    pub kind: String,
    /// Those that are certain.
    pub count: u64,
    /// What these ask for too much.
    pub over_micros: i64,
    /// What they ask for too little.
    pub under_micros: i64,
    /// Those of which nobody can say so; they are in none of the figures before.
    pub unsure: u64,
    /// Money that hangs on these, either way.
    pub unsure_micros: i64,
}

/// Calls and lines with a number that is not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedVague {
    /// Calls.
    pub calls: u64,
    /// Lines.
    pub lines: u64,
}

/// Lines that are off by less than counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedDeviations {
    /// How many.
    pub lines: u64,
    /// By how much in all.
    pub micros: i64,
}

/// The clock of a bill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedClock {
    /// How much it is ahead of ours, milliseconds.
    pub ahead_ms: i64,
    /// From when on lines count: `answer`, `start` (the first message), `either` where that is not known.
    pub basis: String,
    /// Pairs of a call and a line that say so; 0 where it was not measured.
    pub pairs: u64,
    /// Half of the pairs differ by at most that, milliseconds.
    pub spread_ms: i64,
    /// Whether it was given, and not measured.
    pub given: bool,
}

/// Stretches of which nothing can be said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedBlind {
    /// How many.
    pub stretches: u64,
    /// How long they are in all.
    pub milliseconds: i64,
}

/// From when to when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedTime {
    /// The first.
    #[schema(format = DateTime)]
    pub from: String,
    /// The last.
    #[schema(format = DateTime)]
    pub to: String,
}

/// A line of a bill that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChargeComparedUnread {
    /// Which, from 1 on.
    pub line: u32,
    /// What is wrong with it.
    pub what: String,
}

/// A difference. Amounts are millionths of a minor unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeDifference {
    /// As of [`ChargeComparedKind`].
    pub kind: String,
    /// When it was, by our clock.
    #[schema(format = DateTime)]
    pub at: String,
    /// Whether it can be said.
    pub sure: bool,
    /// Why it cannot: `silent`, `lost`, `no-end`, `partly`, `no-numbers`, `no-payer`.
    pub why: Option<String>,
    /// The call; null where there is none.
    pub call: Option<ChargeDifferenceCall>,
    /// The line; null where there is none.
    pub line: Option<ChargeDifferenceLine>,
    /// The other line for the same call.
    pub other: Option<ChargeDifferenceLine>,
    /// What was asked for too much; below zero, too little; null where nobody can say.
    pub dispute_micros: Option<i64>,
    /// What it should cost; null without a plan.
    pub price_micros: Option<i64>,
}

/// A call of the store. Numbers are masked for who may not see whole ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeDifferenceCall {
    /// Its identifier: /calls/{id}.
    pub id: String,
    /// Who called.
    pub caller: String,
    /// Who was called.
    pub called: String,
    /// Its first message.
    #[schema(format = DateTime)]
    pub start: String,
    /// When it was answered; null if nobody did.
    #[schema(format = DateTime)]
    pub answer: Option<String>,
    /// From then to its end, or to the last that was seen of it.
    pub duration_ms: i64,
    /// What was seen of it: `whole`, `open`, `refused`, `unclear`.
    pub seen: String,
}

/// A line of a bill, or a session of charging. Numbers are masked for who may not see whole ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeDifferenceLine {
    /// Which line of the bill, from 1 on; null of what was charged online.
    pub line: Option<u32>,
    /// The Session-Id of what was charged online; null of a bill.
    pub session: Option<String>,
    /// Who called.
    pub caller: String,
    /// Who was called.
    pub called: String,
    /// When it began, as it says.
    #[schema(format = DateTime)]
    pub begin: String,
    /// How long it was.
    pub duration_ms: i64,
    /// What is asked for it; null where the bill does not say.
    pub amount_micros: Option<i64>,
}
