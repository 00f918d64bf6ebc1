//! Offers of a call, laid against their answers (RFC 3264): which codecs each side may send, and which audio section of
//! several is used.

use super::call::Call;
use super::dialogs::Numbered;
use super::offer::{Audio, PayloadMaps, Role};
use super::told::Told;
use crate::limits::OFFERS_PER_CALL_MAX;
use crate::payload::PayloadMap;
use smallvec::SmallVec;
use std::sync::Arc;
use trunkline_store::row::Direction;
use trunkline_wire::sip::Method;
use trunkline_wire::{Endpoint, sdp};

/// What a media section says of codecs, while it is read: nothing of it is kept yet.
#[derive(Clone, Debug)]
pub struct Read<'a> {
    kind: sdp::Kind,
    /// Its payload types, a bit each.
    pub types: u128,
    payloads: &'a Arc<PayloadMap>,
}

impl<'a> Read<'a> {
    /// Of one media section.
    pub fn new(kind: sdp::Kind, types: u128, payloads: &'a Arc<PayloadMap>) -> Self {
        Read { kind, types, payloads }
    }
}

/// What a section of an offer said.
#[derive(Clone, Debug)]
struct Offered {
    types: u128,
    payloads: Arc<PayloadMap>,
    kind: sdp::Kind,
    by: Direction,
}

/// The offers of one call.
#[derive(Debug, Default)]
pub struct Negotiation {
    /// Sections of the offers of each side, each once. All are laid against each answer, since a call may have several
    /// legs and forks, and which answer is about which offer shows in no more than their codecs.
    offers: SmallVec<[Offered; 2]>,
    /// Audio sections of an offer that has several: whose, which, and where it is to be sent.
    audio: Vec<(Direction, usize, Endpoint)>,
    /// The INVITEs that last brought an offer, leg by leg.
    pub invites: Numbered,
    /// The last requests besides that offered nothing: what their responses describe answers nothing.
    pub bare: Numbered,
}

impl Negotiation {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.offers.clear();
        self.audio.clear();
        self.invites.clear();
        self.bare.clear();
    }

    /// Reads a little of each line of the cache that it takes.
    pub(super) fn warm(&self) -> u64 {
        let offers = self.offers.iter().fold(0, |sum, offer| sum ^ offer.types as u64);
        offers ^ self.audio.len() as u64 ^ u64::from(self.invites.is_empty())
    }

    /// Gives memory back that is more than a usual call needs.
    pub fn shrink(&mut self) {
        if self.offers.spilled() {
            self.offers = SmallVec::new();
        }
    }

    /// A side offers these.
    pub fn offer(&mut self, by: Direction, sections: &[Read<'_>]) {
        for section in sections {
            let Read { kind, types, payloads } = *section;
            let same =
                |known: &Offered| known.by == by && known.types == types && Arc::ptr_eq(&known.payloads, payloads);
            if !self.offers.iter().any(same) && self.offers.len() < OFFERS_PER_CALL_MAX {
                self.offers.push(Offered { types, payloads: payloads.clone(), kind, by });
            }
        }
    }

    /// A side answers with these: which types of the other side's offers stand for them.
    pub fn accepted(&self, by: Direction, answers: &[Read<'_>], maps: &mut PayloadMaps) -> u128 {
        let mut types = 0;
        for offer in self.offers.iter().filter(|offer| offer.by != by) {
            for answer in answers.iter().filter(|answer| answer.kind == offer.kind) {
                types |= maps.in_common((&offer.payloads, offer.types), (answer.payloads, answer.types));
            }
        }
        types
    }

    /// A side offers audio in these sections.
    pub fn offer_audio(&mut self, by: Direction, audio: &[Audio]) {
        self.audio.retain(|(side, ..)| *side != by);
        if audio.len() > 1 {
            let known = audio.iter().filter_map(|a| Some((by, a.index, a.endpoint?)));
            self.audio.extend(known.take(OFFERS_PER_CALL_MAX));
        }
    }

    /// Where the other side wants to receive the audio section that an answer takes, if it had offered several.
    pub fn audio_of_other(&self, by: Direction, index: usize) -> Option<Endpoint> {
        self.audio.iter().find(|(side, at, _)| *side != by && *at == index).map(|(_, _, endpoint)| *endpoint)
    }
}

impl Call {
    /// Notes an UPDATE or a PRACK that describes nothing.
    pub fn note_bare(&mut self, told: &Told<'_>) {
        if told.sdp.is_none() && told.status() == 0 && matches!(told.method, Method::Update | Method::Prack) {
            self.negotiation.bare.note(told.tags.from, told.cseq);
        }
    }

    /// What the SDP of a message is (RFC 3264, RFC 6337 section 2): requests offer, responses answer, unless the INVITE
    /// brought no offer; then a response brings it, and PRACK or ACK the answer.
    pub fn role(&mut self, told: &Told<'_>) -> Role {
        let asks = told.status() == 0;
        match told.method {
            Method::Invite if asks => {
                self.negotiation.invites.note(told.tags.from, told.cseq);
                Role::Offer
            }
            Method::Update if asks => Role::Offer,
            Method::Update | Method::Prack if !asks && self.negotiation.bare.has(told.tags.from, told.cseq) => {
                Role::Neither
            }
            Method::Invite if !self.negotiation.invites.has(told.tags.from, told.cseq) => Role::Offer,
            Method::Prack if asks && !self.negotiation.invites.is_empty() => Role::Offer,
            _ => Role::Answer,
        }
    }
}
