//! The state as it is told to those who operate a node.

use super::{SESSIONS_MAX, name_of};
use crate::account::{Account, Grant, Identity, ServiceKey};
use crate::gateway::sender::Refused;
use crate::gy::decimals;
use crate::job::Shared;
use crate::job::clients::Client;
use crate::job::forward::Settled;
use crate::peer::Shown as Called;
use crate::session::{Core, PlanText, Shown};
use crate::tariff::Plan;
use crate::traffic::Point;
use core::sync::atomic::Ordering::Relaxed;
use serde_json::{Value, json};
use std::sync::PoisonError;
use trunkline_kit::config::{Mistake, Place};
use trunkline_wire::gtpp;

/// How many there are of everything.
pub fn status(shared: &Shared) -> Value {
    let log = shared.book.log_counts();
    let failure = shared.book.failure();
    let durable = shared.book.durable();
    let clients = shared.clients.after(u64::MAX).0;
    let desk = shared.book.desk();
    let (state, behind) = (desk.core().state(), desk.behind());
    let plan = |plan: &PlanText| json!({ "name": plan.name, "version": plan.version });
    let plans: Vec<Value> = desk.core().plans().map(plan).collect();
    json!({
        "host": shared.local.host,
        "realm": shared.local.realm,
        "since": shared.begun,
        "sequence": state.sequence(),
        "durable": durable,
        "behind_percent": behind,
        "failure": failure,
        "groups": log.groups,
        "written_octets": log.octets,
        "plans": plans,
        "accounts": state.account_count(),
        "subscribers": state.subscriber_count(),
        "open_sessions": state.open_sessions(),
        "kept_sessions": state.kept_sessions(),
        "sessions_limit": desk.core().limits().sessions,
        "unrated": state.unrated(),
        "clients": clients,
        "calls": calls(shared),
        "connections": connections(shared),
    })
}

/// Connections, and what became of those who wanted TLS.
fn connections(shared: &Shared) -> Option<Value> {
    let net = shared.net.get()?;
    let (counts, gauges) = (net.counts(), net.gauges());
    Some(json!({
        "open": gauges.connections as u64,
        "refused": counts.refused(),
        "handshakes": counts.handshakes,
        "handshakes_open": gauges.handshakes as u64,
        "handshakes_failed": counts.closed_handshake,
        "handshakes_late": counts.closed_handshake_late,
    }))
}

/// Packets of records that gateways refused, and what came of the last order about them.
pub fn refused(shared: &Shared) -> Value {
    let packet = |refused: Refused| {
        let Refused { packet, cause, gateway, records, octets, is_doubtful } = refused;
        json!({
            "packet": packet,
            "cause": cause,
            "why": gtpp::cause::name(cause),
            "gateway": gateway.to_string(),
            "records": records,
            "octets": octets,
            "doubtful": is_doubtful,
        })
    };
    let of = |core: &Core| -> Vec<Value> {
        let sender = core.state().forwarding().map(|forwarding| &forwarding.sender);
        sender.into_iter().flat_map(|sender| sender.refused_packets()).map(packet).collect()
    };
    let settled = shared.records.as_ref().map(|told| told.settling.settled()).unwrap_or_default();
    let Settled { done, anew, dropped, doubtful, full } = settled;
    json!({
        "refused": shared.book.look(of),
        "settled": { "done": done, "anew": anew, "dropped": dropped, "doubtful": doubtful, "full": full },
    })
}

/// What was answered, oldest first.
pub fn rates(shared: &Shared, minutes: bool) -> Value {
    let series = shared.series.lock().unwrap_or_else(PoisonError::into_inner);
    let points: Vec<Value> = match minutes {
        true => series.minutes().map(point).collect(),
        false => series.seconds().map(point).collect(),
    };
    json!({ "points": points })
}

fn point(point: &Point) -> Value {
    json!({
        "at": point.at,
        "seconds": point.seconds,
        "answered": point.answered,
        "copies": point.copies,
        "p50_us": point.p50_us,
        "p99_us": point.p99_us,
        "sessions": point.sessions,
        "behind_percent": point.behind,
    })
}

/// The clients that are connected, those after a number, and the peers that are dialled, with the seconds until the
/// next try of those that are down.
pub fn peers(shared: &Shared, after: u64) -> Value {
    let (total, some) = shared.clients.after(after);
    json!({ "total": total, "peers": some.iter().map(peer).collect::<Vec<_>>(), "calls": calls(shared) })
}

fn calls(shared: &Shared) -> Vec<Value> {
    shared.callers.shown().iter().map(call).collect()
}

fn call(shown: &Called) -> Value {
    let Called { host, place, state, why, wait, tries } = shown;
    json!({
        "host": host,
        "address": place.address.to_string(),
        "tls": place.tls,
        "state": state,
        "why": why.map(|why| why.to_string()),
        "next_s": wait.map(|wait| wait.as_secs()),
        "tries": tries,
    })
}

fn peer(client: &Client) -> Value {
    let Client { number, host, realm, from, tls, since, tally } = client;
    let address = match from {
        trunkline_net::Peer::Inet(address) => address.to_string(),
        trunkline_net::Peer::Unix => "unix".to_owned(),
    };
    json!({
        "number": number,
        "host": host,
        "realm": realm,
        "address": address,
        "tls": tls,
        "since": since,
        "heard": tally.heard.load(Relaxed),
        "watchdog": tally.state(),
        "requests": tally.requests.load(Relaxed),
        "copies": tally.copies.load(Relaxed),
        "refused": tally.refused.load(Relaxed),
        "busy": tally.busy.load(Relaxed),
        "failed": tally.failed.load(Relaxed),
    })
}

/// A subscriber, with its account.
pub fn subscriber(core: &Core, number: u64) -> Option<Value> {
    let (payer, identities) = core.subscriber(number)?;
    Some(json!({ "subscriber": number, "identities": names(identities), "account": account(core, payer) }))
}

fn names(identities: &[Identity]) -> Vec<String> {
    identities.iter().map(name_of).collect()
}

/// An account, with its bundles, whom it pays for, and some of its sessions.
pub fn account(core: &Core, number: u64) -> Value {
    let Some(account) = core.state().account(number) else { return Value::Null };
    let Account { credit, balance, reserved, .. } = account;
    let sessions: Vec<Value> = core.sessions_of(number).take(SESSIONS_MAX).map(|shown| session(&shown)).collect();
    let plan = core.plan_of(number);
    let payees = account.subscribers.numbers();
    let some = payees.iter().take(SESSIONS_MAX).filter_map(|number| {
        let (_, identities) = core.subscriber(*number)?;
        Some(json!({ "subscriber": number, "identities": names(identities) }))
    });
    let currency = plan.map(|plan| plan.currency.as_str());
    json!({
        "up_to": core.state().sequence(),
        "number": number,
        "plan": plan.map(|plan| plan.name.as_str()),
        "currency": currency,
        "decimals": currency.map(decimals),
        "balance": balance.0,
        "credit": credit.0,
        "reserved": reserved.0,
        "allowances": buckets(account, plan),
        "offers": plan.map_or_else(Vec::new, offers),
        "counters": counters(account, plan),
        "subscribers": some.collect::<Vec<_>>(),
        "subscribers_total": payees.len(),
        "sessions": sessions,
        "sessions_total": account.sessions.len(),
    })
}

fn buckets(account: &Account, plan: Option<&Plan>) -> Vec<Value> {
    let told = |bucket: &crate::account::Bucket| {
        let known = plan.and_then(|plan| plan.allowances.iter().find(|known| known.code == bucket.allowance));
        let (name, unit) = (known.map(|known| known.name.as_str()), known.map(|known| known.unit));
        json!({ "name": name, "unit": unit, "left": bucket.left, "reserved": bucket.reserved, "ends": bucket.ends })
    };
    account.buckets.iter().map(told).collect()
}

/// Bundles that can be bought.
fn offers(plan: &Plan) -> Vec<Value> {
    let offer = |known: &crate::tariff::Allowance| {
        let (name, unit) = (known.name.as_str(), known.unit);
        json!({ "name": name, "unit": unit, "amount": known.amount, "lasts_s": known.lasts })
    };
    plan.allowances.iter().map(offer).collect()
}

/// What was spent of caps.
fn counters(account: &Account, plan: Option<&Plan>) -> Vec<Value> {
    let caps = plan.into_iter().flat_map(|plan| &plan.caps);
    let told = caps.filter_map(|cap| {
        let counter = account.counters.iter().find(|counter| counter.code == cap.code)?;
        let (used, reserved, ends) = (counter.used, counter.reserved, counter.ends);
        Some(json!({ "cap": cap.name, "limit": cap.limit.0, "used": used, "reserved": reserved, "ends": ends }))
    });
    told.collect()
}

/// A session.
pub fn session(shown: &Shown<'_>) -> Value {
    let place = shown.place;
    json!({
        "key": format!("{}-{}", shown.slot, shown.subscriber),
        "slot": shown.slot,
        "session": shown.session,
        "origin": shown.origin,
        "subscriber": shown.subscriber,
        "account": shown.account,
        "apn": place.apn,
        "network": place.network.map(network),
        "rat": place.rat,
        "destination": place.destination,
        "number": shown.number,
        "aborting": shown.aborting,
        "asked": shown.asked,
        "deadline": shown.deadline,
        "services": shown.services.iter().map(service).collect::<Vec<_>>(),
    })
}

fn network(network: crate::tariff::Plmn) -> String {
    match network.0.checked_sub(1_000_000) {
        Some(six) => format!("{six:06}"),
        None => format!("{:05}", network.0),
    }
}

fn service((key, grant): &(ServiceKey, Option<Grant>)) -> Value {
    let granted = grant.as_ref().map(|grant| {
        json!({
            "unit": grant.unit,
            "units": grant.units,
            "money": grant.money.0,
            "since": grant.since,
            "until": grant.until,
            "last": grant.last,
        })
    });
    json!({ "rating_group": key.rating_group, "service": key.service, "granted": granted })
}

/// A plan with its text.
pub fn plan_text(core: &Core, known: &PlanText) -> Value {
    let currency = core.plan(&known.name).map(|plan| plan.currency.as_str());
    json!({
        "name": known.name,
        "currency": currency,
        "decimals": currency.map(decimals),
        "version": known.version,
        "since": known.since,
        "former": known.former,
        "text": &*known.text,
    })
}

/// What is wrong with a plan, and where.
pub fn mistake(mistake: &Mistake) -> Value {
    let (line, column) = match &mistake.place {
        Place::File { line, column, .. } => (Some(*line), Some(*column)),
        _ => (None, None),
    };
    json!({ "line": line, "column": column, "what": mistake.what })
}
