//! From a message to what the core is asked.

use super::Mapping;
use crate::account::{Identity, IdentityKind, ServiceKey};
use crate::session::{FACTS_OCTETS_MAX, IDENTITIES_MAX, TEXT_OCTETS_MAX};
use core::net::IpAddr;
use trunkline_kit::hash::{fnv1a, fnv1a_on};
use trunkline_wire::diameter::credit::SubscriptionId;
use trunkline_wire::diameter::dictionary::avp::SUBSCRIPTION_ID;
use trunkline_wire::diameter::enumerated::SubscriptionIdType;
use trunkline_wire::diameter::{Header, Value, Writer};
use trunkline_wire::gtpp::profile::{Field, QuotaMessage, Role};
use trunkline_wire::gtpp::{GtppError, Message};

/// What a message asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The profile of whom these names are.
    Profile(Vec<Identity>),
    /// Something that is charged.
    Charge(Charge),
    /// What is not served here.
    Other,
}

/// A request of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The session's name.
    pub session: Box<str>,
    /// Its gateway ([`origin`]).
    pub origin: Box<str>,
    /// What its octets come to, sequence number included.
    pub octets: u32,
    /// What it is.
    pub what: What,
    /// The subscriber's names.
    pub identities: Vec<Identity>,
    /// The service.
    pub key: ServiceKey,
    /// What was used, and the number of its unit.
    pub used: Option<(u64, Option<u64>)>,
}

/// What a request of a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A session, or another service of it, begins.
    Authorize,
    /// A service goes on.
    Reauthorize,
    /// A service ends.
    Stop,
}

/// Why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// An element has a length that it cannot have, or is no text.
    Length,
    /// Its service is none that has a rating group: this is answered.
    Service,
}

impl From<GtppError> for Unread {
    fn from(_: GtppError) -> Unread {
        Unread::Length
    }
}

/// How a gateway is named in the ledger (as Origin-Host): by address and port, so that it can be asked.
pub fn origin(ip: IpAddr, port: u16) -> String {
    match ip.to_canonical() {
        IpAddr::V4(ip) => format!("gtpp:{ip}:{port}"),
        IpAddr::V6(ip) => format!("gtpp:[{ip}]:{port}"),
    }
}

/// Reads a request of a gateway at this address.
///
/// # Errors
/// It is dropped, or its service is unknown.
pub fn ask(
    quota: &QuotaMessage<'_, '_>,
    message: &Message<'_>,
    mapping: &Mapping,
    (ip, port): (IpAddr, u16),
) -> Result<Ask, Unread> {
    let what = match quota.role {
        Role::UserProfileRequest => return identities(quota, mapping).map(Ask::Profile),
        Role::AuthorizationRequest => What::Authorize,
        Role::ReauthorizationRequest => What::Reauthorize,
        Role::ServiceStopRequest => What::Stop,
        _ => return Ok(Ask::Other),
    };
    let session = session(ip, quota.octets(Field::Session).unwrap_or_default())?;
    let service = quota.text(Field::Service)?.unwrap_or_default();
    let used = quota.number(Field::Used)?.zip(Some(quota.number(Field::Unit)?));
    let identities = identities(quota, mapping)?;
    let rating_group = mapping.rating_group(service).ok_or(Unread::Service)?;
    Ok(Ask::Charge(Charge {
        session,
        origin: origin(ip, port).into(),
        octets: octets(message),
        what,
        identities,
        key: ServiceKey { rating_group: Some(rating_group), service: None },
        used,
    }))
}

/// `gtpp;192.0.2.1;a1`: what is no printable ASCII of the gateway's octets is written `%0A`.
fn session(ip: IpAddr, octets: &[u8]) -> Result<Box<str>, Unread> {
    let mut name = format!("gtpp;{};", ip.to_canonical());
    for octet in octets {
        match octet {
            b'%' | 0..=0x20 | 0x7f.. => name.push_str(&format!("%{octet:02X}")),
            octet => name.push(char::from(*octet)),
        }
    }
    if octets.is_empty() || name.len() > TEXT_OCTETS_MAX { Err(Unread::Length) } else { Ok(name.into()) }
}

/// The octets that the gateway chose for a session.
pub(super) fn session_octets(name: &str) -> Vec<u8> {
    let mut rest = name.splitn(3, ';').nth(2).unwrap_or_default().bytes();
    let mut octets = Vec::new();
    while let Some(octet) = rest.next() {
        let digit = |octet: Option<u8>| char::from(octet.unwrap_or_default()).to_digit(16).unwrap_or_default() as u8;
        octets.push(if octet == b'%' { digit(rest.next()) << 4 | digit(rest.next()) } else { octet });
    }
    octets
}

/// The names that a message has for the subscriber.
fn identities(quota: &QuotaMessage<'_, '_>, mapping: &Mapping) -> Result<Vec<Identity>, Unread> {
    let named = |text: &str, kind: IdentityKind| match kind {
        IdentityKind::E164 => Identity::new(kind, text.trim_start_matches('+')),
        kind => Identity::new(kind, text),
    };
    let number = quota.text(Field::Number)?.filter(|number| !number.is_empty());
    let user = quota.text(Field::User)?.filter(|user| !user.is_empty());
    if [number, user].into_iter().flatten().any(|text| text.len() > TEXT_OCTETS_MAX) {
        return Err(Unread::Length);
    }
    let number = number.map(|number| named(number, IdentityKind::E164));
    let users = mapping.users.iter().filter_map(|kind| user.map(|user| named(user, *kind)));
    Ok(number.into_iter().chain(users).take(IDENTITIES_MAX).collect())
}

/// FNV-1a of the message from its sequence number on, folded to 32 bits.
fn octets(message: &Message<'_>) -> u32 {
    let whole = message.octets();
    let number = fnv1a(whole.get(4..6).unwrap_or_default());
    let hash = fnv1a_on(number, &whole[message.header.version.header_octets()..]);
    (hash >> 32) as u32 ^ hash as u32
}

/// What records of usage tell of the subscriber: the first name, as a Subscription-Id ([`crate::session::Request`]).
pub(super) fn facts(identities: &[Identity]) -> Box<[u8]> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, &Header::default());
    for identity in identities.iter().take(1) {
        let kind = match identity.kind {
            IdentityKind::E164 => SubscriptionIdType::E164,
            IdentityKind::Imsi => SubscriptionIdType::Imsi,
            IdentityKind::Sip => SubscriptionIdType::SipUri,
            IdentityKind::Nai => SubscriptionIdType::Nai,
            IdentityKind::Private => SubscriptionIdType::Private,
        };
        SubscriptionId { kind, name: &identity.text }.write(SUBSCRIPTION_ID, &mut writer);
    }
    let avps = out.split_off(Header::OCTETS);
    if avps.len() <= FACTS_OCTETS_MAX { avps.into() } else { Box::default() }
}
