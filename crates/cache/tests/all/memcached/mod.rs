//! Random scripts of commands, played to memcached 1.6.18 and to our service: the answers are the same, octet for
//! octet, but for what [`compare`] lists with its reason.
//!
//! `TRUNKLINE_SCRIPTS=5000` plays more of them; a script that fails names its number, and
//! `TRUNKLINE_SCRIPT=number` plays it alone.
//!
//! Test group: waits: for expiry by the second, ours and memcached's.

pub mod compare;
mod directed;
mod leases;
pub mod oracle;
mod ours;
pub mod script;
mod statistics;

use compare::Relations;
use oracle::Oracle;
use ours::Ours;
use script::{Kind, Script};

/// Scripts of each kind that are played by default.
const SCRIPTS: u64 = 150;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn play_all(kind: Kind) {
    let Some(oracle) = Oracle::start(&[]) else {
        println!("SKIPPED: memcached 1.6.18 is not installed");
        return;
    };
    let mut ours = Ours::new();
    let mut relations = Relations::default();
    let numbers = match number("TRUNKLINE_SCRIPT") {
        Some(one) => one..one + 1,
        None => 0..number("TRUNKLINE_SCRIPTS").unwrap_or(SCRIPTS),
    };
    for number in numbers {
        let mut script = Script::new(kind, number);
        let mut client = oracle.connect();
        ours.connect();
        while let Some(batch) = script.next() {
            let told = ours.exchange(&relations.for_us(&batch), script.random());
            let expected = client.exchange(&relations.for_them(&batch), told.len(), ours.closed);
            if let Err(difference) = relations.compare(kind, &expected, &told) {
                let sent = String::from_utf8_lossy(&batch[..batch.len().min(300)]).into_owned();
                panic!("script {number} of {kind:?}, after {sent:?}: {difference}");
            }
            if ours.closed {
                break;
            }
        }
    }
}

#[test]
fn text() {
    play_all(Kind::Text);
}

#[test]
fn meta() {
    play_all(Kind::Meta);
}

#[test]
fn binary() {
    play_all(Kind::Binary);
}
