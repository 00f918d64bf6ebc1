//! What is asked of a message, read once.

use super::dialogs::Tags;
use super::invites::Key;
use trunkline_wire::sip::{Method, StartLine};

/// What a message is, read once by the caller.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// Request or response.
    pub start: &'a StartLine<'a>,
    /// Method of the request, or of CSeq for a response.
    pub method: Method,
    /// CSeq number.
    pub cseq: u32,
    /// Hashes of the tags; 0 where nobody asks for them.
    pub tags: Tags,
    /// It is an INVITE that begins a dialog.
    pub begins: bool,
    /// Which transaction an INVITE, its responses or a CANCEL are of; nobody asks of others.
    pub transaction: Key,
    /// Hash of what tells one transaction and fork from another: top Via and To.
    pub print: u32,
    /// The SDP that it carries.
    pub sdp: Option<&'a [u8]>,
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
