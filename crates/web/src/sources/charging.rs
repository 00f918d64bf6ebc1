//! A charging node and its ledger, as the web asks them. What the node tells is read out of its replies as it is; times
//! are seconds since 1970 there and RFC 3339 here, money is whole minor units of a currency.

mod compared;
mod ledger;
mod rated;
mod tryout;

use super::{Cancel, Progress, SourceError};
pub use compared::*;
pub use ledger::{ChargeDay, ChargeEvent, ChargeLedgerPart, ChargeLine, ChargeMark, ChargeTimeline, ChargeUsage};
pub use rated::{ChargeRateAsk, ChargeRated, ChargeRatedCall, ChargeRatedTotal};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_contract::time::{as_maybe, as_second};
pub use tryout::{ChargeTried, ChargeTriedAccount, ChargeTriedGroup, ChargeTryAsk};
use utoipa::ToSchema;

/// The charging node of a data folder, and its ledger on the disk.
pub trait Charging: Send + Sync {
    /// Has an order done by the node (docs/manual/charging.md has them); its reply.
    ///
    /// # Errors
    /// What it says against it; [`super::Trouble::NotFound`] also where none serves.
    fn order(&self, order: &Value) -> Result<Value, SourceError>;

    /// Whether there is a node that serves.
    fn serves(&self) -> bool;

    /// Lines of an account before a mark, about `most`, the newest first.
    ///
    /// # Errors
    /// The ledger cannot be read; [`super::Trouble::Cancelled`].
    fn ledger(
        &self,
        account: u64,
        from: ChargeMark,
        most: usize,
        cancel: &Cancel,
    ) -> Result<ChargeLedgerPart, SourceError>;

    /// What an account used by day (UTC) and rating group, since a time (seconds since 1970), as far as it was read.
    ///
    /// # Errors
    /// As [`Charging::ledger`].
    fn usage(&self, account: u64, from: ChargeMark, since: i64, cancel: &Cancel) -> Result<ChargeUsage, SourceError>;

    /// What happened in a session, from its beginning or from a mark on; before the entry `newest` it has to begin.
    ///
    /// # Errors
    /// As [`Charging::ledger`]; it is not found.
    fn timeline(
        &self,
        session: &str,
        from: Option<(u32, u64)>,
        newest: u64,
        cancel: &Cancel,
    ) -> Result<ChargeTimeline, SourceError>;

    /// The text of a plan that an entry of the ledger brought, and when.
    ///
    /// # Errors
    /// The entry is not there, or brought none.
    fn plan_of_entry(&self, entry: u64) -> Result<(String, i64), SourceError>;

    /// Charges what was used in a span anew by a plan.
    ///
    /// # Errors
    /// The plan is wrong ([`super::Trouble::Refused`]); the ledger cannot be read; [`super::Trouble::Cancelled`].
    fn try_out(&self, ask: &ChargeTryAsk, progress: &Progress, cancel: &Cancel) -> Result<ChargeTried, SourceError>;

    /// What is wrong with the texts of a profile and a plan before anything is compared or rated by them.
    ///
    /// # Errors
    /// All mistakes ([`super::Trouble::Refused`]).
    fn check_comparison(&self, profile: &str, plan: Option<&str>) -> Result<(), SourceError>;

    /// Compares calls of the store with a bill, or with what was charged online; each difference is told, in order of
    /// time, until false is said.
    ///
    /// # Errors
    /// The profile, the plan or the bill is wrong ([`super::Trouble::Refused`]); it is too much; the store cannot be
    /// read; [`super::Trouble::Cancelled`].
    fn compare(
        &self,
        ask: &ChargeCompareAsk,
        tell: &mut dyn FnMut(&ChargeDifference) -> bool,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeCompared, SourceError>;

    /// Rates calls of the store by the plans of who made them; each is told, in the order in which they were answered.
    ///
    /// # Errors
    /// As [`Charging::compare`]; there is no ledger ([`super::Trouble::NotFound`]).
    fn rate_calls(
        &self,
        ask: &ChargeRateAsk,
        tell: &mut dyn FnMut(&ChargeRatedCall),
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeRated, SourceError>;
}

/// A node as it stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeNode {
    /// Its name to clients (Origin-Host).
    pub host: String,
    /// Its realm.
    pub realm: String,
    /// Since when it serves.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub since: i64,
    /// The newest entry of the ledger.
    pub sequence: u64,
    /// The newest that is on the disk.
    pub durable: u64,
    /// How far the disk is behind, percent of what may wait; from 25 on nothing new begins, from 75 on nothing is
    /// granted.
    pub behind_percent: u32,
    /// Why nothing is answered any more; null if it is.
    pub failure: Option<String>,
    /// What is wrong and does not end it, a sentence each: records that cannot be written, a stream or a directory that
    /// is away.
    #[serde(default)]
    pub troubles: Vec<String>,
    /// Octets that were written to the ledger since it serves.
    pub written_octets: u64,
    /// Times that the disk was waited for.
    pub groups: u64,
    /// The plans that hold.
    pub plans: Vec<ChargePlanBrief>,
    /// Accounts.
    pub accounts: u64,
    /// Subscribers.
    pub subscribers: u64,
    /// Open sessions.
    pub open_sessions: u64,
    /// The same, with those that have ended and whose answers are kept.
    pub kept_sessions: u64,
    /// How many of these there may be.
    pub sessions_limit: u64,
    /// Reports of usage without a price or a session.
    pub unrated: u64,
    /// Clients that are connected.
    pub clients: u64,
    /// How records of usage get on; null where none are made.
    #[serde(default)]
    pub records: Option<ChargeRecords>,
}

/// How records of usage (CDRs) get on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeRecords {
    /// How many were made, all in all.
    pub records: u64,
    /// Files that are closed.
    pub files: u64,
    /// Entries of the ledger that they are behind.
    pub behind: u64,
    /// Whether no session begins until they have caught up.
    pub holds: bool,
    /// Why they cannot be written; null if they can.
    pub failure: Option<String>,
    /// How they are sent on to charging gateways (GTP'); null where they are not.
    #[serde(default)]
    pub sent_on: Option<ChargeSentOn>,
}

/// Records that are sent on to charging gateways. What is counted is since the node serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeSentOn {
    /// The gateways, the first choice first.
    pub gateways: Vec<ChargeGateway>,
    /// The record file up to which they were taken, by its running count, and octets of it.
    pub file: u32,
    /// See `file`.
    pub octets: u64,
    /// Octets of files that wait, as of some seconds ago.
    pub waiting_octets: u64,
    /// Packets that are on their way, or wait for a gateway.
    pub packets: u64,
    /// Packets that a gateway has taken.
    pub done: u64,
    /// Packets that were sent to another gateway as possible duplicates, since their first one fell silent.
    pub doubtful: u64,
    /// Packets that a gateway refused: they are kept until somebody has looked.
    pub refused: u64,
    /// The cause of the first one (TS 29.060 section 7.7.1).
    pub cause: Option<u32>,
    /// Files that were gone before all of them was taken.
    pub gone_files: u64,
    /// Why nothing is sent; null if it is.
    pub failure: Option<String>,
}

/// A charging gateway that records are sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeGateway {
    /// Its address and port.
    pub address: String,
    /// Whether it answers, as far as is known.
    pub up: bool,
}

/// A plan by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargePlanBrief {
    /// Its name.
    pub name: String,
    /// How many texts of it there were.
    pub version: u32,
}

/// What was answered in a second or a minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargePoint {
    /// When it ended.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub at: i64,
    /// Seconds that it is of.
    pub seconds: u32,
    /// Answers in it: a row each for initial, update, termination, event; in each granted, refused, busy, failed.
    pub answered: Vec<Vec<u64>>,
    /// Of these, answers to copies.
    pub copies: u64,
    /// Microseconds that half of the answers took at most; null where none left.
    pub p50_us: Option<u64>,
    /// The same of 99 in 100.
    pub p99_us: Option<u64>,
    /// Sessions that were open at its end.
    pub sessions: u64,
    /// How far the disk was behind at its end, percent.
    pub behind_percent: u32,
}

/// What was answered over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeRates {
    /// The oldest first.
    pub points: Vec<ChargePoint>,
}

/// A client that is connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargePeer {
    /// Which of all that connected since the node serves.
    pub number: u64,
    /// Its name (Origin-Host).
    pub host: String,
    /// Its realm.
    pub realm: String,
    /// Where it comes from.
    pub address: String,
    /// Whether it is encrypted.
    pub tls: bool,
    /// Since when.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub since: i64,
    /// When something came from it last.
    #[serde(serialize_with = "as_second")]
    #[schema(value_type = String, format = DateTime)]
    pub heard: i64,
    /// Its watchdog (RFC 3539): `okay`, `asked`, `suspect`, `closing`.
    pub watchdog: String,
    /// Credit-control requests.
    pub requests: u64,
    /// Of these, copies.
    pub copies: u64,
    /// Of these, refused for the subscriber's sake.
    pub refused: u64,
    /// Of these, refused because the disk was behind.
    pub busy: u64,
    /// Requests and messages that were wrong.
    pub failed: u64,
}

/// Clients that are connected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargePeers {
    /// How many there are.
    pub total: u64,
    /// Some of them, in the order in which they came.
    pub peers: Vec<ChargePeer>,
    /// The peers that the node connects to itself, all of them.
    #[serde(default)]
    pub calls: Vec<ChargeCall>,
}

/// A peer that the node connects to itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeCall {
    /// Its Origin-Host.
    pub host: String,
    /// Where it was tried last, or is tried next.
    pub address: String,
    /// Whether that is by TLS.
    pub tls: bool,
    /// `open`: by our connection; `came`: by its own; `dialling`, `greeting`; `down`.
    pub state: String,
    /// Why it is down.
    pub why: Option<String>,
    /// Seconds until it is tried again.
    pub next_s: Option<u64>,
    /// How often it was dialled.
    pub tries: u64,
}

/// An open session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeSession {
    /// By what it is found, while it is open.
    pub key: String,
    /// Session-Id; numbers in it are masked for who may not see whole ones.
    pub session: String,
    /// Its client (Origin-Host).
    pub origin: String,
    /// Whose it is.
    pub subscriber: u64,
    /// Who pays.
    pub account: u64,
    /// Access point; may be empty.
    pub apn: String,
    /// The network that serves (MCC and MNC).
    pub network: Option<String>,
    /// Radio access technology.
    pub rat: Option<u32>,
    /// The number that is called; may be empty. Masked for who may not see whole numbers.
    pub destination: String,
    /// The newest request number (CC-Request-Number).
    pub number: u32,
    /// Whether it is to end.
    pub aborting: bool,
    /// Whether its client is to be asked to come again.
    pub asked: bool,
    /// When it is given up unless something comes.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Option<i64>,
    /// Its services.
    pub services: Vec<ChargeService>,
}

/// A service of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeService {
    /// Rating-Group.
    pub rating_group: Option<u32>,
    /// Service-Identifier.
    pub service: Option<u32>,
    /// What it may use; null where nothing is granted.
    pub granted: Option<ChargeGrant>,
}

/// What a service may use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeGrant {
    /// `octets`, `octets-in`, `octets-out`, `seconds`, `service-units`, `events`.
    pub unit: String,
    /// How many.
    pub units: u64,
    /// Money that is reserved for them.
    pub money: i64,
    /// Since when.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<i64>,
    /// Until when.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<i64>,
    /// Whether nothing more is there.
    pub last: bool,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeAccount {
    /// Its number.
    pub number: u64,
    /// The entry of the ledger up to which this is.
    pub up_to: u64,
    /// Its plan; null where there is none of that name any more.
    pub plan: Option<String>,
    /// The currency (ISO 4217).
    pub currency: Option<String>,
    /// Digits behind the point of an amount in that currency.
    pub decimals: Option<u32>,
    /// What it has, minor units; below zero, what it owes.
    pub balance: i64,
    /// What it may owe.
    pub credit: i64,
    /// What open sessions reserve.
    pub reserved: i64,
    /// What is left of bundles.
    pub allowances: Vec<ChargeBundle>,
    /// Bundles of its plan, which can be bought.
    pub offers: Vec<ChargeOffer>,
    /// What was spent of limits.
    pub counters: Vec<ChargeCounter>,
    /// Whom it pays for: some of them.
    pub subscribers: Vec<ChargeSubscriberBrief>,
    /// How many these are.
    pub subscribers_total: u64,
    /// Open sessions: some of them.
    pub sessions: Vec<ChargeSession>,
    /// How many these are.
    pub sessions_total: u64,
}

/// What is left of a bundle.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeBundle {
    /// Its name; null where the plan has none of that name any more.
    pub name: Option<String>,
    /// What its units are.
    pub unit: Option<String>,
    /// Units.
    pub left: u64,
    /// Of these, what open sessions reserve.
    pub reserved: u64,
    /// When it expires or comes again; null is never.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ends: Option<i64>,
}

/// A bundle that can be bought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeOffer {
    /// Its name.
    pub name: String,
    /// What its units are.
    pub unit: String,
    /// How many.
    pub amount: u64,
    /// Seconds that it lasts; null where it lasts for ever or comes again.
    pub lasts_s: Option<i64>,
}

/// What was spent of a limit in its period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeCounter {
    /// The limit's name.
    pub cap: String,
    /// The most that is charged in the period.
    pub limit: i64,
    /// What was.
    pub used: i64,
    /// What open sessions reserve.
    pub reserved: i64,
    /// When the period ends; null where nothing was spent yet.
    #[serde(serialize_with = "as_maybe")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ends: Option<i64>,
}

/// A subscriber by number and identities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeSubscriberBrief {
    /// Its number.
    pub subscriber: u64,
    /// `imsi:..`, `e164:..`, `sip:..`, `nai:..`, `private:..`; masked for who may not see whole numbers.
    pub identities: Vec<String>,
}

/// A subscriber, and the account that pays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeSubscriber {
    /// Its number.
    pub subscriber: u64,
    /// `imsi:..`, `e164:..`, `sip:..`, `nai:..`, `private:..`; masked for who may not see whole numbers.
    pub identities: Vec<String>,
    /// The account.
    pub account: ChargeAccount,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeDone {
    /// The entry of the ledger that did it.
    pub sequence: u64,
    /// Whether it was done before by the same key.
    #[serde(default)]
    pub again: bool,
    /// The account afterwards; null where it is about none.
    #[serde(default)]
    pub account: Option<ChargeAccount>,
}

/// A plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargePlan {
    /// Its name.
    pub name: String,
    /// The currency.
    pub currency: Option<String>,
    /// Digits behind the point of an amount in that currency.
    pub decimals: Option<u32>,
    /// How many texts of it there were, this one among them.
    pub version: u32,
    /// The entry of the ledger since which it holds.
    pub since: u64,
    /// The entries of the texts before, the newest of them, the oldest first.
    pub former: Vec<u64>,
    /// Its text.
    pub text: String,
}

/// What a look at a plan's text says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeChecked {
    /// Its name; null where something is wrong.
    pub name: Option<String>,
    /// The currency; null where something is wrong.
    pub currency: Option<String>,
    /// All that is wrong.
    pub mistakes: Vec<ChargeMistake>,
}

/// Something that is wrong with a plan's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChargeMistake {
    /// The line, from 1; null where it is of no one place.
    pub line: Option<u64>,
    /// The character in it, from 1.
    pub column: Option<u64>,
    /// What is wrong, and what was expected.
    pub what: String,
}
