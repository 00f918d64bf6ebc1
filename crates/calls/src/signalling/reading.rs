//! What is read of a message before it goes to its call: no more than is asked of it.

use super::call::Call;
use super::dialogs::Tags;
use super::invites::Key;
use super::told::Told;
use super::{Signalling, usual};
use trunkline_wire::sip::{Header, Message, Method, StartLine};

impl Signalling {
    /// What is asked of a message, and no more of it.
    pub(super) fn told<'a>(&self, message: &'a Message<'a>, method: Method, cseq: u32, found: Option<u32>) -> Told<'a> {
        let (sdp, start) = (usual::sdp(message), message.start_line());
        let accepts = matches!(*start, StartLine::Response { status: 200..=299, .. }) && method == Method::Invite;
        let asks = matches!(*start, StartLine::Request { .. }) && method == Method::Invite;
        // Which of several dialogs is acknowledged or ended, and whether there was a 2xx, where none was seen.
        let asked_of_call = |call: &Call| call.has_several_dialogs() || !call.is_accepted();
        let of_several = matches!(method, Method::Ack | Method::Bye)
            && found.and_then(|at| self.call(at)).is_some_and(asked_of_call);
        let both = accepts || asks || of_several || found.is_none() && is_of_calls(method);
        // Which side speaks matters where it announces media or hangs up, and to tell transactions apart.
        let is_answer_to_bye = method == Method::Bye && matches!(*start, StartLine::Response { .. });
        let one = both || found.is_none() || sdp.is_some() || !(is_of_calls(method) || is_answer_to_bye);
        let hash = |wanted: bool, header: Header| {
            let tag = wanted.then(|| usual::tag(message.header(header).unwrap_or_default()));
            tag.flatten().map_or(0, |tag| self.hash(tag))
        };
        let tags = Tags { from: hash(one, Header::From), to: hash(both, Header::To) };
        let branch = match method {
            Method::Invite | Method::Cancel => usual::branch(message).map_or(0, |branch| self.hash(branch) as u32),
            Method::Ack if of_several => usual::branch(message).map_or(0, |branch| self.hash(branch) as u32),
            _ => 0,
        };
        let (transaction, print, begins) = (Key { branch, cseq }, self.print(message), asks && tags.to == 0);
        Told { start, method, cseq, tags, begins, transaction, print, sdp }
    }
}

/// Methods that are nothing but a part of a call; BYE may stand alone where the capture begins late.
pub fn is_of_calls(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Ack | Method::Cancel | Method::Prack | Method::Update)
}
