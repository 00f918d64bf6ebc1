//! Drives every parser with any octets: one function per fuzz target, also called by the test that replays the corpora.

pub use crate::sdp::exercise::sdp;
pub use crate::sip::exercise::{sip, sip_stream, sip_uri, websocket};
