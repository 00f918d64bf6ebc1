//! What rings, and what is agreed about media before the answer: by reliable responses with PRACK (RFC 3262) and by
//! UPDATE (RFC 3311), as RFC 6337 section 2 lists it.

use super::{MS, Story};
use crate::mixture::Early;
use crate::plot::Plot;
use crate::scene::Party;
use crate::sip::{Extra, Method, Step};

impl Story<'_> {
    /// 180 or 183, of several callees if it forks, reliable if so.
    pub(super) fn ring(&mut self, invite: &Step) {
        self.scribe.wait(self.plot.pdd_ns);
        if self.plot.forked {
            self.scribe.fork = 1;
            self.scribe.respond(invite, 180, Extra::None);
        }
        self.scribe.fork = 1 + u8::from(self.plot.forked);
        let describes = self.plot.early_media || self.plot.mixture.early != Early::Plain;
        let description = describes.then(|| self.answer_sdp());
        let status = if describes { 183 } else { 180 };
        let extra = match description {
            _ if self.plot.reliable => Extra::Reliable(1, description),
            Some(sdp) => Extra::Sdp(sdp),
            None => Extra::None,
        };
        let ringing = self.scribe.respond(invite, status, extra);
        // Who is told by PRACK where to send, or that it may, waits for it.
        let waits = matches!(self.plot.mixture.early, Early::OfferInResponse | Early::Preconditions);
        if !waits {
            self.begin_early_media();
        }
        if self.plot.mixture.reminds && !self.plot.reliable {
            self.remind(&ringing);
        }
        if self.plot.reliable {
            self.acknowledge_provisional(invite);
            self.agree_early(invite);
        }
        if waits {
            self.begin_early_media();
        }
    }

    fn begin_early_media(&mut self) {
        if !self.plot.early_media {
            return;
        }
        self.media.spans[1] = Some((self.scribe.now + 20 * MS, i64::MAX));
        if self.plot.mixture.early_caller {
            self.media.spans[0] = Some((self.scribe.now + 80 * MS, i64::MAX));
        }
    }

    /// PRACK and its 200, with what they describe.
    fn acknowledge_provisional(&mut self, invite: &Step) {
        self.scribe.turn(Party::Caller);
        let (offer, answer) = match self.plot.mixture.early {
            Early::OfferInResponse => (Some(self.sdp(Party::Caller, self.mode())), Extra::None),
            Early::OfferInPrack => {
                self.codecs = [self.codecs[0], None, None];
                (Some(self.sdp(Party::Caller, self.mode())), Extra::Sdp(self.answer_sdp()))
            }
            _ => (None, Extra::None),
        };
        let acknowledges = Extra::Acknowledges(1, invite.cseq, offer);
        self.scribe.transaction(Party::Caller, Method::Prack, acknowledges, 200, answer);
    }

    /// UPDATE and its 200, where there is one.
    fn agree_early(&mut self, invite: &Step) {
        match self.plot.mixture.early {
            Early::Moved => {
                self.scribe.wait(800 * MS);
                self.agent = true;
                self.update(Party::Callee);
                self.media.handover = Some((self.scribe.now + 30 * MS, true));
            }
            Early::Recoded => {
                self.scribe.wait(250 * MS);
                let codec = Plot::other_codec(self.scene.codec).unwrap_or(self.scene.codec);
                self.codecs = [Some(codec), self.codecs[0].filter(|first| *first != codec), None];
                self.update(Party::Callee);
                self.media.change = Some((codec, [self.scribe.now + 20 * MS, self.scribe.now + 30 * MS]));
            }
            Early::Preconditions => {
                self.waits = false;
                self.update(Party::Caller);
                self.scribe.respond(invite, 180, Extra::None);
            }
            _ => {}
        }
    }

    fn update(&mut self, by: Party) {
        let (caller, callee) = (self.sdp(Party::Caller, self.mode()), self.answer_sdp());
        let (offer, answer) = if by == Party::Caller { (caller, callee) } else { (callee, caller) };
        self.scribe.transaction(by, Method::Update, Extra::Sdp(offer), 200, Extra::Sdp(answer));
    }
}
