//! Media in one direction of a TCP connection: RTP, RTCP, STUN and DTLS each behind its length (RFC 4571 section 2,
//! RFC 6544 section 3, RFC 7850), or what a client and its TURN server say to each other (RFC 8656 sections 3.1, 12.5).
//!
//! TCP loses nothing, so what is missing is missing in the capture, and [`Frame::gaps`] tells behind how many such
//! places a frame came. Where the beginning of a frame is not known any more, the next one is looked for by what is
//! certain: a magic cookie, a source or a channel that was there before, or a length that ends with the segment.
//!
//! Field: ChannelData without its padding is seen (aioice did so), and senders that write a part of a frame when their
//! connection is slow and go on with the next one (cameras).

use smallvec::SmallVec;
use trunkline_wire::{rtcp, rtp};

/// Octets of one frame that are kept while the rest of it is waited for; a longer one is given cut.
pub const KEPT_OCTETS_MAX: usize = 2048;
/// Sources or channels of a direction that are known again; a further one takes the place of the oldest.
const KNOWN_MAX: usize = 8;
/// Octets that are looked at anew with those that follow while a frame is looked for.
const SEEK_OCTETS: usize = 32;
/// Octets with which RTP can be told: its length and its header.
const RTP_OCTETS: usize = 2 + rtp::HEADER_OCTETS;

/// How messages follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Each behind its length (RFC 4571).
    Length,
    /// Messages of STUN and ChannelData, padded to four octets (RFC 8656 section 12.5).
    Turn,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What was captured of it.
    pub octets: &'a [u8],
    /// Its length.
    pub wire: usize,
    /// Places before it at which the capture lacks messages.
    pub gaps: u32,
}

/// What the messages of one direction are made of.
#[derive(Debug)]
pub struct Frames {
    framing: Framing,
    held: Vec<u8>,
    /// Octets of a message that is given already, or cannot be.
    skip: usize,
    /// Octets of padding that should follow.
    padding: usize,
    /// It is not known where the next message begins.
    lost: bool,
    gaps: u32,
    known: SmallVec<[u32; 2]>,
    /// Messages so far.
    pub messages: u64,
    /// Octets that belong to no message.
    pub passed_over: u64,
}

/// What octets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// A message that begins at `from`, of `length` octets, with so much padding.
    Frame { from: usize, length: usize, padding: usize },
    /// More octets will tell.
    More,
    /// No message.
    Junk,
}

impl Frames {
    /// `begins`: the next octet is the first one of a message.
    pub fn new(framing: Framing, begins: bool) -> Self {
        let (held, known) = (Vec::new(), SmallVec::new());
        Frames { framing, held, skip: 0, padding: 0, lost: !begins, gaps: 0, known, messages: 0, passed_over: 0 }
    }

    /// How messages follow each other.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Learns the channels of the other direction, if it is not known where a message begins in this one: both use the
    /// same ones (RFC 8656 section 12).
    pub fn learn(&mut self, other: &Frames) {
        if self.lost && self.framing == Framing::Turn && self.known != other.known {
            self.known.clone_from(&other.known);
        }
    }

    /// Takes the next octets.
    pub fn push(&mut self, octets: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        let skipped = self.skip.min(octets.len());
        self.skip -= skipped;
        let octets = &octets[skipped..];
        if self.held.is_empty() {
            let used = self.take(octets, sink);
            self.held.extend_from_slice(octets.get(used..).unwrap_or_default());
            return;
        }
        let mut held = core::mem::take(&mut self.held);
        held.extend_from_slice(octets);
        let used = self.take(&held, sink);
        held.drain(..used);
        self.held = held;
    }

    /// The next octets are missing.
    pub fn gap(&mut self, octets: usize, sink: &mut impl FnMut(Frame<'_>)) {
        let held = core::mem::take(&mut self.held);
        if self.lost {
            self.passed_over += held.len() as u64;
            return;
        }
        if self.skip > 0 || held.is_empty() {
            let in_frame = octets <= self.skip && self.skip > 0;
            self.skip = if in_frame { self.skip - octets } else { 0 };
            self.lost = !in_frame;
            self.gaps += u32::from(self.lost);
            return;
        }
        let held = held.get(self.padding..).unwrap_or_default();
        self.padding = 0;
        let (from, length, all) = match head(self.framing, held) {
            Head::Frame { from, length, padding } => (from, length, from + length + padding),
            _ => (0, 0, 0),
        };
        match all.checked_sub(held.len()).and_then(|left| left.checked_sub(octets)) {
            Some(left) => {
                self.skip = left;
                match held.get(from..).filter(|inside| inside.len() >= rtp::HEADER_OCTETS) {
                    Some(inside) => self.give(inside, length, sink),
                    None => self.gaps += 1,
                }
            }
            None => {
                self.passed_over += held.len() as u64;
                (self.lost, self.gaps) = (true, self.gaps + 1);
            }
        }
    }

    /// Gives the messages that are there; how many octets are done with.
    fn take(&mut self, octets: &[u8], sink: &mut impl FnMut(Frame<'_>)) -> usize {
        let mut at = 0;
        loop {
            let rest = octets.get(at..).unwrap_or_default();
            if self.lost {
                let Some(found) = (0..rest.len()).find(|at| self.is_certain(&rest[*at..])) else {
                    let over = rest.len().saturating_sub(SEEK_OCTETS);
                    self.passed_over += over as u64;
                    return at + over;
                };
                self.passed_over += found as u64;
                self.lost = false;
                at += found;
                continue;
            }
            let Some((padding, head)) = self.behind_padding(rest) else { return at };
            match head {
                Head::More => return at,
                Head::Junk => (self.lost, self.padding) = (true, 0),
                Head::Frame { from, length, padding: next } => {
                    let rest = &rest[padding..];
                    let inside = rest.get(from..).unwrap_or_default();
                    if inside.len() < length && inside.len() < KEPT_OCTETS_MAX {
                        // What is held begins with this message.
                        self.padding = 0;
                        return at + padding;
                    }
                    let captured = inside.len().min(length);
                    self.give(&inside[..captured], length, sink);
                    self.padding = next;
                    if captured < length {
                        self.skip = length - captured + next;
                        self.padding = 0;
                        return octets.len();
                    }
                    at += padding + from + length;
                }
            }
        }
    }

    /// What follows the padding, and how much of it there is; none if more octets will tell.
    fn behind_padding(&self, rest: &[u8]) -> Option<(usize, Head)> {
        let padded = rest.get(self.padding..).filter(|rest| !rest.is_empty())?;
        let head_padded = head(self.framing, padded);
        if self.padding > 0 && head_padded == Head::Junk && self.is_certain(rest) {
            return Some((0, head(self.framing, rest)));
        }
        Some((self.padding, head_padded))
    }

    fn give(&mut self, octets: &[u8], wire: usize, sink: &mut impl FnMut(Frame<'_>)) {
        if wire == 0 {
            return;
        }
        self.messages += 1;
        let known = match (self.framing, octets) {
            (Framing::Length, octets) => rtp::Header::new(octets).filter(|_| is_rtp(octets)).map(|h| h.ssrc),
            (Framing::Turn, [0x40..=0x4f, ..]) => channel_of(octets),
            (Framing::Turn, _) => None,
        };
        if let Some(known) = known.filter(|known| !self.known.contains(known)) {
            if self.known.len() >= KNOWN_MAX {
                self.known.remove(0);
            }
            self.known.push(known);
        }
        sink(Frame { octets, wire, gaps: self.gaps });
    }

    /// Whether octets begin with a message for certain.
    fn is_certain(&self, octets: &[u8]) -> bool {
        let Head::Frame { from, length, .. } = head(self.framing, octets) else { return false };
        let inside = octets.get(from..).unwrap_or_default();
        let known = |number: Option<u32>| number.is_some_and(|n| self.known.contains(&n));
        match (self.framing, inside) {
            _ if length == 0 => false,
            (_, [0..=3, ..]) => true,
            (Framing::Turn, [_, _, _, _, media @ ..]) => {
                let number = channel_of(inside);
                // RFC 7983.
                let is_media = matches!(media.first(), None | Some(0..=3 | 20..=63 | 128..=191));
                let ends_here = media.len() == length - 4 && (is_rtp(media) || rtcp::looks_like_rtcp(media));
                number.is_some() && (known(number) && is_media || ends_here)
            }
            (Framing::Turn, _) => false,
            (Framing::Length, [20..=63, ..]) => is_record(inside, length),
            (Framing::Length, _) if rtcp::looks_like_rtcp(inside) => {
                known(be32(inside, 4)) || is_report(inside, length) && inside.len() == length
            }
            (Framing::Length, _) => {
                let Some(header) = rtp::Header::new(inside).filter(|_| is_rtp(inside)) else { return false };
                known(Some(header.ssrc))
                    || inside.len() == length
                    || follows(&header, &inside[length.min(inside.len())..])
            }
        }
    }
}

/// Whether the next frame goes on with a stream.
fn follows(header: &rtp::Header, next: &[u8]) -> bool {
    let next = next.get(2..).filter(|next| is_rtp(next)).and_then(rtp::Header::new);
    next.is_some_and(|next| next.ssrc == header.ssrc && matches!(next.sequence.wrapping_sub(header.sequence), 1..=4))
}

fn is_rtp(octets: &[u8]) -> bool {
    rtp::looks_like_rtp(octets) && rtp::Header::new(octets).is_some_and(|h| rtp::payload_type_in_use(h.payload_type))
}

/// Compound RTCP fills its frame.
fn is_report(octets: &[u8], length: usize) -> bool {
    let mut at = 0;
    while at + 4 <= octets.len() && octets[at] & 0xc0 == 0x80 {
        at += 4 + 4 * usize::from(u16::from_be_bytes([octets[at + 2], octets[at + 3]]));
    }
    at == length
}

/// A record of DTLS in its frame (RFC 6347 section 4.1).
fn is_record(octets: &[u8], length: usize) -> bool {
    matches!(octets, [20..=25, 0xfe, 0xfd | 0xff, ..])
        && octets.get(11..13).is_some_and(|l| 13 + usize::from(u16::from_be_bytes([l[0], l[1]])) <= length)
}

fn channel_of(octets: &[u8]) -> Option<u32> {
    let number = be16(octets, 0)?;
    (0x4000..=0x4fff).contains(&number).then_some(number as u32)
}

fn be16(octets: &[u8], at: usize) -> Option<usize> {
    octets.get(at..at + 2).map(|o| usize::from(u16::from_be_bytes([o[0], o[1]])))
}

fn be32(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..at + 4).map(|o| u32::from_be_bytes([o[0], o[1], o[2], o[3]]))
}

fn head(framing: Framing, octets: &[u8]) -> Head {
    match framing {
        Framing::Length => behind_length(octets),
        Framing::Turn => of_turn(octets),
    }
}

/// Whether a message of STUN with the cookie of so many octets begins here; none if more octets will tell.
fn is_stun(octets: &[u8], length: usize) -> Option<bool> {
    let (inside, cookie) = (be16(octets, 2)?, be32(octets, 4)?);
    Some(octets[0] < 4 && cookie == 0x2112_a442 && (length == 0 || length == 20 + inside))
}

fn behind_length(octets: &[u8]) -> Head {
    let Some(length) = be16(octets, 0) else { return Head::More };
    // Some send nothing to keep the connection up.
    let frame = Head::Frame { from: 2, length, padding: 0 };
    let inside = &octets[2..];
    let is_message = match inside.first() {
        _ if length == 0 => return frame,
        None => return Head::More,
        // RFC 7983.
        Some(0..=3) => is_stun(inside, length),
        Some(20..=25) => inside.get(1).map(|version| *version == 0xfe && length > 13),
        // Records of DTLS 1.3 (RFC 9147 section 4).
        Some(32..=63) => Some(length > 2),
        Some(128..=191) => inside.get(1).map(|kind| length >= if (192..=223).contains(kind) { 8 } else { 12 }),
        Some(_) => Some(false),
    };
    match is_message {
        None => Head::More,
        Some(true) => frame,
        Some(false) => Head::Junk,
    }
}

fn of_turn(octets: &[u8]) -> Head {
    let Some(length) = be16(octets, 2) else { return Head::More };
    match octets[0] {
        0..=3 => match is_stun(octets, 0) {
            None => Head::More,
            Some(true) => Head::Frame { from: 0, length: 20 + length, padding: 0 },
            Some(false) => Head::Junk,
        },
        0x40..=0x4f => Head::Frame { from: 0, length: 4 + length, padding: length.next_multiple_of(4) - length },
        _ => Head::Junk,
    }
}

/// What the first octets of a connection say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniffed {
    /// Media.
    Media(Framing),
    /// More octets will tell.
    More,
    /// No media.
    Other,
}

/// What octets are that begin with a message, if it is media: STUN by its cookie, a record of DTLS, two packets of one
/// stream that follow each other, or two messages of one channel with RTP inside.
pub fn sniff(octets: &[u8]) -> Sniffed {
    match octets.first() {
        Some(0..=3) if is_stun(octets, 0) == Some(true) => Sniffed::Media(Framing::Turn),
        Some(0x40..=0x4f) => match [two_of(octets, Framing::Turn), two_of(octets, Framing::Length)] {
            [Sniffed::Other | Sniffed::More, Sniffed::Media(framing)] => Sniffed::Media(framing),
            [Sniffed::Other, length] => length,
            [turn, _] => turn,
        },
        _ => two_of(octets, Framing::Length),
    }
}

fn two_of(octets: &[u8], framing: Framing) -> Sniffed {
    let mut seen: SmallVec<[rtp::Header; 4]> = SmallVec::new();
    let mut at = 0;
    loop {
        let rest = octets.get(at..).unwrap_or_default();
        let (from, length, padding) = match head(framing, rest) {
            Head::Frame { from, length, padding } => (from, length, padding),
            Head::More => return Sniffed::More,
            Head::Junk => return Sniffed::Other,
        };
        let inside = rest.get(from..).unwrap_or_default();
        let certain = framing == Framing::Length
            && length > 0
            && match inside.first() {
                Some(0..=3) => true,
                Some(20..=25) => is_record(inside, length),
                _ => false,
            };
        if certain || framing == Framing::Turn && inside.first().is_some_and(|first| *first < 4) {
            return Sniffed::Media(framing);
        }
        let media = if framing == Framing::Turn { inside.get(4..).unwrap_or_default() } else { inside };
        if media.len() < rtp::HEADER_OCTETS.min(length) {
            return Sniffed::More;
        }
        let is_plausible = length == 0 || is_rtp(media) || rtcp::looks_like_rtcp(media);
        if !is_plausible {
            return Sniffed::Other;
        }
        if let Some(header) = rtp::Header::new(media).filter(|_| is_rtp(media)) {
            let goes_on =
                |s: &rtp::Header| s.ssrc == header.ssrc && matches!(header.sequence.wrapping_sub(s.sequence), 1..=4);
            if seen.iter().any(goes_on) {
                return Sniffed::Media(framing);
            }
            seen.push(header);
        }
        at += from + length + padding;
    }
}

/// What octets from the midst of a connection are, and where in them a message begins.
pub fn sniff_within(octets: &[u8]) -> Option<(usize, Framing)> {
    let looked_at = octets.len().saturating_sub(RTP_OCTETS).min(KEPT_OCTETS_MAX);
    (0..looked_at).find_map(|at| match sniff(&octets[at..]) {
        Sniffed::Media(framing) => Some((at, framing)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
