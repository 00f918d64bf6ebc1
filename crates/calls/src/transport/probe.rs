//! Whether a TCP connection that carries no SIP carries media: what is kept of it until that is known.

use super::Place;
use super::framed::{Framing, Sniffed, sniff, sniff_within};

/// Octets of one direction that are kept while it is not known what they are: two frames, however long, and the
/// beginning of a third.
const KEPT_OCTETS_MAX: usize = (2 << 16) + 64;
/// Octets from the midst of a connection that are looked at anew with the next ones: two messages of usual speech.
const RECENT_OCTETS: usize = 512;
/// Segments of a connection whose beginning was not seen after which it is no media.
const SEGMENTS_MAX: u8 = 16;

/// A piece of a direction, as it came.
#[derive(Debug)]
pub struct Piece {
    /// When its last octet came, nanoseconds since 1970.
    pub at_ns: i64,
    /// The packet that brought it about.
    pub place: Place,
    /// Its octets, or how many are missing.
    pub octets: Result<Box<[u8]>, u32>,
}

/// What one direction has said so far.
#[derive(Debug, Default)]
struct Way {
    kept: Vec<Piece>,
    /// The same in one piece, zeros for what is missing.
    joined: Vec<u8>,
    /// What is kept is not the beginning of the connection.
    is_later: bool,
}

impl Way {
    /// Forgets what tells nothing, but for the last that came: a message may begin in it.
    fn forget(&mut self) {
        let octets = |piece: &Piece| piece.octets.as_ref().map_or(RECENT_OCTETS + 1, |octets| octets.len());
        let mut sum = 0;
        let recent = self.kept.iter().rev().take_while(|piece| {
            sum += octets(piece);
            sum <= RECENT_OCTETS
        });
        self.kept.drain(..self.kept.len() - recent.count());
        self.joined.clear();
        self.joined.extend(self.kept.iter().flat_map(|piece| piece.octets.as_deref().unwrap_or_default()));
    }
}

/// What is known of a connection.
#[derive(Debug)]
pub struct Probe {
    ways: [Way; 2],
    segments: u8,
}

/// What a piece says.
#[derive(Debug)]
pub enum Found {
    /// Nothing yet.
    Nothing,
    /// It is media. What is kept of each direction, and whether that begins with a message.
    Media(Framing, [(Vec<Piece>, bool); 2]),
    /// It is no media.
    Other,
}

impl Probe {
    /// `fresh`: the beginning of the connection was seen.
    pub fn new(fresh: bool) -> Self {
        let way = || Way { is_later: !fresh, ..Way::default() };
        Probe { ways: [way(), way()], segments: 0 }
    }

    /// Octets that are kept.
    pub fn octets(&self) -> usize {
        self.ways.iter().map(|way| way.joined.len()).sum()
    }

    /// Takes the next piece of a direction.
    pub fn take(&mut self, at: usize, piece: Piece) -> Found {
        self.segments = self.segments.saturating_add(1);
        let way = &mut self.ways[at];
        let alone = way.joined.is_empty();
        match &piece.octets {
            Ok(octets) => way.joined.extend_from_slice(octets),
            // Where a frame is known to begin behind it is another matter than what it is.
            Err(_) if alone => way.is_later = true,
            Err(missing) => way.joined.resize(way.joined.len() + (*missing as usize).min(KEPT_OCTETS_MAX), 0),
        }
        if alone && piece.octets.is_err() {
            return self.go_on();
        }
        way.kept.push(piece);
        match sniff(&way.joined) {
            Sniffed::Media(framing) => return self.media(framing, at, 0),
            Sniffed::More if way.joined.len() <= KEPT_OCTETS_MAX => return self.go_on(),
            _ if !way.is_later => return Found::Other,
            _ => {}
        }
        // From the midst of a connection a segment may begin with anything.
        if let Some((begin, framing)) = sniff_within(&way.joined) {
            return self.media(framing, at, begin);
        }
        way.forget();
        self.go_on()
    }

    fn go_on(&self) -> Found {
        let is_later = self.ways.iter().any(|way| way.is_later);
        if is_later && self.segments >= SEGMENTS_MAX { Found::Other } else { Found::Nothing }
    }

    /// `begin`: where in what is kept of this direction a message begins.
    fn media(&mut self, framing: Framing, at: usize, begin: usize) -> Found {
        let mut ways = core::mem::take(&mut self.ways).map(|way| (way.kept, !way.is_later));
        let (kept, begins) = &mut ways[at];
        if begin > 0 {
            let mut skip = begin;
            kept.retain_mut(|piece| {
                let octets = piece.octets.as_deref().unwrap_or_default();
                let cut = skip.min(octets.len());
                skip -= cut;
                let rest: Box<[u8]> = octets[cut..].into();
                let is_left = piece.octets.is_err() || !rest.is_empty();
                if piece.octets.is_ok() {
                    piece.octets = Ok(rest);
                }
                is_left
            });
        }
        *begins = true;
        Found::Media(framing, ways)
    }
}
