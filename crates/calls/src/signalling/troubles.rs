//! What goes wrong in a call without a status code of its first INVITE: credentials that are refused, INVITEs within
//! the dialog, transfers, a BYE that nobody knows.

use super::beside::Unacknowledged;
use super::call::Call;
use super::told::Told;
use super::transaction::{carries_credentials, says_stale, speaks_of_nonce};
use super::unreached::{Flows, Unreached};
use crate::limits::SECOND_NS;
use trunkline_store::row::CallState;
use trunkline_wire::Endpoint;
use trunkline_wire::sip::{Header, Message, Method, StartLine};

/// What became of credentials in INVITE (RFC 3261 section 22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Status of the last challenge, 0 if there was none: 401 and 407 are those of different servers.
    pub challenge: u16,
    /// The last INVITE outside a dialog met a challenge.
    pub offered: bool,
    /// Who challenged before challenged again.
    pub refused: bool,
    /// For nothing but an old nonce (RFC 7616 section 3.3).
    pub stale: bool,
}

/// An INVITE within a dialog that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its CSeq.
    pub cseq: u32,
    /// The status of the refusal.
    pub status: u16,
}

/// A transfer that failed (RFC 3515).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What became of it: of the REFER itself, or by the NOTIFY about it.
    pub status: u16,
    /// A NOTIFY told.
    pub notified: bool,
}

/// What went wrong, where anything did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Troubles {
    /// The last INVITE within the dialog was refused.
    pub reinvite: Option<Refused>,
    /// The last transfer failed.
    pub transfer: Option<Transfer>,
    /// A BYE was answered with 481.
    pub bye_unknown: bool,
    /// The INVITE did not arrive, as ICMP says.
    pub unreached: Option<Unreached>,
    /// The offer has no answer: see [`NoAnswer`].
    pub no_answer: Option<NoAnswer>,
    /// A later answer accepts less than those before.
    pub narrowed: Option<Narrowed>,
    /// A second target accepted, and was never acknowledged.
    pub unacknowledged: Option<Unacknowledged>,
}

/// How the answer to an offer (RFC 3264) is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The 2xx brings no description (RFC 3261 section 13.3.1.4).
    Missing,
    /// It refuses all media: each port is 0 (RFC 3264 section 6).
    Refused,
}

/// What an answer accepts that takes codecs away (RFC 3264 section 8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// Since when, nanoseconds since 1970.
    pub at_ns: i64,
    /// Payload types of caller and callee, a bit each.
    pub accepted: [u128; 2],
}

/// A transaction of INVITE without any response is over after this: timer B (RFC 3261 section 17.1.1.2).
const TIMER_B_NS: i64 = 32 * SECOND_NS;

impl Call {
    /// Notes what shows trouble; of most messages nothing is asked but their method.
    #[inline]
    pub fn note_troubles(&mut self, message: &Message<'_>, told: &Told<'_>) {
        match (told.method, told.status()) {
            (Method::Invite, 0) => self.note_invite(message, told),
            (Method::Invite, status @ (401 | 407)) => self.note_challenge(message, told, status),
            (Method::Invite, 200..) => {
                // Nearly no call has an INVITE within its dialog.
                if !self.reinvites.is_empty() {
                    self.note_reinvite(told);
                }
                if told.sdp.is_none() {
                    self.note_answer(message, told);
                }
            }
            (Method::Bye, 481) => self.troubles().bye_unknown = true,
            (Method::Refer, status @ 300..) if !matches!(status, 401 | 407) => {
                self.troubles().transfer = Some(Transfer { status, notified: false });
            }
            (Method::Notify, 0) => self.note_progress(message),
            _ => {}
        }
    }

    /// Notes that an INVITE did not arrive, if nothing accepted the call: the first one of which that is said.
    pub fn note_unreached(&mut self, flows: &Flows) {
        if matches!(self.state(), CallState::Answered | CallState::Completed | CallState::JoinedMidCall) {
            return;
        }
        let said = |(at_ns, from, to)| flows.within(from, to, at_ns, at_ns + TIMER_B_NS);
        let first = self.invited().find_map(said);
        if first.is_some() {
            self.troubles().unreached = first;
        }
    }

    /// When INVITEs were sent, by whom and to whom.
    fn invited(&self) -> impl Iterator<Item = (i64, Endpoint, Endpoint)> + '_ {
        let host = |at: u8| self.hosts.get(usize::from(at)).copied().unwrap_or_default();
        let invites = self.messages.iter().filter(|m| m.method == Method::Invite as u8 && m.status == 0);
        invites.map(move |m| (m.at_ns, host(m.src), host(m.dst)))
    }

    pub(super) fn troubles(&mut self) -> &mut Troubles {
        self.facts.troubles.get_or_insert_default()
    }

    #[inline]
    fn note_invite(&mut self, message: &Message<'_>, told: &Told<'_>) {
        if told.tags.to == 0 {
            let credentials = &mut self.facts.credentials;
            credentials.offered = credentials.challenge > 0 && carries_credentials(message);
        } else {
            // A fax that is refused goes on as sound (ITU-T T.38, D.2.2.4.1): nothing is wrong with that.
            self.facts.offers_fax = told.sdp.is_some_and(offers_fax);
        }
    }

    #[cold]
    fn note_challenge(&mut self, message: &Message<'_>, told: &Told<'_>, status: u16) {
        let credentials = &mut self.facts.credentials;
        if credentials.offered && credentials.challenge == status {
            let reason = match *told.start {
                StartLine::Response { reason, .. } => reason,
                StartLine::Request { .. } => &[],
            };
            let header = if status == 407 { Header::ProxyAuthenticate } else { Header::WwwAuthenticate };
            credentials.refused = true;
            credentials.stale = message.values(header).any(says_stale) || speaks_of_nonce(reason);
        }
        credentials.challenge = status;
    }

    /// A final response to an INVITE within the dialog. 491 asks for another try, 422 for another interval; 487 says
    /// that it was cancelled.
    #[inline(never)]
    fn note_reinvite(&mut self, told: &Told<'_>) {
        let status = told.status();
        if !self.is_of_reinvite(told) || matches!(status, 422 | 487 | 491) {
            return;
        }
        if status < 300 {
            self.facts.troubles.iter_mut().for_each(|t| t.reinvite = None);
        } else if status >= 400 && !self.facts.offers_fax {
            self.troubles().reinvite = Some(Refused { cseq: told.cseq, status });
        }
    }

    /// A 2xx without a body, though there was an offer and nothing answered it. One that is not whole says nothing.
    fn note_answer(&mut self, message: &Message<'_>, told: &Told<'_>) {
        let [caller, callee] = &self.facts.parties;
        let is_missing = caller.payload_types != 0 && callee.payload_types == 0;
        if told.status() < 300 && is_missing && !self.is_of_reinvite(told) {
            let is_empty = message.body().is_empty() && message.oddities().is_empty();
            self.troubles().no_answer = is_empty.then_some(NoAnswer::Missing);
        }
    }

    /// What a NOTIFY says of a transfer: the status line of what was asked for (RFC 3515 section 2.4.5).
    #[cold]
    fn note_progress(&mut self, message: &Message<'_>) {
        match sipfrag(message).map(|(status, _)| status) {
            Some(status @ 300..) => self.troubles().transfer = Some(Transfer { status, notified: true }),
            Some(200..) => self.facts.troubles.iter_mut().for_each(|t| t.transfer = None),
            _ => {}
        }
    }
}

/// Whether a session description has a section for fax (`m=image`).
#[inline(never)]
fn offers_fax(sdp: &[u8]) -> bool {
    memchr::memchr_iter(b'=', sdp).any(|at| sdp[..at].ends_with(b"m") && sdp[at..].starts_with(b"=image"))
}

/// Status and reason phrase in the body of a NOTIFY (message/sipfrag, RFC 3420).
pub fn sipfrag<'a>(message: &Message<'a>) -> Option<(u16, &'a [u8])> {
    let line = message.body().split(|o| matches!(o, b'\r' | b'\n')).next()?;
    let rest = line.strip_prefix(b"SIP/2.0 ")?;
    let (status, phrase) = rest.split_at_checked(3)?;
    let status = status.iter().try_fold(0, |sum, o| o.is_ascii_digit().then(|| sum * 10 + u16::from(o - b'0')))?;
    Some((status, phrase.strip_prefix(b" ").unwrap_or(phrase)))
}
