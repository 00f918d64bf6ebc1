//! What gateways that ask for quota are asked: pushes after a top-up, and quota back.

use super::{Gtpp, T3, Way};
use crate::job::worker::Worker;
use crate::job::{Shared, moment};
use crate::quota;
use crate::session::Push;
use core::time::Duration;
use trunkline_net::Now;
use trunkline_wire::gtpp::profile::Role;

/// Questions of a thread that wait for an answer.
const OPEN_MAX: usize = 65_536;
/// How often an answer is asked for (N3-REQUESTS).
const N3: u32 = 5;

/// A push, or what is asked back.
pub(super) struct Open {
    way: Way,
    sequence: u16,
    octets: Vec<u8>,
    /// The entry that it follows from: nothing leaves before that is durable.
    after: u64,
    tries: u32,
    due: Duration,
}

impl Worker {
    /// A gateway is asked to come again, or told what it may use besides.
    pub(in crate::job) fn push_quota(&mut self, push: Push, now: Now) {
        let shared = std::sync::Arc::clone(&self.shared);
        let Some((gtpp, (_, way))) = shared.gtpp.as_ref().and_then(|gtpp| Some((gtpp, gtpp.way(&push.origin)?))) else {
            return shared.routes.give_back(push);
        };
        if self.talk.open.len() >= OPEN_MAX {
            return shared.routes.give_back(push);
        }
        let asks = Asks { shared: &shared, gtpp, way, push: &push };
        let done = asks.write(self, now);
        self.wrote = true;
        if !done {
            shared.routes.give_back(push);
        }
    }

    fn opens(&mut self, (after, way): (u64, Way), now: Now, write: impl FnOnce(u16, &mut Vec<u8>) -> bool) {
        self.talk.next = self.talk.next.wrapping_add(1);
        let (sequence, mut octets) = (self.talk.next, Vec::new());
        if write(sequence, &mut octets) {
            self.counts.pushed += 1;
            let due = now.monotonic + T3;
            self.talk.owed.push_back((after, way, octets.clone()));
            self.talk.open.push(Open { way, sequence, octets, after, tries: 1, due });
        }
    }

    pub(super) fn quota_answered(&mut self, way: Way, role: Role, sequence: u16) {
        let is_it = |open: &Open| open.way == way && open.sequence == sequence;
        let at = self.talk.open.iter().position(is_it);
        let pushed = matches!(role, Role::QuotaPushResponse | Role::QuotaReturnResponse);
        match at.filter(|_| pushed) {
            Some(at) => {
                self.talk.open.swap_remove(at);
                self.counts.pushes_answered += 1;
            }
            None => self.counts.quota_unserved += 1,
        }
    }

    /// Asks again where no answer came.
    pub(in crate::job) fn ask_again(&mut self, now: Now) {
        let durable = self.shared.book.durable();
        let (mut lost, ready) = (0, &mut self.talk.ready);
        self.talk.open.retain_mut(|open| {
            if open.due > now.monotonic {
                return true;
            }
            if open.after > durable {
                open.due = now.monotonic + T3;
                return true;
            }
            if open.tries >= N3 {
                lost += 1;
                return false;
            }
            open.tries += 1;
            open.due = now.monotonic + T3;
            ready.push((open.way, open.octets.clone()));
            true
        });
        self.counts.pushes_lost += lost;
    }
}

/// What a gateway is asked for a session.
struct Asks<'a> {
    shared: &'a Shared,
    gtpp: &'a Gtpp,
    way: Way,
    push: &'a Push,
}

impl Asks<'_> {
    /// Whether it was asked, or there is nothing to ask; else it is tried again.
    fn write(&self, worker: &mut Worker, now: Now) -> bool {
        let (session, mapping) = (&*self.push.session, &self.gtpp.mapping);
        let mut desk = self.shared.book.desk();
        let Some(pushes) = quota::pushes(desk.core(), self.push) else { return true };
        let user = desk.user(session, mapping).unwrap_or_default();
        let at = desk.now(moment(now.unix));
        let mut granted = Vec::new();
        for key in pushes.granted {
            let held = quota::replaced(desk.core(), session, key);
            let Some(request) = quota::server_request(desk.core(), session, key) else { continue };
            let decided = desk.handle(&request, at);
            if decided.after == 0 {
                return false;
            }
            granted.push((held, decided));
        }
        drop(desk);
        for (held, decided) in granted {
            let Some(given) = decided.answer.services.first() else { continue };
            let Some((unit, units)) = given.granted else { continue };
            let more = units.saturating_sub(held.filter(|(own, _)| *own == unit).map_or(0, |(_, units)| units));
            if more > 0 {
                worker.opens((decided.after, self.way), now, |sequence, out| {
                    quota::push(sequence, (session, &user), given, more, mapping, out).is_ok()
                });
            }
        }
        for key in pushes.returned {
            worker.opens((0, self.way), now, |sequence, out| {
                quota::return_request(sequence, session, key, mapping, out).is_ok()
            });
        }
        true
    }
}
