//! Where RTP and RTCP of a media description may come to, or from.

use super::super::Incoming;
use smallvec::SmallVec;
use trunkline_wire::{Address, Endpoint, sdp};

/// The port of a section whose addresses are still to come (RFC 8840 section 4.1.1), and of one whose maker connects
/// to the other side and cannot tell from where (RFC 4145 section 4.1).
pub(super) const TRICKLES: u16 = 9;

/// Where RTP of a media description may come to: its own address and port, what network address translation may have
/// made of it, and its ICE candidates for RTP (component 1, RFC 8839 section 5.1); of a relay also the address at which
/// it sees its client, which sends from there what is inside TURN.
pub(super) fn endpoints(media: &sdp::Media<'_>, from: &Incoming<'_>) -> impl Iterator<Item = MediaEnd> {
    let candidates = media.candidates.iter().filter(|c| c.component == 1 && (c.udp || c.tcp));
    let candidates: Vec<MediaEnd> =
        candidates.flat_map(|c| [c.endpoint(), c.related]).flatten().map(MediaEnd::said).collect();
    let own = media.rtp().map(|own| match own.port {
        TRICKLES if media.is_over_tcp() => Endpoint { port: 0, ..own },
        _ => own,
    });
    let named = by_name(media, from).map(|endpoint| MediaEnd { endpoint, guessed: true });
    own_endpoints(own, from).chain(named).chain(candidates)
}

/// Where a description whose `c=` is a name may want its media: nobody asks for names here, and most name the host that
/// they come from.
pub(super) fn by_name(media: &sdp::Media<'_>, from: &Incoming<'_>) -> Option<Endpoint> {
    let is_name = media.connection.is_some_and(|c| c.address.is_none() && !c.host.is_empty());
    (is_name && media.port != 0 && media.port != TRICKLES).then(|| Endpoint::new(from.src.address, media.port))
}

/// Where RTP may come to, or from.
#[derive(Clone, Copy, Debug)]
pub(super) struct MediaEnd {
    pub endpoint: Endpoint,
    /// Not named by anybody, and perhaps not the sender's at all.
    pub guessed: bool,
}

impl MediaEnd {
    fn said(endpoint: Endpoint) -> MediaEnd {
        MediaEnd { endpoint, guessed: false }
    }
}

/// What was said, and the address that its sender has here: a phone behind a translator that names its private address,
/// or a server that names the public one which a translator has for it (one for one, the ports stay). The latter is a
/// guess: proxies send on what others named.
pub(super) fn own_endpoints(rtp: Option<Endpoint>, from: &Incoming<'_>) -> impl Iterator<Item = MediaEnd> + use<> {
    let own = rtp.filter(|e| !e.address.is_unspecified());
    let here = from.src.address;
    let translated = own.filter(|e| e.address.is_private() != here.is_private());
    let translated = translated.map(|e| MediaEnd { endpoint: Endpoint::new(here, e.port), guessed: here.is_private() });
    own.map(MediaEnd::said).into_iter().chain(translated)
}

/// What `a=rtcp` says (RFC 3605): a port, and an address of its own if there is one.
pub(super) type Control = (u16, Option<Address>);

/// Reads it.
pub(super) fn control_of(media: &sdp::Media<'_>) -> Option<Control> {
    media.rtcp.map(|(port, connection)| (port, connection.and_then(|c| c.address)))
}

/// An end of RTCP, and that of the RTP that it belongs to.
pub(super) type ControlPair = (Endpoint, Endpoint);

/// Where RTCP may come to by `a=rtcp`, if that is neither the port of its RTP nor the next one, where it is known to
/// belong (RFC 3550 section 11, RFC 5761). With `rtcp-mux` it is where RTCP goes if the other side does not accept that
/// (RFC 5761 section 5.1.3).
pub(super) fn controls(
    rtp: Option<Endpoint>,
    said: Option<Control>,
    from: &Incoming<'_>,
) -> SmallVec<[ControlPair; 2]> {
    let is_port = |port: &u16| *port != 0 && *port != TRICKLES;
    let rtp = rtp.filter(|end| is_port(&end.port));
    let Some((rtp, (port, address))) = rtp.zip(said.filter(|(port, _)| is_port(port))) else {
        return SmallVec::new();
    };
    let rtcp = Endpoint::new(address.unwrap_or(rtp.address), port);
    let of = |end| own_endpoints(Some(end), from).map(|end| end.endpoint);
    let pairs = of(rtcp).flat_map(|rtcp| of(rtp).map(move |rtp| (rtcp, rtp)));
    pairs.filter(|(rtcp, rtp)| rtcp.address.is_private() == rtp.address.is_private()).filter(is_apart).collect()
}

/// The same by candidates of component 2, with those of component 1 at their address (RFC 8839 section 5.1).
pub(super) fn controls_of_ice(media: &sdp::Media<'_>) -> SmallVec<[ControlPair; 2]> {
    let of = |component| {
        let candidates = media.candidates.iter().filter(move |c| c.component == component && c.udp);
        candidates.flat_map(|c| [c.endpoint(), c.related]).flatten().filter(|end| end.port != 0)
    };
    let pairs = of(2).flat_map(|rtcp| of(1).map(move |rtp| (rtcp, rtp)));
    pairs.filter(|(rtcp, rtp)| rtcp.address == rtp.address).filter(is_apart).collect()
}

fn is_apart((rtcp, rtp): &ControlPair) -> bool {
    rtcp.address != rtp.address || rtcp.port != rtp.port && rtcp.port != rtp.port.wrapping_add(1)
}
