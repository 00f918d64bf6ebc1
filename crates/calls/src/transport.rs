//! From packets to SIP messages: UDP as it is, TCP and SCTP put together, fragments put together first. What is media
//! in TCP or in fragments goes to the lanes.

pub(crate) mod framed;
mod probe;
mod stream;

use crate::media::{Notice, Numbered, OfTcp, Reassembled, datagram_between};
use crate::signalling::{Incoming, Output, Signalling};
use crate::unread::{self, Protocol, Unread};
use framed::Framing;
use stream::Streams;
use trunkline_capture::Packet;
use trunkline_kit::counters::Counted;
use trunkline_lane::PacketClass;
use trunkline_lane::class::{classify_udp, payload};
use trunkline_wire::icmp::{self, Unreachable};
use trunkline_wire::ip_reassembly::Fragments;
use trunkline_wire::sctp_reassembly::SctpReassembly;
use trunkline_wire::{Datagram, Decoded, Endpoint, sip};

trunkline_kit::counters! {
    /// What putting together counts.
    pub struct TransportCounters {
        /// IP datagrams put together from fragments
        reassembled: "trunkline_calls_ip_reassembled_total",
        /// IP datagrams given up because fragments did not come in time
        fragments_timed_out: "trunkline_calls_ip_fragments_timed_out_total",
        /// IP datagrams given up because the table of fragments was full
        fragments_overflow: "trunkline_calls_ip_fragments_overflow_total",
        /// fragments whose offset or length cannot be right
        fragments_malformed: "trunkline_calls_ip_fragments_malformed_total",
        /// SCTP user messages put together
        sctp_messages: "trunkline_calls_sctp_messages_total",
        /// SCTP fragments given up because too much waited
        sctp_overflow: "trunkline_calls_sctp_fragments_overflow_total",
        /// directions of SCTP associations forgotten because their table was full
        sctp_associations_overflow: "trunkline_calls_sctp_associations_overflow_total",
        /// RTCP datagrams that came in fragments and were left out
        rtcp_fragmented: "trunkline_calls_rtcp_fragmented_total",
    }
}

/// Packets that are handled together.
pub const GROUP: usize = 32;

/// Where a message was captured: what stream reassembly carries along with the octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the packet.
    pub number: u64,
    /// Record offset.
    pub offset: u64,
    /// Input file.
    pub file: u32,
}

/// Who takes the messages that were found: the signalling itself, or one who tells it.
pub trait TakeMessages {
    /// Takes one message.
    fn handle(&mut self, from: &Incoming<'_>);

    /// Takes one message that is scanned already.
    fn message(&mut self, from: &Incoming<'_>, message: &sip::Message<'_>);

    /// Takes an ICMP message that says that a packet did not arrive.
    fn unreachable(&mut self, packet: &Packet, what: &Unreachable);

    /// Takes several messages that are scanned already, in order, and leaves none.
    fn messages(&mut self, messages: &mut Vec<(Incoming<'_>, sip::Message<'_>)>) {
        for (from, message) in messages.drain(..) {
            self.message(&from, &message);
        }
    }
}

/// Messages that are scanned already and handled together, as many as there is room for; without any room each is
/// handled at once.
type Group<'g, 'm> = &'g mut Vec<(Incoming<'m>, sip::Message<'m>)>;

/// Takes what a packet gives, behind the messages that came before it. Most segments give nothing or messages that lie
/// whole in them, and these join the group.
struct InTurn<'g, 'm, T> {
    octets: &'m [u8],
    group: Group<'g, 'm>,
    taker: &'g mut T,
}

impl<T: TakeMessages> TakeMessages for InTurn<'_, '_, T> {
    fn handle(&mut self, from: &Incoming<'_>) {
        self.taker.messages(self.group);
        self.taker.handle(from);
    }

    fn message(&mut self, from: &Incoming<'_>, message: &sip::Message<'_>) {
        if self.group.len() == self.group.capacity() {
            self.taker.messages(self.group);
        }
        match message.within(self.octets).filter(|_| self.group.capacity() > 0) {
            Some(message) => self.group.push((Incoming { octets: message.octets(), ..*from }, message)),
            None => {
                self.taker.messages(self.group);
                self.taker.message(from, message);
            }
        }
    }

    fn unreachable(&mut self, packet: &Packet, what: &Unreachable) {
        self.taker.messages(self.group);
        self.taker.unreachable(packet, what);
    }
}

impl TakeMessages for Signalling {
    fn handle(&mut self, from: &Incoming<'_>) {
        Signalling::handle(self, from);
    }

    fn message(&mut self, from: &Incoming<'_>, message: &sip::Message<'_>) {
        Signalling::message(self, from, message);
    }

    fn unreachable(&mut self, packet: &Packet, what: &Unreachable) {
        Signalling::unreachable(self, what, packet.at_ns, packet.number);
    }

    fn messages(&mut self, messages: &mut Vec<(Incoming<'_>, sip::Message<'_>)>) {
        Signalling::messages(self, messages);
    }
}

/// Finds the SIP messages in packets and hands them on.
#[derive(Default)]
pub struct Transport<T> {
    fragments: Fragments,
    streams: Streams,
    sctp: SctpReassembly,
    taker: T,
    reassembled: Vec<Numbered>,
    unread: Unread,
    counters: TransportCounters,
}

impl<T: TakeMessages> Transport<T> {
    /// One that hands messages to `taker`.
    pub fn of(taker: T) -> Self {
        Transport {
            fragments: Fragments::default(),
            streams: Streams::default(),
            sctp: SctpReassembly::default(),
            taker,
            reassembled: Vec::new(),
            unread: Unread::default(),
            counters: TransportCounters::default(),
        }
    }

    /// Who takes the messages.
    pub fn taker(&self) -> &T {
        &self.taker
    }

    /// Who takes the messages.
    pub fn taker_mut(&mut self) -> &mut T {
        &mut self.taker
    }

    /// Takes one packet that may carry signalling.
    pub fn packet(&mut self, packet: &Packet, decoded: &Decoded, octets: &[u8]) {
        match decoded {
            Decoded::Udp(datagram) => self.taker.handle(&in_datagram(packet, datagram, octets)),
            decoded => self.piece(packet, decoded, octets, &mut Vec::new()),
        }
    }

    /// What is media in fragments or in TCP, since the last call.
    pub fn take_reassembled(&mut self) -> Vec<Numbered> {
        core::mem::take(&mut self.reassembled)
    }

    /// Gives what waits in streams: the input has ended.
    pub fn end_streams(&mut self) {
        self.streams.finish(&mut self.taker);
        for message in self.streams.take_media() {
            let (number, at_ns) = (message.place.number, message.at_ns);
            let about = datagram_between(message.from, message.to);
            let notice = Notice::Reassembled(Box::new(over_tcp(message, &about)));
            self.reassembled.push(Numbered { number, at_ns, notice });
        }
    }

    /// Takes packets that may carry signalling, at most [`GROUP`] of them.
    ///
    /// The calls that they are about lie all over the memory, and each message would wait for its own. So messages are
    /// scanned first, then all their calls are looked up without doing anything yet, so that the waits overlap, and
    /// then the messages are handled, in order.
    pub fn packets<'a>(&mut self, packets: impl Iterator<Item = (&'a Packet, &'a Decoded, &'a [u8])>) {
        let mut group: Vec<(Incoming<'a>, sip::Message<'a>)> = Vec::with_capacity(GROUP);
        for (packet, decoded, octets) in packets {
            let Decoded::Udp(datagram) = decoded else {
                self.piece(packet, decoded, octets, &mut group);
                continue;
            };
            let from = in_datagram(packet, datagram, octets);
            // Scanned where it stays: a message is too large to be copied for nothing.
            group.push((from, sip::Message::blank()));
            if !group.last_mut().is_some_and(|(from, message)| message.scan(from.octets, !from.cut)) {
                group.pop();
            }
        }
        self.taker.messages(&mut group);
    }

    /// Takes a packet that may carry a piece of signalling: a segment, a chunk, a fragment; `group` is what came before
    /// it and is not handled yet.
    fn piece<'a>(&mut self, packet: &Packet, decoded: &Decoded, octets: &'a [u8], group: Group<'_, 'a>) {
        match decoded {
            Decoded::Tcp(datagram, tcp) => {
                let payload = payload(datagram, octets);
                let mut taker = InTurn { octets, group, taker: &mut self.taker };
                self.streams.segment(packet.at_ns, place(packet), datagram, tcp, payload, &mut taker);
                self.media_over_tcp(packet, datagram);
            }
            Decoded::Sctp(datagram) => {
                self.taker.messages(group);
                self.sctp(packet, datagram, payload(datagram, octets));
            }
            Decoded::Fragment(fragment) => {
                self.taker.messages(group);
                self.fragment(packet, fragment, octets);
            }
            Decoded::Icmp(datagram) => {
                if let Some(what) = icmp::unreachable(datagram, payload(datagram, octets)) {
                    InTurn { octets, group, taker: &mut self.taker }.unreachable(packet, &what);
                }
            }
            Decoded::Udp(_) | Decoded::Other | Decoded::Malformed(_) | Decoded::Unknown(_) => {}
        }
    }

    /// Takes what the last segment brought.
    fn media_over_tcp(&mut self, packet: &Packet, datagram: &Datagram) {
        if let Some(framing) = self.streams.take_unread() {
            let protocol = match framing {
                Framing::Length => Protocol::RtpTcp,
                Framing::Turn => Protocol::TurnMedia,
            };
            self.unread.count(Some(protocol), packet, unread::Transport::Tcp, datagram);
        }
        if let Some((from, to, tcp)) = self.streams.take_vain() {
            let (datagram, tcp) = (datagram_between(from, to), Some(tcp));
            let Packet { at_ns, number, offset, file, .. } = *packet;
            let vain = Reassembled { at_ns, offset, file, datagram, octets: Vec::new(), tcp };
            self.reassembled.push(Numbered { number, at_ns, notice: Notice::Reassembled(Box::new(vain)) });
        }
        for message in self.streams.take_media() {
            // What was kept until it was known what it is comes now.
            let (number, at_ns) = (packet.number, packet.at_ns);
            let notice = Notice::Reassembled(Box::new(over_tcp(message, datagram)));
            self.reassembled.push(Numbered { number, at_ns, notice });
        }
    }

    fn sctp(&mut self, packet: &Packet, datagram: &Datagram, chunks: &[u8]) {
        let taker = &mut self.taker;
        self.sctp.push(packet.at_ns, place(packet), datagram, chunks, &mut |message| {
            if sip::looks_like_sip(message.octets) {
                let cut = message.octets.len() < message.wire;
                taker.handle(&incoming(packet, message.from, message.to, true, cut, message.octets));
            }
        });
    }

    fn fragment(&mut self, packet: &Packet, fragment: &trunkline_wire::Fragment, octets: &[u8]) {
        let Some(whole) = self.fragments.push(packet.at_ns, fragment, octets) else { return };
        let decoded = whole.decode();
        let Decoded::Udp(datagram) = &decoded else {
            let octets = whole.octets.to_vec();
            return self.packet(packet, &decoded, &octets);
        };
        let payload = payload(datagram, whole.octets);
        match classify_udp(payload) {
            PacketClass::Rtp => self.reassembled.push(reassembled(packet, datagram, payload)),
            PacketClass::OtherUdp => {
                if self.unread.datagram(packet, datagram, payload) {
                    self.reassembled.push(reassembled(packet, datagram, payload));
                }
            }
            PacketClass::Rtcp => self.counters.rtcp_fragmented += 1,
            PacketClass::Signalling => self.taker.handle(&in_datagram(packet, datagram, whole.octets)),
            PacketClass::Other => {}
        }
    }

    /// What came in fragments and is not analysed.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    /// What was counted so far.
    pub fn counters(&self) -> Vec<Counted> {
        let (fragments, sctp) = (self.fragments.counts(), self.sctp.counts());
        let counters = TransportCounters {
            reassembled: fragments.reassembled,
            fragments_timed_out: fragments.timed_out,
            fragments_overflow: fragments.evicted,
            fragments_malformed: fragments.malformed,
            sctp_messages: sctp.messages,
            sctp_overflow: sctp.dropped,
            sctp_associations_overflow: sctp.evicted,
            ..self.counters
        };
        let mut all = counters.list();
        all.extend(self.streams.counters().list());
        all
    }
}

impl Transport<Signalling> {
    /// Closes what is over by `now_ns`.
    pub fn tick(&mut self, now_ns: i64) {
        self.fragments.tick(now_ns);
        self.taker.tick(now_ns);
    }

    /// Closes everything: the input has ended.
    pub fn finish(&mut self) {
        self.fragments.tick(i64::MAX);
        self.end_streams();
        self.taker.finish();
    }

    /// What there is for lanes and joiner since the last call.
    pub fn poll(&mut self) -> Output {
        let mut output = self.taker.poll();
        if !self.reassembled.is_empty() {
            output.notices.append(&mut self.reassembled);
            output.notices.sort_by_key(|n| n.number);
        }
        output
    }

    /// The signalling behind it.
    pub fn signalling(&self) -> &Signalling {
        &self.taker
    }
}

/// A message of media for the lane of its flow; `about` is one of its connection.
fn over_tcp(message: stream::Message, about: &Datagram) -> Reassembled {
    let stream::Message { at_ns, place, from, to, octets, wire, gaps } = message;
    let datagram = Datagram {
        src: from.address,
        dst: to.address,
        src_port: from.port,
        dst_port: to.port,
        payload_start: 0,
        payload_captured: octets.len() as u32,
        payload_wire: u32::try_from(wire).unwrap_or(u32::MAX),
        ..*about
    };
    let Place { offset, file, .. } = place;
    Reassembled { at_ns, offset, file, datagram, octets, tcp: Some(OfTcp::Message(gaps)) }
}

/// A datagram for the lane of its flow.
fn reassembled(packet: &Packet, datagram: &Datagram, payload: &[u8]) -> Numbered {
    let Packet { at_ns, number, offset, file, .. } = *packet;
    let whole = Reassembled { at_ns, offset, file, datagram: *datagram, octets: payload.to_vec(), tcp: None };
    Numbered { number, at_ns, notice: Notice::Reassembled(Box::new(whole)) }
}

fn place(packet: &Packet) -> Place {
    Place { number: packet.number, offset: packet.offset, file: packet.file }
}

/// The message that a whole datagram may be.
fn in_datagram<'a>(packet: &Packet, datagram: &Datagram, octets: &'a [u8]) -> Incoming<'a> {
    let cut = datagram.payload_captured < datagram.payload_wire;
    incoming(packet, datagram.from(), datagram.to(), false, cut, payload(datagram, octets))
}

fn incoming<'a>(
    packet: &Packet,
    src: Endpoint,
    dst: Endpoint,
    stream: bool,
    cut: bool,
    octets: &'a [u8],
) -> Incoming<'a> {
    let Packet { at_ns, number, offset, file, .. } = *packet;
    Incoming { at_ns, number, offset, file, src, dst, stream, cut, octets }
}
