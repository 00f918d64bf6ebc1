//! The INVITE transactions of a call: which of them are pending, what came of the others, and so how the call stands
//! until it is accepted.
//!
//! A call has more than one: after a challenge, a redirection or a refusal its caller tries again, and a proxy asks
//! several targets, at once or one after the other (RFC 3261 sections 8.1.3.4, 16.6, 22.2). A refusal of one of them
//! ends nothing while another is pending. What counts is what the caller was told: the transactions on the first hop
//! that was captured. What a proxy does behind it counts as far as it reaches the caller.

use super::call::Reason;
use crate::limits::INVITES_PER_CALL_MAX;
use smallvec::SmallVec;
use trunkline_store::row::CallState;

/// A transaction, as RFC 3261 section 17.1.3 tells them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Hash of the branch of the topmost Via; 0 where there is none (RFC 2543).
    pub branch: u32,
    /// CSeq number.
    pub cseq: u32,
}

/// An INVITE transaction on one hop.
#[derive(Clone, Copy, Debug)]
pub struct Invite {
    key: Key,
    /// Its first message.
    begun_ns: i64,
    /// Its first final response of that status or, without one, its CANCEL.
    pub over_ns: Option<i64>,
    /// Its last provisional response, then its final one; 0 if there was none.
    pub status: u16,
    /// Where the reason phrase of that response is.
    pub reason: Reason,
    /// It went from the caller to the first hop.
    first_hop: bool,
    cancelled: bool,
}

impl Invite {
    fn is_pending(&self) -> bool {
        self.over_ns.is_none()
    }

    fn is_answered(&self) -> bool {
        self.is_pending() && self.status > 0
    }

    fn rings(&self) -> bool {
        matches!(self.status, 180 | 183)
    }

    /// How a call stands of which this is all there is.
    pub fn state(&self) -> CallState {
        match self.status {
            // A 487 says that it was cancelled, whichever way the CANCEL went (RFC 3261 section 15.1.2).
            487 => CallState::Cancelled,
            401 | 407 => CallState::AuthChallenged,
            300..=399 => CallState::Redirected,
            400.. => CallState::Rejected,
            _ if self.cancelled => CallState::Cancelled,
            180 | 183 => CallState::Ringing,
            0 => CallState::Attempted,
            _ => CallState::Trying,
        }
    }
}

/// The INVITE transactions of one call, in order of their first messages.
#[derive(Debug, Default)]
pub struct Invites {
    list: SmallVec<[Invite; 2]>,
    /// What it waits for: asked of each message, and changed by few.
    pending: Pending,
    /// Transactions that were not followed because the call had too many that are pending.
    pub not_followed: u32,
}

/// How long a call that is not accepted may still wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pending {
    /// For a final response: a provisional one came.
    Answered,
    /// For any response.
    #[default]
    Unanswered,
    /// For nothing: each has come to an end.
    Nothing,
}

impl Invites {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.list.clear();
        (self.not_followed, self.pending) = (0, Pending::default());
    }

    /// Reads a little of each line of the cache that it takes.
    pub(super) fn warm(&self) -> u64 {
        self.list.iter().fold(self.pending as u64, |sum, i| sum ^ u64::from(i.status))
    }

    /// Gives memory back that is more than a usual call needs.
    pub fn shrink(&mut self) {
        if self.list.spilled() {
            self.list = SmallVec::new();
        }
    }

    /// Whether this transaction is known.
    pub fn knows(&self, key: Key) -> bool {
        self.list.iter().any(|i| i.key == key)
    }

    /// Whether a transaction with this branch is known.
    pub fn has_branch(&self, branch: u32) -> bool {
        self.list.iter().any(|i| i.key.branch == branch)
    }

    /// The highest CSeq number that the caller itself gave.
    pub fn cseq(&self) -> Option<u32> {
        self.list.iter().filter(|i| i.first_hop).map(|i| i.key.cseq).max()
    }

    /// Takes a request; `first_hop` says whether the caller itself sent it.
    pub fn request(&mut self, key: Key, at_ns: i64, first_hop: bool) {
        if !self.knows(key) {
            self.begin(key, at_ns, first_hop);
            self.pending = self.waits_for();
        }
    }

    fn begin(&mut self, key: Key, at_ns: i64, first_hop: bool) -> Option<&mut Invite> {
        if self.list.len() >= INVITES_PER_CALL_MAX {
            let Some(over) = self.list.iter().position(|i| !i.is_pending()) else {
                self.not_followed = self.not_followed.saturating_add(1);
                return None;
            };
            self.list.remove(over);
        }
        let (begun_ns, reason) = (at_ns, Reason::default());
        self.list.push(Invite { key, begun_ns, over_ns: None, status: 0, reason, first_hop, cancelled: false });
        self.list.last_mut()
    }

    /// Takes a CANCEL, which has the branch of its INVITE (RFC 3261 section 9.1).
    pub fn cancel(&mut self, key: Key, at_ns: i64) {
        let same_number = |i: &Invite| i.first_hop && i.key.cseq == key.cseq;
        let at = self.list.iter().rposition(|i| i.key == key).or_else(|| self.list.iter().rposition(same_number));
        if let Some(invite) = at.and_then(|at| self.list.get_mut(at)) {
            invite.cancelled = true;
            invite.over_ns = invite.over_ns.or(Some(at_ns));
            self.pending = self.waits_for();
        }
    }

    /// Takes a response that is no 2xx, on the first hop if `first_hop` says so where its request was not seen.
    pub fn response(&mut self, key: Key, at_ns: i64, (status, reason): (u16, Reason), first_hop: bool) {
        let invite = match self.list.iter().position(|i| i.key == key) {
            Some(at) => self.list.get_mut(at),
            None => self.begin(key, at_ns, first_hop),
        };
        let Some(invite) = invite else { return };
        if status >= 300 {
            if invite.status != status {
                invite.over_ns = Some(at_ns);
            }
            (invite.status, invite.reason) = (status, reason);
        } else if invite.status < 200 && (matches!(status, 180 | 183) || !invite.rings()) {
            // 100 never takes a call back from ringing to trying.
            (invite.status, invite.reason) = (status, reason);
        }
        self.pending = self.waits_for();
    }

    /// What the call, if nothing accepted it, waits for.
    pub fn pending(&self) -> Pending {
        self.pending
    }

    fn waits_for(&self) -> Pending {
        let pending = || self.list.iter().filter(|i| i.first_hop && i.is_pending());
        match () {
            () if pending().any(Invite::is_answered) => Pending::Answered,
            () if pending().next().is_some() || self.list.is_empty() => Pending::Unanswered,
            () => Pending::Nothing,
        }
    }

    /// The transaction that tells how the call stands, if nothing accepted it; none if none was seen.
    ///
    /// A pending one that was answered comes first, one that rings before others; then the latest. Of several targets
    /// that a proxy asked, a 6xx is what reaches the caller (RFC 3261 section 16.7 step 6).
    pub fn decisive(&self) -> Option<&Invite> {
        let first_hop = || self.list.iter().filter(|i| i.first_hop);
        let latest = first_hop().max_by_key(|i| {
            let waits = i.is_answered();
            (waits, waits && i.rings(), i.over_ns.unwrap_or(i.begun_ns))
        })?;
        let declines = |i: &&Invite| i.status >= 600 && i.key.cseq == latest.key.cseq && !latest.is_pending();
        first_hop().find(declines).or(Some(latest))
    }
}
