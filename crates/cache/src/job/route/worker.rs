//! The router of a thread, as the engine wants it: connections have names there and numbers here.

use super::desk::Desk;
use crate::route::config::Config;
use crate::route::{self, Moment, Router};
use std::sync::Arc;
use std::time::Duration;
use trunkline_net::{Arrival, Cause, ConnectionId, Errands, Next, Now, Options, Output, Remote, Service, Taken};

/// Octets beyond those of a value that a command or an answer may have: its line, and what follows.
const AROUND_OCTETS: usize = 2 * route::LINE_OCTETS_MAX;
/// How often counts are laid down while they change: there may be a thousand servers.
const SHOW: Duration = Duration::from_millis(20);

/// The engine's options with the room that values need.
pub fn fitted(options: Options, config: &Config) -> Options {
    let value = usize::try_from(config.route.value_max.0).unwrap_or(usize::MAX);
    let threads = options.threads;
    let mut limits = options.limits.clone();
    limits.carried_octets = value.saturating_add(AROUND_OCTETS);
    limits.held_octets = limits.held_octets.max(threads.saturating_mul(8).saturating_mul(limits.carried_octets));
    limits.dialled_connections = config.servers.len() * usize::from(config.route.connections) * threads;
    Options { limits, ..options }
}

/// A connection: of a client or to a server, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A client's.
    Client(u32),
    /// To a server.
    Link(u32),
}

/// What serves a thread.
pub struct Worker {
    thread: u16,
    router: Router,
    config: Arc<Config>,
    remotes: Arc<Vec<Remote>>,
    desk: Arc<Desk>,
    clients: Vec<Option<ConnectionId>>,
    links: Vec<Option<ConnectionId>>,
    /// Something was counted since counts were laid down, and when that was.
    counted: bool,
    shown: Duration,
}

impl Worker {
    /// The service of one more thread.
    pub fn new(thread: u16, config: &Arc<Config>, remotes: &Arc<Vec<Remote>>, desk: &Arc<Desk>) -> Worker {
        let router = Router::new(Arc::clone(config), Arc::clone(desk) as Arc<_>);
        let links = vec![None; config.servers.len() * usize::from(config.route.connections)];
        Worker {
            thread,
            router,
            config: Arc::clone(config),
            remotes: Arc::clone(remotes),
            desk: Arc::clone(desk),
            clients: Vec::new(),
            links,
            counted: true,
            shown: Duration::ZERO,
        }
    }

    /// Lays down what was counted, if it is time; else says when it will be.
    fn show(&mut self, errands: &mut Errands<Side>, now: Duration) {
        if self.counted && now < self.shown + SHOW {
            return errands.until(self.shown + SHOW);
        }
        if !core::mem::take(&mut self.counted) {
            return;
        }
        self.shown = now;
        let router = &self.router;
        self.desk.show(self.thread, |shown| {
            shown.counts = router.counts;
            shown.servers.clear();
            let tallies = router.servers.tallies.iter().enumerate();
            shown.servers.extend(tallies.map(|(at, tally)| (*tally, router.servers.is_out(at as u16))));
        });
    }

    fn say(&mut self, side: Side, output: &mut Output<'_>) -> Next {
        match side {
            Side::Client(client) => match self.router.say(client, output.room(), &mut |octets| output.put(octets)) {
                route::Next::More => Next::More,
                route::Next::Resume => Next::Resume,
                route::Next::Hold => Next::Hold,
                route::Next::Close => Next::Close,
            },
            Side::Link(link) => match self.router.servers.say(link, output.room(), |octets| output.put(octets)) {
                true => Next::Resume,
                false => Next::More,
            },
        }
    }
}

fn moment(now: Now) -> Moment {
    Moment { monotonic: now.monotonic, unix: now.unix }
}

impl Service for Worker {
    type Connection = Side;
    type Mail = ();

    fn accepted(&mut self, arrival: &Arrival<'_>, _: Now) -> Side {
        let client = self.router.accepted();
        let at = client as usize;
        if self.clients.len() <= at {
            self.clients.resize(at + 1, None);
        }
        self.clients[at] = Some(arrival.id);
        Side::Client(client)
    }

    fn octets(&mut self, side: &mut Side, input: &[u8], output: &mut Output<'_>, now: Now) -> Taken {
        self.counted = true;
        match *side {
            Side::Client(client) => {
                let octets = self.router.octets(client, input, moment(now));
                Taken { octets, next: self.say(*side, output) }
            }
            Side::Link(link) => {
                let octets = self.router.answers(link, input, moment(now));
                Taken { octets, next: Next::More }
            }
        }
    }

    fn resume(&mut self, side: &mut Side, output: &mut Output<'_>, _: Now) -> Next {
        self.say(*side, output)
    }

    fn woken(&mut self, side: &mut Side, output: &mut Output<'_>, _: Now) -> Next {
        self.say(*side, output)
    }

    fn dialled(&mut self, side: &mut Side, id: ConnectionId, output: &mut Output<'_>, now: Now) -> Next {
        if let Side::Link(link) = *side {
            self.links[link as usize] = Some(id);
            self.router.servers.up(link, now.monotonic);
        }
        self.say(*side, output)
    }

    fn errands(&mut self, errands: &mut Errands<Side>, now: Now) {
        errands.until(self.router.tick(moment(now)).min(now.monotonic + Duration::from_secs(60)));
        self.show(errands, now.monotonic);
        let asked = core::mem::take(&mut self.router.servers.errands);
        for link in asked.dials {
            let server = link as usize / usize::from(self.config.route.connections);
            errands.dial(self.remotes[server].clone(), self.config.route.connect_timeout, Side::Link(link));
        }
        let known = |link: &u32| self.links.get(*link as usize).copied().flatten();
        asked.wakes.iter().filter_map(known).for_each(|id| errands.wake(id));
        asked.cuts.iter().filter_map(known).for_each(|id| errands.close(id));
        for client in self.router.woken() {
            if let Some(id) = self.clients.get(client as usize).copied().flatten() {
                errands.wake(id);
            }
        }
    }

    fn owes(&self, side: &Side) -> bool {
        match *side {
            Side::Client(client) => self.router.owes(client),
            Side::Link(link) => self.router.servers.owes(link),
        }
    }

    fn closed(&mut self, side: Side, _: Cause, now: Now) {
        self.counted = true;
        match side {
            Side::Client(client) => {
                self.clients[client as usize] = None;
                self.router.left(client);
            }
            Side::Link(link) => {
                self.links[link as usize] = None;
                self.router.lost(link, moment(now));
            }
        }
    }
}
