//! The charging node of this process, as the status line and metrics see it.

use std::sync::{Mutex, PoisonError};
use trunkline_charge::job::{Counts, Node};
use trunkline_kit::metrics::Sample;
use trunkline_net::ThreadsFailed;

/// A node that runs here.
pub struct Running {
    node: Mutex<Node>,
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
        Running { node: Mutex::new(node) }
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
            samples.extend(node.directory().iter().flat_map(|directory| directory.samples()));
            samples
        })
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
        self.with(Node::stop)
    }
}
