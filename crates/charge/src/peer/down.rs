//! Why a peer that we dial is not connected.

use core::fmt;
use trunkline_wire::diameter::enumerated::DisconnectCause;
use trunkline_wire::diameter::result_code;

/// Why there is no connection with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// It was not tried yet.
    Untried,
    /// No connection came about, in words.
    Unreached(&'static str),
    /// It answered our CER with that result.
    Refused(u32),
    /// What came first was no answer to our CER that can be read.
    NoAnswer,
    /// Somebody else answered than was meant.
    Another,
    /// It neither speaks credit control nor relays it.
    NoCommonApplication,
    /// It said nothing for too long.
    Silent,
    /// What it said is no Diameter.
    Broken,
    /// It, or the way to it, ended the connection.
    Ended,
    /// It said the end (DPR), and why.
    Said(DisconnectCause),
    /// It connected itself meanwhile, and that connection stays (RFC 6733 section 5.6.4).
    GaveWay,
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Down::Untried => f.write_str("not tried yet"),
            Down::Unreached(why) => f.write_str(why),
            Down::Refused(code) => match result_code::name(*code) {
                Some(name) => write!(f, "it refused us: {name} ({code})"),
                None => write!(f, "it refused us: {code}"),
            },
            Down::NoAnswer => f.write_str("it did not answer our capabilities"),
            Down::Another => f.write_str("another host answered"),
            Down::NoCommonApplication => f.write_str("it does not speak credit control"),
            Down::Silent => f.write_str("it said nothing for too long"),
            Down::Broken => f.write_str("what it said is no Diameter"),
            Down::Ended => f.write_str("the connection ended"),
            Down::Said(DisconnectCause::Rebooting) => f.write_str("it said that it reboots"),
            Down::Said(DisconnectCause::Busy) => f.write_str("it said that it is busy"),
            Down::Said(_) => f.write_str("it said that it does not want to talk to us"),
            Down::GaveWay => f.write_str("it connected itself"),
        }
    }
}
