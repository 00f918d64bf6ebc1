//! Messages of a client: read, decided together, answered.

use super::book::Decided;
use super::link::{Link, Speaks};
use super::worker::Worker;
use crate::calendar::Moment;
use crate::gy;
use crate::peer::{MESSAGE_OCTETS_MAX, Peer, Taken};
use crate::session::{Kind, Request};
use trunkline_net::Now;
use trunkline_wire::diameter::base::refuse;
use trunkline_wire::diameter::credit::CreditControlRequest;
use trunkline_wire::diameter::{Failure, Frames, Message, result_code};

/// A credit-control request that is to be decided.
struct Asked<'a> {
    message: Message<'a>,
    ccr: CreditControlRequest<'a>,
    request: Request,
}

impl Worker {
    /// Takes the whole messages at the front of what came: octets taken, and whether the connection goes on.
    pub(super) fn messages(&mut self, link: &mut Link, input: &[u8], now: Now) -> (usize, bool) {
        let Link { speaks: Speaks::Diameter(peer), .. } = link else { return (0, false) };
        let mut frames = Frames::new(input, MESSAGE_OCTETS_MAX);
        let (mut asked, mut open) = (Vec::new(), true);
        while open {
            match frames.next_message() {
                Ok(Some(octets)) => open = self.message(peer, octets, now, &mut asked),
                Ok(None) => break,
                Err(_) => {
                    self.counts.streams_broken += 1;
                    open = false;
                }
            }
        }
        if peer.is_open() && link.origin.is_empty() {
            let host: Box<str> = peer.host().into();
            self.route(link, &host);
        }
        self.decide(link, asked, now);
        (frames.taken(), open)
    }

    /// Takes a message; whether the connection goes on.
    fn message<'a>(&mut self, peer: &mut Peer, octets: &'a [u8], now: Now, asked: &mut Vec<Asked<'a>>) -> bool {
        self.counts.messages += 1;
        let opens = !peer.is_open();
        let taken = peer.take(&self.shared.local, octets, now.monotonic, &mut self.said);
        match taken {
            Err(_) => self.counts.messages_refused += 1,
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
            Ok(Taken::Charge(message)) => match self.ask(message) {
                Ok(new) => asked.push(new),
                Err(failure) => self.refuse(&message, &failure),
            },
        }
        true
    }

    fn ask<'a>(&self, message: Message<'a>) -> Result<Asked<'a>, Failure<'a>> {
        let ccr = self.shared.local.read(&message)?;
        let request = gy::ask(&message, &ccr)?;
        Ok(Asked { message, ccr, request })
    }

    fn refuse(&mut self, message: &Message<'_>, failure: &Failure<'_>) {
        self.counts.messages_refused += 1;
        let terms = &self.shared.terms;
        // What a refusal repeats is bounded by the message that it refuses, which has been taken.
        let _fits = refuse(message, &terms.host, &terms.realm, failure, &mut self.said);
    }

    /// Decides about all of them with one hold of the book; their answers wait for the disk.
    fn decide(&mut self, link: &mut Link, asked: Vec<Asked<'_>>, now: Now) {
        if asked.is_empty() {
            return;
        }
        let moment = Moment::try_from(now.unix.as_secs()).unwrap_or(Moment::MAX);
        let mut desk = self.shared.book.desk();
        let decided: Vec<Decided> = asked.iter().map(|asked| desk.handle(&asked.request, moment)).collect();
        drop(desk);
        for (asked, decided) in asked.iter().zip(decided) {
            self.count(asked.request.kind, &decided);
            if asked.request.origin != link.origin {
                self.route(link, &asked.request.origin);
            }
            self.answer(link, asked, &decided);
        }
    }

    fn answer(&mut self, link: &mut Link, asked: &Asked<'_>, decided: &Decided) {
        let Decided { answer, after, currency, .. } = decided;
        let terms = &self.shared.terms;
        let out = link.pending.octets();
        if gy::tell(&asked.message, &asked.ccr, answer, terms, currency, out).is_err() {
            // More than a message holds cannot be answered to what came in one; should it be, the client is told.
            let failure = Failure::of_message(result_code::UNABLE_TO_COMPLY);
            let _fits = refuse(&asked.message, &terms.host, &terms.realm, &failure, out);
        }
        if link.pending.put(*after) {
            self.waits(link.id, *after);
        }
    }

    fn route(&self, link: &mut Link, host: &str) {
        link.origin = host.into();
        self.shared.routes.set(host, link.id);
    }

    fn count(&mut self, kind: Kind, decided: &Decided) {
        *match kind {
            Kind::Initial => &mut self.counts.initial,
            Kind::Update => &mut self.counts.update,
            Kind::Terminate => &mut self.counts.terminate,
            Kind::DirectDebit | Kind::Refund | Kind::CheckBalance | Kind::PriceEnquiry => &mut self.counts.event,
        } += 1;
        self.counts.copies += u64::from(decided.copy);
        self.counts.answered(decided.answer.code);
    }
}
