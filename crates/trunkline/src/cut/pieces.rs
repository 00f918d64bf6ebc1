//! Which packets of a file belong to a call, and its messages put together from them.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, HashSet, VecDeque};
use trunkline_capture::Packet;
use trunkline_store::row::{Call, Message};
use trunkline_wire::{Address, Datagram, Decoded, Endpoint, link};

/// Octets of earlier segments and fragments that are kept for messages that they begin; the oldest go first.
pub const HISTORY_OCTETS_MAX: usize = 4 << 20;

/// What was found.
pub enum Hit<'a> {
    /// A packet of the call.
    Packet(&'a Packet, &'a [u8]),
    /// A message of its ladder, by number, with its octets.
    Message(usize, &'a [u8]),
}

/// What holds segments or fragments together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    Segments(Endpoint, Endpoint),
    Fragments(Address, Address, u32),
}

/// A segment or fragment that a later message may need.
struct Piece {
    thread: Thread,
    /// Sequence number, or offset of the fragment.
    order: u32,
    packet: Packet,
    octets: Vec<u8>,
    payload: core::ops::Range<usize>,
}

/// The search for one call in one file.
pub struct Pieces<'a> {
    call: &'a Call,
    media: HashSet<(Endpoint, Endpoint)>,
    /// Messages by the offset of the record that completed them, or by its time.
    messages: BTreeMap<i64, Vec<usize>>,
    /// Whether packets are known by their time and ends, not by their place: those of the log.
    by_time: bool,
    flows: HashSet<(Address, Address)>,
    history: VecDeque<Piece>,
    history_octets: usize,
}

impl<'a> Pieces<'a> {
    /// The search for that call in the file of that number in its list.
    pub fn of(call: &'a Call, file: usize) -> Self {
        let of_file = |m: &Message| (usize::from(m.file) == file).then_some(m.offset as i64);
        Pieces { media: media(call), ..Pieces::new(call, false, of_file) }
    }

    /// The search for that call's messages in the packet log, where they have their times and other places.
    pub fn by_time(call: &'a Call) -> Self {
        Pieces::new(call, true, |m| Some(m.at_ns))
    }

    fn new(call: &'a Call, by_time: bool, key: impl Fn(&Message) -> Option<i64>) -> Self {
        let mut messages: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (i, m) in call.ladder.messages.iter().enumerate() {
            if let Some(key) = key(m) {
                messages.entry(key).or_default().push(i);
            }
        }
        let host = |i: u8| call.ladder.hosts.get(usize::from(i)).map(|h| h.address);
        let flows = call.ladder.messages.iter().filter_map(|m| Some((host(m.src)?, host(m.dst)?))).collect();
        let (media, history) = Default::default();
        Pieces { call, media, messages, by_time, flows, history, history_octets: 0 }
    }

    /// Whether a message is likely to have come in IP fragments: it is larger than any packet of Ethernet.
    pub fn is_cut_up(&self, message: &Message) -> bool {
        message.octets > 1400
    }

    /// Looks at the next packet of the file.
    pub fn offer(
        &mut self,
        packet: &Packet,
        octets: &[u8],
        each: &mut impl FnMut(Hit<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let decoded = link::decode(packet.link, octets);
        let completes = self.completed_by(packet, &decoded);
        let piece = self.piece(packet, octets, &decoded);
        if completes.is_empty() {
            if let Decoded::Udp(d) = decoded
                && self.media.contains(&(d.from(), d.to()))
            {
                return each(Hit::Packet(packet, octets));
            }
            if let Some(piece) = piece {
                self.remember(piece);
            }
            return ControlFlow::Continue(());
        }
        let (mut whole, earlier) = self.gather(piece.as_ref(), &completes);
        if whole.is_empty() {
            whole = payload(&decoded).and_then(|range| octets.get(range)).unwrap_or(octets).to_vec();
        }
        if !self.is_ours(&whole, packet) {
            return ControlFlow::Continue(());
        }
        for piece in &earlier {
            each(Hit::Packet(&piece.packet, &piece.octets))?;
        }
        each(Hit::Packet(packet, octets))?;
        let mut from = 0;
        for at in completes {
            let Some(found) = self.call.ladder.messages.get(at).and_then(|m| find(&whole, from, m)) else { continue };
            from = found.start;
            each(Hit::Message(at, &whole[found]))?;
            from += 1;
        }
        ControlFlow::Continue(())
    }

    /// The messages that a packet completes.
    fn completed_by(&self, packet: &Packet, decoded: &Decoded) -> Vec<usize> {
        let key = if self.by_time { packet.at_ns } else { packet.offset as i64 };
        let mut found = self.messages.get(&key).cloned().unwrap_or_default();
        if self.by_time {
            let hosts = |m: &Message| {
                let host = |i: u8| self.call.ladder.hosts.get(usize::from(i)).map(|h| h.address);
                Some((host(m.src)?, host(m.dst)?))
            };
            found.retain(|at| self.call.ladder.messages.get(*at).and_then(hosts) == ends(decoded));
        }
        found
    }

    /// Whether what was put together is of this call: its Call-ID is in it, or it was not captured whole.
    fn is_ours(&self, whole: &[u8], packet: &Packet) -> bool {
        let id = self.call.sip_call_id.as_bytes();
        let whole_packet = packet.captured >= packet.wire;
        !self.by_time || !whole_packet || id.is_empty() || whole.windows(id.len()).any(|w| w == id)
    }

    /// A packet that may be the beginning of a message, if it is one of a hop of the call.
    fn piece(&self, packet: &Packet, octets: &[u8], decoded: &Decoded) -> Option<Piece> {
        let (thread, order, src, dst) = match decoded {
            Decoded::Tcp(d, header) => (Thread::Segments(d.from(), d.to()), header.seq, d.src, d.dst),
            Decoded::Fragment(f) => (Thread::Fragments(f.src, f.dst, f.identification), f.offset, f.src, f.dst),
            _ => return None,
        };
        let range = payload(decoded)?;
        (self.flows.contains(&(src, dst)) && !range.is_empty()).then(|| Piece {
            thread,
            order,
            packet: *packet,
            octets: octets.to_vec(),
            payload: range,
        })
    }

    fn remember(&mut self, piece: Piece) {
        self.history_octets += piece.octets.len();
        self.history.push_back(piece);
        while self.history_octets > HISTORY_OCTETS_MAX {
            let Some(oldest) = self.history.pop_front() else { break };
            self.history_octets -= oldest.octets.len();
        }
    }

    /// The payload of the last piece with those before it that the messages need, and these earlier pieces.
    fn gather(&mut self, last: Option<&Piece>, completes: &[usize]) -> (Vec<u8>, Vec<Piece>) {
        let Some(last) = last else { return Default::default() };
        let octets = |at: &usize| self.call.ladder.messages.get(*at).map_or(0, |m| m.octets as usize);
        let needed: usize = completes.iter().map(octets).fold(0, usize::saturating_add);
        let mut have = last.payload.len();
        let mut earlier = Vec::new();
        let mut i = self.history.len();
        while i > 0 && (have < needed || matches!(last.thread, Thread::Fragments(..))) {
            i -= 1;
            if self.history.get(i).is_none_or(|piece| piece.thread != last.thread) {
                continue;
            }
            if let Some(piece) = self.history.remove(i) {
                self.history_octets -= piece.octets.len();
                have += piece.payload.len();
                earlier.push(piece);
            }
        }
        earlier.reverse();
        (join(&earlier, last), earlier)
    }
}

/// Payloads in the order of the sequence numbers (RFC 9293 section 3.4: modulo 2^32), what overlaps once.
fn join(earlier: &[Piece], last: &Piece) -> Vec<u8> {
    let mut parts: Vec<&Piece> = earlier.iter().chain([last]).collect();
    let since = |piece: &Piece| piece.order.wrapping_sub(last.order) as i32;
    parts.sort_by_key(|piece| since(piece));
    let mut whole = Vec::new();
    let mut next: Option<i32> = None;
    for piece in parts {
        let payload = piece.octets.get(piece.payload.clone()).unwrap_or_default();
        let start = since(piece);
        let seen = next.map_or(0, |next| usize::try_from(next.wrapping_sub(start)).unwrap_or(0));
        whole.extend_from_slice(payload.get(seen..).unwrap_or_default());
        let end = start.wrapping_add(payload.len() as i32);
        next = Some(next.map_or(end, |next| next.max(end)));
    }
    whole
}

/// Source and destination of all that may be media of the call: RTP, and RTCP beside it or on its port, both ways.
pub fn media(call: &Call) -> HashSet<(Endpoint, Endpoint)> {
    let beside = |e: Endpoint| Endpoint::new(e.address, e.port.wrapping_add(1));
    let pairs = |(a, b): (Endpoint, Endpoint)| [(a, b), (b, a), (beside(a), beside(b)), (beside(b), beside(a))];
    call.streams.iter().flat_map(|s| pairs((s.src, s.dst))).collect()
}

/// Source and destination addresses of the innermost network layer.
fn ends(decoded: &Decoded) -> Option<(Address, Address)> {
    match decoded {
        Decoded::Udp(d) | Decoded::Tcp(d, _) | Decoded::Sctp(d) => Some((d.src, d.dst)),
        Decoded::Fragment(f) => Some((f.src, f.dst)),
        _ => None,
    }
}

/// Where the payload lies in the packet's octets.
fn payload(decoded: &Decoded) -> Option<core::ops::Range<usize>> {
    let of = |d: &Datagram| (d.payload_start as usize, d.payload_captured as usize);
    let (start, captured) = match decoded {
        Decoded::Udp(d) | Decoded::Sctp(d) | Decoded::Tcp(d, _) => of(d),
        Decoded::Fragment(f) => (f.payload_start as usize, f.payload_captured as usize),
        _ => return None,
    };
    Some(start..start.saturating_add(captured))
}

/// Where the message lies in what was put together: the first place from `from` on that reads like its start line, with
/// the length that the row says.
fn find(whole: &[u8], from: usize, message: &Message) -> Option<core::ops::Range<usize>> {
    let begins = |at: usize| {
        let rest = whole.get(at..).unwrap_or_default();
        let fits = rest.len() >= message.octets as usize;
        let line = rest.split(|o| matches!(o, b'\r' | b'\n')).next().unwrap_or_default();
        let line = line.get(..line.len().min(512)).unwrap_or(line);
        fits && if message.status > 0 {
            line.starts_with(b"SIP/2.0 ") && line.get(8..11) == Some(message.status.to_string().as_bytes())
        } else {
            let name = message.method_name().as_bytes();
            (message.method == 0 || line.starts_with(name)) && line.ends_with(b" SIP/2.0")
        }
    };
    let starts_line = |at: usize| at == 0 || !whole.get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
    let at = (from..whole.len()).filter(|at| starts_line(*at)).find(|at| begins(*at))?;
    Some(at..at + message.octets as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_among_others_of_one_segment() {
        let whole =
            b"\r\n\r\nOPTIONS sip:a SIP/2.0\r\nX: 1\r\n\r\nSIP/2.0 200 OK\r\nX: INVITE sip:b SIP/2.0\r\n\r\nBYE si";
        let message = |method, status, octets| Message { method, status, octets, ..Message::default() };
        assert_eq!(find(whole, 0, &message(6, 0, 31)), Some(4..35));
        assert_eq!(find(whole, 0, &message(1, 200, 43)), Some(35..78));
        assert_eq!(find(whole, 0, &message(3, 0, 20)), None, "cut");
        assert_eq!(find(whole, 36, &message(1, 200, 43)), None);
    }

    #[test]
    fn segments_join_in_any_order_over_the_wrap_of_sequence_numbers() {
        let piece = |order: u32, text: &[u8]| Piece {
            thread: Thread::Segments(Endpoint::default(), Endpoint::default()),
            order,
            packet: Packet { at_ns: 0, number: 0, offset: 0, start: 0, captured: 0, wire: 0, link: 1, file: 0 },
            octets: text.to_vec(),
            payload: 0..text.len(),
        };
        let earlier = [piece(1, b"cd"), piece(u32::MAX, b"ab"), piece(u32::MAX, b"ab"), piece(2, b"de")];
        assert_eq!(join(&earlier, &piece(4, b"f")), b"abcdef");
    }
}
