//! What the signalling of a call told beyond its row: what verdicts are made of.

use super::troubles::{Credentials, Troubles};
use smallvec::SmallVec;
use trunkline_store::row::Hangup;
use trunkline_wire::sdp::Setup;
use trunkline_wire::sip::Method;
use trunkline_wire::{Address, Endpoint};

/// What one party said about its audio.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartyMedia {
    /// Where it wants to receive audio, as its last SDP said; none if it sent no SDP.
    pub endpoint: Option<Endpoint>,
    /// That is a guess: its SDP has a name for an address, and this is the host that the SDP came from.
    pub by_name: bool,
    /// Where the signalling with that SDP came from.
    pub signalled_from: Address,
    /// Payload types of all media that its SDP named, a bit each.
    pub payload_types: u128,
    /// Of these, the types of codecs that an answer accepted: its own answers' and, of its offers, those that the other
    /// side's answers name by whatever number (RFC 3264 sections 5.1, 6.1).
    pub accepted: u128,
    /// An answer was seen that is about its offer, or it gave one.
    pub agreed: bool,
    /// It said at least once that it would send.
    pub sends: bool,
    /// It said at least once that it would receive.
    pub receives: bool,
    /// It was held or held the other at some time (sendonly, recvonly, inactive, or address 0.0.0.0).
    pub held: bool,
    /// It agreed to fax (T.38), so that silence of RTP means nothing.
    pub fax: bool,
    /// It asked for media inside TLS, which cannot be read.
    pub over_tls: bool,
    /// It asked for audio at an address of a relay of TURN.
    pub at_relay: bool,
}

impl PartyMedia {
    /// The address in SDP is of a private network while the signalling came from a public one: NAT.
    pub fn behind_nat(&self) -> bool {
        self.endpoint.is_some_and(|e| e.address.is_private() && !self.signalled_from.is_private())
    }
}

/// What a description says about audio as it was agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Said {
    /// Where its sender wants to receive audio; none if it takes none.
    pub endpoint: Option<Endpoint>,
    /// It will send.
    pub sends: bool,
    /// It wants to receive.
    pub receives: bool,
    /// It takes fax (T.38).
    pub fax: bool,
    /// It has a part in ICE, so that media may go to other addresses than these (RFC 8445).
    pub ice: bool,
    /// Who is to begin the DTLS handshake that agrees on keys.
    pub setup: Option<Setup>,
}

/// What holds about audio from a time on, between two hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// When it was answered, nanoseconds since 1970.
    pub at_ns: i64,
    /// Between which hosts: that on the caller's side, and that on the callee's.
    pub hosts: [Address; 2],
    /// Caller and callee.
    pub parties: [Said; 2],
    /// Which of them answered.
    pub by: usize,
    /// The tag of the early dialog that it was answered in; 0 where that was not asked for.
    pub tag: u64,
}

/// What verdicts want to know of the signalling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The first INVITE was seen.
    pub invite_seen: bool,
    /// Caller's and callee's media.
    pub parties: [PartyMedia; 2],
    /// What was agreed about audio, in order of time, hops mixed.
    pub changes: SmallVec<[Change; 1]>,
    /// Not all of it is there: too many hops or changes.
    pub changes_not_kept: bool,
    /// The host of the caller, as far as it was seen, and that of the one who accepted the call.
    pub hosts: [Option<Address>; 2],
    /// Who accepted the call is a server that plays, records and waits for digits, by the name of its program. Of the
    /// caller the row has the name.
    pub server: bool,
    /// CSeq of the last 2xx to INVITE and how often it was repeated.
    pub accepted: Option<(u32, u32)>,
    /// The 2xx to INVITE was acknowledged.
    pub acked: bool,
    /// Requests that were repeated, in all, and most of one transaction.
    pub request_repeats: u32,
    /// Most repetitions of one request, with its method's number in `Message::METHODS`.
    pub worst_repeats: (u32, u8),
    /// Responses of any kind were seen.
    pub responses: u32,
    /// A response of whatever call was seen before it was over: the capture does not hold requests alone.
    pub responses_pass: bool,
    /// The capture joined it in mid-call.
    pub joined: bool,
    /// Its messages say which side called.
    pub sides_known: bool,
    /// Its requests say that it was answered, and no response at all was seen.
    pub one_direction: bool,
    /// Its messages say that it was answered, and no answer was seen.
    pub answer_unseen: bool,
    /// ACKs of the last 2xx to INVITE.
    pub acks: u32,
    /// What became of credentials in INVITE.
    pub credentials: Credentials,
    /// Of several targets that accepted, the one who took the call was hung up first, and its BYE may be that of the
    /// call: when, nanoseconds since 1970, and by whom.
    pub released: Option<(i64, Hangup)>,
    /// The last INVITE within the dialog offers fax.
    pub offers_fax: bool,
    /// What else went wrong; none in nearly all calls.
    pub troubles: Option<Box<Troubles>>,
    /// Method, CSeq and repetitions of the request that is being repeated.
    pub(crate) run: (u8, u32, u32),
}

impl Facts {
    /// Reads a little of each line of the cache that SDP needs of it.
    pub(super) fn warm(&self) -> u64 {
        let said = |p: &PartyMedia| p.payload_types as u64 ^ p.endpoint.map_or(0, |e| u64::from(e.port));
        self.parties.iter().fold(self.changes.len() as u64, |sum, p| sum ^ said(p))
    }

    #[cold]
    pub(super) fn repeat_request(&mut self, method: Method, cseq: u32) {
        let method = method as u8;
        self.request_repeats = self.request_repeats.saturating_add(1);
        let count = if (self.run.0, self.run.1) == (method, cseq) { self.run.2 + 1 } else { 1 };
        self.run = (method, cseq, count);
        if count > self.worst_repeats.0 {
            self.worst_repeats = (count, method);
        }
    }

    /// Takes what responses and ACKs told, when the call is over.
    pub(super) fn take_answered(&mut self, answered: &Answered) {
        let Answered { responses, acks, accepted, is_accepted, acked } = *answered;
        (self.responses, self.acks, self.acked) = (responses, acks, acked);
        self.accepted = is_accepted.then_some(accepted);
    }
}

/// What responses and ACKs told. Each of them adds to it, so that it lies beside what all messages need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Responses of any kind.
    pub responses: u32,
    /// ACKs of the last 2xx to INVITE.
    acks: u32,
    /// CSeq of the last 2xx to INVITE and how often it was repeated.
    accepted: (u32, u32),
    /// There is such a 2xx.
    is_accepted: bool,
    /// It was acknowledged.
    acked: bool,
}

impl Answered {
    /// Takes an ACK.
    pub(super) fn acknowledged(&mut self, cseq: u32) {
        let of_last = self.is_accepted && self.accepted.0 == cseq;
        self.acked |= of_last;
        self.acks = self.acks.saturating_add(u32::from(of_last));
    }

    /// Takes a response.
    pub(super) fn response(&mut self, status: u16, method: Method, cseq: u32, again: bool) {
        self.responses = self.responses.saturating_add(1);
        if method != Method::Invite || !(200..300).contains(&status) {
            return;
        }
        if self.is_accepted && self.accepted.0 == cseq {
            self.accepted.1 = self.accepted.1.saturating_add(u32::from(again));
        } else {
            (self.accepted, self.is_accepted, self.acked, self.acks) = ((cseq, 0), true, false, 0);
        }
    }
}
