//! Messages of a client: read, decided together, answered.

use super::book::Decided;
use super::calls::Side;
use super::clients::{Client, Tally};
use super::link::{Link, Speaks};
use super::moment;
use super::worker::{ROOM_OCTETS, Worker};
use crate::gy::{self, Said};
use crate::peer::{MESSAGE_OCTETS_MAX, Peer, Taken};
use crate::session::{Answer, Kind, Request, code};
use crate::trust::Way;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::Arc;
use trunkline_net::Now;
use trunkline_wire::diameter::base::refuse;
use trunkline_wire::diameter::credit::CreditControlRequest;
use trunkline_wire::diameter::dictionary::avp::ORIGIN_HOST;
use trunkline_wire::diameter::{Failure, Frames, Message, result_code};

/// Octets of the longest message before a peer has said who it is.
const FIRST_OCTETS_MAX: usize = 4096;
/// Octets of answers at once, and requests that wait for the book, after which others have their turn. With what the
/// last message adds they have room in one call.
const SAID_OCTETS_MAX: usize = ROOM_OCTETS / 4;
const ASKED_MAX: usize = 256;

/// How a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// With what comes.
    GoesOn,
    /// With what is there, after the others.
    Yields,
    /// Not at all.
    Ends,
}

/// A credit-control request that is to be decided.
pub(super) struct Asked<'a> {
    pub message: Message<'a>,
    pub ccr: CreditControlRequest<'a>,
    pub request: Request,
    /// When it came.
    pub came: Duration,
}

impl Worker {
    /// Takes the whole messages at the front of what came, as many as there is room for answers: octets taken, and how
    /// it goes on.
    pub(super) fn messages(&mut self, link: &mut Link, input: &[u8], now: Now) -> (usize, Flow) {
        let Link { speaks: Speaks::Diameter(peer), side, .. } = link else { return (0, Flow::Ends) };
        let (mut taken, mut asked, mut flow) = (0, Vec::new(), Flow::GoesOn);
        let refused = self.counts.messages_refused;
        while flow == Flow::GoesOn {
            let octets_max = if peer.is_open() { MESSAGE_OCTETS_MAX } else { FIRST_OCTETS_MAX };
            let mut frames = Frames::new(&input[taken..], octets_max);
            match frames.next_message() {
                Ok(Some(octets)) if !self.message((&mut *peer, &mut *side), octets, now, &mut asked) => {
                    flow = Flow::Ends
                }
                Ok(Some(_)) if self.said.len() > SAID_OCTETS_MAX || asked.len() >= ASKED_MAX => flow = Flow::Yields,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    self.counts.streams_broken += 1;
                    flow = Flow::Ends;
                }
            }
            taken += frames.taken();
        }
        if peer.is_open() && !link.routed {
            link.routed = true;
            self.shared.routes.set(peer.host(), peer.realm(), link.id, true);
            let (from, tls) = link.from;
            let (host, realm, tally) = (peer.host().into(), peer.realm().into(), Arc::clone(&link.tally));
            let client = Client { number: 0, host, realm, from, tls, since: now.unix.as_secs(), tally };
            link.client = Some(self.shared.clients.add(client));
        }
        link.tally.heard.store(now.unix.as_secs(), Relaxed);
        link.tally.watch(peer.state());
        let refused = self.counts.messages_refused - refused;
        Tally::more(&link.tally.failed, refused);
        self.decide(link, asked, now);
        (taken, flow)
    }

    /// Takes a message; whether the connection goes on.
    fn message<'a>(
        &mut self,
        (peer, side): (&mut Peer, &mut Side),
        octets: &'a [u8],
        now: Now,
        asked: &mut Vec<Asked<'a>>,
    ) -> bool {
        self.counts.messages += 1;
        let before = self.said.len();
        let opens = !peer.is_open();
        let taken = peer.take(&self.shared.local, octets, now.monotonic, &mut self.said);
        match taken {
            Err(_) => {
                self.counts.messages_refused += 1;
                return !opens;
            }
            Ok(Taken::Opened) if !self.admits(peer, side, octets, before) => return false,
            Ok(Taken::Opened) => self.counts.peers_opened += 1,
            Ok(Taken::Done(result)) => {
                self.counts.messages_refused += u64::from(result != 0 && result != result_code::SUCCESS);
            }
            Ok(Taken::Pushed(pushed)) if pushed.is_done() => self.counts.pushes_answered += 1,
            Ok(Taken::Pushed(pushed)) => {
                self.counts.pushes_lost += 1;
                self.shared.routes.give_back(pushed.push);
            }
            Ok(Taken::Close(_)) => {
                self.counts.peers_refused += u64::from(opens && peer.host().is_empty());
                return false;
            }
            Ok(Taken::Charge(message)) if self.held.is_full() => {
                self.counts.pending_full += 1;
                self.refuse(&message, &Failure::of_message(result_code::TOO_BUSY));
            }
            Ok(Taken::Charge(message)) => {
                let read = self.ask(message, now.monotonic);
                match read.and_then(|new| self.trusted(peer, new, now.monotonic)) {
                    Ok(new) => asked.push(new),
                    Err(failure) => self.refuse(&message, &failure),
                }
            }
        }
        true
    }

    pub(super) fn ask<'a>(&self, message: Message<'a>, came: Duration) -> Result<Asked<'a>, Failure<'a>> {
        let ccr = self.shared.local.read(&message)?;
        let request = gy::ask(&message, &ccr)?;
        Ok(Asked { message, ccr, request, came })
    }

    /// A request, if its peer may bring it.
    fn trusted<'a>(&mut self, peer: &Peer, asked: Asked<'a>, now: Duration) -> Result<Asked<'a>, Failure<'a>> {
        let routed = asked.ccr.route_records.iter().next().is_some();
        let way = Way { peer: peer.host(), relays: peer.relays(), routed };
        let (trust, origin) = (&self.shared.trust, asked.ccr.origin_host);
        if !trust.brings(way, origin) {
            self.counts.origins_refused += 1;
            self.refusals.tell(now, || {
                format!("{} asks as {origin}, and is no agent: charge.agents says who speaks for others", peer.host())
            });
            let offends = asked.message.avps().find(ORIGIN_HOST);
            return Err(match &offends {
                Some(avp) => Failure::of_avp(result_code::INVALID_AVP_VALUE, avp),
                None => Failure::of_message(result_code::INVALID_AVP_VALUE),
            });
        }
        if asked.request.kind == Kind::Refund && !trust.brings_refund(way, origin) {
            self.counts.refunds_refused += 1;
            self.refusals
                .tell(now, || format!("{origin} gives back over {}: charge.refund-peers says who may", peer.host()));
            return Err(Failure::of_message(result_code::AUTHORIZATION_REJECTED));
        }
        Ok(asked)
    }

    fn refuse(&mut self, message: &Message<'_>, failure: &Failure<'_>) {
        self.counts.messages_refused += 1;
        let terms = &self.shared.terms;
        // What a refusal repeats is bounded by the message that it refuses, which has been taken.
        let _fits = refuse(message, &terms.host, &terms.realm, failure, &mut self.said);
    }

    /// Decides about them, but for those whose subscribers are looked up first.
    fn decide(&mut self, link: &mut Link, asked: Vec<Asked<'_>>, now: Now) {
        if self.shared.profiles.is_none() {
            return self.settle(link, asked, now);
        }
        let (later, at_once): (Vec<Asked<'_>>, Vec<Asked<'_>>) =
            asked.into_iter().partition(|asked| self.looks_up(asked.request.kind));
        self.settle(link, at_once, now);
        later.iter().for_each(|asked| self.park(link, asked));
    }

    /// Decides about all of them with one hold of the book; their answers wait for the disk.
    pub(super) fn settle(&mut self, link: &mut Link, asked: Vec<Asked<'_>>, now: Now) {
        if asked.is_empty() {
            return;
        }
        let mut desk = self.shared.book.desk();
        let (over, mut refused, at) = (link.strays.is_over(now.monotonic), 0, desk.now(moment(now.unix)));
        let decide = |asked: &Asked<'_>| match over && desk.is_stray(&asked.request, at) {
            true => {
                refused += 1;
                let answer = Answer::of(code::TOO_BUSY);
                Decided { answer, after: 0, currency: String::new(), copy: false, foreign: false }
            }
            false => desk.handle(&asked.request, at),
        };
        let decided: Vec<Decided> = asked.iter().map(decide).collect();
        self.overload = desk.overload(at);
        drop(desk);
        self.counts.strays_refused += refused;
        let mut last = "";
        for (asked, decided) in asked.iter().zip(decided) {
            self.count(Some(&link.tally), asked.request.kind, &decided);
            if decided.foreign {
                self.tell_foreign(&asked.request, now.monotonic);
            }
            if decided.answer.code == code::UNKNOWN_SESSION && decided.after > 0 && !decided.copy {
                link.strays.add(now.monotonic);
            }
            // Who is not known here, or asks for what is not there, has no session to be asked about.
            if decided.after > 0 && decided.answer.code != code::UNKNOWN_SESSION && *asked.request.origin != *last {
                last = &asked.request.origin;
                let own = matches!(&link.speaks, Speaks::Diameter(peer) if peer.host() == last);
                self.shared.routes.set(last, asked.ccr.origin_realm, link.id, own);
            }
            self.answer(link, asked, &decided);
        }
    }

    /// Somebody asked for the session of another client.
    fn tell_foreign(&mut self, request: &Request, now: Duration) {
        self.refusals.tell(now, || {
            let Request { origin, session, .. } = request;
            format!("{origin} asks for session {session:?}, which another client opened: charge.failover says who may")
        });
    }

    /// An answer that follows from no entry leaves at once, before those that wait.
    pub(super) fn answer(&mut self, link: &mut Link, asked: &Asked<'_>, decided: &Decided) {
        let Decided { answer, after, currency, .. } = decided;
        let terms = &self.shared.terms;
        let out = if *after == 0 { &mut self.said } else { link.pending.octets() };
        let said = Said { currency, overload: self.overload };
        if gy::tell(&asked.message, &asked.ccr, answer, terms, said, out).is_err() {
            // More than a message holds cannot be answered to what came in one; should it be, the client is told.
            let failure = Failure::of_message(result_code::UNABLE_TO_COMPLY);
            let _fits = refuse(&asked.message, &terms.host, &terms.realm, &failure, out);
        }
        if *after > 0 && link.pending.put(*after, asked.came) {
            self.waits(link, *after);
        }
    }

    pub(super) fn count(&mut self, tally: Option<&Tally>, kind: Kind, decided: &Decided) {
        let (which, count) = match kind {
            Kind::Initial => (0, &mut self.counts.initial),
            Kind::Update => (1, &mut self.counts.update),
            Kind::Terminate => (2, &mut self.counts.terminate),
            Kind::DirectDebit | Kind::Refund | Kind::CheckBalance | Kind::PriceEnquiry => (3, &mut self.counts.event),
        };
        *count += 1;
        self.counts.copies += u64::from(decided.copy);
        self.counts.foreign += u64::from(decided.foreign);
        self.counts.answered(decided.answer.code);
        let result = result_of(&decided.answer);
        self.traffic.answered[which][result] += 1;
        self.traffic.copies += u64::from(decided.copy);
        let Some(tally) = tally else { return };
        Tally::more(&tally.requests, 1);
        Tally::more(&tally.copies, u64::from(decided.copy));
        match result {
            0 => {}
            1 => Tally::more(&tally.refused, 1),
            2 => Tally::more(&tally.busy, 1),
            _ => Tally::more(&tally.failed, 1),
        }
    }
}

/// Which of the results of [`crate::traffic`] an answer is: one that refuses any service is a refusal.
fn result_of(answer: &Answer) -> usize {
    use crate::session::code::{NOT_APPLICABLE, SUCCESS, TOO_BUSY, UNKNOWN_SESSION, USER_UNKNOWN};
    let refuses = |code: u32| code != SUCCESS && code != NOT_APPLICABLE;
    match answer.code {
        TOO_BUSY => 2,
        SUCCESS => usize::from(answer.services.iter().any(|given| refuses(given.code))),
        4000..5000 | USER_UNKNOWN | UNKNOWN_SESSION => 1,
        _ => 3,
    }
}
