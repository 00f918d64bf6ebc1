//! What a closed call gives away of its ladder.

use super::{Call, NAMES_USUAL, Names, Reason, TEXTS_USUAL};
use crate::signalling::REMARK_SEPARATOR;
use smallvec::SmallVec;
use trunkline_store::row::Ladder;

impl Call {
    /// Its ladder. What is as large as usual is copied and its memory kept, what is larger is given away.
    pub(super) fn take_ladder(&mut self) -> Ladder {
        let messages = self.messages.take();
        let large = self.texts.len() > TEXTS_USUAL;
        let texts = if large { core::mem::take(&mut self.texts) } else { self.texts.as_str().to_owned() };
        if self.names.text.len() > NAMES_USUAL {
            self.names = Names::default();
        }
        if self.prints.spilled() {
            self.prints = SmallVec::new();
        }
        if self.announced.spilled() {
            self.announced = SmallVec::new();
        }
        self.invites.shrink();
        self.negotiation.shrink();
        self.talk.shrink();
        Ladder { hosts: self.hosts.to_vec(), messages, texts, not_kept: self.not_kept }
    }

    /// The text of a reason phrase. One that has the separator in it ends there.
    pub(super) fn phrase(&self, reason: Reason) -> &str {
        let (start, octets) = reason.text();
        let (begin, octets) = (start as usize, usize::from(octets));
        let all = self.texts.get(begin..begin + octets).unwrap_or_default();
        match all.get(..usize::from(reason.phrase())) {
            Some(phrase) if phrase.is_ascii() => phrase,
            _ => all.split(REMARK_SEPARATOR).next().unwrap_or_default(),
        }
    }
}
