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
        let calls: SmallVec<[&Call; GROUP]> =
            sought.iter().filter_map(|seek| seek.at).filter_map(|at| self.call(at)).collect();
        read(calls.iter(), |call| call.warm());
        let of_invite = messages.iter().zip(sought).filter(|((_, message), _)| is_of_invite(message.start_line()));
        read(of_invite.filter_map(|(_, seek)| self.call(seek.at?)), |call| call.warm_for_invite());
        let with_body = messages.iter().zip(sought).filter(|((_, message), _)| !message.body().is_empty());
        read(with_body.filter_map(|(_, seek)| self.call(seek.at?)), |call| call.warm_for_sdp());
        read(calls.iter(), |call| call.warm_further());
        // Messages of no call may begin one, in the memory of one that is over.
        let begins = sought.iter().filter(|seek| seek.at.is_none()).count();
        read(self.spare.iter().rev().take(begins), |call| call.warm_to_begin());
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

fn read<T>(things: impl Iterator<Item = T>, what: impl Fn(T) -> u64) {
    core::hint::black_box(things.fold(0, |sum, thing| sum ^ what(thing)));
}
