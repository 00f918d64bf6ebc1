//! What was charged online for a call of the store.

use super::asked;
use super::bills::may_compare;
use crate::api::call;
use crate::api::schema;
use crate::auth::mask;
use crate::guard::Who;
use crate::problem::Problem;
use crate::sources::ChargeAccount;
use crate::state::Web;
use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use trunkline_store::row::{Call, Charge};
use trunkline_store::time::{SECOND_NS, rfc3339};
use trunkline_store::{Found, Order, Query, Store, StoreError};
use utoipa::ToSchema;

/// How far the begin of a session may be from a call's, where numbers alone tell that they belong together.
const BEGIN_NS: i64 = 10 * SECOND_NS;
/// How far around a call is looked for sessions that name it.
const AROUND_NS: i64 = 60 * SECOND_NS;
/// Records that are looked at for a call.
const ROWS_MAX: usize = 50_000;
/// Records that are read at once.
const PAGE_ROWS: usize = 1000;
/// Sessions that are told of a call.
const SESSIONS_MAX: usize = 8;
/// Records with its numbers of which it is looked up whether they name another call.
const NAMES_MAX: usize = 64;
/// Found by the Call-ID.
const BY_CALL_ID: &str = "call-id";

/// What was charged for a call.
#[derive(Serialize, ToSchema)]
pub struct CallCharges {
    /// Sessions, in the order in which they began.
    pub charges: Vec<CallCharge>,
    /// Whether not all of it is told: there was too much at that time, or a day could not be read.
    pub stopped: bool,
}

/// A session of charging that was for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CallCharge {
    /// Its Session-Id; numbers in it are masked for who may not see whole ones.
    pub session: String,
    /// The client (Origin-Host).
    pub origin: String,
    /// Whose it is; 0 is nobody known.
    pub subscriber: u64,
    /// Who pays; 0 is nobody.
    pub account: u64,
    /// By what it was found: `call-id` (the optional part of the Session-Id), or `numbers` (both, and the time).
    pub by: String,
    /// When it began.
    #[schema(format = DateTime)]
    pub from: String,
    /// When its last record ended.
    #[schema(format = DateTime)]
    pub to: String,
    /// Its records.
    pub records: u32,
    /// Seconds that were charged.
    pub seconds: u64,
    /// What was debited, minor units.
    pub money: i64,
    /// What should have been debited, and was not there.
    pub short: i64,
    /// Whether a tariff had rules for all of it.
    pub rated: bool,
    /// The account's currency (ISO 4217); null where the node does not tell.
    pub currency: Option<String>,
    /// Digits of its minor unit.
    pub decimals: Option<u32>,
}

/// What was charged online for a call: sessions whose Session-Id names its Call-ID, or with its numbers at its time.
#[utoipa::path(
    get, path = "/calls/{id}/charges", tag = "call", params(("id" = String, Path)),
    responses((status = 200, body = CallCharges), (status = "4XX", body = schema::Problem))
)]
pub async fn show(State(web): State<Arc<Web>>, who: Who, Path(id): Path<String>) -> Result<Json<CallCharges>, Problem> {
    may_compare(&who)?;
    let call = call::find(&web, &id).await?;
    let (mut charges, stopped) = web.stores.ask(move |store| found(store, &call)).await?;
    for charge in charges.iter_mut().filter(|charge| charge.account > 0) {
        let sought = json!({ "do": "show-account", "account": charge.account });
        // A node that does not serve tells no currency.
        let reply = asked(&web, move |charging| charging.order(&sought)).await;
        let account = reply.ok().and_then(|reply| serde_json::from_value::<ChargeAccount>(reply).ok());
        (charge.currency, charge.decimals) = account.map_or((None, None), |of| (of.currency, of.decimals));
    }
    if who.masked() {
        charges.iter_mut().for_each(|charge| charge.session = mask::words(&charge.session));
    }
    Ok(Json(CallCharges { charges, stopped }))
}

/// Sessions that were for a call, and whether these may not be all.
fn found(store: &Store, call: &Call) -> Result<(Vec<CallCharge>, bool), StoreError> {
    let end_ns = call.end_ns.unwrap_or(call.last_ns).max(call.start_ns);
    let mut query = Query {
        from_ns: call.start_ns.saturating_sub(AROUND_NS),
        to_ns: end_ns.saturating_add(AROUND_NS),
        order: Order::Oldest,
        limit: PAGE_ROWS,
        ..Query::default()
    };
    let (mut all, mut rows) = (Sessions::default(), 0);
    loop {
        let page = store.charges(&query)?;
        rows += page.rows.len();
        all.stopped |= !page.skipped.is_empty();
        for charge in &page.rows {
            all.add(charge, call, |session| names_another(store, session, call))?;
        }
        match page.next {
            Some(_) if rows >= ROWS_MAX => return Ok((all.own, true)),
            Some(next) => query.cursor = Some(next),
            None => return Ok((all.own, all.stopped)),
        }
    }
}

/// Sessions that are looked through for those of a call.
#[derive(Debug, Default)]
struct Sessions {
    own: Vec<CallCharge>,
    /// Session-Ids with its numbers that name other calls.
    of_others: HashSet<String>,
    looked_up: usize,
    /// Whether there are more than are told, or looked up, or than could be read.
    stopped: bool,
}

/// Whether a Session-Id names another call of the store: then it is that one's, whatever its numbers are.
fn names_another(store: &Store, session: &str, call: &Call) -> Result<bool, StoreError> {
    let Some(named) = named(session) else { return Ok(false) };
    Ok(match store.call(named)? {
        Found::None => false,
        Found::One(other) => other.id != call.id && other.sip_call_id == named,
        // Hexadecimal digits may be the beginning of identifiers, and no Call-ID.
        Found::Many(_) => named.contains(|c: char| !c.is_ascii_hexdigit() && c != '-'),
    })
}

/// The part of a Session-Id that is the client's own (RFC 6733 section 8.8), which may be a Call-ID.
fn named(session: &str) -> Option<&str> {
    session.splitn(4, ';').nth(3).map(str::trim).filter(|named| !named.is_empty())
}

impl Sessions {
    /// Adds a record where it is of the call, which takes a place only where it names no other call.
    fn add(
        &mut self,
        charge: &Charge,
        call: &Call,
        names_another: impl FnOnce(&str) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(known) = self.own.iter_mut().find(|known| known.session == charge.session) {
            add(known, charge);
            return Ok(());
        }
        let Some(by) = belongs(charge, call).filter(|_| !self.of_others.contains(&charge.session)) else {
            return Ok(());
        };
        if by != BY_CALL_ID && self.looked_up < NAMES_MAX {
            self.looked_up += 1;
            if names_another(&charge.session)? {
                self.of_others.insert(charge.session.clone());
                return Ok(());
            }
        } else if by != BY_CALL_ID {
            self.stopped = true;
            return Ok(());
        }
        match self.own.len() < SESSIONS_MAX {
            true => self.own.push(begun(charge, by)),
            false => self.stopped = true,
        }
        Ok(())
    }
}

fn add(known: &mut CallCharge, charge: &Charge) {
    known.records += 1;
    known.seconds = known.seconds.saturating_add(charge.seconds);
    known.money = known.money.saturating_add(charge.money);
    known.short = known.short.saturating_add(charge.short);
    known.rated &= charge.rated;
    known.to = known.to.clone().max(rfc3339(charge.end_ns));
}

/// A session by its first record.
fn begun(charge: &Charge, by: &str) -> CallCharge {
    CallCharge {
        session: charge.session.clone(),
        origin: charge.origin.clone(),
        subscriber: charge.subscriber,
        account: charge.account,
        by: by.to_owned(),
        from: rfc3339(charge.start_ns),
        to: rfc3339(charge.end_ns),
        records: 1,
        seconds: charge.seconds,
        money: charge.money,
        short: charge.short,
        rated: charge.rated,
        currency: None,
        decimals: None,
    }
}

/// By what a record is of a call; none if it is not.
fn belongs(charge: &Charge, call: &Call) -> Option<&'static str> {
    if charge.kind != "session" {
        return None;
    }
    if named(&charge.session) == Some(call.sip_call_id.trim()) {
        return Some(BY_CALL_ID);
    }
    let answer = call.answer_ns?;
    let near =
        charge.start_ns >= call.start_ns.saturating_sub(BEGIN_NS) && charge.start_ns <= answer.saturating_add(BEGIN_NS);
    let same = is_same(&call.from, &charge.msisdn) && is_same(&call.to, &charge.destination);
    (near && same).then_some("numbers")
}

/// Whether a user part is the number of these digits, international.
fn is_same(user: &str, digits: &str) -> bool {
    let user = user.strip_prefix('+').or_else(|| user.strip_prefix("00")).unwrap_or(user);
    !digits.is_empty() && user.chars().filter(|c| !"-.() ".contains(*c)).eq(digits.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_by_what_it_names_or_by_both_numbers_and_the_time() {
        let at = 1_795_132_800 * SECOND_NS;
        let call = Call {
            sip_call_id: "a;b@host".into(),
            from: "+44 20".into(),
            to: "0033612".into(),
            start_ns: at,
            answer_ns: Some(at + 5 * SECOND_NS),
            ..Call::default()
        };
        let charge = |session: &str, msisdn: &str, after_s: i64| Charge {
            kind: "session".into(),
            session: session.into(),
            msisdn: msisdn.into(),
            destination: "33612".into(),
            start_ns: at + after_s * SECOND_NS,
            ..Charge::default()
        };
        for (session, msisdn, after_s, by) in [
            ("gw;1;2;a;b@host", "", 50, Some("call-id")),
            ("gw;1;2;imsi-1", "4420", 5, Some("numbers")),
            ("gw;1;2", "4420", 15, Some("numbers")),
            ("gw;1;2", "4420", 16, None),
            ("gw;1;2", "4421", 5, None),
            ("gw;1;2", "", 5, None),
        ] {
            assert_eq!(belongs(&charge(session, msisdn, after_s), &call), by, "{session} {msisdn} {after_s}");
        }
        let event = Charge { kind: "event".into(), ..charge("gw;1;2;a;b@host", "", 5) };
        assert_eq!(belongs(&event, &call), None);
    }

    #[test]
    fn records_of_one_session_are_added() {
        let call = Call { sip_call_id: "x".into(), ..Call::default() };
        let charge = |money| Charge {
            kind: "session".into(),
            session: "gw;1;2;x".into(),
            seconds: 60,
            money,
            end_ns: money * SECOND_NS,
            rated: true,
            ..Charge::default()
        };
        let mut all = Sessions::default();
        for money in [5, 7] {
            all.add(&charge(money), &call, |_| Ok(true)).expect("it asks no store");
        }
        let own = &all.own;
        assert_eq!((own.len(), own[0].records, own[0].seconds, own[0].money), (1, 2, 120, 12));
        assert_eq!((own[0].to.clone(), all.stopped), (rfc3339(7 * SECOND_NS), false));
    }

    #[test]
    fn sessions_of_other_calls_take_no_places_and_more_than_there_are_is_told() {
        let (from, to, answer_ns) = ("4420".to_owned(), "33612".to_owned(), Some(0));
        let call = Call { sip_call_id: "x".into(), from, to, answer_ns, ..Call::default() };
        let charge = |number: usize, named: &str| Charge {
            kind: "session".into(),
            session: format!("gw;1;{number};{named}"),
            msisdn: "4420".into(),
            destination: "33612".into(),
            ..Charge::default()
        };
        let mut all = Sessions::default();
        let mut add = |number: usize, named: &str| {
            all.add(&charge(number, named), &call, |session| Ok(session.ends_with(";other"))).expect("no store");
            (all.own.len(), all.stopped)
        };
        for number in 0..SESSIONS_MAX + 2 {
            assert_eq!(add(number, "other"), (0, false));
        }
        for number in 0..SESSIONS_MAX {
            assert_eq!(add(number, "imsi"), (number + 1, false));
        }
        assert_eq!(add(0, "imsi"), (SESSIONS_MAX, false), "another record of one that is told");
        assert_eq!(add(SESSIONS_MAX, "other"), (SESSIONS_MAX, false), "it is known to be another's");
        assert_eq!(add(SESSIONS_MAX, "imsi"), (SESSIONS_MAX, true));
    }
}
