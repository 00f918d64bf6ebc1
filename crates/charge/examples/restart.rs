//! How long a start takes, and a fold, and what memory they need.
//!
//! `cargo run --release -p trunkline-charge --example restart make|open|fold|audit FOLDER [SESSIONS]`: `make` writes a
//! ledger with as many sessions of one rating group, folds it, and adds two updates of each; the others are timed.

mod million;

use core::error::Error;
use million::{NOW, request, resident, subscribe};
use mimalloc::MiMalloc;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use trunkline_charge::account::Entry;
use trunkline_charge::ledger;
use trunkline_charge::session::{Core, Limits};
use trunkline_commit::{Folder, Group, Log, Options, Refused};

/// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (what, folder) = (words.next().unwrap_or_default(), words.next().ok_or("make|open|fold|audit FOLDER")?);
    let count = words.next().map_or(Ok(1_000_000), |word| word.parse())?;
    let disk = Arc::new(Folder::open(&PathBuf::from(folder))?);
    let begin = Instant::now();
    let told = match what.as_str() {
        "make" => make(&disk, count)?,
        "open" => {
            let (core, log) = ledger::open(Arc::clone(&disk), Options::default(), Limits::default())?;
            format!("snapshot {}, then up to {}", log.found().snapshot, core.state().sequence())
        }
        "fold" => format!("{:?}", ledger::fold(&*disk)?),
        "audit" => format!("{:?}", ledger::audit(&*disk)?),
        _ => return Err("make|open|fold|audit FOLDER".into()),
    };
    let (now, most) = resident();
    println!("{what}: {told}; {:.2?}, {} MiB resident, at most {}", begin.elapsed(), now >> 20, most >> 20);
    Ok(())
}

fn make(disk: &Arc<Folder>, count: u64) -> Result<String, Box<dyn Error>> {
    let (mut core, log) = ledger::open(Arc::clone(disk), Options::default(), Limits::default())?;
    let mut writing = Writing { log, group: Group::new(&Options::default()) };
    subscribe(&mut core, count, |entry| writing.put(&entry));
    (0..count).for_each(|number| writing.take(&mut core, number, 0));
    writing.log.commit(&mut writing.group)?;
    ledger::fold(&**disk)?;
    for round in 1..3 {
        (0..count).for_each(|number| writing.take(&mut core, number, round));
    }
    writing.log.commit(&mut writing.group)?;
    Ok(format!("{} entries", core.state().sequence()))
}

struct Writing {
    log: Log<Folder>,
    group: Group,
}

impl Writing {
    fn take(&mut self, core: &mut Core, number: u64, round: u32) {
        let outcome = core.handle(&request(number, round, 1), NOW + i64::from(round) * 60);
        self.put(&outcome.entry.expect("a new request"));
    }

    fn put(&mut self, entry: &Entry) {
        let octets = entry.encode();
        if self.group.put(&octets) == Err(Refused::Waiting) {
            self.log.commit(&mut self.group).expect("a whole disk");
            self.group.put(&octets).expect("an empty group has room");
        }
    }
}
