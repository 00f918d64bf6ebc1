//! DTLS handshakes on the flows of media (RFC 5764): what follows one is SRTP, whatever SDP says.

use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_wire::Endpoint;

/// Flows with a handshake that one lane knows. Beyond it all are forgotten and counted.
// Limit: flows with DTLS of one lane
// Beyond: all are forgotten
// Seen in: `trunkline_calls_media_flows_overflow_total`
pub const HANDSHAKES_MAX: usize = 1 << 13;
/// A stream follows a handshake at most this long after it; a later one has the ports anew.
const FOLLOWS_NS: i64 = 600 * crate::limits::SECOND_NS;

/// A handshake that is tried for as long as this goes nowhere: its messages come again after 1, 2 and 4 s (RFC 6347
/// section 4.2.4.1), or sooner.
const TRIED_NS: i64 = 3 * crate::limits::SECOND_NS;

/// Both ends of a flow in their order, and the TURN flow around it.
pub type Pair = ([Endpoint; 2], u32);

/// Octets of a record's header (RFC 6347 section 4.1).
const HEADER: usize = 13;
/// What a record holds.
mod content {
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    pub const ALERT: u8 = 21;
    pub const HANDSHAKE: u8 = 22;
}
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const FATAL: u8 = 2;

/// Whether a datagram begins with a record of DTLS that is no data. A number of UDPTL may look like its kind.
pub fn begins(octets: &[u8]) -> bool {
    matches!(octets, [content::CHANGE_CIPHER_SPEC..=content::HANDSHAKE, 0xfe, 0xff | 0xfd, ..])
}

/// What was seen of one handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Who began, as far as it was seen.
    pub client: Endpoint,
    /// Whom it asked.
    pub server: Endpoint,
    /// Its first message.
    pub first_ns: i64,
    /// Its last message.
    pub last_ns: i64,
    /// The number of its first packet.
    pub packet: u64,
    /// The server said hello, or one side changed to ciphers: it goes on.
    pub answered: bool,
    /// Both sides began.
    pub by_both: bool,
    /// Times that the server said hello.
    hellos: u8,
    /// Each side changed to ciphers.
    ciphered: [bool; 2],
    /// Who gave it up, and why (RFC 8446 section 6.2).
    pub alert: Option<(Endpoint, u8)>,
}

impl Handshake {
    /// One side gave it up, or it never came to its end although it was tried for long: who found another way (ICE)
    /// does not go on here. DTLS 1.3 shows one hello of each and no more (RFC 9147): only a repeated one is stuck.
    pub fn has_failed(&self) -> bool {
        let is_stuck = !self.ciphered[0] && !self.ciphered[1] && self.hellos != 1;
        self.alert.is_some() || is_stuck && self.last_ns - self.first_ns >= TRIED_NS
    }

    /// SRTP follows it.
    fn gives_keys(&self) -> bool {
        self.answered && self.alert.is_none()
    }

    fn take(&mut self, from: Endpoint, octets: &[u8]) {
        let mut rest = octets;
        while let Some((header, record)) = rest.split_first_chunk::<HEADER>() {
            let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
            let is_clear = header[3..5] == [0, 0];
            match (header[0], record) {
                (content::HANDSHAKE, [SERVER_HELLO, ..]) if is_clear => {
                    self.answered = true;
                    self.hellos = self.hellos.saturating_add(1);
                }
                (content::HANDSHAKE, [CLIENT_HELLO, ..]) if is_clear => self.by_both |= from != self.client,
                (content::CHANGE_CIPHER_SPEC, _) => self.cipher(from),
                (content::HANDSHAKE, _) if !is_clear => self.cipher(from),
                (content::ALERT, [FATAL, why, ..]) if is_clear && length == 2 => {
                    self.alert = self.alert.or(Some((from, *why)));
                }
                _ => {}
            }
            rest = record.get(length..).unwrap_or_default();
        }
    }

    fn cipher(&mut self, from: Endpoint) {
        self.answered = true;
        self.ciphered[usize::from(from != self.client)] = true;
    }
}

/// The handshakes that a lane saw.
#[derive(Debug, Default)]
pub struct Handshakes {
    flows: HashMap<Pair, Handshake>,
    /// Times that all were forgotten.
    pub overflow: u64,
}

impl Handshakes {
    /// Takes a datagram with records that are no data.
    pub fn take(&mut self, pair: Pair, at_ns: i64, packet: u64, (from, to): (Endpoint, Endpoint), octets: &[u8]) {
        if self.flows.len() >= HANDSHAKES_MAX && !self.flows.contains_key(&pair) {
            self.flows.clear();
            self.overflow += 1;
        }
        let fresh = Handshake {
            client: from,
            server: to,
            first_ns: at_ns,
            last_ns: at_ns,
            packet,
            answered: false,
            by_both: false,
            hellos: 0,
            ciphered: [false; 2],
            alert: None,
        };
        let handshake = self.flows.entry(pair).or_insert(fresh);
        if at_ns.saturating_sub(handshake.last_ns) > FOLLOWS_NS {
            *handshake = fresh;
        }
        handshake.last_ns = handshake.last_ns.max(at_ns);
        handshake.take(from, octets);
    }

    /// Whether a stream that began and ended then has its keys of a handshake on its flow.
    pub fn secure(&self, pair: &Pair, first_ns: i64, last_ns: i64) -> bool {
        self.flows
            .get(pair)
            .is_some_and(|h| h.gives_keys() && h.last_ns.saturating_add(FOLLOWS_NS) >= first_ns && h.last_ns <= last_ns)
    }

    /// Forgets these flows; gives the first handshake that failed, if none of them came to its end.
    pub fn release(&mut self, pairs: &SmallVec<[Pair; 1]>) -> Option<Handshake> {
        let all: SmallVec<[Handshake; 1]> = pairs.iter().filter_map(|pair| self.flows.remove(pair)).collect();
        all.iter().all(Handshake::has_failed).then(|| all.into_iter().min_by_key(|h| h.packet)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
        let mut octets = vec![kind, 0xfe, 0xfd, 0, epoch, 0, 0, 0, 0, 0, 0];
        octets.extend((body.len() as u16).to_be_bytes());
        octets.extend(body);
        octets
    }

    /// What is left of these datagrams, each of the first end or the other one; and whether a stream behind them is
    /// secure.
    fn handshake(datagrams: &[(bool, Vec<u8>)]) -> (Option<Handshake>, bool) {
        let ends: [Endpoint; 2] = ["192.0.2.1:4000".parse().unwrap(), "192.0.2.2:5000".parse().unwrap()];
        let (mut all, pair) = (Handshakes::default(), (ends, 0));
        for (n, (first, octets)) in datagrams.iter().enumerate() {
            let way = if *first { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
            all.take(pair, n as i64 * TRIED_NS, n as u64, way, octets);
        }
        let (soon, late) = (10 * TRIED_NS, 2 * FOLLOWS_NS);
        let secure = all.secure(&pair, soon, soon + 1);
        assert!(!all.secure(&pair, late, late + 1) && !all.secure(&(ends, 1), soon, soon + 1));
        let pairs: SmallVec<[Pair; 1]> = [pair].into_iter().collect();
        (all.release(&pairs), secure)
    }

    #[test]
    fn a_handshake_ends_or_fails() {
        let (hello, answer) = (record(22, 0, &[1, 0, 0]), record(22, 0, &[2, 0, 0]));
        let finished = [record(20, 0, &[1]), record(22, 1, &[0xaa; 40])].concat();
        let whole =
            [(true, hello.clone()), (false, answer.clone()), (true, finished.clone()), (false, finished.clone())];
        assert_eq!(handshake(&whole), (None, true));
        // One direction alone passes the tap.
        assert_eq!(handshake(&[(true, hello.clone()), (true, finished.clone())]), (None, true));
        let (unanswered, secure) = handshake(&[(true, hello.clone()), (true, hello.clone())]);
        assert!(unanswered.unwrap().alert.is_none() && !secure);
        let refused = [(true, hello), (false, [answer, record(21, 0, &[2, 40])].concat())];
        let (refused, secure) = handshake(&refused);
        assert!(refused.unwrap().alert.unwrap().1 == 40 && !secure);
        let (hello, answer) = (record(22, 0, &[1, 0, 0]), record(22, 0, &[2, 0, 0]));
        assert_eq!(handshake(&[(true, hello.clone()), (false, answer.clone())]), (None, true), "DTLS 1.3");
        let stuck = handshake(&[(true, hello.clone()), (false, answer.clone()), (true, hello), (false, answer)]);
        assert!(stuck.0.unwrap().answered);
        // A warning, and what is ciphered, give nothing up.
        let closed = [(true, finished.clone()), (false, [finished, record(21, 1, &[0xaa; 26])].concat())];
        assert_eq!(handshake(&closed), (None, true));
    }
}
