//! What those who operate a node ask it: a line of JSON each way, over a unix socket. An answer comes when what it
//! tells is durable.
//!
//! ```text
//!   {"do":"top-up","account":17,"amount":500,"note":"voucher 4711"}  ->  {"sequence":81234,"account":{"number":17,..}}
//!   {"do":"top-up","account":99,"amount":500}             ->  {"error":"no such account","kind":"not-found"}
//! ```

pub mod exercise;
mod told;

use super::book::{Desk, Stream, Undone};
use super::forward::Settle;
use super::link::{Link, PENDING_OCTETS_MAX};
use super::moment;
use super::requests::Flow;
use super::retain::{Retaining, Until};
use super::worker::Worker;
use crate::account::{Identity, IdentityKind, MoneyReason};
use crate::calendar::Moment;
use crate::money::Money;
use crate::session::{self, Core, OrderKey, Refused, Sought};
use crate::tariff::read;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use trunkline_directory::counts::{ServerShown, Shown};
use trunkline_kit::config::Mistake;
use trunkline_net::Now;

/// Octets of a line: a plan's text fits into it.
// Limit: length of one order to the node
// Beyond: the connection is closed
// Seen in: the error message
pub(super) const LINE_OCTETS_MAX: usize = 4 << 20;
/// Sessions that are told at once.
const SESSIONS_MAX: usize = 100;
/// Slots that are looked at for a page of sessions with one hold of the book: a fraction of a millisecond.
const SLOTS_MAX: u32 = 4000;

/// What is asked. Amounts are minor units.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Order {
    /// A plan holds from now on, in place of the one of its name: where `instead` is said, only of the text that holds
    /// since that entry (0: of none).
    Plan { text: String, instead: Option<u64> },
    /// All that is wrong with a plan; nothing changes.
    CheckPlan { text: String },
    /// The text of a plan, and the entries of those before it.
    PlanText { name: String },
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
    /// The subscriber paid. With a key it is done once, however often it comes within a day; so are the next two.
    TopUp {
        account: u64,
        amount: i64,
        #[serde(default)]
        note: String,
        key: Option<String>,
    },
    /// Money comes or goes because the operator says so.
    Adjust {
        account: u64,
        amount: i64,
        #[serde(default)]
        note: String,
        key: Option<String>,
    },
    /// A bundle of the plan is bought.
    Buy { account: u64, allowance: String, key: Option<String> },
    /// A session is to end.
    Abort { session: String },
    /// An account, by its number.
    ShowAccount { account: u64 },
    /// A standby is to lead from now on.
    Switch {},
    /// A subscriber, by an identity, or by its number.
    ShowSubscriber { identity: Option<String>, subscriber: Option<u64> },
    /// A session that is open, by its Session-Id, or by its key of a list.
    ShowSession { session: Option<String>, key: Option<String> },
    /// Open sessions from a slot on: a page, and where to go on.
    Sessions {
        #[serde(default)]
        from: u32,
        #[serde(default = "page")]
        limit: usize,
        account: Option<u64>,
        text: Option<String>,
        origin: Option<String>,
        aborting: Option<bool>,
    },
    /// The clients that are connected, those after a number.
    Peers {
        #[serde(default)]
        after: u64,
    },
    /// What was answered over time: the last quarter of an hour by the second, or the last day by the minute.
    Rates {
        #[serde(default)]
        minutes: bool,
    },
    /// What is remembered of an identity of the directory is not true any more: it is asked when it comes again.
    Forget { identity: String },
    /// How many there are of everything.
    Status {},
    /// Packets of records that gateways refused.
    Refused {},
    /// What is to become of them: `packets`, or all.
    Settle {
        #[serde(default)]
        packets: BTreeSet<u64>,
        again: bool,
    },
    /// Entries of the ledger are given up: those before one, or before a moment (seconds since 1970).
    Retain {
        #[serde(default)]
        before: Option<u64>,
        #[serde(default)]
        before_time: Option<i64>,
    },
}

fn page() -> usize {
    SESSIONS_MAX
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
        let order = serde_json::from_slice::<Order>(line).map_err(|error| Fault::new("bad-request", error));
        let at = self.shared.book.desk().now(moment(now.unix));
        let (after, reply) = match order.and_then(|order| self.carry_out(order, at)) {
            Ok(done) => done,
            Err(fault) => (0, json!({ "error": fault.why, "kind": fault.kind })),
        };
        // In order: one that waits for nothing waits behind those that do.
        let after = after.max(link.pending.last().unwrap_or(0));
        let out = if after == 0 { &mut self.said } else { link.pending.octets() };
        out.extend_from_slice(reply.to_string().as_bytes());
        out.push(b'\n');
        if after > 0 && link.pending.put(after, now.monotonic) {
            self.waits(link, after);
        }
    }

    /// Does it; the entry that has to be durable before the reply leaves.
    fn carry_out(&mut self, order: Order, now: Moment) -> Result<(u64, Value), Fault> {
        // What may be long leaves behind an entry that is durable, as far as there is room, and not at once.
        let durable = self.shared.book.durable();
        match order {
            Order::CheckPlan { text } => Ok((durable, checked(&text))),
            Order::Peers { after } => Ok((durable, told::peers(&self.shared, after))),
            Order::Rates { minutes } => Ok((durable, told::rates(&self.shared, minutes))),
            Order::Status {} => {
                let mut status = told::status(&self.shared);
                if let Some(profiles) = &self.shared.profiles {
                    status["directory"] = directory_of(&profiles.shown());
                }
                status["records"] = self.shared.records.as_ref().map_or(Value::Null, |told| records_of(told));
                status["retain"] = retain_of(&self.shared.retaining.state());
                if let Some(stream) = self.shared.book.stream() {
                    status["stream"] = stream_of(&stream);
                }
                status["troubles"] = troubles(&self.shared).into();
                Ok((0, status))
            }
            Order::Switch {} => {
                let sequence = self.shared.book.hand_over().map_err(|why| Fault::new("conflict", why))?;
                Ok((sequence, json!({ "sequence": sequence })))
            }
            Order::Retain { before, before_time } => Ok((0, self.retain(before, before_time)?)),
            Order::Refused {} => Ok((durable, told::refused(&self.shared))),
            Order::Settle { packets, again } => Ok((durable, self.settle_refused(packets, again)?)),
            Order::Forget { identity: text } => {
                let wrong = |why: String| Fault::new("bad-request", why);
                let profiles =
                    self.shared.profiles.as_ref().ok_or_else(|| wrong("no directory is asked".to_owned()))?;
                profiles.forget(&identity(&text).map_err(wrong)?).map_err(|why| Fault::new("bad-request", why))?;
                Ok((0, json!({ "forgotten": text })))
            }
            order => carry_out(&mut self.shared.book.desk(), order, now),
        }
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

impl Worker {
    /// Begins to give up entries; what it is answered then.
    fn retain(&self, before: Option<u64>, before_time: Option<i64>) -> Result<Value, Fault> {
        begin(&self.shared.retaining, before, before_time)
    }
}

impl Worker {
    /// Has the thread that sends records say what becomes of refused packets; what it is answered then.
    fn settle_refused(&self, packets: BTreeSet<u64>, again: bool) -> Result<Value, Fault> {
        let conflict = |why: String| Fault::new("conflict", why);
        let told = self.shared.records.as_ref().filter(|told| told.sends());
        let told = told.ok_or_else(|| conflict("this node sends no records on".to_owned()))?;
        // What could not be done now must not be done later, when nobody expects it.
        if !self.shared.book.leads() {
            return Err(conflict("this node does not lead".to_owned()));
        }
        if let Some(why) = told.forwarded().and_then(|forwarded| forwarded.failure) {
            return Err(conflict(format!("records are not sent on: {why}")));
        }
        let done = told.settling.want(Settle { packets, again });
        let done = done.ok_or_else(|| conflict("another such order is being carried out".to_owned()))?;
        Ok(json!({ "begun": true, "done": done }))
    }
}

fn begin(retaining: &Retaining, before: Option<u64>, before_time: Option<i64>) -> Result<Value, Fault> {
    let until = match (before, before_time) {
        (Some(entry), None) => Until::Entry(entry),
        (None, Some(time)) => Until::Time(time),
        _ => return Err(Fault::new("bad-request", "either before or before_time")),
    };
    match retaining.want(until) {
        true => Ok(json!({ "begun": true, "done": retaining.state().done })),
        false => Err(Fault::new("conflict", "entries are being given up already")),
    }
}

/// What a node that stands by is told to give up of its own ledger (`retain`): `order` is as one that leads takes it.
pub fn retain_here(retaining: &Retaining, order: &Value) -> Value {
    let begun = begin(retaining, order["before"].as_u64(), order["before_time"].as_i64());
    begun.unwrap_or_else(|fault| json!({ "error": fault.why, "kind": fault.kind }))
}

/// What is wrong and does not end the node, a sentence each.
fn troubles(shared: &super::Shared) -> Vec<String> {
    let records = shared.records.iter().flat_map(|told| told.troubles());
    let mut troubles: Vec<String> = records.chain(shared.book.stream().and_then(|stream| stream.trouble())).collect();
    let servers = shared.profiles.iter().flat_map(|profiles| profiles.shown().servers);
    let down = servers.filter(|(_, server)| !server.is_up);
    troubles.extend(down.map(|(name, server)| format!("the directory {name} is down: {}", server.trouble)));
    troubles.extend(shared.book.desk().clock().trouble());
    troubles
}

fn stream_of(stream: &Stream) -> Value {
    let Stream { acknowledged, waiting_octets, is_current } = stream;
    json!({ "acknowledged": acknowledged, "waiting_octets": waiting_octets, "current": is_current })
}

/// How giving up entries gets on.
pub fn retain_of(state: &super::retain::State) -> Value {
    let super::retain::State { busy, done, first, needed, error, .. } = state;
    json!({ "busy": busy, "done": done, "first": first, "needed_by_records": needed, "error": error })
}

/// How records get on, as `status` tells it.
pub fn records_of(told: &super::records::Told) -> Value {
    let report = told.report();
    json!({
        "entry": report.entry,
        "behind": told.behind(),
        "holds": told.holds(),
        "records": report.records,
        "next_number": report.number,
        "open": report.open,
        "needed": report.needed,
        "files": report.files,
        "lost": report.lost,
        "failures": report.failures,
        "failure": report.failure,
        "sent_on": told.forwarded().as_ref().map(sent_on),
    })
}

fn sent_on(forwarded: &super::Forwarded) -> Value {
    let super::Forwarded { file, octets, packets, refused, cause, waiting_octets, gone_files, counts, failure, .. } =
        forwarded;
    let gateways = forwarded.gateways.iter().map(|(gateway, up)| json!({ "address": gateway.to_string(), "up": up }));
    json!({
        "gateways": gateways.collect::<Vec<_>>(),
        "file": file,
        "octets": octets,
        "packets": packets,
        "waiting_octets": waiting_octets,
        "refused": refused,
        "cause": cause,
        "gone_files": gone_files,
        "done": counts.done,
        "doubtful": counts.doubtful,
        "failure": failure,
    })
}

/// Why something is not done: a word for programs, and a sentence.
#[derive(Debug)]
struct Fault {
    kind: &'static str,
    why: String,
}

impl Fault {
    fn new(kind: &'static str, why: impl ToString) -> Fault {
        Fault { kind, why: why.to_string() }
    }

    fn absent(what: &str) -> Fault {
        Fault::new("not-found", format!("no such {what}"))
    }
}

impl From<Undone> for Fault {
    fn from(undone: Undone) -> Fault {
        let kind = match &undone {
            Undone::Behind => "busy",
            Undone::Refused(refused) => match refused {
                Refused::NoPlan | Refused::NoAccount | Refused::NoAllowance | Refused::NoSession => "not-found",
                Refused::TooMuch | Refused::BadKey => "bad-request",
                Refused::TooManyKeys => "busy",
                _ => "conflict",
            },
        };
        Fault::new(kind, undone)
    }
}

/// What is wrong with a plan; and its name, if nothing is.
fn checked(text: &str) -> Value {
    let told = |mistakes: &[Mistake]| mistakes.iter().map(told::mistake).collect::<Vec<_>>();
    match read("plan", text) {
        Ok(plan) => json!({ "name": plan.name, "currency": plan.currency, "mistakes": [] }),
        Err(mistakes) => json!({ "name": null, "currency": null, "mistakes": told(&mistakes) }),
    }
}

/// The key of an order, with what is ordered.
fn order_key(key: Option<&str>, what: &str) -> Result<Option<OrderKey>, Fault> {
    key.map(|key| OrderKey::new(key, what)).transpose().map_err(|refused| Undone::Refused(refused).into())
}

/// Does what changes or shows the state.
fn carry_out(desk: &mut Desk<'_>, order: Order, now: Moment) -> Result<(u64, Value), Fault> {
    let ((sequence, again), account) = match order {
        Order::Plan { text, instead } => {
            instead.map_or(Ok(()), |entry| replaces(desk.core(), &text, entry))?;
            let sequence = desk.set_plan(&text, now).map_err(|why| Fault::new("bad-request", why))?;
            return Ok((sequence, json!({ "sequence": sequence })));
        }
        Order::Account { account, plan, credit } => {
            (desk.once(None, now, |core| core.set_account(account, &plan, Money(credit), now))?, account)
        }
        Order::Open { account, plan, credit, balance } => {
            let (credit, balance) = (Money(credit), Money(balance));
            (desk.once(None, now, |core| core.open_account(account, &plan, credit, balance, now))?, account)
        }
        Order::Subscriber { subscriber, account, identities } => {
            let identities = identities.iter().map(|text| identity(text)).collect::<Result<Vec<_>, _>>();
            let identities = identities.map_err(|why| Fault::new("bad-request", why))?;
            (desk.once(None, now, |core| core.set_subscriber(subscriber, account, identities, now))?, account)
        }
        Order::TopUp { account, amount, note, key } => {
            let key = order_key(key.as_deref(), &format!("top-up {account} {amount}"))?;
            let reason = MoneyReason::TopUp;
            (desk.once(key, now, |core| core.add_money(account, reason, Money(amount), &note, now))?, account)
        }
        Order::Adjust { account, amount, note, key } => {
            let key = order_key(key.as_deref(), &format!("adjust {account} {amount}"))?;
            let reason = MoneyReason::Adjustment;
            (desk.once(key, now, |core| core.add_money(account, reason, Money(amount), &note, now))?, account)
        }
        Order::Buy { account, allowance, key } => {
            let key = order_key(key.as_deref(), &format!("buy {account} {allowance}"))?;
            (desk.once(key, now, |core| core.buy_allowance(account, &allowance, now))?, account)
        }
        Order::Abort { session } => {
            let account = desk.core().session(&session).map_or(0, |shown| shown.account);
            (desk.once(None, now, |core| core.abort(&session, now))?, account)
        }
        show => return Ok((desk.core().state().sequence(), look(desk.core(), show)?)),
    };
    Ok((sequence, json!({ "sequence": sequence, "again": again, "account": told::account(desk.core(), account) })))
}

/// Whether the plan of a text's name holds since that entry; 0 if there is none.
fn replaces(core: &Core, text: &str, entry: u64) -> Result<(), Fault> {
    // What is wrong with a text is told when it is put live.
    let Ok(plan) = read("plan", text) else { return Ok(()) };
    let since = core.plans().find(|known| *known.name == *plan.name).map_or(0, |known| known.since);
    let other = || Fault::new("conflict", format!("{} was changed by entry {since} meanwhile: look at it", plan.name));
    if since == entry { Ok(()) } else { Err(other()) }
}

fn look(core: &Core, order: Order) -> Result<Value, Fault> {
    match order {
        Order::ShowAccount { account } => {
            core.state().account(account).ok_or_else(|| Fault::absent("account"))?;
            Ok(told::account(core, account))
        }
        Order::ShowSubscriber { identity: text, subscriber } => {
            let named = text.map(|text| identity(&text)).transpose().map_err(|why| Fault::new("bad-request", why))?;
            let number = named.map_or(subscriber, |named| core.subscriber_of(&named).map(|(number, _)| number));
            number.and_then(|number| told::subscriber(core, number)).ok_or_else(|| Fault::absent("subscriber"))
        }
        Order::ShowSession { session, key } => {
            let by_key = || key.as_deref().and_then(|key| session_of(core, key));
            let found = session.as_deref().map_or_else(by_key, |session| core.session(session));
            Ok(told::session(&found.ok_or_else(|| Fault::absent("open session"))?))
        }
        Order::Sessions { from, limit, account, text, origin, aborting } => {
            let (text, origin) = (text.as_deref(), origin.as_deref());
            let sought = Sought { account, text, origin, aborting };
            let (found, next) = core.sessions(&sought, from, limit.min(SESSIONS_MAX), SLOTS_MAX);
            let sessions: Vec<Value> = found.iter().map(told::session).collect();
            Ok(json!({ "sessions": sessions, "next": next }))
        }
        Order::PlanText { name } => {
            let known = core.plans().find(|known| *known.name == *name).ok_or_else(|| Fault::absent("plan"))?;
            Ok(told::plan_text(core, known))
        }
        _ => Err(Fault::new("bad-request", "nothing that is shown")),
    }
}

/// The session of a key: its slot and its subscriber.
fn session_of<'a>(core: &'a Core, key: &str) -> Option<session::Shown<'a>> {
    let (slot, subscriber) = key.split_once('-')?;
    let shown = core.session_at(slot.parse().ok()?)?;
    (shown.subscriber == subscriber.parse::<u64>().ok()?).then_some(shown)
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
    let (kind, name) = text.split_once(':').ok_or_else(wrong)?;
    let name = name.trim_start_matches('+');
    let (_, kind) = KINDS.iter().find(|(word, _)| *word == kind && !name.is_empty()).ok_or_else(wrong)?;
    Ok(Identity::new(*kind, if *kind == IdentityKind::Sip { text } else { name }))
}

/// An identity as it is read.
fn name_of(identity: &Identity) -> String {
    let word = KINDS.iter().find(|(_, kind)| *kind == identity.kind).map_or("", |(word, _)| word);
    match identity.kind {
        IdentityKind::Sip => identity.text.to_string(),
        _ => format!("{word}:{}", identity.text),
    }
}
