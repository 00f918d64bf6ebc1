//! Many subscribers, each with a session of one or two rating groups.
#![allow(dead_code, reason = "each example takes what it needs")]

use trunkline_charge::account::{Entry, Identity, IdentityKind, MoneyReason, Place, ServiceKey};
use trunkline_charge::money::Money;
use trunkline_charge::session::{Asked, Core, Kind, Request, Used};
use trunkline_charge::units::{Amounts, Unit};

pub const NOW: i64 = 1_795_514_400;
const PLAN: &str = r#"
[plan]
name = "standard"
time-zone = "Europe/Paris"
[[version]]
from = "2026-01-01"
rule = [
  { name = "night", rating-groups = [1], times = ["22:00-06:00"], step = "1 KiB", price = "0.01", validity = "1 h" },
  { name = "data", rating-groups = [1, 2], apns = ["internet"], step = "1 KiB", price = "0.02", validity = "1 h" },
]
"#;

/// Makes the plan, and so many accounts with a subscriber each.
pub fn subscribe(core: &mut Core, count: u64, mut written: impl FnMut(Entry)) {
    written(core.set_plan(PLAN, NOW).unwrap_or_else(|mistakes| panic!("{mistakes:?}")));
    for number in 0..count {
        written(core.set_account(number, "standard", Money::ZERO, NOW).expect("an account"));
        written(core.set_subscriber(number, number, vec![imsi(number)], NOW).expect("a subscriber"));
        written(core.add_money(number, MoneyReason::TopUp, Money(100_000), "", NOW).expect("a top-up"));
    }
}

fn imsi(number: u64) -> Identity {
    Identity::new(IdentityKind::Imsi, &format!("00101{number:010}"))
}

/// The request of a round: the first begins the session.
pub fn request(number: u64, round: u32, groups: u32) -> Request {
    let kind = if round == 0 { Kind::Initial } else { Kind::Update };
    let used = Used { amounts: Amounts::of(Unit::Octets, 1 << 20), side: None };
    let service = |group| Asked {
        key: ServiceKey { rating_group: Some(group), service: None },
        requested: Some(Amounts::default()),
        used: if kind == Kind::Initial { vec![] } else { vec![used] },
    };
    Request {
        session: format!("pgw01.epc.mnc001.mcc001.3gppnetwork.org;1795514400;{number}").into(),
        origin: "pgw01.epc.mnc001.mcc001.3gppnetwork.org".into(),
        end_to_end: number as u32,
        number: round,
        kind,
        identities: vec![imsi(number)],
        place: (kind == Kind::Initial).then(|| Place { apn: "internet".into(), ..Place::default() }),
        services: (1..=groups).map(service).collect(),
        correlation: Box::default(),
        facts: if kind == Kind::Initial { [7; 64].into() } else { Box::default() },
    }
}

/// Octets of memory: resident now, and at most so far.
pub fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0u64) * 1024
    };
    (of("VmRSS:"), of("VmHWM:"))
}
