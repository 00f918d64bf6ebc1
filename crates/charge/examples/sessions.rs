//! How many updates a core takes on one thread, and what a million sessions need.
//!
//! `cargo run --release -p trunkline-charge --example sessions [SESSIONS [GROUPS]]`: each of as many subscribers opens
//! a session with one rating group, or several, and updates it several times; entries are encoded as for the disk.
//! Prints requests a second and octets of memory (resident, of /proc/self/status).

mod million;

use million::{NOW, request, resident, subscribe};
use mimalloc::MiMalloc;
use std::time::Instant;
use trunkline_charge::account::Entry;
use trunkline_charge::session::{Core, Limits, Request};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const ROUNDS: u32 = 4;

fn main() {
    let mut words = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (count, groups) = (words.next().unwrap_or(1_000_000u64), words.next().unwrap_or(1) as u32);
    let mut core = Core::new(Limits::default());
    let empty = resident().0;
    subscribe(&mut core, count, drop);
    let subscribed = resident().0;
    let mut octets = 0;
    for round in 0..ROUNDS {
        let requests: Vec<Request> = (0..count.min(20_000)).map(|number| request(number, round, groups)).collect();
        let now = NOW + i64::from(round) * 60;
        let begin = Instant::now();
        let entries: Vec<Entry> = requests.iter().filter_map(|request| core.handle(request, now).entry).collect();
        rate(if round == 0 { "first requests" } else { "updates" }, requests.len(), begin);
        let begin = Instant::now();
        octets += entries.iter().map(|entry| entry.encode().len()).sum::<usize>();
        rate("encoding", entries.len(), begin);
        // The rest in smaller parts, so that requests are no part of the memory.
        for number in requests.len() as u64..count {
            octets += take(&mut core, &request(number, round, groups), now);
        }
    }
    let all = resident().0;
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

fn rate(what: &str, count: usize, begin: Instant) {
    println!("{what}: {:.0} a second", count as f64 / begin.elapsed().as_secs_f64());
}
