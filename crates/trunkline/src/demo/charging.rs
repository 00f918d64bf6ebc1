//! A gateway for the demonstration's charging node: subscribers with money, sessions that ask for quota and use it,
//! messages, copies of requests; some run out of money, and now and then one pays. It is simulated, on loopback, and
//! bounded: some ten requests a second, and entries of the ledger that are hours old are given up.
//!
//! Test group: waits: for subscribers that are charged as time passes.

use crate::command::charge::place::{Control, Place};
use crate::failure::Failure;
use serde_json::json;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use trunkline_kit::random::Random;
use trunkline_load::charge as load;

/// The tariff plan of all.
const PLAN: &str = include_str!("plan.toml");
/// Subscribers, an account each.
const SUBSCRIBERS: u64 = 300;
/// The number of the first one, as the simulated network has them.
const FIRST_NUMBER: u64 = 442_079_460_000;
/// What an account begins with, in cents; one of so many has little.
const MONEY: i64 = 5000;
const LITTLE: (u64, i64) = (12, 25);
/// Who pays gets so much.
const TOP_UP: i64 = 1000;
/// Requests in a second, the time between those of a session, and messages among what begins.
const TRAFFIC: &[&str] = &["--requests-per-second", "8", "--interval", "15s", "--events", "0.1"];
/// Octets of a grant that are used, copies among the requests, and rating groups of the plan.
const USES: &[&str] = &["--usage", "100000-6000000", "--duplicates", "0.02", "--event-rating-group", "4"];
/// Somebody pays this often; this often old entries are given up.
const PAYS_EVERY: Duration = Duration::from_secs(60);
const GIVES_UP_EVERY: u64 = 30;
/// How old entries become.
pub const KEPT: Duration = Duration::from_secs(3 * 3600);

/// The traffic; it ends when this is dropped.
pub struct Gateway {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Gateway {
    /// Brings plan and subscribers to the node of this folder, and asks it at this address.
    ///
    /// # Errors
    /// The node does not take them; no thread can be started.
    pub fn start(data: &Path, at: SocketAddr, seed: u64) -> Result<Gateway, Failure> {
        let mut control = Place::of(data).node()?;
        fill(&mut control)?;
        let over = Arc::new(AtomicBool::new(false));
        let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let started = std::thread::Builder::new().name(name.to_owned()).spawn(work);
            started.map_err(|e| Failure::Failed(format!("a thread cannot be started: {e}")))
        };
        let mut gateway = Gateway { over: Arc::clone(&over), threads: Vec::new() };
        let seen = Arc::clone(&over);
        let plays = move || {
            if let Err(why) = load::play(&words(at, seed), &seen) {
                tracing::warn!("the gateway of the demonstration has ended: {why:?}");
            }
        };
        gateway.threads.push(thread("demo-gateway", Box::new(plays))?);
        let pays = move || {
            if let Err(why) = pay(&mut control, seed, &over) {
                tracing::warn!("nobody pays in the demonstration any more: {why:?}");
            }
        };
        gateway.threads.push(thread("demo-money", Box::new(pays))?);
        Ok(gateway)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Plan, accounts and subscribers, as far as they are not there.
fn fill(control: &mut Control) -> Result<(), Failure> {
    control.order(&json!({ "do": "plan", "text": PLAN }))?;
    for number in 1..=SUBSCRIBERS {
        let balance = if number % LITTLE.0 == 0 { LITTLE.1 } else { MONEY };
        control.send(number, &json!({ "do": "open", "account": number, "plan": "mobile", "balance": balance }))?;
        let identities = [format!("imsi:{}", imsi(number)), format!("e164:{}", FIRST_NUMBER + number)];
        let subscriber =
            json!({ "do": "subscriber", "subscriber": number, "account": number, "identities": identities });
        control.send(number, &subscriber)?;
    }
    // An account that is there is the one of the run before, in a folder that stays.
    while control.rest()?.is_some() {}
    Ok(())
}

fn imsi(number: u64) -> String {
    format!("23450{number:010}")
}

/// What the gateway does, as options of `trunkline charge load`.
fn words(at: SocketAddr, seed: u64) -> Vec<String> {
    let who = format!("{}..{}", imsi(1), imsi(SUBSCRIBERS));
    let own = [&at.to_string(), "--subscribers", &who, "--subscription", "imsi", "--seed", &seed.to_string()];
    let names = ["--origin", "pgw", "--realm", "demo.example", "--connections", "2", "--network", "23450"];
    own.iter().chain(&names).chain(TRAFFIC).chain(USES).map(|word| (*word).to_owned()).collect()
}

/// Has somebody pay now and then, and old entries given up.
fn pay(control: &mut Control, seed: u64, over: &AtomicBool) -> Result<(), Failure> {
    let mut chance = Random::new(seed, 1);
    for minute in 1u64.. {
        std::thread::park_timeout(PAYS_EVERY);
        if over.load(Ordering::Relaxed) {
            break;
        }
        let account = 1 + u64::from(chance.below(SUBSCRIBERS as u32));
        let note = format!("voucher {:06}", chance.below(1_000_000));
        control.order(&json!({ "do": "top-up", "account": account, "amount": TOP_UP, "note": note }))?;
        if minute % GIVES_UP_EVERY == 0 {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(KEPT);
            // One that is being given up still is reason enough to wait.
            let _ = control.order(&json!({ "do": "retain", "before_time": since.as_secs() }));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::{configured, here::Running};
    use crate::eventually::awaited;
    use crate::run::config::{Cdr, Charge, ChargeGtpp, DirectorySection, Door};
    use trunkline_job::{Figure, Job};

    #[test]
    fn subscribers_are_charged_and_some_run_out_of_money() {
        let folder = tempfile::tempdir().unwrap();
        let listen = vec![Door::Tcp("127.0.0.1:0".parse().unwrap())];
        let (host, realm) = ("ocs.demo.example".to_owned(), "demo.example".to_owned());
        let section = Charge { listen, host, realm, threads: 1, ..Charge::default() };
        let (gtpp, directory) = (ChargeGtpp::default(), DirectorySection::default());
        let opened = configured::open(&section, &gtpp, &directory, folder.path()).unwrap().unwrap();
        let node = configured::start(opened, &section, &Cdr::default(), folder.path()).unwrap();
        let running = Running::new(node);
        let at = running.address().unwrap();
        let gateway = Gateway::start(folder.path(), at, 7).unwrap();
        awaited("there are 60 requests", || match running.figures() {
            figures if matches!(figures[0], Figure::PerSecond("requests/s", 60..)) => Ok(()),
            figures => Err(figures),
        });
        let figures = running.figures();
        assert!(matches!(figures[3], Figure::Level("sessions", 1..)), "{figures:?}");
        let mut control = Place::of(folder.path()).node().unwrap();
        let status = control.order(&json!({ "do": "status" })).unwrap();
        assert_eq!((&status["accounts"], &status["unrated"]), (&json!(SUBSCRIBERS), &json!(0)), "{status}");
        let poor = control.order(&json!({ "do": "show-account", "account": LITTLE.0 })).unwrap();
        assert!(poor["balance"].as_i64().unwrap() <= LITTLE.1, "{poor}");
        // What is there already stays as it is.
        drop(gateway);
        drop(Gateway::start(folder.path(), at, 8).unwrap());
        assert_eq!(running.stop(), Vec::<String>::new());
    }
}
