//! Where RTCP is that is neither at the port of its RTP nor at the next one.

use super::{CallMedia, Directory, forget};
use crate::limits::ENDPOINTS_PER_CALL_MAX;
use crate::media::{Control, Serial};
use trunkline_wire::Endpoint;

impl Directory {
    /// Learns where RTCP of a description comes to. The signalling tells of no more than
    /// [`ENDPOINTS_PER_CALL_MAX`], and counts what is beyond.
    pub fn learn_control(&mut self, control: &Control) {
        let Control { serial, id, at_ns, rtcp, rtp } = *control;
        let call = self.calls.entry(serial).or_insert_with(|| CallMedia::without(id, at_ns));
        let pairs = self.by_control.entry(rtcp).or_default();
        if !pairs.contains(&(serial, rtp)) && call.controls.len() < ENDPOINTS_PER_CALL_MAX {
            pairs.push((serial, rtp));
            call.controls.push(rtcp);
        }
    }

    /// Whether a call says that RTCP there belongs to RTP at this endpoint.
    pub fn controls(&self, rtcp: &Endpoint, rtp: &Endpoint) -> bool {
        !self.by_control.is_empty() && self.by_control.get(rtcp).is_some_and(|all| all.iter().any(|(_, of)| of == rtp))
    }

    /// Forgets what a call said of its RTCP.
    pub(super) fn forget_controls(&mut self, serial: Serial, controls: &[Endpoint]) {
        controls.iter().for_each(|rtcp| forget(&mut self.by_control, *rtcp, |(of, _)| *of == serial));
    }
}
