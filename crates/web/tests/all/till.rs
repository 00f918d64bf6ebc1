//! A charging node that does what the tests say.

use crate::eventually::eventually;
use crate::world::{HOME, SCRIPT};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use trunkline_web::sources::*;

/// It has two accounts, twenty sessions and a plan.
#[derive(Default)]
pub struct Till {
    /// No node serves.
    pub absent: AtomicBool,
    /// Plans are tried out until they are cancelled.
    pub hold: AtomicBool,
    /// Differences beyond the first 300, which have neither calls nor lines.
    pub more_differences: AtomicI64,
    orders: Mutex<Vec<Value>>,
}

const DAY_S: i64 = crate::world::DAY / 1_000_000_000;

impl Till {
    /// Orders of that kind.
    pub fn ordered(&self, kind: &str) -> Vec<Value> {
        self.orders.lock().unwrap().iter().filter(|order| order["do"] == kind).cloned().collect()
    }

    pub fn was_ordered(&self, kind: &str) -> bool {
        !self.ordered(kind).is_empty()
    }

    fn held(&self, cancel: &Cancel) -> Result<(), SourceError> {
        let is_held = || self.hold.load(Ordering::SeqCst);
        eventually("it goes on", || !is_held() || cancel.is_cancelled());
        if is_held() { Err(SourceError::new(Trouble::Cancelled, "cancelled")) } else { Ok(()) }
    }

    fn done(&self, order: &Value, account: Value) -> Value {
        let keys = self.orders.lock().unwrap();
        let again = keys.iter().filter(|known| !order["key"].is_null() && known["key"] == order["key"]).count() > 1;
        json!({ "sequence": 9, "again": again, "account": account })
    }
}

fn not_found(what: &str) -> SourceError {
    SourceError::new(Trouble::NotFound, format!("No such {what}."))
}

fn session(slot: u64) -> Value {
    let granted =
        json!({ "unit": "octets", "units": 1024, "money": 5, "since": DAY_S, "until": DAY_S + 600, "last": false });
    json!({
        "key": format!("{slot}-1"), "slot": slot, "session": format!("pgw.example;{};001010000000017", slot + 1),
        "origin": "pgw.example", "subscriber": 1, "account": 1, "apn": "internet", "network": "00101", "rat": 6,
        "destination": "442071000042", "number": 3, "aborting": false, "asked": false, "deadline": i64::MAX,
        "services": [{ "rating_group": 1, "service": null, "granted": granted }],
    })
}

fn account() -> Value {
    json!({
        "up_to": 8, "number": 1, "plan": "standard", "currency": "EUR", "decimals": 2, "balance": 500, "credit": 0,
        "reserved": 5, "counters": [], "subscribers_total": 1, "sessions_total": 1, "sessions": [session(0)],
        "allowances": [{ "name": "gift", "unit": "octets", "left": 7, "reserved": 0, "ends": i64::MAX }],
        "offers": [{ "name": "gift", "unit": "octets", "amount": 1024, "lasts_s": null }],
        "subscribers": [{ "subscriber": 1, "identities": ["imsi:001010000000017", "sip:bob@example.com"] }],
    })
}

/// Every seventh call has no rule, every fifth of the others nobody who pays.
fn rated(n: i64) -> ChargeRatedCall {
    let outcome = if n % 7 == 0 {
        "no-rule"
    } else if n % 5 == 0 {
        "nobody-pays"
    } else {
        "priced"
    };
    let pays = outcome != "nobody-pays";
    ChargeRatedCall {
        call: crate::world::call(1).id.to_string(),
        caller: "+442071000042".to_owned(),
        called: "=1+1".to_owned(),
        answer: trunkline_store::time::rfc3339((DAY_S + n) * 1_000_000_000),
        seconds: 60,
        outcome: outcome.to_owned(),
        account: pays.then_some(17),
        destination: pays.then(|| if n % 2 == 0 { "near" } else { "far" }.to_owned()),
        prefix: pays.then(|| "44207100".to_owned()),
        money: (outcome == "priced").then_some(n % 100),
        currency: pays.then(|| "EUR".to_owned()),
        complete: true,
        ..Default::default()
    }
}

/// One of three kinds; every fifth is not certain, and money in dispute rises and falls.
fn difference(n: i64, is_bill: bool) -> ChargeDifference {
    let call = ChargeDifferenceCall {
        id: crate::world::call(1).id.to_string(),
        caller: "+442071000042".to_owned(),
        called: "=1+1".to_owned(),
        ..Default::default()
    };
    let line = ChargeDifferenceLine {
        line: is_bill.then_some(n as u32 + 2),
        session: (!is_bill).then(|| "gw;1;2;442071000042".to_owned()),
        caller: "+442071000042".to_owned(),
        called: "+33612345678".to_owned(),
        amount_micros: Some(n),
        ..Default::default()
    };
    ChargeDifference {
        kind: ["not-billed", "longer", "twice"][n as usize % 3].to_owned(),
        at: trunkline_store::time::rfc3339((DAY_S + n) * 1_000_000_000),
        sure: n % 5 != 0,
        why: (n % 5 == 0).then(|| "silent".to_owned()),
        call: Some(call),
        line: (n % 3 != 0).then(|| line.clone()),
        other: (n % 3 == 2).then_some(line),
        dispute_micros: Some(n % 100 * if n % 2 == 0 { 1 } else { -1 }),
        price_micros: None,
    }
}

impl Charging for Till {
    fn order(&self, order: &Value) -> Result<Value, SourceError> {
        if self.absent.load(Ordering::SeqCst) {
            return Err(SourceError::new(Trouble::NotFound, "The charging node is not running."));
        }
        self.orders.lock().unwrap().push(order.clone());
        Ok(match order["do"].as_str().unwrap() {
            "status" => json!({
                "host": "ocs.example", "realm": "example", "since": DAY_S, "sequence": 8, "durable": 8,
                "behind_percent": 0, "failure": format!("{HOME}/ledger: full"), "written_octets": 9, "groups": 3,
                "plans": [{ "name": "standard", "version": 2 }], "accounts": 2, "subscribers": 1,
                "open_sessions": 20, "kept_sessions": 20, "sessions_limit": 100, "unrated": 0, "clients": 1,
                "records": {
                    "entry": 8, "behind": 0, "holds": false, "records": 5, "next_number": 6, "open": 2, "needed": 1,
                    "files": 1, "lost": 0, "failures": 1, "failure": format!("{HOME}/records: full"), "sent_on": {
                        "gateways": [
                            { "address": "192.0.2.3:3386", "up": true }, { "address": "192.0.2.4:3386", "up": false },
                        ],
                        "file": 2, "octets": 900, "packets": 3, "waiting_octets": 5000, "refused": 1, "cause": 205,
                        "gone_files": 0, "done": 40, "doubtful": 2, "failure": null,
                    },
                },
            }),
            "rates" => json!({ "points": [{
                "at": DAY_S, "seconds": 1, "answered": [[1, 0, 0, 0], [40, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]],
                "copies": 1, "p50_us": 300, "p99_us": 900, "sessions": 20, "behind_percent": 0,
            }] }),
            "peers" => json!({ "total": 1, "peers": [{
                "number": 1, "host": "pgw.example", "realm": "example", "address": "192.0.2.1:4000", "tls": false,
                "since": DAY_S, "heard": DAY_S, "watchdog": "okay", "requests": 44, "copies": 1, "refused": 2,
                "busy": 0, "failed": 0,
            }], "calls": [{
                "host": "dra.example", "address": "192.0.2.9:5868", "tls": true, "state": "down",
                "why": "it is not there", "next_s": 12, "tries": 3,
            }] }),
            "sessions" if !order["text"].is_null() => json!({ "sessions": [], "next": null }),
            "sessions" => {
                let from = order["from"].as_u64().unwrap();
                // A piece has three at most.
                let end = (from + order["limit"].as_u64().unwrap().min(3)).min(20);
                let next = (end < 20).then_some(end);
                json!({ "sessions": (from..end).map(session).collect::<Vec<_>>(), "next": next })
            }
            "show-session" if order["key"] == "0-1" => session(0),
            "show-session" => return Err(not_found("open session")),
            // The manual has an account 17.
            "show-account" if order["account"] == 1 || order["account"] == 17 => account(),
            "show-account" => return Err(not_found("account")),
            "show-subscriber" if order["identity"] == "imsi:001010000000017" || order["subscriber"] == 1 => json!({
                "subscriber": 1, "identities": ["imsi:001010000000017"], "account": account(),
            }),
            "show-subscriber" => return Err(not_found("subscriber")),
            "plan-text" if order["name"] == "standard" => json!({
                "name": "standard", "currency": "EUR", "decimals": 2, "version": 2, "since": 5, "former": [1],
                "text": "new",
            }),
            "plan-text" => return Err(not_found("plan")),
            "check-plan" if order["text"] == "bad" => json!({ "name": null, "currency": null, "mistakes": [
                { "line": 1, "column": 1, "what": "no plan" }, { "line": null, "column": null, "what": "no version" },
            ] }),
            "check-plan" => json!({ "name": "standard", "currency": "EUR", "mistakes": [] }),
            "plan" if order["instead"] == 4 => return Err(SourceError::new(Trouble::Conflict, "changed meanwhile")),
            "plan" => json!({ "sequence": 9 }),
            "buy" if order["allowance"] != "gift" => return Err(not_found("allowance in the account's plan")),
            _ => self.done(order, account()),
        })
    }

    fn serves(&self) -> bool {
        !self.absent.load(Ordering::SeqCst)
    }

    fn ledger(&self, _: u64, from: ChargeMark, most: usize, _: &Cancel) -> Result<ChargeLedgerPart, SourceError> {
        let line = |sequence: u64| ChargeLine {
            sequence,
            at: DAY_S,
            kind: "top-up".to_owned(),
            amount: 100,
            note: Some(SCRIPT.to_owned()),
            ..ChargeLine::default()
        };
        let first = from.next.saturating_sub(most as u64).max(1);
        let next = (first > 1).then_some(ChargeMark { next: first, balance: 300 });
        Ok(ChargeLedgerPart { lines: (first..from.next).rev().map(line).collect(), next })
    }

    fn usage(&self, _: u64, _: ChargeMark, since: i64, _: &Cancel) -> Result<ChargeUsage, SourceError> {
        let day =
            ChargeDay { day: "2026-11-19".to_owned(), unit: "octets".to_owned(), units: 1024, ..Default::default() };
        Ok(ChargeUsage { days: vec![day], complete_since: since })
    }

    fn timeline(&self, _: &str, _: Option<(u32, u64)>, newest: u64, _: &Cancel) -> Result<ChargeTimeline, SourceError> {
        let (place, called) = (Some("internet, 23433".to_owned()), Some("112".to_owned()));
        let kind = "opened".to_owned();
        let event = ChargeEvent { sequence: 3, at: DAY_S, kind, place, called, ..Default::default() };
        Ok(ChargeTimeline { events: vec![event], next: Some((0, newest)) })
    }

    fn plan_of_entry(&self, entry: u64) -> Result<(String, i64), SourceError> {
        if entry == 1 { Ok(("old".to_owned(), DAY_S)) } else { Err(not_found("entry")) }
    }

    fn try_out(&self, ask: &ChargeTryAsk, progress: &Progress, cancel: &Cancel) -> Result<ChargeTried, SourceError> {
        if ask.text == "bad" {
            return Err(SourceError::new(Trouble::Refused, "no plan"));
        }
        self.held(cancel)?;
        progress.packets.store(50, Ordering::Relaxed);
        let all = ChargeTriedGroup { was: 96, would: 118, ..Default::default() };
        Ok(ChargeTried { plan: "standard".to_owned(), currency: "EUR".to_owned(), all, ..Default::default() })
    }

    fn check_comparison(&self, profile: &str, plan: Option<&str>) -> Result<(), SourceError> {
        match profile == "bad" || plan == Some("bad") {
            true => Err(SourceError::new(Trouble::Refused, "profile:1: no profile")),
            false => Ok(()),
        }
    }

    fn compare(
        &self,
        ask: &ChargeCompareAsk,
        tell: &mut dyn FnMut(&ChargeDifference) -> bool,
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeCompared, SourceError> {
        progress.at("calls", 240);
        self.held(cancel)?;
        let bill = ask.bill.as_ref().map(|path| std::fs::read_to_string(path).expect("the bill"));
        if bill.as_deref().is_some_and(|text| text.starts_with("nothing")) {
            return Err(SourceError::new(Trouble::Refused, "Line 2: no number: '+442071000042'."));
        }
        let short = |n| ChargeDifference { call: None, line: None, other: None, ..difference(n, false) };
        let all = 300 + self.more_differences.load(Ordering::SeqCst);
        (0..all).all(|n| tell(&if n < 300 { difference(n, bill.is_some()) } else { short(n) }));
        let unread_lines =
            vec![ChargeComparedUnread { line: 7, what: "no time of a begin: '+442071000042'".to_owned() }];
        let (decimals, skipped) = (2, vec![format!("{HOME}/store/2026-11-19.sqlite: damaged")]);
        Ok(ChargeCompared { lines: 300, unread: 1, unread_lines, decimals, skipped, ..Default::default() })
    }

    fn rate_calls(
        &self,
        ask: &ChargeRateAsk,
        tell: &mut dyn FnMut(&ChargeRatedCall),
        progress: &Progress,
        cancel: &Cancel,
    ) -> Result<ChargeRated, SourceError> {
        progress.at("calls", 350);
        self.held(cancel)?;
        if ask.plan_name.as_deref() == Some("gone") {
            return Err(SourceError::new(Trouble::Refused, "No account can have the plan 'gone'."));
        }
        let all = 350 + self.more_differences.load(Ordering::SeqCst);
        (1..=all).for_each(|n| tell(&rated(n)));
        let name = ask.plan.as_ref().map(|(text, version)| format!("{text} {version}"));
        let total = |name: &str| ChargeRatedTotal { name: Some(name.to_owned()), ..Default::default() };
        let sums = vec![ChargeRatedTotal { plan: name, currency: "EUR".to_owned(), ..Default::default() }];
        let skipped = vec![format!("{HOME}/store/2026-11-19.sqlite: damaged")];
        let (destinations, prefixes) = (vec![total("near")], vec![total("44207100")]);
        Ok(ChargeRated { priced: 240, no_rule: 50, sums, destinations, prefixes, skipped, ..Default::default() })
    }
}
