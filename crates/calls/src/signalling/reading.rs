//! What is read of a message before it goes to its call: no more than is asked of it.

use super::call::Call;
use super::dialogs::Tags;
use super::invites::Key;
use super::told::{Asked, Told};
use super::{Signalling, usual};
use trunkline_wire::sdp::Outline;
use trunkline_wire::sip::{Header, Message, Method, StartLine};

impl Signalling {
    /// What is asked of a message of this call, and no more of it.
    pub(super) fn told<'a>(&self, message: &'a Message<'a>, found: Option<u32>) -> Told<'a> {
        let (cseq, method) = usual::cseq_and_method(message);
        let (sdp, start) = (usual::sdp(message), message.start_line());
        let asked = self.asked(method, found);
        let Wanted { asks, accepts, from, to } = wanted(start, method, sdp.is_some(), asked);
        let tags = Tags {
            from: if from { self.tag(message, Header::From) } else { 0 },
            to: if to { self.tag(message, Header::To) } else { 0 },
        };
        let begins = asks && tags.to == 0;
        let branch = match method {
            // An INVITE within a dialog and a 2xx are of no transaction that is followed.
            Method::Invite if accepts || asks && !begins => None,
            Method::Invite | Method::Cancel => usual::branch(message),
            Method::Ack if asked.of_several => usual::branch(message),
            _ => None,
        };
        let branch = branch.map_or(0, |branch| self.hash(branch) as u32);
        let (has_cseq, cseq) = (cseq.is_some(), cseq.unwrap_or(0));
        let (transaction, print, outline) = (Key { branch, cseq }, self.print(message), sdp.and_then(Outline::of));
        Told { start, method, has_cseq, cseq, asked, tags, begins, transaction, print, sdp, outline }
    }

    /// Makes of what was told of a message what is told of it now that its call was looked for again.
    #[inline(never)]
    pub(super) fn tell_again<'a>(&self, told: &mut Told<'a>, message: &'a Message<'a>, found: Option<u32>) {
        let asked = self.asked(told.method, found);
        if asked.of_several || told.asked.of_several || !asked.of_call {
            *told = self.told(message, found);
            return;
        }
        // The message that opened its call came just before: less is asked than was read.
        let wanted = wanted(told.start, told.method, told.sdp.is_some(), asked);
        told.asked = asked;
        told.tags.from = if wanted.from { told.tags.from } else { 0 };
        told.tags.to = if wanted.to { told.tags.to } else { 0 };
    }

    /// What the call asks of a message of this method beyond what all do. It may change while the message waits for
    /// those before it.
    #[inline]
    pub(super) fn asked(&self, method: Method, found: Option<u32>) -> Asked {
        // Which of several dialogs is acknowledged or ended, and whether there was a 2xx, where none was seen.
        let asked_of_call = |call: &Call| call.may_have_several_dialogs() || !call.is_accepted();
        let of_several = matches!(method, Method::Ack | Method::Bye)
            && found.and_then(|at| self.call(at)).is_some_and(asked_of_call);
        Asked { of_call: found.is_some(), of_several }
    }

    /// The hash of a tag; 0 if there is none.
    fn tag(&self, message: &Message<'_>, header: Header) -> u64 {
        usual::tag(message.header(header).unwrap_or_default()).map_or(0, |tag| self.hash(tag))
    }
}

/// What is read of a message.
struct Wanted {
    /// It is an INVITE.
    asks: bool,
    /// It is a 2xx to an INVITE.
    accepts: bool,
    /// The tag of From.
    from: bool,
    /// The tag of To.
    to: bool,
}

#[inline]
fn wanted(start: &StartLine<'_>, method: Method, has_sdp: bool, asked: Asked) -> Wanted {
    let accepts = matches!(*start, StartLine::Response { status: 200..=299, .. }) && method == Method::Invite;
    let asks = matches!(*start, StartLine::Request { .. }) && method == Method::Invite;
    // Which of several targets describes itself before the answer.
    let describes = has_sdp && method == Method::Invite;
    let to = accepts || asks || describes || asked.of_several || !asked.of_call && is_of_calls(method);
    // Which side speaks matters where it announces media or hangs up, and to tell transactions apart.
    let is_answer_to_bye = method == Method::Bye && matches!(*start, StartLine::Response { .. });
    // Whose offer a response answers that describes something.
    let may_offer = has_sdp || matches!(method, Method::Update | Method::Prack);
    let from = to || !asked.of_call || may_offer || !(is_of_calls(method) || is_answer_to_bye);
    Wanted { asks, accepts, from, to }
}

/// Methods that are nothing but a part of a call; BYE may stand alone where the capture begins late.
pub fn is_of_calls(method: Method) -> bool {
    matches!(method, Method::Invite | Method::Ack | Method::Cancel | Method::Prack | Method::Update)
}
