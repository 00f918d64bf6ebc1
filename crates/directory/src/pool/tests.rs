//! The pool against servers that are played: directed cases, then random ones of which only what must always hold is
//! known.

use super::*;
use crate::operation::{Entry, Kind};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::{BTreeMap, HashMap, HashSet};
use trunkline_wire::ldap::{Filter, Scope, Search};

fn options(servers: usize) -> PoolOptions {
    PoolOptions {
        servers,
        connections: 1,
        window: 2,
        queue: 3,
        timeout: ms(1000),
        retry: ms(100),
        retry_max: ms(400),
        entries_max: 3,
        answer_octets_max: 1000,
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn search() -> Arc<Operation> {
    let filter = Filter::Present("objectClass".to_owned());
    let (base, attributes) = (String::new(), Vec::new());
    Arc::new(Operation::Search(Search {
        base,
        scope: Scope::Base,
        size_limit: 0,
        time_limit_seconds: 0,
        filter,
        attributes,
    }))
}

fn change() -> Arc<Operation> {
    Arc::new(Operation::Modify { entry: String::new(), changes: Vec::new() })
}

fn end(kind: Kind, code: u32) -> Reply {
    Reply::Final { kind, answer: Answer { code, ..Answer::default() } }
}

fn actions(pool: &mut Pool<u32>) -> Vec<Action<u32>> {
    std::iter::from_fn(|| pool.poll()).collect()
}

/// What was sent: where and with which identifier.
fn sent(actions: &[Action<u32>]) -> Vec<(Link, u32)> {
    let sent = |action: &Action<u32>| match action {
        Action::Send(link, id, _) => Some((*link, *id)),
        _ => None,
    };
    actions.iter().filter_map(sent).collect()
}

fn ends(actions: Vec<Action<u32>>) -> Vec<(u32, Result<Answer, Failure>)> {
    let ended = |action| match action {
        Action::Complete(token, result) => Some((token, result)),
        _ => None,
    };
    actions.into_iter().filter_map(ended).collect()
}

/// A pool with all connections open at 0.
fn open_pool(options: PoolOptions) -> Pool<u32> {
    let mut pool = Pool::new(options);
    pool.handle_timeout(ms(0));
    for action in actions(&mut pool) {
        let Action::Open(link) = action else { panic!("{action:?}") };
        pool.opened(ms(0), link);
    }
    pool
}

#[test]
fn requests_go_to_who_has_fewest_and_wait_when_windows_are_full() {
    let mut pool = open_pool(options(2));
    (0..8).for_each(|token| pool.submit(ms(1), search(), token));
    let done = actions(&mut pool);
    let servers: Vec<usize> = sent(&done).iter().map(|(link, _)| link.server).collect();
    assert_eq!(servers, [0, 1, 0, 1]);
    assert_eq!(ends(done.clone()), [(7, Err(Failure::Full))]);
    let (link, id) = sent(&done)[1];
    pool.received(ms(2), link, id, Reply::Entry(Entry::default(), 9));
    pool.received(ms(2), link, id, end(Kind::Search, 0));
    let done = actions(&mut pool);
    assert_eq!(sent(&done).iter().map(|(link, _)| link.server).collect::<Vec<_>>(), [1]);
    let ended = ends(done);
    assert!(matches!(&ended[..], [(1, Ok(answer))] if answer.entries.len() == 1), "{ended:?}");
}

#[test]
fn a_silent_server_is_left_and_what_was_there_goes_elsewhere_once() {
    let mut pool = open_pool(options(2));
    pool.submit(ms(10), search(), 1);
    pool.submit(ms(10), change(), 2);
    assert_eq!(sent(&actions(&mut pool)).len(), 2);
    pool.submit(ms(20), search(), 3);
    pool.submit(ms(20), change(), 4);
    let second = sent(&actions(&mut pool));
    assert_eq!(second.iter().map(|(link, _)| link.server).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(pool.deadline(), Some(ms(1010)));
    let (alive, id) = second[1];
    pool.received(ms(900), alive, id, end(Kind::Modify, 0));
    pool.handle_timeout(ms(1010));
    let done = actions(&mut pool);
    assert!(done.iter().any(|action| matches!(action, Action::Close(link) if link.server == 0)));
    // The searches 1 and 3 go to server 1; the change 2 was there, and alone is late there.
    assert_eq!(sent(&done).iter().map(|(link, _)| link.server).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(ends(done), [(4, Ok(Answer::default())), (2, Err(Failure::Unknown))]);
    assert!(pool.servers[0].down && pool.servers[1].is_up());
    pool.handle_timeout(ms(2010));
    let done = actions(&mut pool);
    let failures: Vec<_> = ends(done).into_iter().map(|(token, result)| (token, result.is_err())).collect();
    assert_eq!(failures, [(1, true), (3, true)]);
}

#[test]
fn a_slow_answer_is_given_up_alone_where_others_come() {
    let mut pool = open_pool(options(1));
    pool.submit(ms(0), search(), 1);
    pool.submit(ms(500), search(), 2);
    let [(link, slow), (_, quick)] = sent(&actions(&mut pool))[..] else { panic!() };
    pool.received(ms(600), link, quick, end(Kind::Search, 0));
    pool.handle_timeout(ms(1000));
    let done = actions(&mut pool);
    assert!(
        done.iter()
            .any(|action| matches!(action, Action::Abandon(at, own, id) if *at == link && *id == slow && *own > quick))
    );
    assert_eq!(ends(done), [(2, Ok(Answer::default())), (1, Err(Failure::TimedOut))]);
    pool.received(ms(1001), link, slow, end(Kind::Search, 0));
    assert!(actions(&mut pool).is_empty() && pool.servers[0].counts.unasked == 1);
}

#[test]
fn a_server_that_is_down_is_tried_later_and_later_by_one_connection() {
    let mut pool = Pool::new(PoolOptions { connections: 3, ..options(1) });
    let mut opened = Vec::new();
    let mut now = 0;
    pool.submit(ms(0), search(), 1);
    while now < 3000 {
        pool.handle_timeout(ms(now));
        for action in actions(&mut pool) {
            match action {
                Action::Open(link) => {
                    opened.push(now);
                    pool.closed(ms(now), link, "refused");
                }
                Action::Complete(1, result) => assert_eq!(result, Err(Failure::Unreachable("refused".into()))),
                other => panic!("{other:?}"),
            }
        }
        now = pool.deadline().map_or(u64::MAX, |deadline| deadline.as_millis() as u64);
    }
    let (first, later) = opened.split_at(3);
    assert_eq!(first, [0, 0, 0]);
    assert!(later.windows(2).all(|pair| pair[1] - pair[0] == 400), "{opened:?}");
    pool.submit(ms(3000), search(), 2);
    assert!(matches!(ends(actions(&mut pool))[..], [(2, Err(Failure::Unreachable(_)))]));
    pool.handle_timeout(ms(now));
    let [Action::Open(link)] = actions(&mut pool)[..] else { panic!("one at a time") };
    pool.opened(ms(now), link);
    pool.handle_timeout(ms(now));
    assert_eq!(actions(&mut pool).len(), 2, "the others follow at once");
}

#[test]
fn a_connection_that_is_closed_at_rest_is_made_anew_and_nothing_failed() {
    let mut pool = open_pool(options(1));
    let link = pool.servers[0].links(0)[0];
    pool.closed(ms(5000), link, "idle");
    assert!(!pool.servers[0].down);
    pool.submit(ms(5000), search(), 1);
    pool.handle_timeout(ms(5000));
    let [Action::Open(link)] = actions(&mut pool)[..] else { panic!("it is made at once") };
    pool.opened(ms(5001), link);
    assert_eq!(sent(&actions(&mut pool)).len(), 1);
    // One that is closed as soon as it is there would be made for ever.
    let link = pool.servers[0].links(0)[0];
    pool.closed(ms(5002), link, "no");
    pool.handle_timeout(ms(5003));
    assert!(!actions(&mut pool).iter().any(|action| matches!(action, Action::Open(_))));
}

#[test]
fn a_busy_server_is_left_for_another_once() {
    let mut pool = open_pool(options(2));
    pool.submit(ms(0), search(), 1);
    let (link, id) = sent(&actions(&mut pool))[0];
    pool.received(ms(1), link, id, end(Kind::Search, code::BUSY));
    let (other, id) = sent(&actions(&mut pool))[0];
    assert_ne!(link.server, other.server);
    pool.received(ms(2), other, id, end(Kind::Search, code::BUSY));
    assert!(matches!(&ends(actions(&mut pool))[..], [(1, Ok(answer))] if answer.code == code::BUSY));
    // A change that was refused was not carried out, and whoever asked is told.
    pool.submit(ms(3), change(), 2);
    let (link, id) = sent(&actions(&mut pool))[0];
    pool.received(ms(4), link, id, end(Kind::Modify, code::BUSY));
    assert!(matches!(&ends(actions(&mut pool))[..], [(2, Ok(_))]));
}

#[test]
fn a_long_answer_is_given_up_and_a_strange_one_ends_the_connection() {
    let mut pool = open_pool(options(1));
    pool.submit(ms(0), search(), 1);
    let (link, id) = sent(&actions(&mut pool))[0];
    (0..4).for_each(|_| pool.received(ms(1), link, id, Reply::Entry(Entry::default(), 1)));
    assert_eq!(ends(actions(&mut pool)), [(1, Err(Failure::TooLong))]);
    pool.submit(ms(2), search(), 2);
    let (link, id) = sent(&actions(&mut pool))[0];
    pool.received(ms(3), link, id, Reply::Entry(Entry::default(), 1001));
    assert_eq!(ends(actions(&mut pool)), [(2, Err(Failure::TooLong))]);
    pool.submit(ms(4), search(), 3);
    let (link, id) = sent(&actions(&mut pool))[0];
    pool.received(ms(5), link, id, end(Kind::Modify, 0));
    let done = actions(&mut pool);
    assert!(done.contains(&Action::Close(link)));
    assert!(matches!(ends(done)[..], [(3, Err(Failure::Lost(_)))]));
}

#[test]
fn what_is_stopped_has_its_end() {
    let mut pool = open_pool(options(1));
    (0..4).for_each(|token| pool.submit(ms(0), if token == 1 { change() } else { search() }, token));
    actions(&mut pool);
    pool.stop();
    let mut ended = ends(actions(&mut pool));
    ended.sort_by_key(|(token, _)| *token);
    let stopped = || Err(Failure::Stopped);
    assert_eq!(ended, [(0, stopped()), (1, Err(Failure::Unknown)), (2, stopped()), (3, stopped())]);
}

/// Requests by their identifiers, with their tokens.
type Flying = HashMap<u32, (u32, Arc<Operation>)>;

/// Servers that answer, are slow, say nothing, refuse, break off, at random.
struct World {
    random: StdRng,
    pool: Pool<u32>,
    now: u64,
    /// What is in flight where, as the servers see it.
    flying: BTreeMap<(usize, usize, u64), Flying>,
    opening: Vec<Link>,
    open: Vec<Link>,
    /// How often each request was sent, whether it only reads, and when it was submitted.
    sent: HashMap<u32, u32>,
    submitted: HashMap<u32, (bool, u64)>,
    ended: HashSet<u32>,
}

impl World {
    fn new(seed: u64) -> World {
        let options = PoolOptions { connections: 2, window: 4, queue: 20, ..options(3) };
        World {
            random: StdRng::seed_from_u64(seed),
            pool: Pool::new(options),
            now: 0,
            flying: BTreeMap::new(),
            opening: Vec::new(),
            open: Vec::new(),
            sent: HashMap::new(),
            submitted: HashMap::new(),
            ended: HashSet::new(),
        }
    }

    fn step(&mut self, token: u32) {
        self.now += self.random.random_range(0..20);
        let now = ms(self.now);
        match self.random.random_range(0..10) {
            0..=3 => {
                let reads = self.random.random_bool(0.7);
                self.submitted.insert(token, (reads, self.now));
                let operation = Operation::Modify { entry: token.to_string(), changes: Vec::new() };
                let search = Operation::Search(Search { base: token.to_string(), ..searched() });
                self.pool.submit(now, Arc::new(if reads { search } else { operation }), token);
            }
            4..=6 => self.answer(now),
            7 if !self.opening.is_empty() => {
                let link = self.opening.swap_remove(self.random.random_range(0..self.opening.len()));
                if self.random.random_bool(0.7) {
                    self.open.push(link);
                    self.pool.opened(now, link);
                } else {
                    self.pool.closed(now, link, "refused");
                }
            }
            8 if !self.open.is_empty() && self.random.random_bool(0.1) => {
                let link = self.open.swap_remove(self.random.random_range(0..self.open.len()));
                self.flying.remove(&(link.server, link.slot, link.life));
                self.pool.closed(now, link, "reset");
            }
            _ => self.pool.handle_timeout(now),
        }
        self.act();
    }

    fn answer(&mut self, now: Duration) {
        let Some((key, flights)) = self.flying.iter_mut().nth(self.random.random_range(0..6)) else { return };
        let Some(id) = flights.keys().min().copied() else { return };
        let link = Link { server: key.0, slot: key.1, life: key.2 };
        let Some((_, operation)) = flights.remove(&id) else { return };
        let kind = if operation.only_reads() { Kind::Search } else { Kind::Modify };
        let code = if self.random.random_bool(0.1) { code::BUSY } else { 0 };
        self.pool.received(now, link, id, end(kind, code));
    }

    fn act(&mut self) {
        while let Some(action) = self.pool.poll() {
            match action {
                Action::Open(link) => self.opening.push(link),
                Action::Send(link, id, operation) => {
                    assert!(self.open.contains(&link), "sent to a connection that is not there");
                    let token: u32 = match &*operation {
                        Operation::Search(search) => search.base.parse(),
                        Operation::Modify { entry, .. } => entry.parse(),
                        Operation::PasswordModify { .. } => unreachable!(),
                    }
                    .expect("its token");
                    *self.sent.entry(token).or_default() += 1;
                    let flights = self.flying.entry((link.server, link.slot, link.life)).or_default();
                    assert!(flights.insert(id, (token, operation)).is_none(), "an identifier twice in flight");
                }
                Action::Abandon(link, _, id) => {
                    assert!(self.open.contains(&link));
                    self.flying.entry((link.server, link.slot, link.life)).or_default().remove(&id);
                }
                Action::Close(link) => {
                    self.open.retain(|open| *open != link);
                    self.flying.remove(&(link.server, link.slot, link.life));
                }
                Action::Complete(token, _) => {
                    assert!(self.ended.insert(token), "two ends of one request");
                    let took = self.now - self.submitted[&token].1;
                    // Waiting, once there, waiting again, once elsewhere; and the steps of this world.
                    assert!(took <= 4 * 1000 + 500, "{took}");
                }
            }
        }
    }

    fn check(&self) {
        for (token, times) in &self.sent {
            assert!(*times <= if self.submitted[token].0 { 2 } else { 1 }, "sent {times} times");
        }
        let in_flight: usize = self.pool.servers.iter().map(|server| server.in_flight).sum();
        let counted = self.pool.servers.iter().flat_map(|server| &server.slots).map(|slot| match slot {
            server::Slot::Open(connection) => connection.flights.len(),
            _ => 0,
        });
        assert_eq!(in_flight, counted.sum::<usize>());
        assert!(self.pool.queue.len() <= 20);
    }
}

fn searched() -> Search {
    match Arc::unwrap_or_clone(search()) {
        Operation::Search(search) => search,
        _ => unreachable!(),
    }
}

#[test]
fn whatever_servers_do_each_request_has_one_end() {
    for seed in 0..200 {
        let mut world = World::new(seed);
        for token in 0..2000 {
            world.step(token);
            world.check();
        }
        // Nobody answers any more.
        while world.ended.len() < world.submitted.len() {
            world.now += 100;
            world.pool.handle_timeout(ms(world.now));
            world.act();
        }
        let (counts, waiting, _) = world.pool.shown();
        assert_eq!(waiting, 0);
        assert_eq!(counts.answered + counts.failed, counts.submitted, "seed {seed}");
        assert!(counts.answered > 100 && counts.failovers > 0, "seed {seed}: {counts:?}");
    }
}
