//! Servers: what waits on the connections to them, and whether they are asked at all.

use super::answer::Asked;
use super::config::{Config, RouteSection};
use super::counts::Tally;
use super::link::{Queue, Role, State, Waiting};
use std::time::Duration;

/// Octets that wait to be sent on a connection; a request beyond fails, unless it is alone.
// Limit: requests of the proxy waiting on one connection
// Beyond: further requests are refused
// Seen in: `trunkline_cache_route_queue_requests_overflow_total`
const OUT_OCTETS_MAX: usize = 64 << 20;

/// Why a server did not answer. The words are told to clients behind `SERVER_ERROR unavailable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It failed too often, and is not asked until it answers again.
    Out,
    /// Too much waits for it.
    Queue,
    /// It did not answer in time.
    Late,
    /// It could not be reached.
    Unreachable,
    /// Its connection ended.
    Lost,
    /// What it sent was no answer.
    Broken,
}

impl Why {
    /// For clients.
    pub fn word(self) -> &'static str {
        match self {
            Why::Out => "out",
            Why::Queue => "queue",
            Why::Late => "timeout",
            Why::Unreachable => "unreachable",
            Why::Lost => "closed",
            Why::Broken => "protocol",
        }
    }
}

/// A connection to a server, or the place of one.
#[derive(Debug)]
pub struct Link {
    /// Index of the server.
    pub server: u16,
    /// How far it is.
    pub state: State,
    queue: Queue,
    /// It is among those to be woken.
    woken: bool,
    /// It is being closed, and why.
    ending: Option<Why>,
}

/// Whether a server is asked.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    failures: u32,
    out: Option<Out>,
}

/// A server that is out.
#[derive(Clone, Copy, Debug)]
struct Out {
    until: Duration,
    pause: Duration,
    probing: bool,
}

/// What is to be done with connections, by their index.
#[derive(Debug, Default)]
pub struct Errands {
    /// To be made.
    pub dials: Vec<u32>,
    /// That have something to send.
    pub wakes: Vec<u32>,
    /// To be closed at once.
    pub cuts: Vec<u32>,
}

/// All servers, as one thread sees them.
#[derive(Debug)]
pub struct Servers {
    links: Vec<Link>,
    health: Vec<Health>,
    /// What was counted of each.
    pub tallies: Vec<Tally>,
    /// What is to be done.
    pub errands: Errands,
    settings: RouteSection,
    /// When to look at deadlines again.
    look: Duration,
}

impl Servers {
    /// The servers of a configuration, none of them connected.
    pub fn new(config: &Config) -> Servers {
        let each = usize::from(config.route.connections);
        let servers = config.servers.len();
        let link = |server| Link { server, state: State::Idle, queue: Queue::default(), woken: false, ending: None };
        Servers {
            links: (0..servers * each).map(|at| link((at / each) as u16)).collect(),
            health: vec![Health::default(); servers],
            tallies: vec![Tally::default(); servers],
            errands: Errands::default(),
            settings: config.route.clone(),
            look: Duration::MAX,
        }
    }

    /// The connection of that index.
    pub fn link(&self, link: u32) -> Option<&Link> {
        self.links.get(link as usize)
    }

    /// Whether a server is asked.
    pub fn is_out(&self, server: u16) -> bool {
        self.health[usize::from(server)].out.is_some()
    }

    /// Whether answers are still to come on a connection.
    pub fn owes(&self, link: u32) -> bool {
        self.links.get(link as usize).is_some_and(|link| !link.queue.waiting().is_empty())
    }

    /// Sends to a server, by the connection that is `client`'s; its answer comes under `role`.
    ///
    /// # Errors
    /// The server is not asked now, and why.
    pub fn send(
        &mut self,
        (server, client): (u16, u32),
        octets: &[u8],
        role: Role,
        asked: Asked,
        now: Duration,
    ) -> Result<(), Why> {
        if self.is_out(server) && role != Role::Probe {
            return Err(Why::Out);
        }
        let each = u32::from(self.settings.connections);
        let at = u32::from(server) * each + client % each;
        let link = &mut self.links[at as usize];
        let before = link.queue.octets();
        let is_full = before + octets.len() > OUT_OCTETS_MAX && before > 0;
        if is_full || link.queue.waiting().len() >= self.settings.queue as usize || link.ending.is_some() {
            return Err(Why::Queue);
        }
        let deadline = now + self.settings.timeout;
        let joins = link.queue.push(octets, Waiting { role, asked, deadline, goes_on: false });
        self.look = self.look.min(deadline);
        match link.state {
            State::Idle => {
                link.state = State::Dialling;
                self.errands.dials.push(at);
            }
            State::Up if !link.woken => {
                link.woken = true;
                self.errands.wakes.push(at);
            }
            _ => {}
        }
        let tally = &mut self.tallies[usize::from(server)];
        tally.sent += 1;
        tally.joined += u64::from(joins);
        Ok(())
    }

    /// A connection stands.
    pub fn up(&mut self, link: u32, now: Duration) {
        if let Some(link) = self.links.get_mut(link as usize) {
            link.state = State::Up;
            // The time of what waited for the connection begins now.
            link.queue.postpone(now + self.settings.timeout);
        }
    }

    /// What a connection has to send, up to `room` octets, handed to `say`; whether there is more.
    pub fn say(&mut self, link: u32, room: usize, say: impl FnOnce(&[u8])) -> bool {
        let Some(link) = self.links.get_mut(link as usize) else { return false };
        link.woken = false;
        link.queue.say(room, say)
    }

    /// Who waits first on a connection.
    pub fn first(&self, link: u32) -> Option<Waiting> {
        self.links.get(link as usize)?.queue.waiting().front().copied()
    }

    /// A value has come, of the get that is waited for first: who waits for it, as `has_key` tells of a request. None
    /// if nobody does.
    pub fn value(&mut self, link: u32, has_key: impl Fn(u32) -> bool) -> Option<Role> {
        let link = self.links.get_mut(link as usize)?;
        let role = link.queue.take(has_key)?;
        self.tallies[usize::from(link.server)].answered += 1;
        Some(role)
    }

    /// The answer that is waited for first has come to its end, by an error if `refused`: the first of those who wait
    /// for it.
    pub fn answered(&mut self, link: u32, refused: bool) -> Option<Waiting> {
        let link = self.links.get_mut(link as usize)?;
        let waiting = link.queue.pop()?;
        let server = usize::from(link.server);
        if waiting.role != Role::Answered {
            self.tallies[server].answered += 1;
            self.tallies[server].refused += u64::from(refused);
        }
        self.health[server] = Health::default();
        Some(waiting)
    }

    /// A connection shall be closed at once: nothing that comes can be trusted.
    pub fn cut(&mut self, link: u32, why: Why) {
        if let Some(one) = self.links.get_mut(link as usize).filter(|one| one.ending.is_none()) {
            one.ending = Some(why);
            self.errands.cuts.push(link);
        }
    }

    /// A connection is closed or did not come about; why, and who waited on it.
    pub fn closed(&mut self, link: u32, now: Duration) -> (Why, Queue) {
        let Some(link) = self.links.get_mut(link as usize) else { return (Why::Lost, Queue::default()) };
        let server = usize::from(link.server);
        let why = match (link.ending.take(), link.state) {
            (Some(why), _) => why,
            (None, State::Up) => Why::Lost,
            (None, _) => Why::Unreachable,
        };
        link.state = State::Idle;
        link.woken = false;
        let queue = core::mem::take(&mut link.queue);
        let tally = &mut self.tallies[server];
        tally.failed += queue.waiting().iter().filter(|waiting| waiting.role != Role::Answered).count() as u64;
        match why {
            // One at rest may end as it likes.
            _ if queue.waiting().is_empty() && why == Why::Lost => return (why, queue),
            Why::Late => tally.late += 1,
            Why::Unreachable => tally.undialled += 1,
            Why::Broken => tally.broken += 1,
            _ => tally.lost += 1,
        }
        self.failure(server, now);
        (why, queue)
    }

    fn failure(&mut self, server: usize, now: Duration) {
        let health = &mut self.health[server];
        health.failures += 1;
        let pause = match health.out {
            None if health.failures < self.settings.failures => return,
            None => {
                self.tallies[server].outs += 1;
                self.settings.retry
            }
            // Other connections to a server that is known to be out.
            Some(out) if !out.probing => return,
            Some(out) => (out.pause * 2).min(self.settings.retry_max),
        };
        health.out = Some(Out { until: now + pause, pause, probing: false });
        self.look = self.look.min(now + pause);
    }

    /// Looks whether anything has waited too long, and whether servers that are out are there again. When to call it
    /// again at the latest.
    pub fn tick(&mut self, now: Duration) -> Duration {
        if now < self.look {
            return self.look;
        }
        self.look = Duration::MAX;
        for at in 0..self.links.len() {
            let first = self.links[at].queue.waiting().front().map(|waiting| waiting.deadline);
            match first.filter(|_| self.links[at].state == State::Up) {
                Some(deadline) if deadline <= now => self.cut(at as u32, Why::Late),
                Some(deadline) => self.look = self.look.min(deadline),
                None => {}
            }
        }
        for server in 0..self.health.len() {
            match &mut self.health[server].out {
                Some(out) if out.until <= now && !out.probing => {
                    out.probing = true;
                    // What was sent before and still hangs fails by itself, and that is an answer, too.
                    let probe = self.send((server as u16, 0), b"version\r\n", Role::Probe, Asked::Line, now);
                    if probe.is_err() {
                        self.failure(server, now);
                    }
                }
                Some(out) if !out.probing => self.look = self.look.min(out.until),
                _ => {}
            }
        }
        self.look
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn one() -> Servers {
        Servers::new(&Config::of_servers(&["a:1".to_owned()]).expect("a pool"))
    }

    fn ask(servers: &mut Servers, now: Duration) -> Result<(), Why> {
        servers.send((0, 0), b"get k\r\n", Role::Request(1, 0), Asked::Get, now)
    }

    #[test]
    fn a_server_that_fails_is_left_alone_and_asked_again() {
        let mut servers = one();
        for n in 0..3 {
            assert_eq!((ask(&mut servers, n * MS), servers.errands.dials.pop()), (Ok(()), Some(0)));
            let (why, queue) = servers.closed(0, n * MS);
            assert_eq!((why, queue.waiting().len(), servers.is_out(0)), (Why::Unreachable, 1, n == 2));
        }
        assert_eq!(ask(&mut servers, 10 * MS), Err(Why::Out));
        assert_eq!(servers.tick(10 * MS), 502 * MS);
        servers.tick(502 * MS);
        assert_eq!(servers.first(0).map(|waiting| waiting.role), Some(Role::Probe));
        servers.closed(0, 510 * MS);
        // The next pause is twice as long.
        assert_eq!(servers.tick(1509 * MS), 1510 * MS);
        servers.tick(1510 * MS);
        servers.up(0, 1511 * MS);
        servers.answered(0, false);
        assert_eq!((servers.is_out(0), ask(&mut servers, 1512 * MS)), (false, Ok(())));
    }

    #[test]
    fn who_waits_too_long_is_cut_off() {
        let mut servers = one();
        ask(&mut servers, MS).expect("sent");
        servers.up(0, 5 * MS);
        assert_eq!(servers.tick(1000 * MS), 1001 * MS);
        servers.tick(1005 * MS);
        assert_eq!(servers.errands.cuts, [0]);
        assert_eq!(ask(&mut servers, 1006 * MS), Err(Why::Queue));
        assert_eq!(servers.closed(0, 1006 * MS).0, Why::Late);
    }

    #[test]
    fn queues_are_bounded_and_said_piece_by_piece() {
        let mut servers = one();
        servers.settings.queue = 2;
        assert_eq!([(); 3].map(|()| ask(&mut servers, MS)), [Ok(()), Ok(()), Err(Why::Queue)]);
        let mut said = Vec::new();
        assert!(servers.say(0, 8, |octets| said.extend_from_slice(octets)));
        assert!(!servers.say(0, 10, |octets| said.extend_from_slice(octets)));
        assert_eq!(said, b"get k k\r\n");
    }
}
