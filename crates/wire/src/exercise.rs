//! Drives every parser with any octets: one function per fuzz target, also called by the test that replays the corpora.

mod packets;

pub use crate::cdr::exercise::cdr;
pub use crate::diameter::exercise::diameter;
pub use crate::gtpp::exercise::gtpp;
pub use crate::ldap::exercise::ldap;
pub use crate::nats::exercise::nats;
pub use crate::pcap::exercise as pcap;
pub use crate::pcapng::exercise as pcapng;
pub use crate::sdp::exercise::sdp;
pub use crate::sip::exercise::{sip, sip_stream, sip_uri, websocket};
pub use crate::snmp::exercise::snmp;
use crate::{rtcp, rtp};
pub use packets::{decode, ip_reassembly, sctp, tcp_reassembly};

/// RTP header, payload views and the cheap test.
pub fn rtp(octets: &[u8]) {
    for wire in [0, octets.len() as u32, 1500] {
        let Ok(packet) = rtp::Packet::new(octets, wire) else {
            assert!(wire as usize > octets.len() || !rtp::looks_like_rtp(octets));
            continue;
        };
        assert!(packet.payload.len() as u64 <= u64::from(packet.payload_wire));
        assert!(packet.payload.len() + usize::from(packet.padding) + rtp::HEADER_OCTETS <= octets.len());
        assert!(packet.contributing_sources().count() <= usize::from(packet.header.csrc_count));
        let _ = packet.to_string();
        let _ = rtp::Event::new(packet.payload);
        let _ = rtp::comfort_noise_level(packet.payload);
        if let Some(block) = rtp::redundant_primary(packet.payload) {
            assert!(block.octets.len() < packet.payload.len());
        }
    }
}

/// RTCP compounds with all that hangs below them.
pub fn rtcp(octets: &[u8]) {
    let mut whole = 0;
    for packet in rtcp::Packets::new(octets) {
        assert!((192..=223).contains(&packet.packet_type) && whole < octets.len());
        whole += rtcp::HEADER_OCTETS;
        let _ = (packet.to_string(), packet.ssrc(), packet.body.bye_sources().count());
        match packet.body {
            rtcp::Body::SenderReport { reports, .. } | rtcp::Body::ReceiverReport { reports, .. } => {
                assert!(reports.count() <= usize::from(packet.count));
                reports.for_each(|b| assert!(b.round_trip(7).is_none_or(|t| t <= i32::MAX as u32)));
            }
            rtcp::Body::SourceDescription(items) => assert!(items.count() <= octets.len() / 2),
            rtcp::Body::ExtendedReport { blocks, .. } => assert!(blocks.count() <= octets.len() / 4),
            _ => {}
        }
    }
    assert!(whole <= octets.len() && (whole == 0 || octets.len() < 8 || rtcp::looks_like_rtcp(octets)));
}
