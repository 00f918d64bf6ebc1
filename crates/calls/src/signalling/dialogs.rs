//! The dialogs of a call: who is on the calling side of each, and which are confirmed and not ended.
//!
//! A call may have several: a fork whose targets both accept gives the caller one with each (RFC 3261 section
//! 13.2.2.4), and a back-to-back user agent that keeps the Call-ID has a dialog of its own on each leg. Sides are told
//! by tags, never by the order of messages.

use crate::limits::DIALOGS_PER_CALL_MAX;
use smallvec::SmallVec;

/// Who accepted waits so long for the ACK (64 * T1, RFC 3261 section 13.3.1.4).
const ACK_AWAITED_NS: i64 = 32_000_000_000;
/// A caller that does not want each of several answers hangs up the others in this time: no further one comes later
/// (64 * T1 from the first on, RFC 3261 section 13.2.2.4).
const CHOSEN_NS: i64 = 32_000_000_000;

/// Hashes of the tags of From and To; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// Of From: of who sent the request.
    pub from: u64,
    /// Of To.
    pub to: u64,
}

impl Tags {
    /// The same as the other side has them.
    fn turned(self) -> Tags {
        Tags { from: self.to, to: self.from }
    }
}

/// A dialog that a 2xx to INVITE confirmed.
#[derive(Clone, Copy, Debug, Default)]
struct Confirmed {
    /// Its tags, the calling side's first.
    tags: Tags,
    /// When its 2xx came, nanoseconds since 1970.
    since_ns: i64,
    acknowledged: bool,
    ended: bool,
    /// With another target than the one who takes the call (RFC 3261 section 13.2.2.4).
    beside: bool,
}

/// What a BYE ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The call.
    Call,
    /// A dialog beside another one that goes on.
    Dialog,
    /// The dialog of who took the call: the call goes on in that of another target, which has this tag.
    Moved(u64),
}

/// The dialogs of one call.
#[derive(Debug, Default)]
pub struct Dialogs {
    /// Tags of who sent an INVITE outside a dialog: the calling side of each leg.
    callers: SmallVec<[u64; 2]>,
    confirmed: SmallVec<[Confirmed; 1]>,
}

impl Confirmed {
    /// Whether a request with these tags is of this dialog, whichever side asks.
    fn is(&self, tags: Tags) -> bool {
        self.tags == tags || self.tags == tags.turned()
    }

    /// Whether these are the tags of another dialog of one of its sides.
    fn is_beside(&self, tags: Tags) -> bool {
        let has = |tag: u64| tag == self.tags.from || tag == self.tags.to;
        has(tags.from) != has(tags.to)
    }

    /// Whether it goes on: its ACK came, or may still come.
    fn goes_on(&self, at_ns: i64) -> bool {
        !self.ended && (self.acknowledged || at_ns.saturating_sub(self.since_ns) < ACK_AWAITED_NS)
    }
}

impl Dialogs {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.callers.clear();
        self.confirmed.clear();
    }

    /// Reads a little of each line of the cache that it takes.
    pub(super) fn warm(&self) -> u64 {
        self.callers.first().copied().unwrap_or(0) ^ self.confirmed.first().map_or(0, |d| d.since_ns as u64)
    }

    /// Whether who has this tag is on the calling side.
    pub fn calls(&self, tag: u64) -> bool {
        self.callers.contains(&tag)
    }

    /// Who has this tag sent an INVITE outside a dialog.
    pub fn called_by(&mut self, tag: u64) {
        if !self.calls(tag) && self.callers.len() < DIALOGS_PER_CALL_MAX {
            self.callers.push(tag);
        }
    }

    /// Whether another dialog than this was confirmed first. Of calls with one dialog nothing more is asked.
    #[inline]
    pub fn have_other(&self, tags: Tags) -> bool {
        self.confirmed.first().is_some_and(|dialog| !dialog.is(tags))
    }

    /// Whether several dialogs were confirmed: then it matters which one an ACK is of.
    pub fn are_several(&self) -> bool {
        self.confirmed.len() > 1
    }

    /// Whether the dialog with these tags is one with another target than the one who takes the call; none if it is not
    /// known.
    pub fn beside(&self, tags: Tags) -> Option<bool> {
        self.confirmed.iter().find(|d| d.is(tags)).map(|d| d.beside)
    }

    /// A 2xx to INVITE came in this dialog, `beside` that of the target who takes the call.
    pub fn confirm(&mut self, tags: Tags, at_ns: i64, beside: bool) {
        // Either side may ask again in a dialog that is there.
        let known = self.confirmed.iter().any(|d| d.is(tags));
        if !known && self.confirmed.len() < DIALOGS_PER_CALL_MAX {
            self.confirmed.push(Confirmed { tags, since_ns: at_ns, beside, ..Confirmed::default() });
        }
    }

    /// Whether the same caller has a dialog that was confirmed.
    pub fn have_leg(&self, tags: Tags) -> bool {
        self.confirmed.iter().any(|d| d.tags.from == tags.from)
    }

    /// Whether the dialog with this tag is one beside that of the call, and was never acknowledged.
    pub fn is_ignored(&self, tag: u64) -> bool {
        self.confirmed.iter().any(|d| d.tags.to == tag && d.beside && !d.acknowledged)
    }

    /// An ACK came; its tags are asked for only where there are several dialogs. Whether it is of the one who takes the
    /// call.
    pub fn acknowledge(&mut self, tags: Tags) -> bool {
        let one = self.confirmed.len() == 1;
        let mut of_call = true;
        for dialog in self.confirmed.iter_mut().filter(|d| one || d.tags == tags) {
            dialog.acknowledged = true;
            of_call = !dialog.beside;
        }
        of_call
    }

    /// A BYE came with these tags, that of To only where there may be several dialogs: what it ends. The call
    /// goes on while the same caller has another dialog that does: of two targets that both accept, one is hung up at
    /// once, perhaps before the other's ACK (RFC 3261 section 13.2.2.4). Who hangs up the one who took the call later
    /// than that means the call, though the other's BYE was not seen.
    pub fn end(&mut self, tags: Tags, at_ns: i64) -> Ended {
        if let [dialog] = self.confirmed.as_mut_slice() {
            // What confirmed the other one came before the capture.
            if tags.to != 0 && dialog.is_beside(tags) && dialog.goes_on(at_ns) {
                return Ended::Dialog;
            }
            dialog.ended = true;
            return Ended::Call;
        }
        let Some(at) = self.confirmed.iter().position(|d| d.is(tags)) else { return Ended::Call };
        self.confirmed[at].ended = true;
        let Confirmed { tags: Tags { from: leg, .. }, beside, acknowledged, .. } = self.confirmed[at];
        let goes_on = |d: &&mut Confirmed| d.tags.from == leg && d.goes_on(at_ns);
        let Some(other) = self.confirmed.iter_mut().filter(goes_on).min_by_key(|d| d.beside) else {
            return Ended::Call;
        };
        if beside || !other.beside {
            return Ended::Dialog;
        }
        if acknowledged && at_ns.saturating_sub(other.since_ns) >= CHOSEN_NS {
            return Ended::Call;
        }
        other.beside = false;
        Ended::Moved(other.tags.to)
    }
}

/// The last INVITE of a sort of each side that sent one, by its tag and its CSeq. Legs of a back-to-back user agent
/// count apart, and their INVITEs are under way at the same time.
#[derive(Debug, Default)]
pub struct Numbered(SmallVec<[(u64, u32); 1]>);

impl Numbered {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Who has this tag sent an INVITE of this number.
    pub fn note(&mut self, tag: u64, cseq: u32) {
        if let Some((_, last)) = self.0.iter_mut().find(|(of, _)| *of == tag) {
            *last = cseq;
        } else if self.0.len() < DIALOGS_PER_CALL_MAX {
            self.0.push((tag, cseq));
        }
    }

    /// Whether this is the last INVITE of who has this tag; of anybody where the tag was not asked for.
    pub fn has(&self, tag: u64, cseq: u32) -> bool {
        self.0.iter().any(|(of, last)| *last == cseq && (*of == tag || tag == 0))
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    #[test]
    fn a_dialog_is_one_whichever_side_asks_in_it() {
        let (ours, theirs) = (Tags { from: 1, to: 2 }, Tags { from: 2, to: 1 });
        let mut dialogs = Dialogs::default();
        dialogs.confirm(ours, 0, false);
        dialogs.confirm(theirs, SECOND_NS, false);
        assert!(!dialogs.are_several());
        assert!(dialogs.acknowledge(Tags::default()));
        assert_eq!(dialogs.end(theirs, 2 * SECOND_NS), Ended::Call);
    }

    #[test]
    fn a_target_that_accepts_too_late_does_not_end_the_call_before_its_ack() {
        let [first, second] = [2, 3].map(|to| Tags { from: 1, to });
        for (bye_s, ends) in [(1, Ended::Dialog), (31, Ended::Dialog), (40, Ended::Call)] {
            let mut dialogs = Dialogs::default();
            dialogs.confirm(first, 0, false);
            dialogs.confirm(second, SECOND_NS / 10, true);
            assert!(!dialogs.acknowledge(second));
            assert_eq!(dialogs.end(second, bye_s * SECOND_NS), ends, "BYE after {bye_s} s");
            // The ACK of the first one was lost and came late; its own BYE is the end.
            assert!(dialogs.acknowledge(first));
            assert_eq!(dialogs.end(first, 60 * SECOND_NS), Ended::Call);
        }
    }

    #[test]
    fn a_dialog_that_was_confirmed_before_the_capture_ends_for_itself() {
        let [known, other, leg] = [(1, 2), (1, 3), (4, 5)].map(|(from, to)| Tags { from, to });
        for (bye, ended) in [
            (other, Ended::Dialog),
            (other.turned(), Ended::Dialog),
            (Tags { to: 0, ..other }, Ended::Call),
            (leg, Ended::Call),
        ] {
            let mut dialogs = Dialogs::default();
            dialogs.confirm(known, 0, false);
            dialogs.acknowledge(known);
            assert_eq!(dialogs.end(bye, SECOND_NS), ended, "{bye:?}");
            assert_eq!(dialogs.end(known.turned(), 60 * SECOND_NS), Ended::Call);
        }
    }

    #[test]
    fn who_took_the_call_may_be_the_one_who_is_hung_up_at_once() {
        let [first, second] = [2, 3].map(|to| Tags { from: 1, to });
        for (bye_s, ended) in [(1, Ended::Moved(3)), (31, Ended::Moved(3)), (33, Ended::Call)] {
            let mut dialogs = Dialogs::default();
            dialogs.confirm(first, 0, false);
            dialogs.confirm(second, SECOND_NS / 10, true);
            dialogs.acknowledge(first);
            dialogs.acknowledge(second);
            assert_eq!(dialogs.end(first, bye_s * SECOND_NS), ended, "BYE after {bye_s} s");
            assert_eq!(dialogs.end(second, 60 * SECOND_NS), Ended::Call);
        }
    }

    #[test]
    fn a_target_that_nobody_acknowledges_gives_up_and_ends_nothing() {
        let [first, second] = [2, 3].map(|to| Tags { from: 1, to });
        let mut dialogs = Dialogs::default();
        dialogs.confirm(first, 0, false);
        dialogs.confirm(second, SECOND_NS, true);
        dialogs.acknowledge(first);
        assert_eq!(dialogs.end(second.turned(), 33 * SECOND_NS), Ended::Dialog);
        assert!(dialogs.is_ignored(second.to) && !dialogs.is_ignored(first.to));
        assert_eq!(dialogs.end(first, 90 * SECOND_NS), Ended::Call);
    }
}
