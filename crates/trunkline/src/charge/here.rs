//! The charging node of this process, as the status line and metrics see it.

use super::seat::Seat;
use std::sync::{Mutex, PoisonError};
use trunkline_charge::job::{Counts, Node, Stream};
use trunkline_kit::counters::Counted;
use trunkline_kit::metrics::Sample;
use trunkline_net::ThreadsFailed;

/// A node that runs here.
pub struct Running {
    place: Place,
}

enum Place {
    /// A node by itself.
    Alone(Mutex<Node>),
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
        Running { place: Place::Alone(Mutex::new(node)) }
    }

    /// A node that stands by for others, or they for it.
    pub fn of(seat: Seat) -> Self {
        Running { place: Place::Seat(seat) }
    }

    /// Does something with the node that serves; none while it stands by.
    fn with<T>(&self, does: impl FnOnce(&mut Node) -> T) -> Option<T> {
        match &self.place {
            Place::Alone(node) => Some(does(&mut node.lock().unwrap_or_else(PoisonError::into_inner))),
            Place::Seat(seat) => seat.node().as_mut().map(does),
        }
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
            let (accounts, sessions, unrated) = node
                .look(|core| (core.state().accounts().count(), core.state().open_sessions(), core.state().unrated()));
            let counts = node.counts();
            let mut samples: Vec<Sample> =
                counts.list().iter().map(|one| Sample::counter(one.name, one.help, one.value)).collect();
            samples.push(Sample::gauge("trunkline_charge_accounts", "accounts", accounts as f64));
            samples.push(Sample::gauge("trunkline_charge_sessions", "open sessions", sessions as f64));
            let help = "reports of usage without a price or a session";
            samples.push(Sample::counter("trunkline_charge_unrated_total", help, unrated));
            samples.extend(node.replica_counts().iter().flat_map(|counts| counts.list()).map(counter));
            samples.extend(node.stream().iter().flat_map(of_stream));
            samples.extend(node.directory().iter().flat_map(|directory| directory.samples()));
            samples
        });
        let seat = match &self.place {
            Place::Alone(_) => Vec::new(),
            Place::Seat(seat) => of_seat(seat, served.is_some()),
        };
        [served.unwrap_or_default(), seat].concat()
    }

    /// Why nothing is answered any more, if so.
    pub fn failure(&self) -> Option<String> {
        match &self.place {
            Place::Alone(_) => self.with(|node| node.failure()).flatten(),
            Place::Seat(seat) => seat.failure(),
        }
    }

    /// What is not as it should be, though it goes on: the stream is away.
    pub fn unhealthy(&self) -> Option<String> {
        let Place::Seat(seat) = &self.place else { return None };
        match self.with(|node| node.stream()) {
            Some(stream) => stream
                .filter(|stream| !stream.is_current)
                .map(|_| "charging grants nothing: the stream does not acknowledge".to_owned()),
            None => seat.seen().away.map(|why| format!("charging stands by, and the stream is away: {why}")),
        }
    }

    /// Ends it: what came is answered.
    ///
    /// # Errors
    /// Threads of it failed.
    pub fn stop(&self) -> Result<(), ThreadsFailed> {
        match &self.place {
            Place::Alone(_) => self.with(Node::stop).unwrap_or(Ok(())),
            Place::Seat(seat) => {
                seat.stop();
                Ok(())
            }
        }
    }
}

fn counter(one: Counted) -> Sample {
    Sample::counter(one.name, one.help, one.value)
}

fn of_stream(stream: &Stream) -> [Sample; 2] {
    let help = "whether the stream has acknowledged something lately: else nothing is granted";
    let waiting = "octets that wait for the stream to acknowledge them";
    [
        Sample::gauge("trunkline_charge_stream_current", help, f64::from(u8::from(stream.is_current))),
        Sample::gauge("trunkline_charge_stream_waiting_octets", waiting, stream.waiting_octets as f64),
    ]
}

fn of_seat(seat: &Seat, leads: bool) -> Vec<Sample> {
    let seen = seat.seen();
    vec![
        Sample::gauge("trunkline_charge_leads", "whether this node leads", f64::from(u8::from(leads))),
        Sample::gauge("trunkline_charge_term", "the newest term that this node knows of", seen.term as f64),
        Sample::gauge("trunkline_charge_standby_entry", "the last entry that a standby has", seen.sequence as f64),
        Sample::counter("trunkline_charge_leads_total", "how often this node began to lead", seat.led()),
    ]
}
