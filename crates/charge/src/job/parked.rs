//! Requests of a connection that wait for the directory.

use super::book::Decided;
use super::link::Link;
use super::moment;
use super::profiles::Whom;
use super::requests::Asked;
use super::worker::Worker;
use crate::account::Identity;
use crate::profile::{Admitted, admit};
use crate::session::{Answer, Core, Kind, Refused, code};
use core::time::Duration;
use std::collections::HashMap;
use trunkline_directory::{Completion, Ended, LookedUp, Why};
use trunkline_net::Now;
use trunkline_wire::diameter::Message;

/// Octets of requests of a connection that wait for the directory; one more is answered 3004.
// Limit: requests of one connection waiting for the directory
// Beyond: further ones are answered 3004 (too busy)
// Seen in: `trunkline_charge_answers_busy_total`
const PARKED_OCTETS_MAX: usize = 1 << 20;

/// Those of a connection, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Parked {
    requests: HashMap<u64, Waiting>,
    octets: usize,
}

#[derive(Debug)]
struct Waiting {
    octets: Box<[u8]>,
    /// The identity that is being looked up, of those of the request.
    at: usize,
    /// The directory has said of one that it is nobody's.
    absent: bool,
    /// When it came.
    came: Duration,
}

impl Parked {
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    fn put(&mut self, token: u64, waiting: Waiting) {
        self.octets += waiting.octets.len();
        self.requests.insert(token, waiting);
    }

    fn take(&mut self, token: u64) -> Option<Waiting> {
        let waiting = self.requests.remove(&token)?;
        self.octets -= waiting.octets.len();
        Some(waiting)
    }
}

impl Worker {
    /// Whether the subscriber of such a request is looked up before it is decided.
    pub(super) fn looks_up(&self, kind: Kind) -> bool {
        self.shared.profiles.is_some() && !matches!(kind, Kind::Update | Kind::Terminate)
    }

    /// Has the subscriber of a request looked up; the request waits with its connection.
    pub(super) fn park(&mut self, link: &mut Link, asked: &Asked<'_>) {
        let waiting = Waiting { octets: asked.message.octets().into(), at: 0, absent: false, came: asked.came };
        if link.parked.octets + waiting.octets.len() > PARKED_OCTETS_MAX {
            return self.deny(link, asked, code::TOO_BUSY);
        }
        self.look_up(link, asked, waiting);
    }

    fn look_up(&mut self, link: &mut Link, asked: &Asked<'_>, waiting: Waiting) {
        let Some(identity) = asked.request.identities.get(waiting.at) else {
            return self.deny(link, asked, code::USER_UNKNOWN);
        };
        let token =
            self.shared.profiles.as_ref().and_then(|profiles| profiles.ask(Whom::Connection(link.id), identity));
        match token {
            Some(token) => link.parked.put(token, waiting),
            None => self.deny(link, asked, code::TOO_BUSY),
        }
    }

    /// An answer that follows from nothing in the book.
    fn deny(&mut self, link: &mut Link, asked: &Asked<'_>, code: u32) {
        let decided =
            Decided { answer: Answer::of(code), after: 0, currency: String::new(), copy: false, foreign: false };
        self.count(Some(&link.tally), asked.request.kind, &decided);
        self.answer(link, asked, &decided);
    }

    /// The directory has answered: the request goes on.
    pub(super) fn looked_up(&mut self, link: &mut Link, completion: &Completion, now: Now) {
        let Ended::LookedUp(looked_up) = &completion.ended else { return };
        let Some(mut waiting) = link.parked.take(completion.token) else { return };
        let octets = core::mem::take(&mut waiting.octets);
        // It was read before it was parked.
        let Ok(message) = Message::new(&octets) else { return };
        let Ok(asked) = self.ask(message, waiting.came) else { return };
        let names_nobody = matches!(looked_up, LookedUp::Absent | LookedUp::Failed(Why::NoFilter | Why::Unfit));
        waiting.absent |= *looked_up == LookedUp::Absent;
        if names_nobody && waiting.at + 1 < asked.request.identities.len() {
            let waiting = Waiting { octets: octets.clone(), at: waiting.at + 1, ..waiting };
            return self.look_up(link, &asked, waiting);
        }
        let by = asked.request.identities[waiting.at].clone();
        // By an earlier name it is known that nobody has it; the last one could not be asked for.
        let looked_up = if names_nobody && waiting.absent { &LookedUp::Absent } else { looked_up };
        self.count_looked_up(looked_up);
        self.admit(link, asked, by, looked_up, now);
    }

    fn admit(&mut self, link: &mut Link, asked: Asked<'_>, by: Identity, looked_up: &LookedUp, now: Now) {
        let is_copy = |core: &Core| core.copy_of(&asked.request).is_some();
        match self.admitted(&asked.request.identities, is_copy, &by, looked_up, now) {
            Some(code) => self.deny(link, &asked, code),
            None => self.settle(link, vec![asked], now),
        }
    }

    /// The ledger learns what the directory says of one of these names; the code of a refusal, if it is one.
    pub(super) fn admitted(
        &mut self,
        identities: &[Identity],
        is_copy: impl FnOnce(&Core) -> bool,
        by: &Identity,
        looked_up: &LookedUp,
        now: Now,
    ) -> Option<u32> {
        let mut desk = self.shared.book.desk();
        let at = desk.now(moment(now.unix));
        let is_known = identities.iter().any(|one| desk.core().subscriber_of(one).is_some());
        let refused = match admit(looked_up, by, is_known) {
            // A copy is answered as the original was, whatever the directory says by now.
            _ if is_copy(desk.core()) => None,
            Admitted::With(known) => match desk.bring(&known, at) {
                Ok(()) => None,
                Err(Refused::NoPlan) => Some(code::RATING_FAILED),
                Err(_) => Some(code::UNABLE_TO_COMPLY),
            },
            Admitted::AsBefore => {
                self.counts.profiles_stood_in += 1;
                None
            }
            Admitted::Refused(code) => Some(code),
        };
        self.counts.profiles_refused += u64::from(refused.is_some());
        refused
    }

    pub(super) fn count_looked_up(&mut self, looked_up: &LookedUp) {
        *match looked_up {
            LookedUp::Found(..) => &mut self.counts.profiles_found,
            LookedUp::Absent => &mut self.counts.profiles_absent,
            LookedUp::Failed(why) => {
                tracing::debug!("charging: a subscriber was not found out in the directory: {why}");
                &mut self.counts.profiles_failed
            }
        } += 1;
    }
}
