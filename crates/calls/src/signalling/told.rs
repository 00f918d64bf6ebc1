//! What is asked of a message, read once.

use super::dialogs::Tags;
use super::invites::Key;
use trunkline_wire::sdp::Outline;
use trunkline_wire::sip::{Method, StartLine};

/// What is asked of a message because of the call that it is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// It is of a call that is open.
    pub of_call: bool,
    /// It matters of which of several dialogs it is, or that it is within one.
    pub of_several: bool,
}

/// What a message is, read once by the caller.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Request or response.
    pub start: &'a StartLine<'a>,
    /// Method of the request, or of CSeq for a response.
    pub method: Method,
    /// It has a CSeq that can be read.
    pub has_cseq: bool,
    /// CSeq number; 0 if there is none.
    pub cseq: u32,
    /// What was asked, so that the following was read.
    pub asked: Asked,
    /// Hashes of the tags; 0 where nobody asks for them.
    pub tags: Tags,
    /// It is an INVITE that begins a dialog.
    pub begins: bool,
    /// Which transaction an INVITE that begins a dialog, its responses but for 2xx, or a CANCEL are of; nobody asks of
    /// others.
    pub transaction: Key,
    /// Hash of what tells one transaction and fork from another: top Via and To.
    pub print: u32,
    /// The SDP that it carries.
    pub sdp: Option<&'a [u8]>,
    /// The parts of that, if it is a usual one.
    pub outline: Option<Outline<'a>>,
}

impl Told<'_> {
    /// Status of a response, 0 for a request.
    pub fn status(&self) -> u16 {
        match *self.start {
            StartLine::Request { .. } => 0,
            StartLine::Response { status, .. } => status,
        }
    }
}
