//! The protocols that have a name, and what to do where one is seen.

use super::{Row, Transport};

/// A protocol that is seen but not analysed, those that matter most for calls first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Protocol {
    /// The encapsulation of Homer's agents, versions 1 to 3.
    Hep,
    /// TLS on the port of SIP over TLS (RFC 3261 section 19.1.2).
    TlsSip,
    /// RTP inside of TURN (RFC 8656 sections 11, 12).
    TurnMedia,
    /// RTP over TCP (RFC 4571).
    RtpTcp,
    /// T.38 fax over UDPTL.
    Udptl,
    /// H.323's call signalling (H.225.0).
    H323,
    /// H.323's registration, admission and status (H.225.0).
    Ras,
    /// Cisco's Skinny.
    Skinny,
    /// MGCP (RFC 3435).
    Mgcp,
    /// Megaco, H.248 (RFC 3525).
    Megaco,
    /// IAX2 (RFC 5456).
    Iax2,
    /// ISUP over M3UA.
    Isup,
    /// M3UA (RFC 4666) with something else inside.
    M3ua,
    /// CAPWAP (RFC 5415): what a wireless network tunnels.
    Capwap,
    /// DTLS (RFC 6347).
    Dtls,
    /// TURN without media (RFC 8656).
    Turn,
    /// STUN (RFC 8489, RFC 3489).
    Stun,
    /// RTSP (RFC 7826, RFC 2326).
    Rtsp,
    /// Diameter (RFC 6733).
    Diameter,
    /// GTP's control plane.
    GtpC,
    /// RADIUS (RFC 2865).
    Radius,
    /// TLS on another port.
    Tls,
    /// Looks like RTP, but no stream could be made of it.
    RtpLike,
}

impl Protocol {
    /// All of them, in their order.
    pub const ALL: [Protocol; 23] = [
        Protocol::Hep,
        Protocol::TlsSip,
        Protocol::TurnMedia,
        Protocol::RtpTcp,
        Protocol::Udptl,
        Protocol::H323,
        Protocol::Ras,
        Protocol::Skinny,
        Protocol::Mgcp,
        Protocol::Megaco,
        Protocol::Iax2,
        Protocol::Isup,
        Protocol::M3ua,
        Protocol::Capwap,
        Protocol::Dtls,
        Protocol::Turn,
        Protocol::Stun,
        Protocol::Rtsp,
        Protocol::Diameter,
        Protocol::GtpC,
        Protocol::Radius,
        Protocol::Tls,
        Protocol::RtpLike,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Hep => "HEP",
            Protocol::TlsSip => "TLS (SIP port)",
            Protocol::TurnMedia => "RTP in TURN",
            Protocol::RtpTcp => "RTP over TCP",
            Protocol::Udptl => "T.38 (UDPTL)",
            Protocol::H323 => "H.323 (H.225)",
            Protocol::Ras => "H.323 (RAS)",
            Protocol::Skinny => "Skinny",
            Protocol::Mgcp => "MGCP",
            Protocol::Megaco => "Megaco/H.248",
            Protocol::Iax2 => "IAX2",
            Protocol::Isup => "ISUP (M3UA)",
            Protocol::M3ua => "M3UA",
            Protocol::Capwap => "CAPWAP",
            Protocol::Dtls => "DTLS",
            Protocol::Turn => "TURN",
            Protocol::Stun => "STUN",
            Protocol::Rtsp => "RTSP",
            Protocol::Diameter => "Diameter",
            Protocol::GtpC => "GTP-C",
            Protocol::Radius => "RADIUS",
            Protocol::Tls => "TLS",
            Protocol::RtpLike => "RTP without a stream",
        }
    }

    /// What it means for calls, and what to do about it; none where calls do not depend on it.
    pub fn hint(self) -> Option<&'static str> {
        Some(match self {
            Protocol::Hep => {
                "Trunkline does not read HEP yet: the calls inside are not listed. Capture the SIP itself, at the proxy \
                 or at a mirror port."
            }
            Protocol::TlsSip => {
                "SIP over TLS cannot be read: its calls are not listed. Capture where the signalling is in the clear, \
                 such as behind the proxy or SBC."
            }
            Protocol::TurnMedia => {
                "Some media inside TURN over TCP could not be read: segments are missing in the capture, or there are \
                 too many such connections. The streams lack it."
            }
            Protocol::RtpTcp => {
                "Some media over TCP (RFC 4571) could not be read: segments are missing in the capture, or there are too \
                 many such connections. The streams lack it."
            }
            Protocol::Udptl => "Fax over UDPTL is counted, its pages are not analysed.",
            Protocol::H323 | Protocol::Ras | Protocol::Skinny | Protocol::Mgcp | Protocol::Megaco => {
                "Trunkline reads SIP: calls of this protocol are not listed. Their RTP is listed as streams without \
                 signalling."
            }
            Protocol::Iax2 => "Trunkline reads SIP and RTP: calls over IAX2 are not listed.",
            Protocol::Isup => "Trunkline reads SIP: calls over SS7 are not listed.",
            Protocol::Capwap => {
                "SIP and RTP of wireless phones inside CAPWAP are not read. Capture behind the wireless controller."
            }
            Protocol::Dtls => {
                "The keys of WebRTC media are agreed inside: streams are analysed, audio cannot be heard."
            }
            Protocol::Tls => "SIP over secure WebSocket, if it is inside, cannot be read.",
            Protocol::RtpLike => {
                "Single packets, another protocol, or a stream with heavy loss whose SIP is not in the capture."
            }
            _ => return None,
        })
    }

    /// Whether calls or their media may be inside: what an empty list of calls may be due to.
    pub fn may_hide_calls(self) -> bool {
        self <= Protocol::Capwap && self != Protocol::M3ua || self == Protocol::Tls
    }

    /// Its ports, as far as they are its own.
    fn ports(self) -> &'static [u16] {
        match self {
            Protocol::Hep => &[9060, 9061, 9063],
            Protocol::TlsSip => &[5061],
            Protocol::TurnMedia | Protocol::Turn | Protocol::Stun => &[3478, 3479, 5349],
            Protocol::H323 => &[1720],
            Protocol::Ras => &[1719, 1718],
            Protocol::Skinny => &[2000, 2443],
            Protocol::Mgcp => &[2427, 2727],
            Protocol::Megaco => &[2944, 2945],
            Protocol::Iax2 => &[4569],
            Protocol::Isup | Protocol::M3ua => &[2905],
            Protocol::Capwap => &[5246, 5247],
            Protocol::Rtsp => &[554, 8554],
            Protocol::Diameter => &[3868, 5868],
            Protocol::GtpC => &[2123],
            Protocol::Radius => &[1812, 1813, 1645, 1646, 3799],
            Protocol::Tls => &[443, 8443, 8089, 7443, 993, 995, 465, 853],
            Protocol::RtpTcp | Protocol::Udptl | Protocol::Dtls | Protocol::RtpLike => &[],
        }
    }

    /// Where it was seen first: `UDP 9060 from 10.0.0.1`; nothing where that is not known.
    pub fn place(self, row: &Row) -> Option<String> {
        let first = row.first?;
        // The port that is the protocol's own, whichever side has it; else where the packet was sent.
        let own = |port: &u16| self.ports().contains(port);
        let port = [first.to.port, first.from.port].into_iter().find(own).unwrap_or(first.to.port);
        Some(format!("{} {port} from {}", first.transport.name(), first.from.address))
    }

    /// Whether it goes over this transport at all.
    pub fn goes_over(self, transport: Transport) -> bool {
        match self {
            Protocol::Hep | Protocol::Turn | Protocol::Stun | Protocol::Megaco => true,
            Protocol::TurnMedia => transport != Transport::Sctp,
            Protocol::TlsSip
            | Protocol::RtpTcp
            | Protocol::Tls
            | Protocol::H323
            | Protocol::Skinny
            | Protocol::Rtsp => transport == Transport::Tcp,
            Protocol::Diameter => transport != Transport::Udp,
            Protocol::Isup | Protocol::M3ua => transport == Transport::Sctp,
            _ => transport == Transport::Udp,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place_and_a_name_of_its_own() {
        let mut names: Vec<&str> = Protocol::ALL.iter().map(|p| p.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Protocol::ALL.len());
        assert!(Protocol::ALL.iter().enumerate().all(|(at, p)| *p as usize == at));
    }
}
