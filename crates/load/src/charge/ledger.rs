//! What was reported as used and what was granted, request by request: the client's side of the truth, to be compared
//! with the server's ledger.

use super::answer::{Given, Unit};
use super::exchanges::Exchange;
use super::kind::is_success;
use super::plan::Plan;
use super::sessions::Grant;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Subscribers that have a line with their sums at the end.
pub const SUBSCRIBERS_MAX: u32 = 10_000_000;
/// Octets that a thread gathers before it writes.
const GATHERED_OCTETS: usize = 64 << 10;

/// The file, and the first thing that went wrong with it.
#[derive(Debug)]
pub struct Ledger {
    file: Mutex<(File, Option<io::Error>)>,
}

impl Ledger {
    /// Into a file that is empty.
    pub fn new(file: File) -> Self {
        Ledger { file: Mutex::new((file, None)) }
    }

    /// That everything is in the file, once the threads are over.
    ///
    /// # Errors
    /// It could not be written.
    pub fn end(self) -> io::Result<()> {
        let (file, error) = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map_or_else(|| file.sync_all(), Err)
    }
}

/// The sums of a subscriber.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    requests: u32,
    unanswered: u32,
    acknowledged: u64,
    unacknowledged: u64,
    granted: u64,
}

/// A thread's part of it.
#[derive(Debug)]
pub struct Part<'a> {
    ledger: &'a Ledger,
    text: String,
    sums: Vec<Sums>,
    threads: usize,
    thread: usize,
}

impl<'a> Part<'a> {
    /// Of a thread, which has every n-th subscriber.
    pub fn new(ledger: &'a Ledger, plan: &Plan, thread: usize) -> Self {
        let own = (plan.subscribers.count() as usize).div_ceil(plan.threads);
        Part { ledger, text: String::new(), sums: vec![Sums::default(); own], threads: plan.threads, thread }
    }

    /// Notes what became of a request: its result, or that there was no answer.
    pub fn note(
        &mut self,
        plan: &Plan,
        exchange: &Exchange,
        session_id: Option<String>,
        used: &[Grant],
        given: &[Given],
        result: Option<u32>,
    ) {
        let acknowledged = result.is_some_and(is_success);
        let given = if result.is_some() { given } else { &[] };
        self.add(exchange.subscriber, used, given, result);
        let out = &mut self.text;
        out.push_str("{\"subscriber\":\"");
        plan.subscribers.push(exchange.subscriber, out);
        // Strings take everything; names hold nothing that JSON escapes (see the options).
        let _ = match session_id {
            Some(id) => write!(out, "\",\"session\":\"{id}\""),
            None => write!(out, "\",\"session\":null"),
        };
        let result = result.map_or("null".to_owned(), |code| code.to_string());
        let (number, letter, tries) = (exchange.number, exchange.kind.letter(), exchange.tries);
        let _ = write!(out, ",\"number\":{number},\"type\":\"{letter}\",\"result\":{result},\"tries\":{tries}");
        let _ = write!(out, ",\"acknowledged\":{acknowledged},\"services\":[");
        let mut services = Services { out, first: true };
        if exchange.session.is_some() {
            for (group, used) in plan.groups.iter().zip(used) {
                // What names no group is given to the only one.
                let its = |given: &&Given| given.group.is_none_or(|its| its == *group);
                services.push(*group, Some(used), given.iter().find(its));
            }
        } else {
            services.push(plan.event_group, None, given.first());
        }
        out.push_str("]}\n");
        if self.text.len() >= GATHERED_OCTETS {
            self.flush();
        }
    }

    fn add(&mut self, subscriber: u32, used: &[Grant], given: &[Given], result: Option<u32>) {
        let Some(sums) = self.sums.get_mut(subscriber as usize / self.threads) else { return };
        let used: u64 = used.iter().map(|used| used.units).sum();
        let acknowledged = result.is_some_and(is_success);
        sums.requests += 1;
        sums.unanswered += u32::from(result.is_none());
        *(if acknowledged { &mut sums.acknowledged } else { &mut sums.unacknowledged }) += used;
        sums.granted += given.iter().map(|given| given.units).sum::<u64>();
    }

    /// Writes what was gathered.
    pub fn flush(&mut self) {
        let mut file = self.ledger.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.1.is_none() {
            let written = file.0.write_all(self.text.as_bytes());
            file.1 = written.err();
        }
        self.text.clear();
    }

    /// Writes the sums of each subscriber who had a request.
    pub fn end(&mut self, plan: &Plan) {
        for at in 0..self.sums.len() {
            let Sums { requests, unanswered, acknowledged, unacknowledged, granted } = self.sums[at];
            if requests == 0 {
                continue;
            }
            let subscriber = (at * self.threads + self.thread) as u32;
            self.text.push_str("{\"subscriber\":\"");
            plan.subscribers.push(subscriber, &mut self.text);
            let _ = writeln!(
                self.text,
                "\",\"total\":true,\"requests\":{requests},\"unanswered\":{unanswered},\
                 \"acknowledged\":{acknowledged},\"unacknowledged\":{unacknowledged},\"granted\":{granted}}}"
            );
            if self.text.len() >= GATHERED_OCTETS {
                self.flush();
            }
        }
        self.flush();
    }
}

/// The services of a line.
struct Services<'t> {
    out: &'t mut String,
    first: bool,
}

impl Services<'_> {
    fn push(&mut self, group: u32, used: Option<&Grant>, given: Option<&Given>) {
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        let used_units = used.map_or(0, |used| used.units);
        let used_unit = used.map_or(Unit::Service, |used| used.unit).name();
        let granted = given.map_or(0, |given| given.units);
        let unit = given.map_or(used_unit, |given| given.unit.name());
        let result = given.map_or("null".to_owned(), |given| given.result.to_string());
        let _ = write!(
            self.out,
            "{comma}{{\"rating_group\":{group},\"used\":{used_units},\"used_unit\":\"{used_unit}\",\
             \"granted\":{granted},\"granted_unit\":\"{unit}\",\"result\":{result}}}"
        );
    }
}
