//! The charging node of this process, as the status line and metrics see it.

use super::records;
use super::rows::{Done, Rows, To};
use super::seat::Seat;
use crate::failure::Failure;
use crate::run::config::Cdr;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use trunkline_charge::job::records::Told;
use trunkline_charge::job::{Counts, Forwarded, Node, Stream};
use trunkline_kit::counters::Counted;
use trunkline_kit::metrics::Sample;
use trunkline_net::ThreadsFailed;

/// A node that runs here.
pub struct Running {
    place: Place,
    records: Option<Arc<Told>>,
    rows: Mutex<Option<Rows>>,
}

enum Place {
    /// A node by itself.
    Alone(Box<Mutex<Node>>),
    /// One of several.
    Seat(Seat),
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
    /// A node that was started.
    pub fn new(node: Node) -> Self {
        let records = node.records().cloned();
        Running { place: Place::Alone(Box::new(Mutex::new(node))), records, rows: Mutex::default() }
    }

    /// A node that stands by for others, or they for it.
    pub fn of(seat: Seat) -> Self {
        let records = Some(Arc::clone(seat.records()));
        Running { place: Place::Seat(seat), records, rows: Mutex::default() }
    }

    /// Begins to bring rows of its records into the store, where it makes some and they are wanted.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn bring_rows(&self, cdr: &Cdr, data: &Path, to: To) -> Result<(), Failure> {
        let Some(told) = &self.records else { return Ok(()) };
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = records::rows(cdr, data, told, to)?;
        Ok(())
    }

    /// Does something with the node that serves; none while it stands by.
    fn with<T>(&self, does: impl FnOnce(&mut Node) -> T) -> Option<T> {
        match &self.place {
            Place::Alone(node) => Some(does(&mut node.lock().unwrap_or_else(PoisonError::into_inner))),
            Place::Seat(seat) => seat.node().as_mut().map(does),
        }
    }

    /// Where it listens first, by TCP; none while it stands by.
    pub fn address(&self) -> Option<SocketAddr> {
        self.with(|node| node.addresses().first().copied().flatten()).flatten()
    }

    /// Totals and levels.
    pub fn totals(&self) -> Totals {
        self.with(|node| {
            let Counts { initial, update, terminate, event, copies, answered_busy, .. } = node.counts();
            let sessions = node.look(|core| core.state().open_sessions()) as u64;
            Totals { requests: initial + update + terminate + event, copies, busy: answered_busy, sessions }
        })
        .unwrap_or_default()
    }

    /// Its metrics.
    pub fn samples(&self) -> Vec<Sample> {
        let served = self.with(|node| {
            let levels = |core: &trunkline_charge::session::Core| {
                let state = core.state();
                (state.account_count(), state.open_sessions(), state.unrated(), state.debits_forgotten())
            };
            let (accounts, sessions, unrated, forgotten) = node.look(levels);
            let counts = node.counts();
            let mut samples: Vec<Sample> =
                counts.list().iter().map(|one| Sample::counter(one.name, one.help, one.value)).collect();
            let calls = node.calls();
            if !calls.is_empty() {
                let up = calls.iter().filter(|call| call.why.is_none()).count();
                let help = "peers that this node connects to";
                samples.push(Sample::gauge("trunkline_charge_called_peers", help, calls.len() as f64));
                let help = "of these, those that are connected";
                samples.push(Sample::gauge("trunkline_charge_called_peers_up", help, up as f64));
            }
            samples.extend(of_net(node.net()));
            samples.push(Sample::gauge("trunkline_charge_accounts", "accounts", accounts as f64));
            samples.push(Sample::gauge("trunkline_charge_sessions", "open sessions", sessions as f64));
            let help = "reports of usage without a price or a session";
            samples.push(Sample::counter("trunkline_charge_unrated_total", help, unrated));
            let help = "ended sessions dropped for lack of room while refunds were still possible";
            samples.push(Sample::counter("trunkline_charge_debits_forgotten_total", help, forgotten));
            if let Some((counts, (held, held_octets))) = node.gateway() {
                samples.extend(counts.list().iter().map(|one| Sample::counter(one.name, one.help, one.value)));
                let help = "packets of possibly duplicated records on hold";
                samples.push(Sample::gauge("trunkline_charge_gateway_held_packets", help, held as f64));
                let help = "octets of possibly duplicated records on hold";
                samples.push(Sample::gauge("trunkline_charge_gateway_held_octets", help, held_octets as f64));
            }
            samples.extend(node.replica_counts().iter().flat_map(|counts| counts.list()).map(counter));
            samples.extend(node.stream().iter().flat_map(of_stream));
            samples.extend(node.directory().iter().flat_map(|directory| directory.samples()));
            samples
        });
        let seat = match &self.place {
            Place::Alone(_) => Vec::new(),
            Place::Seat(seat) => of_seat(seat, served.is_some()),
        };
        [served.unwrap_or_default(), seat]
            .concat()
            .into_iter()
            .chain(self.records.iter().flat_map(|told| of_records(told)))
            .chain(self.records.iter().filter_map(|told| told.forwarded()).flat_map(|sent| sent_on(&sent)))
            .chain(
                self.rows.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(|rows| of_rows(rows.done())),
            )
            .collect()
    }

    /// What is wrong and does not end it, a sentence each.
    pub fn troubles(&self) -> Vec<String> {
        let mut troubles: Vec<String> = self.records.iter().flat_map(|told| told.troubles()).collect();
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let failure = rows.as_ref().and_then(Rows::failure);
        troubles.extend(failure.map(|why| format!("rows of charging records wait on disk: {why}")));
        troubles.extend(self.with(|node| node.troubles()).unwrap_or_default());
        troubles.extend(self.stream_trouble());
        troubles
    }

    /// Why nothing is answered any more, if so.
    pub fn failure(&self) -> Option<String> {
        match &self.place {
            Place::Alone(_) => self.with(|node| node.failure()).flatten(),
            Place::Seat(seat) => seat.failure(),
        }
    }

    /// What is not as it should be, though it goes on: the stream is away.
    fn stream_trouble(&self) -> Option<String> {
        let Place::Seat(seat) = &self.place else { return None };
        match self.with(|node| node.stream()) {
            Some(stream) => stream.and_then(|stream| stream.trouble()),
            None => {
                seat.seen().away.map(|why| format!("charging is on standby, and the stream is disconnected: {why}"))
            }
        }
    }

    /// Ends it: what came is answered.
    ///
    /// # Errors
    /// Threads of it failed.
    pub fn stop(&self) -> Result<(), ThreadsFailed> {
        match &self.place {
            Place::Alone(_) => {
                let stopped = self.with(Node::stop).unwrap_or(Ok(()));
                // What the records wrote last is brought, too.
                drop(self.rows.lock().unwrap_or_else(PoisonError::into_inner).take());
                stopped
            }
            Place::Seat(seat) => {
                seat.stop();
                drop(self.rows.lock().unwrap_or_else(PoisonError::into_inner).take());
                Ok(())
            }
        }
    }
}

/// Of connections: those of a cache beside it are counted apart, so that they have names of their own.
fn of_net((counts, gauges): (trunkline_net::Counts, trunkline_net::Gauges)) -> Vec<Sample> {
    let held = [
        ("trunkline_charge_connections", "connections that are open, handshakes included", gauges.connections),
        ("trunkline_charge_tls_handshakes_open", "handshakes of TLS that go on", gauges.handshakes),
    ];
    let counted = [
        (
            "trunkline_charge_connections_refused_total",
            "connections refused: too many, or not allowed",
            counts.refused(),
        ),
        ("trunkline_charge_tls_handshakes_total", "handshakes of TLS completed", counts.handshakes),
        ("trunkline_charge_tls_handshakes_failed_total", "handshakes of TLS that failed", counts.closed_handshake),
        (
            "trunkline_charge_tls_handshakes_late_total",
            "handshakes of TLS that took too long",
            counts.closed_handshake_late,
        ),
    ];
    let held = held.map(|(name, help, value)| Sample::gauge(name, help, value)).into_iter();
    held.chain(counted.map(|(name, help, value)| Sample::counter(name, help, value))).collect()
}

fn counter(one: Counted) -> Sample {
    Sample::counter(one.name, one.help, one.value)
}

fn of_stream(stream: &Stream) -> [Sample; 2] {
    let help = "whether the stream acknowledges entries; if not, nothing is granted";
    let waiting = "octets not yet acknowledged by the stream";
    [
        Sample::gauge("trunkline_charge_stream_current", help, f64::from(u8::from(stream.is_current))),
        Sample::gauge("trunkline_charge_stream_waiting_octets", waiting, stream.waiting_octets as f64),
    ]
}

fn of_seat(seat: &Seat, leads: bool) -> Vec<Sample> {
    let seen = seat.seen();
    vec![
        Sample::gauge("trunkline_charge_leads", "whether this node is the leader", f64::from(u8::from(leads))),
        Sample::gauge("trunkline_charge_term", "the newest term that this node knows of", seen.term as f64),
        Sample::gauge("trunkline_charge_standby_entry", "the last entry that a standby has", seen.sequence as f64),
        Sample::counter("trunkline_charge_leads_total", "times this node became leader", seat.led()),
    ]
}

/// Metrics of records.
fn of_records(told: &Told) -> Vec<Sample> {
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
            "1 while records are too far behind, so that no session starts",
            f64::from(u8::from(told.holds())),
        ),
    ];
    let counters = [
        ("trunkline_charge_cdr_records_total", "charging data records made since the first entry", report.records),
        ("trunkline_charge_cdr_files_total", "record files closed", report.files),
        ("trunkline_charge_cdr_lost_total", "records whose open file was missing", report.lost),
        ("trunkline_charge_cdr_failures_total", "times that record files could not be written", report.failures),
    ];
    let gauges = state.map(|(name, help, value)| Sample::gauge(name, help, value)).into_iter();
    gauges.chain(counters.map(|(name, help, value)| Sample::counter(name, help, value))).collect()
}

/// Metrics of records that are sent on.
fn sent_on(sent: &Forwarded) -> Vec<Sample> {
    let up = sent.gateways.iter().filter(|(_, up)| *up).count();
    let gauges = [
        ("trunkline_charge_sender_gateways", "charging gateways that records are sent to", sent.gateways.len() as f64),
        ("trunkline_charge_sender_gateways_up", "of these, gateways that are up", up as f64),
        ("trunkline_charge_sender_packets", "packets of records in flight", sent.packets as f64),
        ("trunkline_charge_sender_packets_kept_refused", "packets that a gateway refused", sent.refused as f64),
        ("trunkline_charge_sender_file", "the record file up to which records are sent on", f64::from(sent.file)),
        ("trunkline_charge_sender_waiting_octets", "octets of record files to be sent on", sent.waiting_octets as f64),
    ];
    let help = "record files deleted before they were sent, since the start";
    let gone = Sample::counter("trunkline_charge_sender_files_gone_total", help, sent.gone_files);
    let gauges = gauges.map(|(name, help, value)| Sample::gauge(name, help, value));
    gauges.into_iter().chain([gone]).chain(sent.counts.list().into_iter().map(counter)).collect()
}

fn of_rows(done: &Done) -> Vec<Sample> {
    let value = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    [
        ("trunkline_charge_cdr_rows_total", "rows of records that the store has", &done.written),
        ("trunkline_charge_cdr_rows_failures_total", "times the store rejected rows of records", &done.failures),
        (
            "trunkline_charge_cdr_rows_lost_files_total",
            "files of rows deleted before they were stored",
            &done.lost_files,
        ),
    ]
    .map(|(name, help, counter)| Sample::counter(name, help, value(counter)))
    .into()
}
