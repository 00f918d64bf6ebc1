//! What is to be done, and what comes of it.

use super::super::echo;
use super::super::flight::{Kind, Part};
use super::super::round::{Round, absent, named, port, silent, unknown};
use super::super::target::{Check, PageKind, Reads};
use super::{Prober, Timer};
use crate::inventory::Probe;
use crate::poller::{Now, Reading, Unknown};
use core::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// How much longer than its timeout a program or a page is waited for: who runs it ends it, and says so.
const PATIENCE_NS: u64 = 2_000_000_000;
/// What is sent to a port when nothing else is said: one octet that is not text.
pub(super) const DATAGRAM: [u8; 1] = [0];

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// An echo request is to be sent.
    Echo {
        /// To whom.
        to: IpAddr,
        /// Its sequence.
        sequence: u16,
        /// The number that it bears.
        token: u64,
    },
    /// A port is to be connected to, and let go.
    Connect {
        /// The number of the order.
        ticket: u64,
        /// Which port.
        to: SocketAddr,
    },
    /// A datagram is to be sent.
    Ask {
        /// The number of the order.
        ticket: u64,
        /// To whom.
        to: SocketAddr,
        /// What.
        request: Vec<u8>,
    },
    /// A program is to be run.
    Run {
        /// The number of the order.
        ticket: u64,
        /// Program and arguments.
        command: Vec<String>,
        /// How long it may take.
        timeout: Duration,
        /// What is wanted of what it says.
        reads: Arc<Reads>,
    },
    /// A page is to be asked for.
    Fetch {
        /// The number of the order.
        ticket: u64,
        /// What is read of it.
        kind: PageKind,
        /// Where it is.
        url: String,
        /// How long it may take.
        timeout: Duration,
        /// What is wanted of it.
        reads: Arc<Reads>,
    },
    /// The program's own metrics are to be read.
    Own {
        /// The number of the order.
        ticket: u64,
        /// What is wanted of them.
        reads: Arc<Reads>,
    },
    /// Nobody waits any more for what has this number.
    Cancel {
        /// The number of the order.
        ticket: u64,
    },
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A port took the connection, or answered a datagram.
    Answered,
    /// It did not, but the device has said so.
    Refused,
    /// The device was not reached: why.
    Failed(String),
    /// It could not be tried from here: why.
    Impossible(String),
    /// A program or a page has said something, or has not.
    Said {
        /// A reading for each thing that is wanted.
        readings: Vec<Reading>,
        /// When what counts there began, if it says so: seconds since 1970.
        started: Option<f64>,
        /// What is wrong.
        fault: Option<String>,
    },
}

impl Prober {
    /// What shares a bound with a part; none if it is not wanted any more.
    pub(super) fn kind(&self, part: Part) -> Option<Kind> {
        let task = self.tasks.get(&part.task)?;
        match &task.source {
            Some(source) => task.round.is_some().then(|| source.check.kind()),
            None => match self.devices.get(&task.device)?.availability.probes.get(part.place)? {
                Probe::Icmp {} => Some(Kind::Echo),
                Probe::Tcp { .. } | Probe::Udp { .. } => Some(Kind::Port),
                Probe::Snmp {} => None,
            },
        }
    }

    /// Gives the order for a part of a round, if it is still wanted.
    pub(super) fn go(&mut self, part: Part, now: Now) {
        let Some(task) = self.tasks.get_mut(&part.task) else { return };
        let Some(device) = self.devices.get(&task.device) else { return };
        let (address, Some(source)) = (device.address, &task.source) else { return self.go_health(part, now) };
        let timeout_ns = source.check.timeout_ns();
        let reads = Arc::clone(&source.reads);
        match (&source.check, &mut task.round) {
            (Check::Icmp { .. }, Some(Round::Echoes(echoes))) if echoes.is_wanting() => {
                echoes.sent += 1;
                echoes.open += 1;
                let next_ns = now.steady_ns + echoes.interval_ns;
                if echoes.is_wanting() {
                    self.timers.push(Reverse((next_ns, Timer::Next(part.task))));
                }
                self.echo(part, address, timeout_ns, now);
            }
            (Check::Tcp { port, .. }, Some(_)) => {
                let to = SocketAddr::new(address, *port);
                self.order(part, Kind::Port, timeout_ns, now, |ticket| Order::Connect { ticket, to });
            }
            (Check::Udp { port, request, .. }, Some(_)) => {
                let to = SocketAddr::new(address, *port);
                let request = if request.is_empty() { DATAGRAM.to_vec() } else { request.clone() };
                self.order(part, Kind::Port, timeout_ns, now, |ticket| Order::Ask { ticket, to, request });
            }
            (Check::Script { command, timeout }, Some(_)) => {
                let (command, timeout) = (command.clone(), *timeout);
                let order = |ticket| Order::Run { ticket, command, timeout, reads };
                self.order(part, Kind::Program, timeout_ns + PATIENCE_NS, now, order);
            }
            (Check::Page { kind, url, timeout }, Some(_)) => {
                let (kind, url, timeout) = (*kind, url.clone(), *timeout);
                let order = |ticket| Order::Fetch { ticket, kind, url, timeout, reads };
                self.order(part, Kind::Page, timeout_ns + PATIENCE_NS, now, order);
            }
            (Check::Program, Some(_)) => {
                self.order(part, Kind::Page, PATIENCE_NS, now, |ticket| Order::Own { ticket, reads });
            }
            _ => {}
        }
    }

    pub(super) fn echo(&mut self, part: Part, to: IpAddr, timeout_ns: u64, now: Now) {
        let (sequence, token) = self.flight.echo(part, now.steady_ns);
        self.counts.echoes += 1;
        self.timers.push(Reverse((now.steady_ns + timeout_ns, Timer::Echo(sequence, token))));
        self.orders.push(Order::Echo { to, sequence, token });
    }

    pub(super) fn order(&mut self, part: Part, kind: Kind, within_ns: u64, now: Now, order: impl FnOnce(u64) -> Order) {
        let ticket = self.flight.ticket(part, kind, now.steady_ns);
        self.counts.tries += 1;
        self.timers.push(Reverse((now.steady_ns.saturating_add(within_ns), Timer::Ticket(ticket))));
        self.orders.push(order(ticket));
    }

    /// An ICMP message has come.
    pub fn handle_echo(&mut self, from: IpAddr, octets: &[u8], now: Now) {
        let told = echo::reply(from, octets);
        let part = told.and_then(|(sequence, token)| self.flight.echo_part(sequence, token));
        let asked = part.and_then(|part| Some(self.devices.get(&self.tasks.get(&part.task)?.device)?.address));
        match told {
            Some((sequence, token)) if asked == Some(from) => {
                if let Some((part, sent_ns)) = self.flight.take_echo(sequence, token) {
                    self.echo_over(part, Ok(Some(now.steady_ns.saturating_sub(sent_ns))), now);
                }
            }
            _ => self.counts.stray += 1,
        }
    }

    /// An echo request could not be sent from here: why.
    pub fn handle_unsent(&mut self, sequence: u16, token: u64, why: &str, now: Now) {
        if let Some((part, _)) = self.flight.take_echo(sequence, token) {
            self.counts.echoes -= 1;
            self.counts.echoes_unsent += 1;
            self.echo_over(part, Err(why), now);
        }
    }

    pub(super) fn echo_lost(&mut self, sequence: u16, token: u64, now: Now) {
        if let Some((part, _)) = self.flight.take_echo(sequence, token) {
            self.counts.echoes_lost += 1;
            self.echo_over(part, Ok(None), now);
        }
    }

    /// An echo request was answered after so long, or was not answered, or could not be sent.
    fn echo_over(&mut self, part: Part, came: Result<Option<u64>, &str>, now: Now) {
        let Some(task) = self.tasks.get_mut(&part.task) else { return };
        match &mut task.round {
            Some(Round::Echoes(echoes)) => {
                echoes.open -= 1;
                match came {
                    Ok(took_ns) => echoes.took_ns.extend(took_ns),
                    Err(why) => {
                        (echoes.sent, echoes.unsent) = (echoes.sent - 1, echoes.unsent + 1);
                        echoes.fault = Some(why.to_owned());
                    }
                }
                if echoes.is_over() {
                    self.end_echoes(part.task, now);
                }
            }
            Some(Round::Health(_)) => self.tried(part, came.map(|took| took.is_some()), now),
            _ => {}
        }
        self.let_go(Kind::Echo, now);
    }

    fn end_echoes(&mut self, id: u64, now: Now) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let (Some(source), Some(Round::Echoes(echoes))) = (&task.source, &mut task.round) else { return };
        let (readings, fault) = (named(&source.reads, |name| echoes.reading(name)), echoes.fault.take());
        self.end(id, &readings, fault, now);
    }

    /// Something has come of an order.
    pub fn handle(&mut self, ticket: u64, outcome: Outcome, now: Now) {
        let Some((part, kind, begun_ns)) = self.flight.take(ticket) else { return };
        self.over(part, outcome, now.steady_ns.saturating_sub(begun_ns), now);
        self.let_go(kind, now);
    }

    pub(super) fn ticket_late(&mut self, ticket: u64, now: Now) {
        let Some((part, kind, _)) = self.flight.take(ticket) else { return };
        self.counts.timeouts += 1;
        self.orders.push(Order::Cancel { ticket });
        let task = self.tasks.get(&part.task);
        match task.and_then(|task| task.source.as_ref()) {
            Some(source) => {
                let readings = silent(&source.check, &source.reads);
                self.end(part.task, &readings, Some("no answer in time".to_owned()), now);
            }
            None => self.tried(part, Ok(false), now),
        }
        self.let_go(kind, now);
    }

    fn over(&mut self, part: Part, outcome: Outcome, took_ns: u64, now: Now) {
        let Some(task) = self.tasks.get_mut(&part.task) else { return };
        let Some(source) = &task.source else {
            let came = match outcome {
                Outcome::Impossible(why) => return self.tried(part, Err(&why), now),
                Outcome::Answered | Outcome::Refused => true,
                Outcome::Failed(_) | Outcome::Said { .. } => false,
            };
            return self.tried(part, Ok(came), now);
        };
        let (readings, fault) = match outcome {
            Outcome::Answered => (port(&source.reads, true, true, took_ns), None),
            Outcome::Refused => (port(&source.reads, false, true, took_ns), Some("refused".to_owned())),
            Outcome::Failed(why) => (silent(&source.check, &source.reads), Some(why)),
            Outcome::Impossible(why) => (unknown(&source.reads, Unknown::NotAsked), Some(why)),
            Outcome::Said { readings, started, fault } => {
                let is_restarted = match (task.started, started) {
                    (Some(before), Some(now)) => before != now,
                    // What this program counts begins with it.
                    _ => !task.has_sample && source.check == Check::Program,
                };
                let fault = fault.or_else(|| absent(&source.check, &source.reads, &readings));
                task.started = started.or(task.started);
                return self.tell(part.task, &readings, is_restarted, fault, now);
            }
        };
        self.end(part.task, &readings, fault, now);
    }
}
