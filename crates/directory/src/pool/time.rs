//! What happens because time passes: requests that wait too long, servers that say nothing, connections that are made.

use super::server::{Server, Slot};
use super::{Action, Link, Pool};
use crate::operation::Failure;
use std::time::Duration;

impl<T> Pool<T> {
    /// When [`Pool::handle_timeout`] has something to do next.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let timeout = self.options.timeout;
        let waiting = [&self.again, &self.queue].into_iter().filter_map(|queue| queue.front());
        let waiting = waiting.map(|job| job.since + timeout);
        waiting.chain(self.servers.iter().filter_map(|server| server.deadline(timeout))).min()
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        for server in 0..self.servers.len() {
            self.expire_flights(now, server);
            self.open(now, server);
        }
        self.expire_waiting(now);
        self.dispatch(now);
    }

    /// A connection that has said nothing at all since a request was sent is taken for dead, and so are the others of
    /// its server that have not either; where something else was said, it is that request alone which is slow.
    fn expire_flights(&mut self, now: Duration, server: usize) {
        while let Some((link, id, sent, heard)) = self.servers[server].overdue(now, server, self.options.timeout) {
            self.servers[server].counts.timeouts += 1;
            if heard > sent {
                self.give_up(now, link, id, Failure::TimedOut);
            } else {
                self.silent(now, server, sent);
            }
        }
    }

    /// Gives up the connections of a server that have said nothing since.
    fn silent(&mut self, now: Duration, server: usize, since: Duration) {
        for link in self.servers[server].links(server) {
            let heard = self.servers[server].connection(link).map(|connection| connection.heard);
            if heard.is_some_and(|heard| heard <= since) {
                self.break_off(now, link, "it says nothing");
            }
        }
    }

    fn expire_waiting(&mut self, now: Duration) {
        let timeout = self.options.timeout;
        for take_again in [true, false] {
            let queue = if take_again { &mut self.again } else { &mut self.queue };
            let late = queue.iter().take_while(|job| job.since + timeout <= now).count();
            let late: Vec<_> = queue.drain(..late).collect();
            late.into_iter().for_each(|job| self.complete(job.token, Err(Failure::TimedOut)));
        }
    }

    /// Makes the connections whose time has come; of a server that is down only one, to see whether it is back.
    fn open(&mut self, now: Duration, server: usize) {
        while let Some(slot) = self.servers[server].due_to_open(now) {
            self.lives += 1;
            let link = Link { server, slot, life: self.lives };
            self.servers[server].slots[slot] = Slot::Opening(link.life);
            self.actions.push_back(Action::Open(link));
        }
    }
}

impl<T> Server<T> {
    fn deadline(&self, timeout: Duration) -> Option<Duration> {
        let may_open = self.may_open();
        let due = self.slots.iter().filter_map(|slot| match slot {
            Slot::Idle(at) => may_open.then_some(*at),
            Slot::Opening(_) => None,
            Slot::Open(connection) => connection.sent.front().map(|(sent, _)| *sent + timeout),
        });
        due.min()
    }

    /// A server that is down is tried by one connection at a time.
    fn may_open(&self) -> bool {
        !self.down || !self.slots.iter().any(|slot| matches!(slot, Slot::Opening(_)))
    }

    fn due_to_open(&self, now: Duration) -> Option<usize> {
        let is_due = |slot: &Slot<T>| matches!(slot, Slot::Idle(at) if *at <= now);
        self.may_open().then(|| self.slots.iter().position(is_due)).flatten()
    }

    /// The first request that is overdue: its connection, its identifier, when it was sent, and when something was
    /// heard last there.
    fn overdue(&mut self, now: Duration, server: usize, timeout: Duration) -> Option<(Link, u32, Duration, Duration)> {
        self.slots.iter_mut().enumerate().find_map(|(slot, state)| {
            let Slot::Open(connection) = state else { return None };
            connection.forget_answered();
            let (sent, id) = *connection.sent.front()?;
            let link = Link { server, slot, life: connection.life };
            (sent + timeout <= now).then_some((link, id, sent, connection.heard))
        })
    }
}
