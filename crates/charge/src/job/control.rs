//! What those who operate a node ask it: a line of JSON each way, over a unix socket. An answer comes when what it
//! tells is durable.
//!
//! ```text
//!   {"do":"top-up","account":17,"amount":500,"note":"voucher 4711"}   ->   {"sequence":81234,"account":{"number":17,..}}
//!   {"do":"top-up","account":99,"amount":500}                         ->   {"error":"no such account"}
//! ```

use super::book::{Desk, Stream};
use super::link::{Link, PENDING_OCTETS_MAX};
use super::moment;
use super::requests::Flow;
use super::worker::Worker;
use crate::account::{Account, Identity, IdentityKind, MoneyReason};
use crate::calendar::Moment;
use crate::gy::decimals;
use crate::money::Money;
use crate::session::{self, Core, PlanText};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use trunkline_directory::counts::{ServerShown, Shown};
use trunkline_net::Now;

/// Octets of a line: a plan's text fits into it.
pub(super) const LINE_OCTETS_MAX: usize = 4 << 20;
/// Sessions of an account that are told.
const SESSIONS_MAX: usize = 100;

/// What is asked. Amounts are minor units.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Order {
    /// A plan holds from now on, in place of the one of its name.
    Plan { text: String },
    /// An account is made, or changed.
    Account {
        account: u64,
        plan: String,
        #[serde(default)]
        credit: i64,
    },
    /// An account is made that has money from the beginning; one that is there stays as it is.
    Open {
        account: u64,
        plan: String,
        #[serde(default)]
        credit: i64,
        #[serde(default)]
        balance: i64,
    },
    /// A subscriber is made, or changed: identities as `e164:..`, `imsi:..`, `sip:..`, `nai:..`, `private:..`.
    Subscriber { subscriber: u64, account: u64, identities: Vec<String> },
    /// The subscriber paid.
    TopUp {
        account: u64,
        amount: i64,
        #[serde(default)]
        note: String,
    },
    /// Money comes or goes because the operator says so.
    Adjust {
        account: u64,
        amount: i64,
        #[serde(default)]
        note: String,
    },
    /// A bundle of the plan is bought.
    Buy { account: u64, allowance: String },
    /// A session is to end.
    Abort { session: String },
    /// An account, by its number.
    ShowAccount { account: u64 },
    /// A subscriber, by an identity.
    ShowSubscriber { identity: String },
    /// A session that is open.
    ShowSession { session: String },
    /// A standby is to lead from now on.
    Switch {},
    /// What is remembered of an identity of the directory is not true any more: it is asked when it comes again.
    Forget { identity: String },
    /// How many there are of everything.
    Status {},
}

impl Worker {
    /// Takes the whole lines at the front of what came, until many replies wait: octets taken, and how it goes on.
    pub(super) fn lines(&mut self, link: &mut Link, input: &[u8], now: Now) -> (usize, Flow) {
        let mut taken = 0;
        while let Some(end) = input[taken..].iter().position(|octet| *octet == b'\n') {
            if link.pending.len() > PENDING_OCTETS_MAX {
                return (taken, Flow::Yields);
            }
            let line = &input[taken..taken + end];
            taken += end + 1;
            if !line.trim_ascii().is_empty() {
                self.line(link, line, now);
            }
        }
        let long = input.len() - taken > LINE_OCTETS_MAX;
        (taken, if long { Flow::Ends } else { Flow::GoesOn })
    }

    fn line(&mut self, link: &mut Link, line: &[u8], now: Now) {
        self.counts.control += 1;
        let order = serde_json::from_slice::<Order>(line).map_err(|error| error.to_string());
        let (after, reply) = match order.and_then(|order| self.carry_out(order, moment(now.unix))) {
            Ok(done) => done,
            Err(why) => (0, json!({ "error": why })),
        };
        // In order: one that waits for nothing waits behind those that do.
        let after = after.max(link.pending.last().unwrap_or(0));
        let out = if after == 0 { &mut self.said } else { link.pending.octets() };
        out.extend_from_slice(reply.to_string().as_bytes());
        out.push(b'\n');
        if after > 0 && link.pending.put(after) {
            self.waits(link, after);
        }
    }

    /// Does it; the entry that has to be durable before the reply leaves.
    fn carry_out(&self, order: Order, now: Moment) -> Result<(u64, Value), String> {
        let profiles = self.shared.profiles.as_ref();
        if let Order::Forget { identity: text } = order {
            profiles.ok_or("no directory is asked")?.forget(&identity(&text)?)?;
            return Ok((0, json!({ "forgotten": text })));
        }
        if let Order::Switch {} = order {
            return self.shared.book.hand_over().map(|sequence| (sequence, json!({ "sequence": sequence })));
        }
        let is_status = matches!(order, Order::Status {});
        let (after, mut reply) = carry_out(&mut self.shared.book.desk(), order, now)?;
        if let Some(profiles) = profiles.filter(|_| is_status) {
            reply["directory"] = directory_of(&profiles.shown());
        }
        if let Some(stream) = self.shared.book.stream().filter(|_| is_status) {
            reply["stream"] = stream_of(&stream);
        }
        Ok((after, reply))
    }
}

fn directory_of(shown: &Shown) -> Value {
    let server = |(address, server): &(Arc<str>, ServerShown)| {
        let ServerShown { is_up, connections, in_flight, trouble, .. } = server;
        json!({
            "address": **address,
            "up": is_up,
            "connections": connections,
            "in_flight": in_flight,
            "trouble": **trouble,
        })
    };
    let servers: Vec<Value> = shown.servers.iter().map(server).collect();
    json!({ "servers": servers, "remembered": shown.remembered.0, "waiting": shown.waiting })
}

/// Does it; the entry that has to be durable before the reply leaves.
fn carry_out(desk: &mut Desk<'_>, order: Order, now: Moment) -> Result<(u64, Value), String> {
    let (sequence, account) = match order {
        Order::Plan { text } => {
            let sequence = desk.set_plan(&text, now)?;
            return Ok((sequence, json!({ "sequence": sequence })));
        }
        Order::Account { account, plan, credit } => {
            (desk.operate(|core| core.set_account(account, &plan, Money(credit), now))?, account)
        }
        Order::Open { account, plan, credit, balance } => {
            let (credit, balance) = (Money(credit), Money(balance));
            (desk.operate(|core| core.open_account(account, &plan, credit, balance, now))?, account)
        }
        Order::Subscriber { subscriber, account, identities } => {
            let identities = identities.iter().map(|text| identity(text)).collect::<Result<Vec<_>, _>>()?;
            (desk.operate(|core| core.set_subscriber(subscriber, account, identities, now))?, account)
        }
        Order::TopUp { account, amount, note } => {
            (desk.operate(|core| core.add_money(account, MoneyReason::TopUp, Money(amount), &note, now))?, account)
        }
        Order::Adjust { account, amount, note } => {
            (desk.operate(|core| core.add_money(account, MoneyReason::Adjustment, Money(amount), &note, now))?, account)
        }
        Order::Buy { account, allowance } => {
            (desk.operate(|core| core.buy_allowance(account, &allowance, now))?, account)
        }
        Order::Abort { session } => {
            let account = desk.core().session(&session).map_or(0, |shown| shown.account);
            (desk.operate(|core| core.abort(&session, now))?, account)
        }
        show => return Ok((desk.core().state().sequence(), look(desk.core(), show)?)),
    };
    Ok((sequence, json!({ "sequence": sequence, "account": account_of(desk.core(), account) })))
}

fn stream_of(stream: &Stream) -> Value {
    let Stream { acknowledged, waiting_octets, is_current } = stream;
    json!({ "acknowledged": acknowledged, "waiting_octets": waiting_octets, "current": is_current })
}

fn look(core: &Core, order: Order) -> Result<Value, String> {
    match order {
        Order::ShowAccount { account } => {
            core.state().account(account).ok_or("no such account")?;
            Ok(account_of(core, account))
        }
        Order::ShowSubscriber { identity: text } => {
            let (number, account) = core.subscriber_of(&identity(&text)?).ok_or("no such subscriber")?;
            let identities = core.subscriber(number).map_or(&[][..], |(_, identities)| identities);
            let identities: Vec<String> = identities.iter().map(name_of).collect();
            let account = account_of(core, account);
            Ok(json!({ "subscriber": number, "identities": identities, "account": account }))
        }
        Order::ShowSession { session } => Ok(session_of(&core.session(&session).ok_or("no such open session")?)),
        _ => {
            let (state, plan) = (core.state(), |plan: &PlanText| json!({ "name": plan.name, "version": plan.version }));
            let plans: Vec<Value> = core.plans().map(plan).collect();
            Ok(json!({
                "sequence": state.sequence(),
                "plans": plans,
                "accounts": state.accounts().count(),
                "open_sessions": state.open_sessions(),
                "unrated": state.unrated(),
            }))
        }
    }
}

fn account_of(core: &Core, number: u64) -> Value {
    let Some(account) = core.state().account(number) else { return Value::Null };
    let Account { credit, balance, reserved, .. } = account;
    let sessions: Vec<Value> = core.sessions_of(number).take(SESSIONS_MAX).map(|shown| session_of(&shown)).collect();
    let buckets: Vec<Value> = account
        .buckets
        .iter()
        .map(|bucket| json!({ "left": bucket.left, "reserved": bucket.reserved, "ends": bucket.ends }))
        .collect();
    let plan = core.plan_of(number);
    let currency = plan.map(|plan| plan.currency.as_str());
    json!({
        "number": number,
        "plan": plan.map(|plan| plan.name.as_str()),
        "currency": currency,
        "decimals": currency.map(decimals),
        "balance": balance.0,
        "credit": credit.0,
        "reserved": reserved.0,
        "allowances": buckets,
        "sessions": sessions,
    })
}

fn session_of(shown: &session::Shown<'_>) -> Value {
    let services: Vec<Value> = shown
        .services
        .iter()
        .map(|(key, grant)| {
            let granted = grant
                .as_ref()
                .map(|grant| json!({ "units": grant.units, "money": grant.money.0, "until": grant.until }));
            json!({ "rating_group": key.rating_group, "service": key.service, "granted": granted })
        })
        .collect();
    json!({
        "session": shown.session,
        "origin": shown.origin,
        "subscriber": shown.subscriber,
        "aborting": shown.aborting,
        "deadline": shown.deadline,
        "services": services,
    })
}

const KINDS: [(&str, IdentityKind); 5] = [
    ("e164", IdentityKind::E164),
    ("imsi", IdentityKind::Imsi),
    ("sip", IdentityKind::Sip),
    ("nai", IdentityKind::Nai),
    ("private", IdentityKind::Private),
];

/// Reads `e164:442079460000`; a SIP URI may stand for itself.
fn identity(text: &str) -> Result<Identity, String> {
    let wrong = || format!("an identity is e164:.., imsi:.., sip:.., nai:.. or private:.., not \"{text}\"");
    let (kind, name) = text.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or_else(wrong)?;
    let (_, kind) = KINDS.iter().find(|(word, _)| *word == kind).ok_or_else(wrong)?;
    Ok(Identity::new(*kind, if *kind == IdentityKind::Sip { text } else { name.trim_start_matches('+') }))
}

fn name_of(identity: &Identity) -> String {
    let word = KINDS.iter().find(|(_, kind)| *kind == identity.kind).map_or("", |(word, _)| word);
    match identity.kind {
        IdentityKind::Sip => identity.text.to_string(),
        _ => format!("{word}:{}", identity.text),
    }
}
