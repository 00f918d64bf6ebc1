//! Requests of gateways that wait for the directory.

use super::{Asked, Gtpp, OWED_MAX, Way};
use crate::account::Identity;
use crate::job::profiles::Whom;
use crate::job::worker::Worker;
use crate::quota::{self, Charge};
use crate::session::{Answer, Core};
use trunkline_directory::{Completion, Ended, LookedUp, Why};
use trunkline_net::Now;
use trunkline_wire::gtpp::Message;

/// Requests of a thread that wait; one more is dropped, and comes again.
// Limit: GTP' requests of one thread waiting for the directory
// Beyond: further requests are dropped, and the gateway repeats them
// Seen in: `trunkline_charge_quota_dropped_total`
const PARKED_MAX: usize = 65_536;

/// One of them.
pub(super) struct Waiting {
    way: Way,
    message: Vec<u8>,
    identities: Vec<Identity>,
    /// None of a request for a profile.
    charge: Option<Charge>,
    /// The identity that is being looked up.
    at: usize,
    /// The directory has said of one that it is nobody's.
    absent: bool,
}

impl Waiting {
    pub fn of_profile(way: Way, message: &Message<'_>, identities: Vec<Identity>) -> Waiting {
        Waiting { way, message: message.octets().to_vec(), identities, charge: None, at: 0, absent: false }
    }

    pub fn of_charge(asked: Asked) -> Waiting {
        let Asked { way, charge, message } = asked;
        let identities = charge.identities.clone();
        Waiting { way, message, identities, charge: Some(charge), at: 0, absent: false }
    }
}

impl Worker {
    /// Has the next name of a request looked up.
    pub(super) fn park_quota(&mut self, waiting: Waiting) {
        let profiles = self.shared.profiles.as_ref().filter(|_| self.talk.parked.len() < PARKED_MAX);
        let identity = waiting.identities.get(waiting.at);
        let token = profiles.zip(identity).and_then(|(profiles, name)| profiles.ask(Whom::Thread(self.thread), name));
        match token {
            Some(token) => drop(self.talk.parked.insert(token, waiting)),
            // Without a name it is nobody's; with one there is no room.
            None if waiting.identities.is_empty() => self.goes_on(waiting),
            None => self.counts.quota_dropped += 1,
        }
    }

    /// The directory has answered: the request goes on.
    pub(in crate::job) fn quota_looked_up(&mut self, completion: &Completion, now: Now) {
        let Ended::LookedUp(looked_up) = &completion.ended else { return };
        let Some(mut waiting) = self.talk.parked.remove(&completion.token) else { return };
        let names_nobody = matches!(looked_up, LookedUp::Absent | LookedUp::Failed(Why::NoFilter | Why::Unfit));
        waiting.absent |= *looked_up == LookedUp::Absent;
        if names_nobody && waiting.at + 1 < waiting.identities.len() {
            waiting.at += 1;
            return self.park_quota(waiting);
        }
        let by = waiting.identities[waiting.at].clone();
        // By an earlier name it is known that nobody has it; the last one could not be asked for.
        let looked_up = if names_nobody && waiting.absent { &LookedUp::Absent } else { looked_up };
        self.count_looked_up(looked_up);
        let is_copy = |core: &Core| match &waiting.charge {
            Some(charge) => core.standing(&charge.session, charge.octets).is_some_and(|standing| standing.copy),
            None => false,
        };
        let refused = self.admitted(&waiting.identities, is_copy, &by, looked_up, now);
        self.wrote = true;
        match refused {
            Some(code) => self.deny_quota(waiting, code),
            None => self.goes_on(waiting),
        }
    }

    /// As it would without a directory.
    fn goes_on(&mut self, waiting: Waiting) {
        let shared = std::sync::Arc::clone(&self.shared);
        let Some(gtpp) = &shared.gtpp else { return };
        match waiting.charge {
            Some(charge) => self.talk.asked.push(Asked { way: waiting.way, charge, message: waiting.message }),
            None => self.answer_profile(gtpp, &waiting),
        }
    }

    fn deny_quota(&mut self, waiting: Waiting, code: u32) {
        let shared = std::sync::Arc::clone(&self.shared);
        let Some(gtpp) = &shared.gtpp else { return };
        self.counts.answered(code);
        match waiting.charge {
            Some(charge) => {
                let asked = Asked { way: waiting.way, charge, message: waiting.message };
                self.answer_quota(gtpp, &asked, 0, &Answer::of(code));
            }
            None => self.say_profile(gtpp, &waiting, None, 0),
        }
    }

    /// The plan of whom it asks for, as the ledger knows it.
    pub(super) fn answer_profile(&mut self, gtpp: &Gtpp, waiting: &Waiting) {
        let (plan, after) = self.shared.book.look(|core| {
            let account = waiting.identities.iter().find_map(|identity| core.subscriber_of(identity));
            let plan = account.and_then(|(_, account)| core.plan_of(account)).map(|plan| plan.name.clone());
            (plan, core.state().sequence())
        });
        self.say_profile(gtpp, waiting, plan.as_deref(), after);
    }

    /// What it tells is durable before it leaves: a crash must not take back what a gateway was told.
    fn say_profile(&mut self, gtpp: &Gtpp, waiting: &Waiting, plan: Option<&str>, after: u64) {
        if self.talk.owed.len() >= OWED_MAX {
            self.counts.quota_dropped += 1;
            return;
        }
        let mut out = Vec::new();
        // It was read before.
        let Ok(message) = Message::new(&waiting.message) else { return };
        let Ok(quota) = gtpp.mapping.profile.read(&message) else { return };
        if quota::tell_profile(&quota, plan, &gtpp.mapping, &mut out).is_ok() {
            self.wrote = true;
            self.talk.owed.push_back((after, waiting.way, out));
        }
    }
}
