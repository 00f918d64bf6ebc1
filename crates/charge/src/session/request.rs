//! What a client asks, and what it is answered: credit control (RFC 8506) without its octets, so that Diameter, GTP'
//! and CDRs of calls are all asked in the same way.

use crate::account::{Identity, IdentityKind, Place, ServiceKey};
use crate::account::{Octets, fields, words};
use crate::calendar::Moment;
use crate::money::Money;
use crate::tariff::FinalAction;
use crate::units::{Amounts, Unit};
use serde::{Deserialize, Serialize};
use trunkline_kit::hash::fnv1a;

/// Services of a request.
// Limit: services (rating groups) of one request
// Beyond: the request is refused (5004)
// Seen in: the answer to the client
pub const SERVICES_MAX: usize = 64;
/// Reports of a service in a request: before and after a change of the price, and one more for each direction of time.
pub const USED_MAX: usize = 8;
/// Octets of a Session-Id, an Origin-Host, an access point, a destination, an identity.
// Limit: length of a Session-Id, host, destination or identity
// Beyond: the request is refused (5004)
// Seen in: the answer to the client
pub const TEXT_OCTETS_MAX: usize = 256;
/// Octets of what only records of usage tell of a session.
pub const FACTS_OCTETS_MAX: usize = 2048;
/// Identities of a request or a subscriber.
pub const IDENTITIES_MAX: usize = 8;

/// Result codes (RFC 6733 section 7.1, RFC 8506 section 9).
pub mod code {
    /// DIAMETER_SUCCESS.
    pub const SUCCESS: u32 = 2001;
    /// DIAMETER_TOO_BUSY.
    pub const TOO_BUSY: u32 = 3004;
    /// DIAMETER_END_USER_SERVICE_DENIED.
    pub const SERVICE_DENIED: u32 = 4010;
    /// DIAMETER_CREDIT_CONTROL_NOT_APPLICABLE.
    pub const NOT_APPLICABLE: u32 = 4011;
    /// DIAMETER_CREDIT_LIMIT_REACHED.
    pub const LIMIT_REACHED: u32 = 4012;
    /// DIAMETER_UNKNOWN_SESSION_ID.
    pub const UNKNOWN_SESSION: u32 = 5002;
    /// DIAMETER_AUTHORIZATION_REJECTED.
    pub const AUTHORIZATION_REJECTED: u32 = 5003;
    /// DIAMETER_INVALID_AVP_VALUE.
    pub const INVALID_VALUE: u32 = 5004;
    /// DIAMETER_UNABLE_TO_COMPLY.
    pub const UNABLE_TO_COMPLY: u32 = 5012;
    /// DIAMETER_USER_UNKNOWN.
    pub const USER_UNKNOWN: u32 = 5030;
    /// DIAMETER_RATING_FAILED.
    pub const RATING_FAILED: u32 = 5031;
}

/// A credit-control request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Session-Id.
    pub session: Box<str>,
    /// Origin-Host.
    pub origin: Box<str>,
    /// End-to-End Identifier: the same in each copy of a request.
    pub end_to_end: u32,
    /// CC-Request-Number.
    pub number: u32,
    /// CC-Request-Type, and of events the action.
    pub kind: Kind,
    /// Subscription-Ids: the first that is known says whose session it is.
    pub identities: Vec<Identity>,
    /// Where the subscriber is; none is where it was.
    pub place: Option<Place>,
    /// Services (Multiple-Services-Credit-Control).
    pub services: Vec<Asked>,
    /// CC-Correlation-Id: requests that have the same are about one service (RFC 8506 section 8.1). None has no octets.
    #[serde(default)]
    pub correlation: Box<[u8]>,
    /// Of a first request or an event, what only records of usage tell: charging id, gateway, in octets of whoever
    /// writes those records. A copy may bring others.
    pub facts: Box<[u8]>,
}

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// A session begins.
    Initial,
    /// It goes on.
    Update,
    /// It ends.
    Terminate,
    /// One event: it is debited at once, or not at all.
    DirectDebit,
    /// One event: what it costs is given back.
    Refund,
    /// Whether there is enough for so much.
    CheckBalance,
    /// What so much costs.
    PriceEnquiry,
}

impl Kind {
    /// Whether it is an event, without a session.
    pub fn is_event(self) -> bool {
        !matches!(self, Kind::Initial | Kind::Update | Kind::Terminate)
    }
}

/// What is asked of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Which.
    pub key: ServiceKey,
    /// What is wanted (Requested-Service-Unit): nothing in it leaves the amount to the server; none wants nothing.
    pub requested: Option<Amounts>,
    /// What was used since the last report.
    pub used: Vec<Used>,
}

/// Usage (Used-Service-Unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// How much.
    pub amounts: Amounts,
    /// Before or after the change of the price that the grant named (Tariff-Change-Usage); none is not told.
    pub side: Option<Side>,
}

/// Which side of a change of the price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// A credit-control answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Result-Code of the command.
    pub code: u32,
    /// Of each service that was asked for, in the order of the request.
    pub services: Vec<Given>,
    /// Of a check of the balance: whether there is enough.
    pub enough: Option<bool>,
    /// Of events: what it costs, or was given back.
    pub cost: Option<Money>,
}

/// What a service is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Which.
    pub key: ServiceKey,
    /// Result-Code of the service.
    pub code: u32,
    /// Granted-Service-Unit.
    pub granted: Option<(Unit, u64)>,
    /// Validity-Time, seconds; none where nothing was granted.
    pub validity: Option<u32>,
    /// Quota-Holding-Time, seconds.
    pub holding: Option<u32>,
    /// What is left of the grant when the client asks for more (Time-Quota-Threshold, Volume-Quota-Threshold).
    pub threshold: Option<u64>,
    /// Tariff-Time-Change.
    pub change: Option<Moment>,
    /// Final-Unit-Indication.
    pub last: Option<Final>,
    /// G-S-U-Pool-Reference: the pool, and the price of a unit as digits and exponent (Unit-Value).
    pub pool: Option<(u32, (i64, i64))>,
    /// Whether a cap is reached, and the service goes on throttled.
    pub throttled: bool,
}

/// What the client does after the units that were granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Final {
    /// What.
    pub action: Action,
    /// Where `redirect` leads to.
    pub redirect: Box<str>,
}

/// Final-Unit-Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// It ends the service.
    Terminate,
    /// It leads the subscriber to a page.
    Redirect,
    /// It lets through what its own filters name.
    Restrict,
}

impl From<FinalAction> for Action {
    fn from(action: FinalAction) -> Action {
        match action {
            FinalAction::Terminate => Action::Terminate,
            FinalAction::Redirect => Action::Redirect,
            FinalAction::Restrict => Action::Restrict,
        }
    }
}

impl Answer {
    /// An answer that says nothing but this.
    pub fn of(code: u32) -> Answer {
        Answer { code, ..Answer::default() }
    }
}

impl Request {
    /// Whether all of it is within the limits.
    pub fn is_within_limits(&self) -> bool {
        let short = |text: &str| text.len() <= TEXT_OCTETS_MAX;
        let place = self.place.as_ref().is_none_or(|place| short(&place.apn) && short(&place.destination));
        let service = |asked: &Asked| {
            asked.used.len() <= USED_MAX
                && asked.used.iter().all(|used| used.amounts.is_within_limits())
                && asked.requested.is_none_or(|amounts| amounts.is_within_limits())
        };
        place
            && !self.session.is_empty()
            && short(&self.session)
            && short(&self.origin)
            && self.facts.len() <= FACTS_OCTETS_MAX
            && self.correlation.len() <= TEXT_OCTETS_MAX
            && self.identities.len() <= IDENTITIES_MAX
            && self.identities.iter().all(|identity| short(&identity.text))
            && self.services.len() <= SERVICES_MAX
            && self.services.iter().all(service)
    }

    /// What is asked, in short: two requests of one number that differ in it are not copies (FNV-1a, 64 bits).
    pub(super) fn fingerprint(&self) -> u64 {
        let mut octets = Vec::with_capacity(128);
        self.kind.put(&mut octets);
        self.place.put(&mut octets);
        self.services.put(&mut octets);
        fnv1a(&octets)
    }
}

impl Identity {
    /// An identity.
    pub fn new(kind: IdentityKind, text: &str) -> Identity {
        Identity { kind, text: text.into() }
    }
}

fields! {
    Asked { key, requested, used }
    Used { amounts, side }
    Answer { code, services, enough, cost }
    Given { key, code, granted, validity, holding, threshold, change, last, pool, throttled }
    Final { action, redirect }
}

words! {
    Kind {
        0 => Initial, 1 => Update, 2 => Terminate, 3 => DirectDebit, 4 => Refund, 5 => CheckBalance, 6 => PriceEnquiry
    }
    Side { 0 => Before, 1 => After }
    Action { 0 => Terminate, 1 => Redirect, 2 => Restrict }
}
