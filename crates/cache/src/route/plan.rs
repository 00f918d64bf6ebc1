//! Which server an ask goes to, and what an answer or a server that is gone means for it.
//!
//! - **Plain**: the server that the key belongs to; if that is gone, the gutter, if there is one, with short times to
//!   live (Nishtala et al., NSDI 2013, 3.3: items in the gutter expire quickly, so that nobody has to invalidate them).
//! - **Replicated**: reads from the first that is there, and on a miss from the next one if so configured; writes to
//!   all, and the first one's answer is told. What compares item numbers, which differ from server to server, goes to
//!   the first alone, and the others are told to forget the key. What may win a lease goes to the first alone.
//! - **Warm-up**: what a read misses in the cold pool is fetched from the warm one, added to the cold one, and read
//!   there again, so that whatever was asked is answered by the server that has the item from now on. Writes go to the
//!   cold pool, and the warm one forgets the key; a key that was deleted is not brought for [`super::HOLD_OFF`].

use super::Router;
use super::answer::{Asked, Said};
use super::client::Stage;
use super::config::Policy;
use super::link::Role;
use super::request::Verb;
use super::ring::tagged;
use super::server::Why;

impl Router {
    /// The first step of an ask.
    pub(super) fn start(&mut self, number: u32) {
        let ask = self.asks.get(number);
        let (verb, pool) = (ask.request.verb, &self.config.pools[usize::from(ask.pool)]);
        let (first, count) = pool.servers;
        match (pool.policy, verb) {
            (Policy::Plain, _) => {
                if pool.warm.is_some() {
                    self.forget_in_warm(number);
                }
                self.ask_own(number, Stage::First);
            }
            (Policy::Replicated, Verb::Read | Verb::Lease) => self.next_replica(number, 0, Why::Out),
            (Policy::Replicated, Verb::Write | Verb::Delete) => {
                let all: Vec<u16> = (first..first + count).collect();
                self.ask_all(number, &all);
            }
            (Policy::Replicated, Verb::Compare) => self.compare(number),
        }
    }

    /// The server that the key belongs to in a pool.
    fn server_of(&mut self, number: u32, pool: u16) -> u16 {
        let pool = &self.config.pools[usize::from(pool)];
        let request = &self.asks.get(number).request;
        pool.servers.0 + request.with_stored_key(|key| pool.ring.server(tagged(key, pool.tag)))
    }

    /// To the server of its own pool that the key belongs to.
    fn ask_own(&mut self, number: u32, stage: Stage) {
        let pool = self.asks.get(number).pool;
        let server = self.server_of(number, pool);
        let sent = self.ask_server(number, server, stage);
        if let Err(why) = sent {
            self.on_failure(number, 0, why);
        }
    }

    /// Sends the request as it is; where it fails its stage is set all the same.
    fn ask_server(&mut self, number: u32, server: u16, stage: Stage) -> Result<(), Why> {
        let ask = self.asks.get(number);
        (ask.stage, ask.waiting) = (stage, 1);
        let at = (server, ask.client.unwrap_or(0));
        self.servers.send(at, &ask.request.octets, Role::Request(number, 0), ask.request.asked, self.now.monotonic)
    }

    /// Sends something else on behalf of an ask, and waits for its answer.
    fn ask_else(&mut self, number: u32, server: u16, octets: &[u8], asked: Asked, stage: Stage) {
        let ask = self.asks.get(number);
        (ask.stage, ask.waiting) = (stage, 1);
        let at = (server, ask.client.unwrap_or(0));
        let sent = self.servers.send(at, octets, Role::Request(number, 0), asked, self.now.monotonic);
        if let Err(why) = sent {
            self.on_failure(number, 0, why);
        }
    }

    /// To several servers; those that are gone are left out, and counted.
    pub(super) fn ask_all(&mut self, number: u32, servers: &[u16]) {
        let ask = self.asks.get(number);
        (ask.stage, ask.waiting, ask.best) = (Stage::Copies, 0, u16::MAX);
        let (mut sent, mut last) = (0, Why::Out);
        for (part, server) in servers.iter().enumerate() {
            let at = (*server, ask.client.unwrap_or(0));
            let role = Role::Request(number, part as u16);
            match self.servers.send(at, &ask.request.octets, role, ask.request.asked, self.now.monotonic) {
                Ok(()) => sent += 1,
                Err(why) => {
                    self.counts.copies_missed += 1;
                    last = why;
                }
            }
        }
        ask.waiting = sent;
        if sent == 0 {
            self.give_up(number, last);
        }
    }

    /// To the replica of that number, or the next one that is asked at all.
    fn next_replica(&mut self, number: u32, from: u16, mut why: Why) {
        let (first, count) = self.config.pools[usize::from(self.asks.get(number).pool)].servers;
        for replica in from..count {
            self.counts.next_replica += u64::from(replica > 0);
            match self.ask_server(number, first + replica, Stage::Replica(replica)) {
                Ok(()) => return,
                Err(failed) => why = failed,
            }
        }
        let ask = self.asks.get(number);
        match ask.best {
            // One of them had nothing; that is the answer.
            0 => {
                let answer = core::mem::take(&mut ask.answer);
                self.finish(number, Said::Missed, &answer);
            }
            _ => self.give_up(number, why),
        }
    }

    /// To the first replica that is there; the others forget the key.
    fn compare(&mut self, number: u32) {
        let (first, count) = self.config.pools[usize::from(self.asks.get(number).pool)].servers;
        let one = (first..first + count).find(|server| !self.servers.is_out(*server)).unwrap_or(first);
        let removal = self.asks.get(number).request.removal();
        for other in (first..first + count).filter(|server| *server != one) {
            self.beside(number, other, &removal);
        }
        if let Err(why) = self.ask_server(number, one, Stage::First) {
            self.give_up(number, why);
        }
    }

    /// Sends something whose answer nobody waits for.
    fn beside(&mut self, number: u32, server: u16, octets: &[u8]) {
        let at = (server, self.asks.get(number).client.unwrap_or(0));
        if self.servers.send(at, octets, Role::Nobody, Asked::Line, self.now.monotonic).is_err() {
            self.counts.copies_missed += 1;
        }
    }

    /// A write in a cold pool: the warm one must not bring back what was there before.
    fn forget_in_warm(&mut self, number: u32) {
        let ask = self.asks.get(number);
        let Some(warm) = self.config.pools[usize::from(ask.pool)].warm else { return };
        if matches!(ask.request.verb, Verb::Read | Verb::Lease) {
            return;
        }
        let (removal, is_delete) = (ask.request.removal(), ask.request.verb == Verb::Delete);
        if is_delete {
            let now = self.now.monotonic;
            ask.request.with_stored_key(|key| self.host.deleted(key, now));
        }
        for server in self.servers_of(number, warm) {
            self.beside(number, server, &removal);
        }
    }

    /// The servers of a pool that have the key.
    fn servers_of(&mut self, number: u32, pool: u16) -> Vec<u16> {
        let (first, count) = self.config.pools[usize::from(pool)].servers;
        match self.config.pools[usize::from(pool)].policy {
            Policy::Plain => vec![self.server_of(number, pool)],
            Policy::Replicated => (first..first + count).collect(),
        }
    }

    /// An answer has come.
    pub(super) fn on_answer(&mut self, role: Role, said: Said, told: &[u8]) {
        let Role::Request(number, part) = role else { return };
        let ask = self.asks.get(number);
        ask.waiting = ask.waiting.saturating_sub(1);
        match ask.stage {
            Stage::First => self.on_first(number, said, told),
            Stage::Replica(replica) => self.on_replica(number, replica, said, told),
            Stage::Copies => {
                if part < ask.best {
                    (ask.best, ask.said) = (part, said);
                    ask.answer.clear();
                    ask.answer.extend_from_slice(told);
                }
                self.on_copies(number);
            }
            Stage::Warm => self.on_warm(number, said, told),
            Stage::Adding => {
                self.counts.warmed += u64::from(told.starts_with(b"HD"));
                self.ask_own(number, Stage::Again);
            }
            Stage::Gutter | Stage::Again => self.finish(number, said, told),
        }
    }

    fn on_first(&mut self, number: u32, said: Said, told: &[u8]) {
        let now = self.now.monotonic;
        let ask = self.asks.get(number);
        let warm = self.config.pools[usize::from(ask.pool)].warm.filter(|_| said == Said::Missed);
        let Some(warm) = warm.filter(|_| ask.request.verb == Verb::Read) else {
            return self.finish(number, said, told);
        };
        if ask.request.with_stored_key(|key| self.host.is_deleted(key, now)) {
            self.counts.held_off += 1;
            return self.finish(number, said, told);
        }
        // Should the warm pool not have it either, that is the answer.
        ask.answer.extend_from_slice(told);
        let fetch = ask.request.fetch();
        let server = self.servers_of(number, warm).into_iter().find(|server| !self.servers.is_out(*server));
        self.counts.warm_reads += 1;
        match server {
            Some(server) => self.ask_else(number, server, &fetch, Asked::Line, Stage::Warm),
            None => self.finish(number, said, told),
        }
    }

    fn on_replica(&mut self, number: u32, replica: u16, said: Said, told: &[u8]) {
        let ask = self.asks.get(number);
        let pool = &self.config.pools[usize::from(ask.pool)];
        let goes_on = said == Said::Missed && pool.miss_next && ask.request.verb == Verb::Read;
        if !goes_on || replica + 1 >= pool.servers.1 {
            return self.finish(number, said, told);
        }
        ask.best = 0;
        ask.answer.clear();
        ask.answer.extend_from_slice(told);
        self.next_replica(number, replica + 1, Why::Out);
    }

    fn on_warm(&mut self, number: u32, said: Said, told: &[u8]) {
        let now = self.now.monotonic;
        let ask = self.asks.get(number);
        let add = ask.request.add(told).filter(|_| said == Said::Found);
        // It may have been deleted while it was on its way.
        let add = add.filter(|_| !ask.request.with_stored_key(|key| self.host.is_deleted(key, now)));
        match add {
            Some(add) => {
                let pool = self.asks.get(number).pool;
                let server = self.server_of(number, pool);
                self.ask_else(number, server, &add, Asked::Line, Stage::Adding);
            }
            None => self.finish_missed(number),
        }
    }

    /// With the miss that was the first answer.
    fn finish_missed(&mut self, number: u32) {
        let answer = core::mem::take(&mut self.asks.get(number).answer);
        self.finish(number, Said::Missed, &answer);
    }

    fn on_copies(&mut self, number: u32) {
        let ask = self.asks.get(number);
        if ask.waiting == 0 {
            let (said, answer) = (ask.said, core::mem::take(&mut ask.answer));
            self.finish(number, said, &answer);
        }
    }

    /// A server did not answer.
    pub(super) fn on_failure(&mut self, number: u32, _part: u16, why: Why) {
        self.counts.queue_overflow += u64::from(why == Why::Queue);
        let ask = self.asks.get(number);
        ask.waiting = ask.waiting.saturating_sub(1);
        match ask.stage {
            Stage::First => self.ask_gutter(number, why),
            Stage::Replica(replica) if matches!(ask.request.verb, Verb::Read | Verb::Lease) => {
                self.next_replica(number, replica + 1, why);
            }
            Stage::Copies => {
                self.counts.copies_missed += 1;
                match (ask.waiting, ask.best) {
                    (0, u16::MAX) => self.give_up(number, why),
                    _ => self.on_copies(number),
                }
            }
            Stage::Warm | Stage::Adding => self.finish_missed(number),
            _ => self.give_up(number, why),
        }
    }

    /// To the pool that stands in for the one whose server is gone, if there is one.
    fn ask_gutter(&mut self, number: u32, why: Why) {
        let ask = self.asks.get(number);
        let Some((gutter, most)) = self.config.pools[usize::from(ask.pool)].gutter else {
            return self.give_up(number, why);
        };
        self.counts.gutter += 1;
        let (capped, asked) = (ask.request.capped(most, self.now.unix), ask.request.asked);
        let server = self.servers_of(number, gutter).into_iter().find(|server| !self.servers.is_out(*server));
        match server {
            Some(server) => self.ask_else(number, server, &capped, asked, Stage::Gutter),
            None => self.give_up(number, why),
        }
    }

    /// Nobody can be asked.
    fn give_up(&mut self, number: u32, why: Why) {
        let ask = self.asks.get(number);
        let reads = matches!(ask.request.verb, Verb::Read | Verb::Lease);
        let mut answer = Vec::new();
        if reads && self.config.route.dead_reads == super::config::Dead::Miss {
            self.counts.dead_reads += 1;
            ask.request.miss(&mut answer);
            return self.finish(number, Said::Missed, &answer);
        }
        self.counts.unavailable += 1;
        let text = format!("SERVER_ERROR unavailable {}\r\n", why.word());
        self.finish(number, Said::Refused, text.as_bytes());
    }

    /// An ask is answered.
    pub(super) fn finish(&mut self, number: u32, said: Said, answer: &[u8]) {
        let ask = self.asks.get(number);
        if ask.request.verb == Verb::Read {
            self.counts.hits += u64::from(said == Said::Found);
            self.counts.misses += u64::from(said == Said::Missed);
        }
        let Some(client) = ask.client else { return self.asks.free(number) };
        ask.answer.clear();
        ask.answer.extend_from_slice(answer);
        (ask.said, ask.done, ask.held) = (said, true, ask.answer.len());
        self.held += ask.held;
        if let Some(one) = self.clients.get_mut(client as usize).and_then(Option::as_mut)
            && !core::mem::replace(&mut one.woken, true)
        {
            self.wakes.push(client);
        }
    }
}
