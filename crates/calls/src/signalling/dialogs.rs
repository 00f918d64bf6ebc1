//! The dialogs of a call: who is on the calling side of each, and which are confirmed and not ended.
//!
//! A call may have several: a fork whose targets both accept gives the caller one with each (RFC 3261 section
//! 13.2.2.4), and a back-to-back user agent that keeps the Call-ID has a dialog of its own on each leg. Sides are told
//! by tags, never by the order of messages.

use crate::limits::DIALOGS_PER_CALL_MAX;
use smallvec::SmallVec;

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
#[derive(Clone, Copy, Debug)]
struct Confirmed {
    /// Its tags, the calling side's first.
    tags: Tags,
    acknowledged: bool,
    ended: bool,
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
}

impl Dialogs {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.callers.clear();
        self.confirmed.clear();
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

    /// Whether several dialogs were confirmed: then it matters which one an ACK is of.
    pub fn are_several(&self) -> bool {
        self.confirmed.len() > 1
    }

    /// A 2xx to INVITE came in this dialog.
    pub fn confirm(&mut self, tags: Tags) {
        // Either side may ask again in a dialog that is there.
        let known = self.confirmed.iter().any(|d| d.is(tags));
        if !known && self.confirmed.len() < DIALOGS_PER_CALL_MAX {
            self.confirmed.push(Confirmed { tags, acknowledged: false, ended: false });
        }
    }

    /// An ACK came; its tags are asked for only where there are several dialogs.
    pub fn acknowledge(&mut self, tags: Tags) {
        let one = self.confirmed.len() == 1;
        for dialog in self.confirmed.iter_mut().filter(|d| one || d.tags == tags) {
            dialog.acknowledged = true;
        }
    }

    /// A BYE came with these tags, which are asked for only where there are several dialogs: whether the call is over.
    /// It is not while the same caller has another dialog that was acknowledged and not ended.
    pub fn end(&mut self, tags: Tags) -> bool {
        if let [dialog] = self.confirmed.as_mut_slice() {
            dialog.ended = true;
            return true;
        }
        let Some(at) = self.confirmed.iter().position(|d| d.is(tags)) else { return true };
        self.confirmed[at].ended = true;
        let leg = self.confirmed[at].tags.from;
        !self.confirmed.iter().any(|d| d.tags.from == leg && d.acknowledged && !d.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialog_is_one_whichever_side_asks_in_it() {
        let (ours, theirs) = (Tags { from: 1, to: 2 }, Tags { from: 2, to: 1 });
        let mut dialogs = Dialogs::default();
        dialogs.confirm(ours);
        dialogs.confirm(theirs);
        assert!(!dialogs.are_several());
        dialogs.acknowledge(Tags::default());
        assert!(dialogs.end(theirs));
    }
}
