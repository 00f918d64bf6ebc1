//! How many updates a core takes on one thread, and what a million sessions need.
//!
//! `cargo run --release -p trunkline-charge --example sessions [SESSIONS]`: each of as many subscribers opens a session
//! with one rating group and updates it several times; entries are encoded as for the disk. Prints requests a second
//! and octets of memory (resident, of /proc/self/statm).

use mimalloc::MiMalloc;
use std::time::Instant;
use trunkline_charge::account::{Entry, Identity, IdentityKind, MoneyReason, ServiceKey};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Asked, Core, Kind, Limits, Request, Used};
use trunkline_charge::units::{Amounts, Unit};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const NOW: i64 = 1_795_514_400;
const ROUNDS: u32 = 4;
const PLAN: &str = r#"
[plan]
name = "standard"
time-zone = "Europe/Paris"
[[version]]
from = "2026-01-01"
rule = [
  { name = "night", rating-groups = [1], times = ["22:00-06:00"], step = "1 KiB", price = "0.01", validity = "1 h" },
  { name = "data", rating-groups = [1], apns = ["internet"], step = "1 KiB", price = "0.02", validity = "1 h" },
]
"#;

fn main() {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1_000_000u64);
    let mut core = Core::new(Limits::default());
    core.set_plan(PLAN, NOW).unwrap_or_else(|mistakes| panic!("{mistakes:?}"));
    let empty = resident();
    for number in 0..count {
        let imsi = Identity::new(IdentityKind::Imsi, &format!("00101{number:010}"));
        core.set_account(number, "standard", Money::ZERO, NOW).expect("an account");
        core.set_subscriber(number, number, vec![imsi], NOW).expect("a subscriber");
        core.add_money(number, MoneyReason::TopUp, Money(100_000), "", NOW).expect("a top-up");
    }
    let subscribed = resident();
    let mut octets = 0;
    for round in 0..ROUNDS {
        let kind = if round == 0 { Kind::Initial } else { Kind::Update };
        let requests: Vec<Request> = (0..count.min(20_000)).map(|number| request(number, kind, round)).collect();
        let now = NOW + i64::from(round) * 60;
        let begin = Instant::now();
        let entries: Vec<Entry> = requests.iter().filter_map(|request| core.handle(request, now).entry).collect();
        rate(kind, requests.len(), begin);
        let begin = Instant::now();
        octets += entries.iter().map(|entry| entry.encode().len()).sum::<usize>();
        rate("encoding", entries.len(), begin);
        // The rest in smaller parts, so that requests are no part of the memory.
        for number in requests.len() as u64..count {
            octets += take(&mut core, &request(number, kind, round), now);
        }
    }
    let all = resident();
    println!(
        "{count} sessions: {} octets each, of which account and subscriber {}; entries {octets} octets",
        (all - empty) / count,
        (subscribed - empty) / count
    );
}

fn take(core: &mut Core, request: &Request, now: i64) -> usize {
    let outcome = core.handle(request, now);
    assert_eq!(outcome.answer.services[0].code, 2001);
    outcome.entry.map_or(0, |entry| entry.encode().len())
}

fn request(number: u64, kind: Kind, round: u32) -> Request {
    let used = Used { amounts: Amounts::of(Unit::Octets, 1 << 20), side: None };
    Request {
        session: format!("pgw01.epc.mnc001.mcc001.3gppnetwork.org;1795514400;{number}").into(),
        origin: "pgw01.epc.mnc001.mcc001.3gppnetwork.org".into(),
        end_to_end: number as u32,
        number: round,
        kind,
        identities: vec![Identity::new(IdentityKind::Imsi, &format!("00101{number:010}"))],
        place: (kind == Kind::Initial).then(|| trunkline_charge::account::Place {
            apn: "internet".into(),
            ..trunkline_charge::account::Place::default()
        }),
        services: vec![Asked {
            key: ServiceKey { rating_group: Some(1), service: None },
            requested: Some(Amounts::default()),
            used: if kind == Kind::Initial { vec![] } else { vec![used] },
        }],
        facts: Box::default(),
    }
}

fn rate(what: impl core::fmt::Debug, count: usize, begin: Instant) {
    println!("{what:?}: {:.0} a second", count as f64 / begin.elapsed().as_secs_f64());
}

/// Octets of memory, in pages of 4 KiB.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0u64) * 4096
}
