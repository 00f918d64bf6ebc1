//! The charging node of this process, as the status line and metrics see it.

use super::rows::{Done, Rows};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_charge::job::records::Told;
use trunkline_charge::job::{Counts, Node};
use trunkline_kit::metrics::Sample;
use trunkline_net::ThreadsFailed;

/// A node that runs here.
pub struct Running {
    node: Mutex<Node>,
    records: Option<Arc<Told>>,
    rows: Mutex<Option<Rows>>,
}

/// Totals and levels for the status line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Credit-control requests.
    pub requests: u64,
    /// Of these, copies.
    pub copies: u64,
    /// Refused because the disk or memory did not keep up.
    pub busy: u64,
    /// Open sessions.
    pub sessions: u64,
}

impl Running {
    /// A node that was started, and what brings rows of its records into the store.
    pub fn new(node: Node, rows: Option<Rows>) -> Self {
        let records = node.records().cloned();
        Running { node: Mutex::new(node), records, rows: Mutex::new(rows) }
    }

    fn with<T>(&self, does: impl FnOnce(&mut Node) -> T) -> T {
        does(&mut self.node.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Totals and levels.
    pub fn totals(&self) -> Totals {
        self.with(|node| {
            let Counts { initial, update, terminate, event, copies, answered_busy, .. } = node.counts();
            let sessions = node.look(|core| core.state().open_sessions()) as u64;
            Totals { requests: initial + update + terminate + event, copies, busy: answered_busy, sessions }
        })
    }

    /// Its metrics.
    pub fn samples(&self) -> Vec<Sample> {
        self.with(|node| {
            let levels = |core: &trunkline_charge::session::Core| {
                let state = core.state();
                (state.account_count(), state.open_sessions(), state.unrated())
            };
            let (accounts, sessions, unrated) = node.look(levels);
            let counts = node.counts();
            let mut samples: Vec<Sample> =
                counts.list().iter().map(|one| Sample::counter(one.name, one.help, one.value)).collect();
            samples.push(Sample::gauge("trunkline_charge_accounts", "accounts", accounts as f64));
            samples.push(Sample::gauge("trunkline_charge_sessions", "open sessions", sessions as f64));
            let help = "reports of usage without a price or a session";
            samples.push(Sample::counter("trunkline_charge_unrated_total", help, unrated));
            if let Some((counts, (held, held_octets))) = node.gateway() {
                samples.extend(counts.list().iter().map(|one| Sample::counter(one.name, one.help, one.value)));
                let help = "packets of records that are held apart";
                samples.push(Sample::gauge("trunkline_charge_gateway_held_packets", help, held as f64));
                let help = "octets of packets that are held apart";
                samples.push(Sample::gauge("trunkline_charge_gateway_held_octets", help, held_octets as f64));
            }
            samples.extend(node.directory().iter().flat_map(|directory| directory.samples()));
            samples
        })
        .into_iter()
        .chain(self.records.iter().flat_map(|told| records(told)))
        .chain(self.rows.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(|rows| of_rows(rows.done())))
        .collect()
    }

    /// What is wrong and does not end it, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if let Some(told) = &self.records {
            troubles.extend(told.report().failure.map(|why| format!("charging records cannot be written: {why}")));
            if told.holds() {
                let behind = told.behind();
                troubles.push(format!("charging records are {behind} ledger entries behind: no session begins"));
            }
        }
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = rows.as_ref().and_then(|rows| rows.done().failure());
        troubles.extend(failure.map(|why| format!("rows of charging records wait on disk: {why}")));
        troubles
    }

    /// Why nothing is answered any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.with(|node| node.failure())
    }

    /// Ends it: what came is answered.
    ///
    /// # Errors
    /// Threads of it failed.
    pub fn stop(&self) -> Result<(), ThreadsFailed> {
        let stopped = self.with(Node::stop);
        // What the records wrote last is brought, too.
        drop(self.rows.lock().unwrap_or_else(PoisonError::into_inner).take());
        stopped
    }
}

/// Metrics of records.
fn records(told: &Told) -> Vec<Sample> {
    let report = told.report();
    let state = [
        (
            "trunkline_charge_cdr_behind_entries",
            "ledger entries whose records are not on disk yet",
            told.behind() as f64,
        ),
        ("trunkline_charge_cdr_open_records", "open records, as of the last checkpoint", report.open as f64),
        (
            "trunkline_charge_cdr_holds_sessions",
            "1 while records are too far behind for a session to begin",
            f64::from(u8::from(told.holds())),
        ),
    ];
    let counters = [
        ("trunkline_charge_cdr_records_total", "charging data records made since the first entry", report.records),
        ("trunkline_charge_cdr_files_total", "record files closed", report.files),
        (
            "trunkline_charge_cdr_lost_total",
            "records whose open file was gone when it was to be written on",
            report.lost,
        ),
        ("trunkline_charge_cdr_failures_total", "times that record files could not be written", report.failures),
    ];
    let gauges = state.map(|(name, help, value)| Sample::gauge(name, help, value)).into_iter();
    gauges.chain(counters.map(|(name, help, value)| Sample::counter(name, help, value))).collect()
}

fn of_rows(done: &Done) -> Vec<Sample> {
    let value = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    [
        ("trunkline_charge_cdr_rows_total", "rows of records that the store has", &done.written),
        ("trunkline_charge_cdr_rows_failures_total", "times that the store took no rows of records", &done.failures),
        (
            "trunkline_charge_cdr_rows_lost_files_total",
            "files of rows that went before the store had them",
            &done.lost_files,
        ),
    ]
    .map(|(name, help, counter)| Sample::counter(name, help, value(counter)))
    .into()
}
