//! SIP over streams: finds the messages in one direction of a TCP connection, also inside WebSocket.
//!
//! Messages are framed by Content-Length (RFC 3261 section 18.3). After a gap or junk the next start line is looked
//! for. A message that lies whole within the octets of one push is not copied.

mod frames;
mod framing;

use super::Message;
use super::start_line::line_breaks;
use crate::websocket;
use frames::Frames;
use framing::{More, Step};

/// Octets of one message that are kept while the rest of it is waited for. A longer one is given as cut, counted in
/// [`Counts::overlong`], and its rest passed over.
// Limit: length of one SIP message over TCP, TLS, SCTP or WebSocket
// Beyond: the message is cut
// Seen in: `trunkline_calls_sip_overlong_overflow_total`
pub const MESSAGE_OCTETS_MAX: usize = 256 * 1024;
/// Octets of a start line that may come in pieces; a longer beginning without a line end is junk.
// Limit: length of a SIP start line that comes in pieces
// Beyond: the octets belong to no message
// Seen in: `trunkline_calls_sip_stream_junk_octets_total`
pub const START_LINE_OCTETS_MAX: usize = 8 * 1024;
/// Octets of an HTTP handshake that are waited for.
pub const HANDSHAKE_OCTETS_MAX: usize = 16 * 1024;
/// How many pushes a connection whose beginning was not seen may bring before it is [`Verdict::NotSip`].
pub const UNDECIDED_PUSHES_MAX: u32 = 8;
/// Capacity that is given back when nothing is held any more, octets.
const IDLE_CAPACITY_MAX: usize = 16 * 1024;

/// What a connection turned out to carry in this direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Not known yet.
    Undecided,
    /// SIP.
    Sip,
    /// WebSocket that carries, or may carry, SIP.
    WebSocket,
    /// Something else: what is pushed is ignored.
    NotSip,
}

/// What a splitter counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages given to the sink.
    pub messages: u64,
    /// Of these, cut by a gap, by the end of the connection or by [`MESSAGE_OCTETS_MAX`].
    pub cut: u64,
    /// Messages longer than [`MESSAGE_OCTETS_MAX`].
    pub overlong: u64,
    /// Octets that belonged to no message, keep-alives left out.
    pub junk_octets: u64,
    /// Octets of line breaks between messages (keep-alives, RFC 5626 section 3.5.1).
    pub keep_alive_octets: u64,
    /// Gaps that were told.
    pub gaps: u64,
    /// WebSocket frames with a compressed payload, which are not read.
    pub compressed_frames: u64,
}

/// A message found in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Framed<'a, T> {
    /// The message, scanned.
    pub message: Message<'a>,
    /// Time of the packet that completed it, as pushed.
    pub at_ns: i64,
    /// Tag of the packet that completed it.
    pub tag: T,
    /// Time of the packet that began it.
    pub begun_ns: i64,
    /// Tag of the packet that began it.
    pub begun_tag: T,
    /// Whether it spanned pushes.
    pub spanned: bool,
    /// Whether it came in WebSocket frames.
    pub websocket: bool,
}

/// When and with what octets were pushed.
#[derive(Clone, Copy, Debug)]
struct Stamp<T> {
    at_ns: i64,
    tag: T,
    push: u64,
}

/// What one push works on: octets, of which those before `fresh` came with earlier pushes.
struct Input<'a, T> {
    octets: &'a [u8],
    fresh: usize,
    begun: Stamp<T>,
    now: Stamp<T>,
}

impl<T: Copy> Input<'_, T> {
    /// The stamp of the push that brought the octet at `at`.
    fn stamp_at(&self, at: usize) -> Stamp<T> {
        if at < self.fresh { self.begun } else { self.now }
    }
}

enum Mode {
    Undecided,
    Sip,
    WebSocket,
    NotSip,
}

/// Finds the messages in one direction of a connection. `T` is what the caller tags its packets with.
pub struct Splitter<T> {
    mode: Mode,
    /// Whether the first octet pushed is the first of the connection.
    from_start: bool,
    pushes: u64,
    last: Option<Stamp<T>>,
    /// Octets that wait for more, and the push that brought the first of them.
    held: Vec<u8>,
    begun: Option<Stamp<T>>,
    /// What the message in `held` waits for.
    more: More,
    /// Octets still to be passed over: the rest of an overlong or damaged message.
    skip: u64,
    frames: Frames<T>,
    counts: Counts,
}

impl<T: Copy> Splitter<T> {
    /// A splitter for one direction. `from_start`: whether the connection's beginning (SYN) was seen, so that the first
    /// octets must be the beginning of something.
    pub fn new(from_start: bool) -> Self {
        Splitter {
            mode: Mode::Undecided,
            from_start,
            pushes: 0,
            last: None,
            held: Vec::new(),
            begun: None,
            more: More::default(),
            skip: 0,
            frames: Frames::new(),
            counts: Counts::default(),
        }
    }

    /// What the connection carries, as far as it is known.
    pub fn verdict(&self) -> Verdict {
        match self.mode {
            Mode::Undecided => Verdict::Undecided,
            Mode::Sip => Verdict::Sip,
            Mode::WebSocket => Verdict::WebSocket,
            Mode::NotSip => Verdict::NotSip,
        }
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Octets that are kept while more is waited for; at most [`MESSAGE_OCTETS_MAX`] twice.
    pub fn held_octets(&self) -> usize {
        self.held.len() + self.frames.held_octets()
    }

    /// Takes the next octets in order, with the time and tag of their packet, and gives each message that they complete
    /// to `sink`.
    pub fn push(&mut self, at_ns: i64, tag: T, octets: &[u8], sink: &mut impl FnMut(Framed<'_, T>)) {
        if octets.is_empty() || matches!(self.mode, Mode::NotSip) {
            return;
        }
        self.pushes += 1;
        let now = Stamp { at_ns, tag, push: self.pushes };
        self.last = Some(now);
        if self.held.is_empty() {
            let input = Input { octets, fresh: 0, begun: now, now };
            let used = self.consume(&input, sink).min(octets.len());
            self.hold(&octets[used..], now);
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        let fresh = held.len();
        held.extend_from_slice(octets);
        if held.len() < self.more.need && !self.more.watch {
            self.held = held;
            return;
        }
        let input = Input { octets: &held, fresh, begun: self.begun.unwrap_or(now), now };
        let used = self.consume(&input, sink).min(held.len());
        let begun = input.stamp_at(used);
        held.drain(..used);
        self.held = held;
        self.begun = Some(begun);
        self.rest();
    }

    /// Tells that octets are missing here: how many, or 0 if that is not known.
    pub fn gap(&mut self, octets: u64, sink: &mut impl FnMut(Framed<'_, T>)) {
        self.counts.gaps += 1;
        match self.mode {
            Mode::NotSip => {}
            Mode::Undecided => {
                self.from_start = false;
                self.drop_held();
            }
            Mode::Sip => self.gap_in_sip(octets, sink),
            Mode::WebSocket => {
                self.drop_held();
                if let Some(now) = self.last {
                    self.frames.gap(octets, now, &mut self.counts, sink);
                }
            }
        }
    }

    /// Tells that the connection ended: a message that waits for more is given as it is.
    pub fn finish(&mut self, sink: &mut impl FnMut(Framed<'_, T>)) {
        if matches!(self.mode, Mode::Sip) {
            self.give_held(sink);
        }
        if let (Mode::WebSocket, Some(now)) = (&self.mode, self.last) {
            self.frames.gap(0, now, &mut self.counts, sink);
        }
        self.drop_held();
    }

    fn gap_in_sip(&mut self, octets: u64, sink: &mut impl FnMut(Framed<'_, T>)) {
        let known = octets > 0;
        if self.held.is_empty() {
            self.skip = if known { self.skip.saturating_sub(octets) } else { 0 };
            return;
        }
        let missing = self.more.need.saturating_sub(self.held.len()) as u64;
        self.give_held(sink);
        self.drop_held();
        // A gap within a body whose length is known leaves the framing whole.
        self.skip = if known { missing.saturating_sub(octets) } else { 0 };
    }

    /// Gives what is held as a message: whole if only its end could not be told, else cut.
    fn give_held(&mut self, sink: &mut impl FnMut(Framed<'_, T>)) {
        let (Some(begun), Some(now)) = (self.begun, self.last) else { return };
        let held = std::mem::take(&mut self.held);
        if let Some((message, cut)) = framing::message_so_far(&held) {
            self.counts.messages += 1;
            self.counts.cut += u64::from(cut);
            sink(framed(message, begun, now, false));
        } else {
            self.counts.junk_octets += held.len() as u64;
        }
    }

    fn hold(&mut self, octets: &[u8], stamp: Stamp<T>) {
        self.held.extend_from_slice(octets);
        self.begun = Some(stamp);
    }

    fn drop_held(&mut self) {
        self.held.clear();
        self.rest();
    }

    /// Gives memory back when nothing is held.
    fn rest(&mut self) {
        if self.held.is_empty() {
            self.more = More::default();
            if self.held.capacity() > IDLE_CAPACITY_MAX {
                self.held = Vec::new();
            }
        }
    }

    /// Works through what there is; gives how many octets are done with.
    fn consume(&mut self, input: &Input<'_, T>, sink: &mut impl FnMut(Framed<'_, T>)) -> usize {
        let mut at = 0;
        if matches!(self.mode, Mode::Undecided) {
            at = self.decide(input);
        }
        match self.mode {
            Mode::Sip => self.consume_sip(input, at, sink),
            Mode::WebSocket => self.consume_frames(input, at, sink),
            Mode::Undecided => at,
            Mode::NotSip => input.octets.len(),
        }
    }

    fn consume_sip(&mut self, input: &Input<'_, T>, mut at: usize, sink: &mut impl FnMut(Framed<'_, T>)) -> usize {
        let octets = input.octets;
        loop {
            let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(octets.len() - at);
            self.skip -= skipped as u64;
            at += skipped;
            let breaks = line_breaks(&octets[at..]);
            self.counts.keep_alive_octets += breaks as u64;
            at += breaks;
            if at == octets.len() {
                return at;
            }
            let searched = std::mem::take(&mut self.more).searched;
            match framing::step(&octets[at..], searched) {
                Step::Message(message, taken, skip) => {
                    self.counts.messages += 1;
                    self.counts.cut += u64::from(skip > 0);
                    self.counts.overlong += u64::from(skip > 0);
                    self.skip = skip;
                    sink(framed(message, input.stamp_at(at), input.now, false));
                    at += taken;
                }
                Step::Junk(taken) => {
                    self.counts.junk_octets += taken as u64;
                    at += taken;
                }
                Step::More(more) => {
                    self.more = more;
                    return at;
                }
            }
        }
    }

    fn consume_frames(&mut self, input: &Input<'_, T>, at: usize, sink: &mut impl FnMut(Framed<'_, T>)) -> usize {
        let used = self.frames.consume(input, at, &mut self.counts, sink);
        if self.frames.is_hopeless() {
            self.mode = Mode::NotSip;
        }
        used
    }

    /// Decides what the connection carries; gives how many octets are not part of it.
    fn decide(&mut self, input: &Input<'_, T>) -> usize {
        let octets = input.octets;
        let at = line_breaks(octets);
        let rest = &octets[at..];
        self.counts.keep_alive_octets += at as u64;
        if framing::begins_message(rest) {
            self.mode = Mode::Sip;
        } else if rest.starts_with(b"GET ") || rest.starts_with(b"HTTP/1.1 ") {
            return at + self.decide_http(rest);
        } else if websocket::begins_with_sip(rest) {
            self.mode = Mode::WebSocket;
            self.frames.expect_sip();
        } else if framing::may_begin(rest) && self.pushes <= u64::from(UNDECIDED_PUSHES_MAX) {
            return at;
        } else if self.from_start {
            self.mode = Mode::NotSip;
        } else {
            return at + self.decide_within(rest);
        }
        at
    }

    fn decide_http(&mut self, rest: &[u8]) -> usize {
        let Some(end) = super::scan::end_of_headers(rest, 0) else {
            if rest.len() > HANDSHAKE_OCTETS_MAX {
                self.mode = Mode::NotSip;
            }
            return 0;
        };
        match websocket::handshake(&rest[..end]) {
            Some(handshake) => {
                self.mode = Mode::WebSocket;
                if handshake.sip {
                    self.frames.expect_sip();
                }
                end
            }
            None => {
                self.mode = Mode::NotSip;
                0
            }
        }
    }

    /// The beginning was not seen: the first start line may be anywhere.
    fn decide_within(&mut self, rest: &[u8]) -> usize {
        let junk = framing::junk(rest);
        if framing::begins_message(&rest[junk..]) {
            self.mode = Mode::Sip;
        } else if self.pushes >= u64::from(UNDECIDED_PUSHES_MAX) {
            self.mode = Mode::NotSip;
        }
        self.counts.junk_octets += junk as u64;
        junk
    }
}

fn framed<T: Copy>(message: Message<'_>, begun: Stamp<T>, now: Stamp<T>, websocket: bool) -> Framed<'_, T> {
    Framed {
        message,
        at_ns: now.at_ns,
        tag: now.tag,
        begun_ns: begun.at_ns,
        begun_tag: begun.tag,
        spanned: begun.push != now.push,
        websocket,
    }
}

#[cfg(test)]
mod tests;
