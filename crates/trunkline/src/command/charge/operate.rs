//! What those who operate a charging node do: plans, accounts, subscribers, money, sessions.

use super::place::Place;
use crate::failure::Failure;
use crate::output::stdout;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use trunkline_kit::exit::Exit;
use trunkline_store::time::rfc3339;

/// What a node is asked to do, and told of.
#[derive(Debug, clap::Subcommand)]
pub enum Order {
    /// Load a tariff plan; it replaces the plan of that name at once
    Plan {
        /// File of the plan (docs/manual/tariffs.md)
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        #[command(flatten)]
        to: To,
    },
    /// Create an account with an opening balance; an existing account is not changed
    Open {
        /// Number
        #[arg(value_name = "ACCOUNT")]
        account: u64,
        /// Tariff plan
        #[arg(long, value_name = "NAME")]
        plan: String,
        /// Opening balance, in minor units (cents)
        #[arg(long, value_name = "AMOUNT", default_value_t = 0)]
        balance: i64,
        /// Credit limit, in minor units; 0 is prepaid
        #[arg(long, value_name = "AMOUNT", default_value_t = 0)]
        credit: i64,
        #[command(flatten)]
        to: To,
    },
    /// Create an account, or change its plan and credit limit
    Account {
        /// Number
        #[arg(value_name = "ACCOUNT")]
        account: u64,
        /// Tariff plan
        #[arg(long, value_name = "NAME")]
        plan: String,
        /// Credit limit, in minor units; 0 is prepaid
        #[arg(long, value_name = "AMOUNT", default_value_t = 0)]
        credit: i64,
        #[command(flatten)]
        to: To,
    },
    /// Create a subscriber, or change its account and identities
    Subscriber {
        /// Number
        #[arg(value_name = "SUBSCRIBER")]
        subscriber: u64,
        /// Paying account
        #[arg(long, value_name = "ACCOUNT")]
        account: u64,
        /// Identities: imsi:.., e164:.., sip:.., nai:.., private:..
        #[arg(value_name = "IDENTITY", required = true)]
        identities: Vec<String>,
        #[command(flatten)]
        to: To,
    },
    /// Top up an account; sessions without quota are re-authorized
    TopUp {
        /// The account
        #[arg(value_name = "ACCOUNT")]
        account: u64,
        /// Amount in minor units (cents)
        #[arg(value_name = "AMOUNT")]
        amount: i64,
        /// Reason, for the ledger
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Unique key of the order: an order with the same key within a day is not executed twice
        #[arg(long, value_name = "TEXT")]
        key: Option<String>,
        #[command(flatten)]
        to: To,
    },
    /// Adjust a balance by hand; cannot go below what is reserved
    Adjust {
        /// The account
        #[arg(value_name = "ACCOUNT")]
        account: u64,
        /// Amount in minor units (cents); negative to debit
        #[arg(value_name = "AMOUNT", allow_negative_numbers = true)]
        amount: i64,
        /// Reason, for the ledger
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
        /// Unique key of the order: an order with the same key within a day is not executed twice
        #[arg(long, value_name = "TEXT")]
        key: Option<String>,
        #[command(flatten)]
        to: To,
    },
    /// Add a bundle of its plan to an account
    Buy {
        /// The account
        #[arg(value_name = "ACCOUNT")]
        account: u64,
        /// Name of the bundle in the plan
        #[arg(value_name = "ALLOWANCE")]
        allowance: String,
        /// Unique key of the order: an order with the same key within a day is not executed twice
        #[arg(long, value_name = "TEXT")]
        key: Option<String>,
        #[command(flatten)]
        to: To,
    },
    /// End a session: grant no more units and ask its client to end it (ASR)
    Abort {
        /// Session-Id
        #[arg(value_name = "SESSION")]
        session: String,
        #[command(flatten)]
        to: To,
    },
    /// Show an account by number, a subscriber by identity (imsi:..), or a session by Session-Id
    Show {
        /// Account number, identity or Session-Id
        #[arg(value_name = "WHICH")]
        which: String,
        #[command(flatten)]
        to: To,
    },
    /// Promote the standby to leader after all committed entries
    Switch {
        #[command(flatten)]
        to: To,
    },
    /// Delete old ledger entries; balances, and entries that records or a start need, are kept
    Retain {
        /// Entries before this number, or before this time (2026-11-01, 2026-11-01T10:00Z)
        #[arg(long, value_name = "ENTRY|TIME", value_parser = until)]
        before: Until,
        #[command(flatten)]
        to: To,
    },
    /// Remove an identity from the directory cache; the next request looks it up again
    Forget {
        /// e164:.., imsi:.., sip:.., nai:.. or private:..
        identity: String,
        #[command(flatten)]
        to: To,
    },
    /// Tell how many there are of everything, or how far a standby is; exit code 3 if its stream is away, or records
    /// wait
    Status {
        #[command(flatten)]
        to: To,
    },
}

/// Up to where entries go.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// The first that stays.
    Entry(u64),
    /// Seconds since 1970.
    Time(i64),
}

fn until(text: &str) -> Result<Until, String> {
    let entry = text.parse().map(Until::Entry);
    entry.or_else(|_| {
        crate::moment::span(text, &jiff::tz::TimeZone::system())
            .map(|(ns, _)| Until::Time(ns.div_euclid(1_000_000_000)))
    })
}

/// Which node, and how it is told.
#[derive(Clone, Debug, clap::Args)]
pub struct To {
    #[command(flatten)]
    place: Place,
    /// Print the reply as JSON
    #[arg(long)]
    json: bool,
}

impl Order {
    /// Has it done.
    ///
    /// # Errors
    /// What the node says against it; no node serves.
    pub fn run(&self) -> Result<Exit, Failure> {
        let (order, to) = self.line()?;
        let mut reply = to.place.node()?.order(&order)?;
        if matches!(self, Order::Retain { .. }) {
            reply = retained(to, &reply)?;
        }
        let mut out = stdout();
        if to.json {
            writeln!(out, "{reply}")?;
        } else {
            tell(&mut out, &reply)?;
        }
        out.flush()?;
        Ok(if is_unhealthy(&reply) { Exit::Degraded } else { Exit::Done })
    }

    fn line(&self) -> Result<(Value, &To), Failure> {
        Ok(match self {
            Order::Plan { file, to } => {
                let text =
                    std::fs::read_to_string(file).map_err(|e| Failure::Failed(format!("{}: {e}", file.display())))?;
                (json!({ "do": "plan", "text": text }), to)
            }
            Order::Open { account, plan, balance, credit, to } => {
                (json!({ "do": "open", "account": account, "plan": plan, "balance": balance, "credit": credit }), to)
            }
            Order::Account { account, plan, credit, to } => {
                (json!({ "do": "account", "account": account, "plan": plan, "credit": credit }), to)
            }
            Order::Subscriber { subscriber, account, identities, to } => {
                let who = json!({ "subscriber": subscriber, "account": account, "identities": identities });
                (named("subscriber", who), to)
            }
            Order::TopUp { account, amount, note, key, to } => {
                (json!({ "do": "top-up", "account": account, "amount": amount, "note": note, "key": key }), to)
            }
            Order::Adjust { account, amount, note, key, to } => {
                (json!({ "do": "adjust", "account": account, "amount": amount, "note": note, "key": key }), to)
            }
            Order::Buy { account, allowance, key, to } => {
                (json!({ "do": "buy", "account": account, "allowance": allowance, "key": key }), to)
            }
            Order::Abort { session, to } => (json!({ "do": "abort", "session": session }), to),
            Order::Show { which, to } => (show(which), to),
            Order::Switch { to } => (json!({ "do": "switch" }), to),
            Order::Retain { before, to } => {
                let order = match before {
                    Until::Entry(entry) => json!({ "do": "retain", "before": entry }),
                    Until::Time(time) => json!({ "do": "retain", "before_time": time }),
                };
                (order, to)
            }
            Order::Forget { identity, to } => (json!({ "do": "forget", "identity": identity }), to),
            Order::Status { to } => (json!({ "do": "status" }), to),
        })
    }
}

/// Peers that the node connects to.
fn peer_lines(out: &mut impl Write, calls: &Value) -> std::io::Result<()> {
    for call in calls.as_array().into_iter().flatten() {
        let text = |key: &str| call[key].as_str().unwrap_or_default();
        let state = match text("state") {
            "down" => format!("down: {}; retry in {} s", text("why"), call["next_s"]),
            "came" => "open, by itself".to_owned(),
            "open" => format!("open at {}", text("address")),
            state => format!("{state} at {}", text("address")),
        };
        writeln!(out, "peer            {}  {state}", text("host"))?;
    }
    Ok(())
}

/// Whether a node tells that its stream is away, or that records wait.
fn is_unhealthy(reply: &Value) -> bool {
    let is_away = reply.get("away").is_some_and(|away| !away.is_null()) || reply["stream"]["current"] == false;
    let records = &reply["records"];
    is_away || records["failure"].is_string() || records["holds"] == true
}

/// Waits until entries were given up; the result.
fn retained(to: &To, begun: &Value) -> Result<Value, Failure> {
    let mut node = to.place.node()?;
    loop {
        std::thread::park_timeout(std::time::Duration::from_millis(200));
        let status = node.order(&json!({ "do": "status" }))?;
        let retain = &status["retain"];
        if retain["done"] == begun["done"] {
            continue;
        }
        return match retain["error"].as_str() {
            Some(why) => Err(Failure::Failed(why.to_owned())),
            None => Ok(json!({ "first": retain["first"], "needed_by_records": retain["needed_by_records"] })),
        };
    }
}

/// An order with its name.
fn named(name: &str, mut order: Value) -> Value {
    order["do"] = name.into();
    order
}

fn show(which: &str) -> Value {
    let kinds = ["imsi:", "e164:", "sip:", "sips:", "nai:", "private:"];
    match which.parse::<u64>() {
        Ok(account) => json!({ "do": "show-account", "account": account }),
        Err(_) if kinds.iter().any(|kind| which.starts_with(kind)) => {
            json!({ "do": "show-subscriber", "identity": which })
        }
        Err(_) => json!({ "do": "show-session", "session": which }),
    }
}

/// A reply for people: a line for each thing that is told.
fn tell(out: &mut impl Write, reply: &Value) -> std::io::Result<()> {
    if reply["stands_by"] == true {
        return standby_lines(out, reply);
    }
    if let Some(sequence) = reply.get("sequence").filter(|_| reply.get("accounts").is_none()) {
        let before = if reply["again"] == true { "done before: " } else { "done, " };
        writeln!(out, "{before}entry {sequence} of the ledger")?;
    }
    if let Some(subscriber) = reply.get("subscriber").filter(|_| reply.get("identities").is_some()) {
        let names: Vec<&str> = reply["identities"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        writeln!(out, "subscriber {subscriber}  {}", names.join("  "))?;
    }
    for account in [reply, &reply["account"]].into_iter().filter(|value| value.get("balance").is_some()) {
        account_lines(out, account)?;
    }
    if let Some(first) = reply.get("first") {
        writeln!(out, "the ledger now starts with entry {first}")?;
    }
    if let Some(forgotten) = reply["forgotten"].as_str() {
        writeln!(out, "removed {forgotten} from the directory cache")?;
    }
    if reply.get("session").is_some() {
        session_lines(out, reply, &|amount| format!("{amount} minor units"))?;
    }
    if reply.get("accounts").is_some() {
        let plans = reply["plans"].as_array().into_iter().flatten();
        let plans: Vec<String> = plans
            .map(|plan| format!("{} (version {})", plan["name"].as_str().unwrap_or("?"), plan["version"]))
            .collect();
        let plans =
            if plans.is_empty() { "none yet: `trunkline charge plan FILE`".to_owned() } else { plans.join(", ") };
        writeln!(out, "plans           {plans}")?;
        writeln!(out, "accounts        {}", reply["accounts"])?;
        writeln!(out, "open sessions   {}", reply["open_sessions"])?;
        writeln!(out, "ledger entries  {}", reply["sequence"])?;
        writeln!(out, "unrated reports {}", reply["unrated"])?;
        connection_lines(out, &reply["connections"])?;
        peer_lines(out, &reply["calls"])?;
        record_lines(out, &reply["records"])?;
        directory_lines(out, &reply["directory"])?;
    }
    if let Some(stream) = reply.get("stream") {
        let away = if stream["current"] == false { ", which is disconnected: nothing is granted" } else { "" };
        writeln!(out, "on the stream   {}{away}", stream["acknowledged"])?;
    }
    Ok(())
}

/// Connections; what became of handshakes of TLS, where there were any.
fn connection_lines(out: &mut impl Write, all: &Value) -> std::io::Result<()> {
    if all.is_null() {
        return Ok(());
    }
    let refused = if all["refused"] == 0 { String::new() } else { format!(", {} refused", all["refused"]) };
    writeln!(out, "connections     {}{refused}", all["open"])?;
    let [done, open, failed, late] =
        ["handshakes", "handshakes_open", "handshakes_failed", "handshakes_late"].map(|key| all[key].as_u64());
    if [done, open, failed, late].iter().all(|count| count.unwrap_or(0) == 0) {
        return Ok(());
    }
    let [done, open, failed, late] = [done, open, failed, late].map(Option::unwrap_or_default);
    writeln!(out, "TLS handshakes  {done} done, {open} going on, {failed} failed, {late} too late")
}

fn standby_lines(out: &mut impl Write, reply: &Value) -> std::io::Result<()> {
    let leader = reply["leader"].as_str().unwrap_or("an unknown node");
    writeln!(out, "standby; leader {leader}, term {}", reply["term"])?;
    writeln!(out, "ledger entries  {}", reply["sequence"])?;
    record_lines(out, &reply["records"])?;
    reply["away"].as_str().map_or(Ok(()), |why| writeln!(out, "the stream is disconnected: {why}"))
}

fn record_lines(out: &mut impl Write, records: &Value) -> std::io::Result<()> {
    if records.is_null() {
        return writeln!(out, "records         none are made");
    }
    let (made, open, files) = (&records["records"], &records["open"], &records["files"]);
    writeln!(out, "records         {made} in {files} closed files and an open one, {open} are open")?;
    writeln!(out, "records behind  {} entries of the ledger", records["behind"])?;
    if records["holds"] == true {
        writeln!(out, "                no new sessions until they have caught up")?;
    }
    if let Some(why) = records["failure"].as_str() {
        writeln!(out, "records wait    {why}")?;
    }
    sent_lines(out, &records["sent_on"])
}

fn sent_lines(out: &mut impl Write, sent: &Value) -> std::io::Result<()> {
    if sent.is_null() {
        return Ok(());
    }
    let (file, octets, packets) = (&sent["file"], &sent["octets"], &sent["packets"]);
    let waiting = &sent["waiting_octets"];
    writeln!(
        out,
        "sent on         file {file} up to octet {octets}, {packets} packets in flight, {waiting} octets waiting"
    )?;
    for gateway in sent["gateways"].as_array().into_iter().flatten() {
        let (address, up) = (gateway["address"].as_str().unwrap_or("?"), gateway["up"] == true);
        writeln!(out, "gateway         {address}  {}", if up { "up" } else { "silent" })?;
    }
    if sent["refused"] != 0 {
        let (count, cause) = (&sent["refused"], &sent["cause"]);
        writeln!(
            out,
            "                {count} packets were rejected, the first with {cause}: `trunkline charge refused`"
        )?;
    }
    if sent["gone_files"] != 0 {
        writeln!(out, "                {} files were deleted before they were sent", sent["gone_files"])?;
    }
    match sent["failure"].as_str() {
        Some(why) => writeln!(out, "not sent on     {why}"),
        None => Ok(()),
    }
}

fn directory_lines(out: &mut impl Write, directory: &Value) -> std::io::Result<()> {
    for server in directory["servers"].as_array().into_iter().flatten() {
        let (address, trouble) = (server["address"].as_str().unwrap_or("?"), server["trouble"].as_str().unwrap_or(""));
        match server["up"] == true {
            true => writeln!(out, "directory       {address}  up  {} in flight", server["in_flight"])?,
            false => writeln!(out, "directory       {address}  down: {trouble}")?,
        }
    }
    match directory.get("remembered") {
        Some(remembered) => writeln!(out, "remembered      {remembered} profiles"),
        None => Ok(()),
    }
}

fn account_lines(out: &mut impl Write, account: &Value) -> std::io::Result<()> {
    let currency = account["currency"].as_str().unwrap_or("");
    let decimals = account["decimals"].as_u64().unwrap_or(0) as u32;
    let money = |minor: i64| amount(minor, decimals, currency);
    let of = |name: &str| money(account[name].as_i64().unwrap_or(0));
    let (plan, number) = (account["plan"].as_str().unwrap_or("?"), &account["number"]);
    let (balance, reserved, credit) = (of("balance"), of("reserved"), of("credit"));
    writeln!(out, "account {number}  plan {plan}  balance {balance}  reserved {reserved}  credit {credit}")?;
    for bundle in account["allowances"].as_array().into_iter().flatten() {
        let until = moment(&bundle["ends"]);
        writeln!(out, "  allowance  left {} units  reserved {}  until {until}", bundle["left"], bundle["reserved"])?;
    }
    account["sessions"].as_array().into_iter().flatten().try_for_each(|session| session_lines(out, session, &money))
}

fn session_lines(out: &mut impl Write, session: &Value, money: &dyn Fn(i64) -> String) -> std::io::Result<()> {
    let (name, origin) = (session["session"].as_str().unwrap_or("?"), session["origin"].as_str().unwrap_or("?"));
    let ends = if session["aborting"] == true { "  is to end" } else { "" };
    writeln!(out, "  session {name}  of {origin}  expires at {}{ends}", moment(&session["deadline"]))?;
    for service in session["services"].as_array().into_iter().flatten() {
        let named = |key: &str, word: &str| service[key].as_u64().map(|number| format!("{word} {number}  "));
        let key = [named("rating_group", "rating group"), named("service", "service")];
        let key: String = key.into_iter().flatten().collect();
        let granted = &service["granted"];
        let what = match granted["units"].as_u64().filter(|units| *units > 0) {
            Some(units) => format!("{units} units granted for {}", money(granted["money"].as_i64().unwrap_or(0))),
            None => "nothing granted".to_owned(),
        };
        writeln!(out, "    {key}{what}")?;
    }
    Ok(())
}

/// `12.34 EUR`.
fn amount(minor: i64, decimals: u32, currency: &str) -> String {
    let (unit, digits) = (10_u64.pow(decimals.min(6)), decimals.min(6) as usize);
    let (sign, minor) = (if minor < 0 { "-" } else { "" }, minor.unsigned_abs());
    let rest = if digits == 0 { String::new() } else { format!(".{:0digits$}", minor % unit) };
    format!("{sign}{}{rest} {currency}", minor / unit)
}

/// A moment as people read it; one that never comes.
fn moment(seconds: &Value) -> String {
    let ns = seconds.as_i64().and_then(|seconds| seconds.checked_mul(1_000_000_000));
    ns.map_or_else(|| "never".to_owned(), rfc3339)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_decimals_of_their_currency() {
        assert_eq!(amount(1234, 2, "EUR"), "12.34 EUR");
        assert_eq!(amount(-5, 2, "EUR"), "-0.05 EUR");
        assert_eq!(amount(500, 0, "JPY"), "500 JPY");
    }

    #[test]
    fn what_is_shown_is_told_by_its_form() {
        assert_eq!(show("17")["do"], "show-account");
        assert_eq!(show("imsi:00101")["do"], "show-subscriber");
        assert_eq!(show("pgw.example.org;1;2")["do"], "show-session");
    }
}
