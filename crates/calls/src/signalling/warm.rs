//! Reading a little of calls that will be needed soon, of each step of the way to them for all of them before the next
//! one: then the waits for the memory overlap.

use super::call::Call;
use super::{Incoming, Seek, Signalling};
use crate::transport::GROUP;
use smallvec::SmallVec;
use trunkline_wire::sip::{Message, Method, StartLine};

impl Signalling {
    /// Of the calls of these messages, which were sought.
    pub(super) fn warm_for(&self, messages: &[(Incoming<'_>, Message<'_>)], sought: &[Seek]) {
        let mut calls: SmallVec<[&Call; GROUP]> = SmallVec::new();
        read(messages.iter().zip(sought), |((_, message), seek)| {
            let Some(call) = seek.at.and_then(|at| self.call(at)) else { return 0 };
            calls.push(call);
            let invite = if is_of_invite(message.start_line()) { call.warm_for_invite() } else { 0 };
            let sdp = if message.body().is_empty() { 0 } else { call.warm_for_sdp() };
            call.warm() ^ invite ^ sdp
        });
        read(calls.iter(), |call| call.warm_further());
        // Messages of no call may begin one, in the memory of one that is over.
        read(self.spare.iter().rev().take(sought.len() - calls.len()), |call| call.warm_to_begin());
    }

    /// Of calls whose time has come.
    pub(super) fn warm_due(&self, due: &[u32]) {
        let calls: SmallVec<[&Call; GROUP]> = due.iter().filter_map(|at| self.call(*at)).collect();
        read(calls.iter(), |call| call.warm_to_begin());
        read(calls.iter(), |call| call.warm_to_close());
        self.warm_known(due);
    }

    /// Of where the table of Call-IDs has these calls.
    fn warm_known(&self, calls: &[u32]) {
        let found = |at: &u32| {
            let call = self.slots[*at as usize].call.as_ref()?;
            self.by_call_id.find(call.hash, |known| known.at == *at)
        };
        read(calls.iter().filter_map(found), |known| u64::from(known.octets));
    }
}

/// Whether it is of an INVITE that is not accepted yet, as far as its start line tells: to look at the call would be to
/// wait for it.
fn is_of_invite(start: &StartLine<'_>) -> bool {
    match *start {
        StartLine::Request { method, .. } => matches!(method, Method::Invite | Method::Cancel),
        StartLine::Response { status, .. } => !(200..300).contains(&status),
    }
}

fn read<T>(things: impl Iterator<Item = T>, mut what: impl FnMut(T) -> u64) {
    core::hint::black_box(things.fold(0, |sum, thing| sum ^ what(thing)));
}
