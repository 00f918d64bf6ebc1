//! How many records become durable, and how long each takes: `commit_rate FOLDER [SECONDS [IN_FLIGHT [OCTETS]]]`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use trunkline_commit::{Committer, Folder, Log, Options, Progress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let folder = PathBuf::from(words.next().ok_or("commit_rate FOLDER [SECONDS [IN_FLIGHT [OCTETS]]]")?);
    let mut number = |otherwise: usize| words.next().map_or(Ok(otherwise), |word| word.parse());
    let (seconds, in_flight, octets) = (number(5)?, number(256)?, number(200)?);
    let options = Options::default();
    let log = Log::open(Arc::new(Folder::open(&folder)?), options, |_| Ok(()), |_, _| Ok(()))?;
    let durable = Arc::new((Mutex::new(log.next() - 1), Condvar::new()));
    let tell = Arc::clone(&durable);
    let committer = Committer::start(log, options, move |progress| match progress {
        Progress::Durable(last) => {
            *tell.0.lock().expect("nobody panics") = last;
            tell.1.notify_one();
        }
        other => eprintln!("{other:?}"),
    })?;
    let (record, begin) = (vec![7; octets], Instant::now());
    let (mut waiting, mut took) = (VecDeque::new(), Vec::new());
    while begin.elapsed() < Duration::from_secs(seconds as u64) {
        while waiting.len() < in_flight {
            waiting.push_back((committer.append(std::iter::once(&record[..]))?, Instant::now()));
        }
        let oldest = waiting.front().map_or(0, |(number, _)| *number);
        let held = durable.0.lock().expect("nobody panics");
        let last = *durable.1.wait_while(held, |last| *last < oldest).expect("nobody panics");
        while waiting.front().is_some_and(|(number, _)| *number <= last) {
            took.extend(waiting.pop_front().map(|(_, since)| since.elapsed()));
        }
    }
    let (seconds, counts) = (begin.elapsed().as_secs_f64(), committer.counts());
    took.sort();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!("{:.0} records/s, {:.0} groups/s", counts.records as f64 / seconds, counts.groups as f64 / seconds);
    println!("durable after: median {:?}, p99 {:?}, longest {:?}", at(0.5), at(0.99), at(1.0));
    Ok(())
}
