//! Packets of protocols that are seen but not analysed: counted by name, so that an empty screen says what is there.
//!
//! Only packets that are neither SIP nor RTP come here. A protocol is told by its content: a magic number, a version,
//! lengths that agree. Where that is too little the port must fit as well. What is not certain has no name.

mod datagram;
pub(crate) mod fax;
mod media_control;
mod protocol;
mod segment;
pub(crate) mod stun;

pub use protocol::Protocol;
use trunkline_capture::Packet;
use trunkline_lane::PacketClass;
use trunkline_lane::class::payload;
use trunkline_wire::{Datagram, Decoded, Endpoint};

/// Packets that look like RTP without a stream are worth a word from this number on: half a second of speech.
pub const RTP_LIKE_MIN: u64 = 25;

/// The transport that a packet came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// SCTP.
    Sctp,
}

impl Transport {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
            Transport::Sctp => "SCTP",
        }
    }
}

/// The first packet of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Its number in the input.
    pub number: u64,
    /// Over what it came.
    pub transport: Transport,
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it was sent to.
    pub to: Endpoint,
}

/// What was seen of a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Packets.
    pub packets: u64,
    /// The first of them; none where it is not known.
    pub first: Option<First>,
}

/// What was seen of all protocols that are not analysed: a row of fixed size for each.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    rows: [Row; Protocol::ALL.len()],
    /// Packets of which the snap length cut something.
    pub cut: u64,
    /// The most octets that were captured of such a packet: the snap length.
    pub cut_to: u32,
    /// Full frames of IAX2 that look like RTP, too.
    like_rtp: u64,
}

impl Unread {
    /// Looks at a packet that `class` was found for. Whether a lane wants it although it is no RTP: media is inside, or
    /// it says something about media.
    #[inline]
    pub fn see(&mut self, packet: &Packet, class: PacketClass, decoded: &Decoded, octets: &[u8]) -> bool {
        let is_read = match (class, decoded) {
            (PacketClass::Rtp, Decoded::Udp(datagram)) => !on_iax2(datagram),
            (PacketClass::OtherUdp, _) | (_, Decoded::Tcp(..) | Decoded::Sctp(_)) => false,
            _ => true,
        };
        (!is_read || packet.captured < packet.wire) && self.look(packet, class, decoded, octets)
    }

    /// The same of a packet of which more has to be asked.
    #[inline(never)]
    fn look(&mut self, packet: &Packet, class: PacketClass, decoded: &Decoded, octets: &[u8]) -> bool {
        if packet.captured < packet.wire {
            self.cut += 1;
            self.cut_to = self.cut_to.max(packet.captured);
        }
        match (class, decoded) {
            (PacketClass::Rtp, Decoded::Udp(datagram)) if on_iax2(datagram) => {
                self.maybe_iax2(packet, datagram, octets)
            }
            (PacketClass::OtherUdp, Decoded::Udp(datagram)) => {
                return self.datagram(packet, datagram, payload(datagram, octets));
            }
            (_, Decoded::Tcp(datagram, _)) if datagram.payload_captured > 0 => {
                let found = segment::of_tcp(&Piece::new(datagram, payload(datagram, octets)));
                // Media is read where connections are put together; what is not is counted there.
                let is_media = |p: &Protocol| matches!(p, Protocol::TurnMedia | Protocol::RtpTcp);
                self.count(found.filter(|p| !is_media(p)), packet, Transport::Tcp, datagram);
            }
            (_, Decoded::Sctp(datagram)) => {
                let found = segment::of_sctp(payload(datagram, octets));
                self.count(found, packet, Transport::Sctp, datagram);
            }
            _ => {}
        }
        false
    }

    /// Looks at a datagram that is neither SIP nor RTP. Whether a lane wants it all the same.
    pub fn datagram(&mut self, packet: &Packet, datagram: &Datagram, payload: &[u8]) -> bool {
        let piece = Piece::new(datagram, payload);
        match datagram::of_udp(&piece) {
            // It is media like any other: the lane counts what it makes nothing of.
            Some(Protocol::TurnMedia) => true,
            found => {
                self.count(found, packet, Transport::Udp, datagram);
                match found {
                    Some(Protocol::Turn | Protocol::Udptl) => true,
                    None => fax::may_be_udptl(&piece),
                    Some(Protocol::Dtls) => datagram::is_handshake(&piece),
                    Some(Protocol::Stun) => stun::is_check(&piece),
                    _ => false,
                }
            }
        }
    }

    #[cold]
    fn maybe_iax2(&mut self, packet: &Packet, datagram: &Datagram, octets: &[u8]) {
        if media_control::is_iax2(&Piece::new(datagram, payload(datagram, octets))) {
            self.like_rtp += 1;
            self.count(Some(Protocol::Iax2), packet, Transport::Udp, datagram);
        }
    }

    /// Counts a packet of a protocol that is not analysed.
    #[inline]
    pub(crate) fn count(
        &mut self,
        found: Option<Protocol>,
        packet: &Packet,
        transport: Transport,
        datagram: &Datagram,
    ) {
        let Some(protocol) = found else { return };
        let row = &mut self.rows[protocol as usize];
        row.packets += 1;
        if row.first.is_none() {
            let (from, to) = (datagram.from(), datagram.to());
            row.first = Some(First { number: packet.number, transport, from, to });
        }
    }

    /// Adds what was seen elsewhere; the earlier packet is the first one.
    pub fn add(&mut self, other: &Unread) {
        for (row, more) in self.rows.iter_mut().zip(&other.rows) {
            row.packets += more.packets;
            row.first = match (row.first, more.first) {
                (Some(one), Some(two)) if two.number < one.number => Some(two),
                (one, two) => one.or(two),
            };
        }
        self.cut += other.cut;
        self.cut_to = self.cut_to.max(other.cut_to);
        self.like_rtp += other.like_rtp;
    }

    /// Sets how many packets look like RTP and belong to no stream.
    pub fn set_without_stream(&mut self, packets: u64) {
        self.rows[Protocol::RtpLike as usize].packets = packets.saturating_sub(self.like_rtp);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Unread::default();
    }

    /// What was seen of a protocol.
    pub fn row(&self, protocol: Protocol) -> &Row {
        &self.rows[protocol as usize]
    }

    /// The protocols that were seen, those that matter most for calls first. A few packets that look like RTP are left
    /// out: one of some hundred datagrams of any protocol does.
    pub fn seen(&self) -> impl Iterator<Item = (Protocol, &Row)> {
        let least = |protocol| if protocol == Protocol::RtpLike { RTP_LIKE_MIN } else { 1 };
        Protocol::ALL.into_iter().zip(&self.rows).filter(move |(protocol, row)| row.packets >= least(*protocol))
    }
}

/// Whether it goes from or to the port of IAX2, whose full frames may look like RTP.
fn on_iax2(datagram: &Datagram) -> bool {
    datagram.src_port == media_control::IAX2 || datagram.dst_port == media_control::IAX2
}

/// What one packet carries above its transport, as far as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    octets: &'a [u8],
    /// Octets on the wire.
    wire: usize,
    ports: (u16, u16),
}

impl<'a> Piece<'a> {
    fn new(datagram: &Datagram, octets: &'a [u8]) -> Self {
        let wire = (datagram.payload_wire as usize).max(octets.len());
        Piece { octets, wire, ports: (datagram.src_port, datagram.dst_port) }
    }

    fn is_on(&self, port: u16) -> bool {
        self.ports.0 == port || self.ports.1 == port
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.octets.get(at..)?.first_chunk().copied()
    }

    fn be16(&self, at: usize) -> Option<usize> {
        Some(usize::from(u16::from_be_bytes(self.array(at)?)))
    }

    fn be32(&self, at: usize) -> Option<u32> {
        Some(u32::from_be_bytes(self.array(at)?))
    }

    /// The piece from `at` on.
    fn from(&self, at: usize) -> Option<Piece<'a>> {
        Some(Piece { octets: self.octets.get(at..)?, wire: self.wire.checked_sub(at)?, ..*self })
    }

    /// The first line, of so many octets at most.
    fn line(&self, octets_max: usize) -> &'a [u8] {
        let some = &self.octets[..self.octets.len().min(octets_max)];
        some[..memchr::memchr(b'\n', some).unwrap_or(some.len())].trim_ascii_end()
    }
}

/// The protocol of any octets over any transport, for the fuzzer.
pub(crate) fn of(octets: &[u8], wire: usize, ports: (u16, u16)) -> [Option<Protocol>; 4] {
    let piece = Piece { octets, wire: wire.max(octets.len()), ports };
    let iax2 = media_control::is_iax2(&piece).then_some(Protocol::Iax2);
    [datagram::of_udp(&piece), segment::of_tcp(&piece), segment::of_sctp(octets), iax2]
}

#[cfg(test)]
mod tests;
