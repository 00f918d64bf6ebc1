//! The end of a connection in order (RFC 6733 section 5.4).

use super::{Down, Local, Peer, Phase};
use core::time::Duration;
use trunkline_wire::diameter::base::{DisconnectPeerAnswer, DisconnectPeerRequest};
use trunkline_wire::diameter::enumerated::DisconnectCause;
use trunkline_wire::diameter::{Header, Message, application, command, result_code};

/// How long the answer to a DPR is waited for.
const FAREWELL: Duration = Duration::from_secs(1);

impl Peer {
    /// Answers a DPR: nothing more is taken, and the peer closes the connection.
    pub(super) fn disconnected(&mut self, local: &Local, message: &Message<'_>, out: &mut Vec<u8>) {
        self.phase = Phase::Closing;
        let cause = DisconnectPeerRequest::read(message).map_or(DisconnectCause::Rebooting, |dpr| dpr.disconnect_cause);
        self.down = Some(Down::Said(cause));
        let dpa = DisconnectPeerAnswer {
            result_code: result_code::SUCCESS,
            origin_host: &local.host,
            origin_realm: &local.realm,
            ..DisconnectPeerAnswer::default()
        };
        // Names of a host and a realm fit into every message.
        let _fits = dpa.write(&message.header.answer(), out);
    }

    /// Whether the answer to our DPR is still awaited.
    pub fn awaits_end(&self, now: Duration) -> bool {
        self.parts.is_some_and(|until| now < until)
    }

    /// Says the end: this program stops. Nothing is said to a peer that did not say who it is.
    pub fn disconnect(&mut self, local: &Local, now: Duration, out: &mut Vec<u8>) {
        if self.phase != Phase::Open {
            return;
        }
        (self.phase, self.parts) = (Phase::Closing, Some(now + FAREWELL));
        let hop_by_hop = self.hop_by_hop();
        let header = Header::request(command::DISCONNECT_PEER, application::BASE);
        let header = Header { hop_by_hop, end_to_end: hop_by_hop, ..header };
        let dpr = DisconnectPeerRequest {
            origin_host: &local.host,
            origin_realm: &local.realm,
            disconnect_cause: DisconnectCause::Rebooting,
        };
        // As above.
        let _fits = dpr.write(&header, out);
    }
}
