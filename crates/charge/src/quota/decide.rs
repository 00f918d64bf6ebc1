//! From a request of a gateway to one of the core, and what the server asks by itself.

use super::ask::{Charge, What, facts};
use super::{Mapping, Recent};
use crate::account::{Grant, Identity, ServiceKey};
use crate::calendar::Moment;
use crate::session::{Asked, Core, Kind, Push, Request, Shown, Used};
use crate::units::{Amounts, Unit};

/// A copy of a request that came a moment ago and whose answer is not kept: its gateway has gone on, nobody waits for
/// an answer. Or [`Recent`] is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// It may be none: there is no room to remember it.
    pub full: bool,
}

/// The request that a gateway's one is to the core.
///
/// # Errors
/// It is dropped.
pub fn request(core: &Core, recent: &mut Recent, charge: &Charge, now: Moment) -> Result<Request, Late> {
    let full = recent.is_full(now);
    let standing = core.standing(&charge.session, charge.octets);
    if let Some(standing) = standing.filter(|standing| !standing.copy)
        && recent.has(standing.slot, charge.octets)
    {
        return Err(Late { full: false });
    }
    let copy = standing.is_some_and(|standing| standing.copy);
    if !copy && full {
        return Err(Late { full: true });
    }
    let shown = core.session(&charge.session);
    let kind = kind(charge, standing.is_some(), shown.as_ref());
    let known: Vec<Identity> =
        charge.identities.iter().filter(|name| core.subscriber_of(name).is_some()).cloned().collect();
    Ok(Request {
        session: charge.session.clone(),
        origin: charge.origin.clone(),
        end_to_end: charge.octets,
        number: standing.map_or(0, |standing| standing.number),
        kind,
        correlation: Box::default(),
        facts: if kind == Kind::Initial { facts(&known) } else { Box::default() },
        identities: charge.identities.clone(),
        place: None,
        services: vec![asked(charge, shown.as_ref())],
    })
}

/// What it is to the session: that ends with its last service.
fn kind(charge: &Charge, known: bool, shown: Option<&Shown<'_>>) -> Kind {
    let others = || {
        let services = shown.into_iter().flat_map(|shown| &shown.services);
        services.filter(|(key, grant)| *key != charge.key && grant.is_some()).count()
    };
    match charge.what {
        What::Authorize if !known => Kind::Initial,
        What::Stop if others() == 0 => Kind::Terminate,
        _ => Kind::Update,
    }
}

fn asked(charge: &Charge, shown: Option<&Shown<'_>>) -> Asked {
    let granted = grant_of(shown, charge.key).map(|grant| grant.unit);
    let used =
        charge.used.map(|(units, unit)| Used { amounts: Amounts::of(unit_of(unit, granted), units), side: None });
    Asked {
        key: charge.key,
        requested: (charge.what != What::Stop).then(Amounts::default),
        used: used.into_iter().filter(|used| !used.amounts.is_nothing()).collect(),
    }
}

/// The unit of a number: octets are those that were granted, of both directions or of one.
fn unit_of(number: Option<u64>, granted: Option<Unit>) -> Unit {
    match (number, granted) {
        (None, Some(granted)) | (Some(0), Some(granted @ (Unit::OctetsIn | Unit::OctetsOut))) => granted,
        (Some(1), _) => Unit::Seconds,
        (Some(2), Some(Unit::Events)) => Unit::Events,
        (Some(2), _) => Unit::ServiceUnits,
        _ => Unit::Octets,
    }
}

fn grant_of<'s>(shown: Option<&'s Shown<'_>>, key: ServiceKey) -> Option<&'s Grant> {
    let services = shown.into_iter().flat_map(|shown| &shown.services);
    services.filter(|(own, _)| *own == key).find_map(|(_, grant)| grant.as_ref())
}

/// What is asked of the gateway of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushes {
    /// Services for which the server asks by itself, and pushes what is granted.
    pub granted: Vec<ServiceKey>,
    /// Services whose quota is to be given back.
    pub returned: Vec<ServiceKey>,
}

/// What is asked of a gateway where a client of Diameter would be sent RAR or ASR; none where the session is gone.
pub fn pushes(core: &Core, push: &Push) -> Option<Pushes> {
    let shown = core.session(&push.session)?;
    let held = shown.services.iter().filter_map(|(key, grant)| Some((*key, grant.as_ref()?)));
    let mut pushes = Pushes::default();
    for (key, grant) in held {
        let list = if grant.last && !push.abort { &mut pushes.granted } else { &mut pushes.returned };
        list.push(key);
    }
    Some(pushes)
}

/// The server's own request for a service of a session, as if its gateway had asked.
pub fn server_request(core: &Core, session: &str, key: ServiceKey) -> Option<Request> {
    let shown = core.session(session)?;
    let standing = core.standing(session, 0)?;
    Some(Request {
        session: session.into(),
        origin: shown.origin.into(),
        // A gateway's request of the same number comes to something else, but for one in 2^32.
        end_to_end: standing.number.wrapping_mul(0x9e37_79b9) | 1,
        number: standing.number,
        kind: Kind::Update,
        identities: Vec::new(),
        place: None,
        services: vec![Asked { key, requested: Some(Amounts::default()), used: Vec::new() }],
        correlation: Box::default(),
        facts: Box::default(),
    })
}

/// What a gateway holds of a service: what a push replaces.
pub fn replaced(core: &Core, session: &str, key: ServiceKey) -> Option<(Unit, u64)> {
    let shown = core.session(session)?;
    grant_of(Some(&shown), key).map(|grant| (grant.unit, grant.units))
}

/// The service's number in a mapping.
pub(super) fn service(mapping: &Mapping, key: ServiceKey) -> String {
    key.rating_group.map_or_else(String::new, |group| mapping.service(group))
}
