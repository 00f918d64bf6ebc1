//! Several targets of one INVITE that accept (RFC 3261 section 13.2.2.4): who takes the call is the first one. What
//! others describe is kept and changes nothing, until the caller hangs up the first one and goes on with another.

use super::Incoming;
use super::call::Call;
use super::dialogs::Ended;
use super::offer::{self, Audio, Role};
use super::told::Told;
use crate::limits::BESIDE_PER_CALL_MAX;
use smallvec::SmallVec;
use trunkline_store::row::{Hangup, Message};
use trunkline_wire::sip::Method;
use trunkline_wire::{Address, Endpoint};

/// What a message of another target's dialog says of audio.
#[derive(Clone, Debug)]
pub struct Aside {
    /// The target's tag.
    pub tag: u64,
    /// Who sent it, and to whom.
    pub hosts: (Address, Address),
    /// Which party sent it.
    pub side: usize,
    /// What it is in the exchange of offer and answer; none if it describes nothing.
    pub said: Option<(Role, SmallVec<[Audio; 1]>, bool)>,
}

/// A target that accepted beside another one, and was never acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unacknowledged {
    /// Where its 2xx came from.
    pub answered_by: Endpoint,
    /// How often that was repeated.
    pub repeats: u32,
}

/// What is kept of other targets; of nearly all calls nothing.
#[derive(Debug, Default)]
pub struct Asides {
    told: Vec<Aside>,
    /// By tag, the 2xx that came again to who called.
    repeated: Vec<(u64, Unacknowledged)>,
}

impl Asides {
    /// Forgets it.
    pub fn clear(&mut self) {
        self.told.clear();
        self.repeated.clear();
    }

    /// Keeps what a message says; it replaces what that side said before on that hop, unless it says nothing.
    pub fn keep(&mut self, aside: Aside) {
        let has_room = self.told.len() < BESIDE_PER_CALL_MAX;
        let same = |known: &&mut Aside| (known.tag, known.hosts, known.side) == (aside.tag, aside.hosts, aside.side);
        match self.told.iter_mut().find(same) {
            Some(known) if aside.said.is_some() => *known = aside,
            None if has_room => self.told.push(aside),
            _ => {}
        }
    }

    /// The 2xx of the target with this tag came again.
    fn repeat(&mut self, tag: u64, answered_by: Endpoint) {
        let has_room = self.repeated.len() < BESIDE_PER_CALL_MAX;
        match self.repeated.iter_mut().find(|(of, _)| *of == tag) {
            Some((_, known)) => known.repeats = known.repeats.saturating_add(1),
            None if has_room => {
                self.repeated.push((tag, Unacknowledged { answered_by, repeats: 1 }));
            }
            None => {}
        }
    }
}

impl Call {
    /// Whether a message is of the dialog with another target than the one who takes the call. Of calls with one dialog
    /// nothing is looked for.
    #[inline]
    pub fn is_beside(&mut self, from: &Incoming<'_>, told: &Told<'_>) -> bool {
        match (told.method, told.status()) {
            (Method::Invite, 101..=299) if told.tags.to != 0 && self.dialogs.have_other(told.tags) => {
                self.comes_beside(from, told)
            }
            (Method::Ack, 0) if self.dialogs.are_several() => self.dialogs.beside(told.tags) == Some(true),
            _ => false,
        }
    }

    /// Who gets a response to INVITE got a 2xx of another dialog to the same INVITE before. A back-to-back user agent
    /// that gives the other leg another tag does not: what it gets and what it sends go to different hosts.
    #[cold]
    fn comes_beside(&mut self, from: &Incoming<'_>, told: &Told<'_>) -> bool {
        if let Some(beside) = self.dialogs.beside(told.tags) {
            return beside;
        }
        let beside = self.dialogs.have_leg(told.tags) && self.has_accepted_otherwise(from.dst, told);
        if beside && told.status() >= 200 {
            self.dialogs.confirm(told.tags, from.at_ns, true);
        }
        beside
    }

    /// Whether who is at `receiver` got a 2xx to this INVITE before, of another dialog.
    fn has_accepted_otherwise(&self, receiver: Endpoint, told: &Told<'_>) -> bool {
        let Some(at) = self.hosts.iter().position(|h| *h == receiver) else { return false };
        let accepts = |m: &Message| {
            m.method == Method::Invite as u8
                && (200..300).contains(&m.status)
                && (m.cseq, usize::from(m.dst)) == (told.cseq, at)
        };
        self.messages.iter().zip(&self.prints).any(|(m, print)| accepts(m) && *print != told.print)
    }

    /// Takes a 2xx that is of the dialog with another target; whether it is.
    #[cold]
    pub fn accepts_beside(&mut self, from: &Incoming<'_>, told: &Told<'_>, again: bool) -> bool {
        let beside = self.dialogs.beside(told.tags) == Some(true);
        if beside {
            self.answered.responses = self.answered.responses.saturating_add(1);
            if again && from.dst == self.src {
                self.asides.repeat(told.tags.to, from.src);
            }
        }
        beside
    }

    /// Notes a target that accepted and was never acknowledged.
    #[cold]
    pub fn note_unacknowledged(&mut self) {
        let ignored = self.asides.repeated.iter().filter(|(tag, _)| self.dialogs.is_ignored(*tag));
        if let Some((_, other)) = ignored.copied().max_by_key(|(_, other)| other.repeats) {
            self.troubles().unacknowledged = Some(other);
        }
    }

    /// A 2xx without a description: what was agreed before in its dialog holds.
    pub fn accept_early(&mut self, from: &Incoming<'_>, told: &Told<'_>, beside: bool) {
        let hosts = (from.src.address, from.dst.address);
        if beside {
            self.asides.keep(Aside { tag: told.tags.to, hosts, side: 1, said: None });
            return;
        }
        // Another leg of a back-to-back user agent says nothing of this one.
        if !self.dialogs.have_other(told.tags) {
            let is_kept = self.talk.accept(hosts, told.tags.to, from.at_ns, &mut self.facts.changes);
            self.facts.changes_not_kept |= !is_kept;
        }
    }

    /// Takes the first BYE of a dialog; whether it ends the call.
    pub fn is_ended(&mut self, told: &Told<'_>, at_ns: i64) -> bool {
        match self.dialogs.end(told.tags, at_ns) {
            Ended::Call => true,
            Ended::Dialog => false,
            Ended::Moved(tag) => {
                self.move_to(tag, told, at_ns);
                false
            }
        }
    }

    /// The call goes on with the target that has this tag.
    #[cold]
    fn move_to(&mut self, tag: u64, told: &Told<'_>, at_ns: i64) {
        let by = if self.dialogs.calls(told.tags.from) { Hangup::Caller } else { Hangup::Callee };
        self.facts.released = Some((at_ns, by));
        let own: SmallVec<[Aside; 2]> = self.asides.told.iter().filter(|aside| aside.tag == tag).cloned().collect();
        if let Some(first) = own.iter().find(|aside| aside.side == 1) {
            self.facts.hosts[1] = Some(first.hosts.0);
        }
        for Aside { tag, hosts, side, said } in own {
            match said {
                Some((role, audio, fax)) => offer::note_audio(self, (hosts, side, role), &audio, fax, (at_ns, tag)),
                None => {
                    let is_kept = self.talk.accept(hosts, tag, at_ns, &mut self.facts.changes);
                    self.facts.changes_not_kept |= !is_kept;
                }
            }
        }
    }
}
