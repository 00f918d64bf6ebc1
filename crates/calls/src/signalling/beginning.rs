//! Calls whose beginning or answer was not seen: the capture joined them in mid-call, or it holds one direction alone.
//!
//! A To tag in the first request says that the dialog was there before (RFC 3261 section 12.2). Who called shows in no
//! more than the messages that only a caller sends or gets: CANCEL, and what comes before the answer. In all else From
//! and To may be exchanged, since either side may ask.

use super::call::Call;
use super::invites::Pending;
use super::told::Told;
use trunkline_store::row::CallState;
use trunkline_wire::sip::{Method, StartLine};

/// What is known of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The capture joined the call in mid-call.
    pub joined: bool,
    /// Its messages say which side called.
    pub sides_known: bool,
    /// No 2xx was seen, but messages that only follow one.
    pub answer_unseen: bool,
    /// When an ACK came that only follows a 2xx, though responses of the call were seen and none was one.
    pub acked_ns: Option<i64>,
}

/// Whether a message that is the first of its Call-ID shows a call that was there before.
pub fn joins(told: &Told<'_>) -> bool {
    let asks = matches!(told.start, StartLine::Request { .. });
    match told.method {
        Method::Ack | Method::Bye | Method::Cancel | Method::Update | Method::Prack => asks,
        Method::Invite => !asks,
        _ => false,
    }
}

impl Call {
    /// Notes that this message is the first that was seen of a call that was there before.
    #[cold]
    pub fn join(&mut self, told: &Told<'_>, at_ns: i64) {
        let status = told.status();
        if told.method == Method::Cancel {
            // It ends the INVITE that was not seen.
            self.invites.request(told.transaction, at_ns, true);
        }
        self.beginning = Beginning {
            joined: true,
            sides_known: match told.method {
                Method::Cancel => true,
                // Nobody rings for a second time in a dialog.
                Method::Invite => matches!(status, 180..=183) || status == 100 && told.tags.to == 0,
                _ => false,
            },
            answer_unseen: match told.method {
                Method::Invite => status == 0,
                Method::Ack | Method::Update | Method::Prack => true,
                _ => false,
            },
            acked_ns: None,
        };
    }

    /// The INVITE that began it was seen after all: repeated, or captured out of order. Whether that is news.
    pub fn finds_beginning(&mut self, told: &Told<'_>) -> bool {
        let found = self.beginning.joined && told.begins;
        if found {
            self.beginning = Beginning::default();
        }
        found
    }

    /// Whether it is up still, though nothing was heard of it for so long.
    pub fn lacks_bye(&self) -> bool {
        self.until_ns().is_none() && matches!(self.state(), CallState::Answered | CallState::JoinedMidCall)
    }

    /// Whether no response was seen of it, so that its requests alone say how it went.
    pub fn is_one_sided(&self) -> bool {
        self.answered.responses == 0
    }

    /// A request that only follows a 2xx: an ACK of a transaction of its own (RFC 3261 section 13.2.2.4; that of a
    /// refusal has the branch of its INVITE, section 17.1.1.3), or a BYE. Where no response at all was seen, it says
    /// that the answer came another way.
    pub fn shows_answer(&self, told: &Told<'_>) -> bool {
        let in_dialog = told.tags.to != 0 && self.is_one_sided() && !self.beginning.joined;
        in_dialog
            && match told.method {
                Method::Bye => true,
                Method::Ack => self.is_of_answer(told),
                _ => false,
            }
    }

    fn is_of_answer(&self, told: &Told<'_>) -> bool {
        told.transaction.branch != 0 && !self.invites.has_branch(told.transaction.branch)
    }

    /// Takes an ACK or a BYE where responses were seen, but none that ends the INVITE: the tap may have lost the 2xx.
    /// An ACK of its own transaction says so, and then a BYE.
    #[cold]
    pub fn misses_answer(&mut self, told: &Told<'_>, at_ns: i64) {
        let pending = self.invites.pending() != Pending::Nothing;
        if told.tags.to == 0 || self.beginning.joined || self.is_one_sided() || !pending {
            return;
        }
        match (told.method, self.beginning.acked_ns) {
            (Method::Ack, None) if self.is_of_answer(told) => self.beginning.acked_ns = Some(at_ns),
            (Method::Bye, Some(acked_ns)) => {
                self.beginning.answer_unseen = true;
                self.answer_ns = Some(acked_ns);
            }
            _ => {}
        }
    }

    /// A final refusal of an INVITE: what was taken for a call that is up was still being set up.
    pub fn was_refused(&mut self, told: &Told<'_>) -> bool {
        let refused = self.beginning.joined && told.status() >= 300 && !matches!(told.status(), 401 | 407);
        if refused {
            self.beginning.answer_unseen = false;
        }
        refused
    }

    /// Whether a response answers an INVITE within a dialog, on whichever leg.
    pub fn is_of_reinvite(&self, told: &Told<'_>) -> bool {
        self.reinvites.has(0, told.cseq)
    }
}
