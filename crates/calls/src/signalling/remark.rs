//! What a ladder says of a message: its reason phrase, the cause that the other side gives, and what is odd.

use super::push_lossy;
use super::told::Told;
use super::troubles::sipfrag;
use trunkline_wire::sip::{Header, Message, Method, StartLine};

/// What stands between a reason phrase and further remarks in a ladder's text.
pub const REMARK_SEPARATOR: &str = " · ";

/// What is to be said of a message.
#[derive(Clone, Copy, Debug)]
pub struct Remark {
    /// All of it, where it is nothing but a usual reason phrase: then it is not written anew.
    pub text: Option<&'static str>,
    /// Octets of the reason phrase (or of an unknown method's name), with which it begins.
    pub phrase: u16,
    /// Something was odd.
    pub odd: bool,
}

impl Remark {
    /// Of a message; written into `into`, unless it is a text that is there already. SDP is still to be added.
    pub fn of(message: &Message<'_>, told: &Told<'_>, into: &mut String) -> Remark {
        into.clear();
        let usual = usual_phrase(told);
        let Some(text) = usual.filter(|_| !says_more(message, told)) else {
            return Remark::at_length(message, told, usual, into);
        };
        let phrase = text.len() as u16;
        if told.sdp.is_some() {
            into.push_str(text);
            return Remark { text: None, phrase, odd: false };
        }
        Remark { text: Some(text), phrase, odd: false }
    }

    #[inline(never)]
    fn at_length(message: &Message<'_>, told: &Told<'_>, usual: Option<&str>, into: &mut String) -> Remark {
        match (usual, *told.start) {
            (Some(text), _) => into.push_str(text),
            (None, StartLine::Response { reason, .. }) => push_lossy(into, reason),
            (None, StartLine::Request { method_name, .. }) => push_lossy(into, method_name),
        }
        let phrase = into.len().min(usize::from(u16::MAX)) as u16;
        cause(into, message);
        if let Some((status, phrase)) = is_progress(told).then(|| sipfrag(message)).flatten() {
            into.push_str(REMARK_SEPARATOR);
            into.push_str("SIP/2.0 ");
            into.push_str(&status.to_string());
            into.push(' ');
            push_lossy(into, phrase);
        }
        let oddities = message.oddities();
        for oddity in oddities {
            into.push_str(REMARK_SEPARATOR);
            into.push_str(oddity.name());
        }
        Remark { text: None, phrase, odd: !oddities.is_empty() }
    }
}

/// The phrase that nearly all give with a status, and the nothing that there is to say of a request.
fn usual_phrase(told: &Told<'_>) -> Option<&'static str> {
    let (status, reason) = match *told.start {
        StartLine::Response { status, reason } => (status, reason),
        StartLine::Request { .. } => return (told.method != Method::Other).then_some(""),
    };
    let phrase = match status {
        100 => "Trying",
        180 => "Ringing",
        183 => "Session Progress",
        200 => "OK",
        202 => "Accepted",
        401 => "Unauthorized",
        407 => "Proxy Authentication Required",
        486 => "Busy Here",
        487 => "Request Terminated",
        _ => return None,
    };
    (reason == phrase.as_bytes()).then_some(phrase)
}

/// Whether there is more to say than a phrase and what an SDP brings.
fn says_more(message: &Message<'_>, told: &Told<'_>) -> bool {
    has_cause(message) || !message.oddities().is_empty() || is_progress(told)
}

/// A NOTIFY, which may say what became of a transfer.
fn is_progress(told: &Told<'_>) -> bool {
    told.method == Method::Notify && told.status() == 0
}

fn has_cause(message: &Message<'_>) -> bool {
    message.header(Header::Reason).is_some() || message.header(Header::Warning).is_some()
}

/// The cause in words of ISDN or SIP (Reason, RFC 3326) and the warning (RFC 3261 section 20.43): what an operator asks
/// for first when a call was refused.
fn cause(into: &mut String, message: &Message<'_>) {
    if let Some(reason) = message.reason() {
        into.push_str(REMARK_SEPARATOR);
        push_lossy(into, reason.protocol);
        if let Some(cause) = reason.cause {
            into.push_str(" cause ");
            into.push_str(&cause.to_string());
        }
        if !reason.text.is_empty() {
            into.push_str(": ");
            push_lossy(into, reason.text);
        }
    }
    if let Some(warning) = message.header(Header::Warning) {
        into.push_str(REMARK_SEPARATOR);
        into.push_str("Warning ");
        push_lossy(into, warning);
    }
}
