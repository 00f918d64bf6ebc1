//! SIP and media over TCP: connections put together, messages found in them, all other connections set aside.

use super::Place;
use super::framed::{Frame, Frames, Framing};
use super::probe::{Found, Piece, Probe};
use crate::media::OfTcp;
use crate::signalling::Incoming;
use crate::transport::TakeMessages;
use trunkline_wire::sip::stream::{Counts, Framed, Splitter, Verdict};
use trunkline_wire::tcp_reassembly::{Connections, Direction, Event, TcpCounts, What};
use trunkline_wire::{Datagram, Endpoint, TcpHeader, tcp};

/// Connections with media that are followed at a time. Further ones are not read, and counted.
// Limit: TCP connections with media at once
// Beyond: further ones are not read
// Seen in: `trunkline_calls_tcp_media_connections_overflow_total`
pub const MEDIA_CONNECTIONS_MAX: usize = 8192;
/// Octets kept of connections of which it is not known yet whether they are media. Of further ones none are kept: they
/// are not read, and counted.
// Limit: memory of TCP connections that may hold media
// Beyond: further ones are not read
// Seen in: `trunkline_calls_tcp_media_connections_overflow_total`
pub const PROBED_OCTETS_MAX: usize = 16 << 20;

trunkline_kit::counters! {
    /// What putting TCP together counts.
    pub struct StreamCounters {
        /// TCP connections seen
        connections: "trunkline_calls_tcp_connections_total",
        /// TCP connections set aside because they carry no SIP
        not_sip: "trunkline_calls_tcp_not_sip_connections_total",
        /// TCP connections with media
        media: "trunkline_calls_tcp_media_connections_total",
        /// messages of media over TCP
        media_messages: "trunkline_calls_tcp_media_messages_total",
        /// TCP connections with media not read because there were too many
        media_overflow: "trunkline_calls_tcp_media_connections_overflow_total",
        /// octets of media over TCP that could not be read, as the beginning of their message was not captured
        media_unread_octets: "trunkline_calls_tcp_media_unread_octets_total",
        /// gaps in TCP streams
        gaps: "trunkline_calls_tcp_gaps_total",
        /// octets missing in TCP streams
        gap_octets: "trunkline_calls_tcp_gap_octets_total",
        /// gaps in TCP streams given up because too much waited behind them
        gaps_overflow: "trunkline_calls_tcp_gaps_overflow_total",
        /// TCP connections forgotten because the table was full
        connections_overflow: "trunkline_calls_tcp_connections_overflow_total",
        /// SIP messages longer than the limit, given as cut
        overlong: "trunkline_calls_sip_overlong_overflow_total",
        /// SIP messages cut by a gap or the end of their connection
        cut: "trunkline_calls_sip_stream_cut_total",
        /// octets in SIP connections that belong to no message
        junk_octets: "trunkline_calls_sip_stream_junk_octets_total",
        /// WebSocket frames with compressed payload, which are not read
        compressed_frames: "trunkline_calls_websocket_compressed_total",
    }
}

struct Conversation {
    generation: u32,
    carries: Carries,
}

/// What a connection carries.
enum Carries {
    /// SIP, or what may be SIP, or media as long as there is a probe.
    Messages { ways: Box<[Splitter<Place>; 2]>, probe: Option<Box<Probe>> },
    /// Media.
    Media(Box<[Frames; 2]>),
}

/// A message of media.
pub struct Message {
    /// When its last octet came in order, nanoseconds since 1970.
    pub at_ns: i64,
    /// The packet that brought it about.
    pub place: Place,
    /// Who sent it.
    pub from: Endpoint,
    /// Whom it was sent to.
    pub to: Endpoint,
    /// What was captured of it.
    pub octets: Vec<u8>,
    /// Its length.
    pub wire: usize,
    /// Places before it in its direction at which the capture lacks messages.
    pub gaps: u32,
}

/// What was found in a segment.
#[derive(Default)]
struct Media {
    messages: Vec<Message>,
    /// Connections that are followed.
    connections: usize,
    /// Octets that probes keep.
    probed: usize,
    /// The framing of media that could not be read.
    unread: Option<Framing>,
}

/// TCP connections that may carry SIP.
#[derive(Default)]
pub struct Streams {
    connections: Connections<Place>,
    conversations: Vec<Option<Box<Conversation>>>,
    /// Of each place in the table, the generation of the connection whose beginning was seen, plus one.
    begun: Vec<u32>,
    media: Media,
    vain: Option<Vain>,
    counters: StreamCounters,
}

/// Who asked whom for a connection in vain.
type Vain = (Endpoint, Endpoint, OfTcp);

/// A segment that refuses a connection: it is about a SYN, and nothing else was sent before it (RFC 9293 section
/// 3.10.7.1).
fn refuses(header: &TcpHeader, payload: &[u8]) -> bool {
    const REFUSED: u8 = tcp::RST | tcp::ACK;
    header.flags & (REFUSED | tcp::SYN) == REFUSED && header.seq == 0 && payload.is_empty()
}

impl Streams {
    /// Takes a segment.
    pub fn segment(
        &mut self,
        at_ns: i64,
        place: Place,
        datagram: &Datagram,
        header: &TcpHeader,
        payload: &[u8],
        taker: &mut impl TakeMessages,
    ) {
        let mut table = Table {
            conversations: &mut self.conversations,
            media: &mut self.media,
            counters: &mut self.counters,
            begun: &self.begun,
            fresh: header.flags & tcp::SYN != 0,
        };
        let mut sink = |event: Event<'_, Place>| table.take(&event, taker);
        if refuses(header, payload) {
            self.vain = Some((datagram.to(), datagram.from(), OfTcp::Refused));
        }
        let Some(id) = self.connections.push(at_ns, place, datagram, header, payload, &mut sink) else { return };
        if header.flags & tcp::SYN != 0 {
            let at = id.index as usize;
            self.begun.resize(self.begun.len().max(at + 1), 0);
            let begun = id.generation.wrapping_add(1);
            if header.flags & tcp::ACK == 0 && self.begun[at] == begun {
                self.vain = Some((datagram.from(), datagram.to(), OfTcp::Unanswered));
            }
            self.begun[at] = begun;
        }
        let Some(slot) = self.conversations.get_mut(id.index as usize) else { return };
        let known = slot.as_ref().filter(|c| c.generation == id.generation);
        if known.is_some_and(|c| c.carries.is_nothing()) {
            self.counters.not_sip += 1;
            if let Some(conversation) = slot.take() {
                self.counters.settle(&conversation);
            }
            self.connections.ignore(id);
        }
    }

    /// Messages of media since the last call.
    pub fn take_media(&mut self) -> Vec<Message> {
        core::mem::take(&mut self.media.messages)
    }

    /// A connection that the last segment asks for once more, or refuses.
    pub fn take_vain(&mut self) -> Option<Vain> {
        self.vain.take()
    }

    /// Whether media could not be read since the last call, and how it is framed.
    pub fn take_unread(&mut self) -> Option<Framing> {
        self.media.unread.take()
    }

    /// Gives what waits: the input has ended.
    pub fn finish(&mut self, taker: &mut impl TakeMessages) {
        let (conversations, media, counters) = (&mut self.conversations, &mut self.media, &mut self.counters);
        let mut table = Table { conversations, media, counters, begun: &self.begun, fresh: false };
        self.connections.finish(&mut |event| table.take(&event, taker));
    }

    /// What was counted so far.
    pub fn counters(&self) -> StreamCounters {
        let tcp: &TcpCounts = self.connections.counts();
        let mut counters = StreamCounters {
            connections: tcp.connections,
            gaps: tcp.gaps,
            gap_octets: tcp.gap_octets,
            gaps_overflow: tcp.overflows,
            connections_overflow: tcp.evicted,
            ..self.counters
        };
        self.conversations.iter().flatten().for_each(|c| counters.settle(c));
        counters
    }
}

/// What the events of one segment change.
struct Table<'t> {
    conversations: &'t mut Vec<Option<Box<Conversation>>>,
    media: &'t mut Media,
    counters: &'t mut StreamCounters,
    begun: &'t [u32],
    /// The segment begins its connection.
    fresh: bool,
}

impl Table<'_> {
    fn take(&mut self, event: &Event<'_, Place>, taker: &mut impl TakeMessages) {
        let index = event.connection.index as usize;
        if self.conversations.len() <= index {
            self.conversations.resize_with(index + 1, || None);
        }
        let Table { conversations, media, counters, begun, fresh } = self;
        let generation = event.connection.generation;
        let slot = &mut conversations[index];
        if slot.as_ref().is_none_or(|c| c.generation != generation) {
            if let Some(old) = slot.take() {
                media.forget(&old.carries);
            }
            let begins = *fresh || begun.get(index) == Some(&generation.wrapping_add(1));
            *slot = Some(Box::new(Conversation::new(generation, *fresh, begins)));
        }
        let Some(conversation) = slot.as_deref_mut() else { return };
        match event.what {
            What::End(_) => {
                if let Carries::Messages { ways, .. } = &mut conversation.carries {
                    ways.iter_mut().for_each(|way| way.finish(&mut |framed| hand_over(event, &framed, taker)));
                }
                counters.settle(conversation);
                media.forget(&conversation.carries);
                *slot = None;
            }
            _ => conversation.take(event, media, counters, taker),
        }
    }
}

impl Conversation {
    /// `begins`: what comes is the beginning of the connection.
    fn new(generation: u32, fresh: bool, begins: bool) -> Self {
        let ways = Box::new([Splitter::new(fresh), Splitter::new(fresh)]);
        Conversation { generation, carries: Carries::Messages { ways, probe: Some(Box::new(Probe::new(begins))) } }
    }

    fn take(
        &mut self,
        event: &Event<'_, Place>,
        media: &mut Media,
        counters: &mut StreamCounters,
        taker: &mut impl TakeMessages,
    ) {
        let at = usize::from(event.direction == Direction::Backward);
        let piece = || match event.what {
            What::Octets { octets, .. } => Ok(octets),
            What::Gap(gap) => Err(gap.octets),
            What::End(_) => Err(0),
        };
        let (ways, probe) = match &mut self.carries {
            Carries::Media(ways) => {
                let [forward, backward] = ways.as_mut();
                let (own, other) = if at == 0 { (forward, backward) } else { (backward, forward) };
                own.learn(other);
                return media.take(own, event, (event.at_ns, event.tag), piece());
            }
            Carries::Messages { ways, probe } => (ways, probe),
        };
        let mut sink = |framed: Framed<'_, Place>| hand_over(event, &framed, taker);
        match piece() {
            Ok(octets) => ways[at].push(event.at_ns, event.tag, octets, &mut sink),
            Err(octets) => ways[at].gap(u64::from(octets), &mut sink),
        }
        let Some(probing) = probe else { return };
        if ways.iter().any(|way| matches!(way.verdict(), Verdict::Sip | Verdict::WebSocket)) {
            media.probed -= probing.octets();
            *probe = None;
            return;
        }
        let before = probing.octets();
        let found = probing.take(at, Piece { at_ns: event.at_ns, place: event.tag, octets: piece().map(Into::into) });
        media.probed = media.probed + probing.octets() - before;
        match found {
            Found::Nothing if media.probed <= PROBED_OCTETS_MAX => {}
            Found::Media(framing, kept) => match media.begin(framing, kept, event, counters) {
                Some(frames) => {
                    counters.settle(self);
                    self.carries = Carries::Media(frames);
                }
                None => *probe = None,
            },
            Found::Nothing => {
                counters.media_overflow += 1;
                media.probed -= probing.octets();
                *probe = None;
            }
            Found::Other => {
                media.probed -= probing.octets();
                *probe = None;
            }
        }
    }
}

impl Carries {
    /// Neither SIP nor media.
    fn is_nothing(&self) -> bool {
        match self {
            Carries::Messages { ways, probe: None } => ways.iter().any(|way| way.verdict() == Verdict::NotSip),
            Carries::Messages { .. } | Carries::Media(_) => false,
        }
    }
}

impl Media {
    /// Follows a connection that turned out to be media, from what is kept of it on.
    fn begin(
        &mut self,
        framing: Framing,
        kept: [(Vec<Piece>, bool); 2],
        event: &Event<'_, Place>,
        counters: &mut StreamCounters,
    ) -> Option<Box<[Frames; 2]>> {
        if self.connections >= MEDIA_CONNECTIONS_MAX {
            counters.media_overflow += 1;
            self.unread = Some(framing);
            return None;
        }
        self.connections += 1;
        counters.media += 1;
        let own = usize::from(event.direction == Direction::Backward);
        let mut frames = Box::new(kept.each_ref().map(|(_, begins)| Frames::new(framing, *begins)));
        // What is found first tells of the other one, if the beginning of that is not known.
        let order = if kept[1 - own].1 { [0, 1] } else { [own, 1 - own] };
        for at in order {
            let [forward, backward] = frames.as_mut();
            if at == 0 {
                forward.learn(backward)
            } else {
                backward.learn(forward)
            }
            let (from, to) = if at == own { (event.from, event.to) } else { (event.to, event.from) };
            for piece in &kept[at].0 {
                let about = Event { from, to, ..*event };
                let octets = piece.octets.as_deref().map_err(|missing| *missing);
                self.take(&mut frames[at], &about, (piece.at_ns, piece.place), octets);
            }
        }
        Some(frames)
    }

    /// Takes what comes next of a direction with media.
    fn take(
        &mut self,
        frames: &mut Frames,
        event: &Event<'_, Place>,
        (at_ns, place): (i64, Place),
        octets: Result<&[u8], u32>,
    ) {
        let (from, to) = (event.from, event.to);
        let before = frames.passed_over;
        let messages = &mut self.messages;
        let mut sink = |frame: Frame<'_>| {
            let Frame { octets, wire, gaps } = frame;
            messages.push(Message { at_ns, place, from, to, octets: octets.into(), wire, gaps });
        };
        match octets {
            Ok(octets) => frames.push(octets, &mut sink),
            Err(missing) => frames.gap(missing as usize, &mut sink),
        }
        if frames.passed_over > before {
            self.unread = Some(frames.framing());
        }
    }

    /// A connection is over.
    fn forget(&mut self, carries: &Carries) {
        match carries {
            Carries::Media(_) => self.connections -= 1,
            Carries::Messages { probe: Some(probe), .. } => self.probed -= probe.octets(),
            Carries::Messages { .. } => {}
        }
    }
}

fn hand_over(event: &Event<'_, Place>, framed: &Framed<'_, Place>, taker: &mut impl TakeMessages) {
    let incoming = Incoming {
        at_ns: framed.at_ns,
        number: framed.tag.number,
        offset: framed.tag.offset,
        file: framed.tag.file,
        src: event.from,
        dst: event.to,
        stream: true,
        cut: false,
        octets: framed.message.octets(),
    };
    taker.message(&incoming, &framed.message);
}

impl StreamCounters {
    fn settle(&mut self, conversation: &Conversation) {
        let ways = match &conversation.carries {
            Carries::Messages { ways, .. } => ways,
            Carries::Media(frames) => {
                for frames in frames.iter() {
                    self.media_messages += frames.messages;
                    self.media_unread_octets += frames.passed_over;
                }
                return;
            }
        };
        for counts in ways.iter().map(Splitter::counts) {
            let Counts { cut, overlong, junk_octets, compressed_frames, .. } = counts;
            self.cut += cut;
            self.overlong += overlong;
            self.junk_octets += junk_octets;
            self.compressed_frames += compressed_frames;
        }
    }
}
