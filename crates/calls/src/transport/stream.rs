//! SIP over TCP: connections put together, messages found in them, all other connections set aside.

use super::Place;
use crate::signalling::Incoming;
use crate::transport::TakeMessages;
use trunkline_wire::sip::stream::{Counts, Framed, Splitter, Verdict};
use trunkline_wire::tcp_reassembly::{Connections, Direction, Event, TcpCounts, What};
use trunkline_wire::{Datagram, TcpHeader, tcp};

trunkline_kit::counters! {
    /// What putting TCP together counts.
    pub struct StreamCounters {
        /// TCP connections seen
        connections: "trunkline_calls_tcp_connections_total",
        /// TCP connections set aside because they carry no SIP
        not_sip: "trunkline_calls_tcp_not_sip_connections_total",
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
    ways: [Splitter<Place>; 2],
}

/// TCP connections that may carry SIP.
#[derive(Default)]
pub struct Streams {
    connections: Connections<Place>,
    conversations: Vec<Option<Box<Conversation>>>,
    counters: StreamCounters,
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
        let (conversations, counters) = (&mut self.conversations, &mut self.counters);
        let fresh = header.flags & tcp::SYN != 0;
        let mut sink = |event: Event<'_, Place>| take(conversations, counters, &event, fresh, taker);
        let Some(id) = self.connections.push(at_ns, place, datagram, header, payload, &mut sink) else { return };
        let Some(slot) = self.conversations.get_mut(id.index as usize) else { return };
        let known = slot.as_ref().filter(|c| c.generation == id.generation);
        if known.is_some_and(|c| c.ways.iter().any(|w| w.verdict() == Verdict::NotSip)) {
            self.counters.not_sip += 1;
            if let Some(conversation) = slot.take() {
                self.counters.settle(&conversation);
            }
            self.connections.ignore(id);
        }
    }

    /// Gives what waits: the input has ended.
    pub fn finish(&mut self, taker: &mut impl TakeMessages) {
        let (conversations, counters) = (&mut self.conversations, &mut self.counters);
        self.connections.finish(&mut |event| take(conversations, counters, &event, false, taker));
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

fn take(
    conversations: &mut Vec<Option<Box<Conversation>>>,
    counters: &mut StreamCounters,
    event: &Event<'_, Place>,
    fresh: bool,
    taker: &mut impl TakeMessages,
) {
    let index = event.connection.index as usize;
    if conversations.len() <= index {
        conversations.resize_with(index + 1, || None);
    }
    let slot = &mut conversations[index];
    if slot.as_ref().is_none_or(|c| c.generation != event.connection.generation) {
        let ways = [Splitter::new(fresh), Splitter::new(fresh)];
        *slot = Some(Box::new(Conversation { generation: event.connection.generation, ways }));
    }
    let Some(conversation) = slot.as_deref_mut() else { return };
    let mut sink = |framed: Framed<'_, Place>| hand_over(event, &framed, taker);
    match event.what {
        What::Octets { octets, .. } => way(conversation, event).push(event.at_ns, event.tag, octets, &mut sink),
        What::Gap(gap) => way(conversation, event).gap(u64::from(gap.octets), &mut sink),
        What::End(_) => {
            for way in &mut conversation.ways {
                way.finish(&mut sink);
            }
            counters.settle(conversation);
            *slot = None;
        }
    }
}

fn way<'c>(conversation: &'c mut Conversation, event: &Event<'_, Place>) -> &'c mut Splitter<Place> {
    &mut conversation.ways[usize::from(event.direction == Direction::Backward)]
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
        for counts in conversation.ways.iter().map(Splitter::counts) {
            let Counts { cut, overlong, junk_octets, compressed_frames, .. } = counts;
            self.cut += cut;
            self.overlong += overlong;
            self.junk_octets += junk_octets;
            self.compressed_frames += compressed_frames;
        }
    }
}
