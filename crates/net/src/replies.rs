//! Datagrams that a service replies with, gathered in a buffer of the thread and sent together.

use crate::service::UdpPeer;

/// Datagrams that the kernel cuts out of one piece: UDP_MAX_SEGMENTS of Linux before 6.7.
pub(crate) const SEGMENTS_MAX: usize = 64;
/// Octets of such a piece: the largest UDP payload over IPv4.
pub(crate) const PIECE_OCTETS_MAX: usize = 65_507;
/// Octets of a reply, headers included; a longer one is not sent and counted.
// Limit: size of one reply by UDP, headers included
// Beyond: the reply is not sent
// Seen in: `trunkline_net_udp_too_long_replies_total`
pub const REPLY_OCTETS_MAX: usize = 4 << 20;
/// Octets that wait to be sent before the next datagram is handled, beyond the reply that is being made.
pub(crate) const QUEUED_OCTETS_MAX: usize = 256 * 1024;

/// Where a service puts its datagrams. They go out when all that came with one system call was handled, or
/// when enough of them wait, each from the socket and the address that its peer's datagram came to.
#[derive(Debug, Default)]
pub struct Replies {
    octets: Vec<u8>,
    queue: Vec<Piece>,
    too_long: u64,
}

/// One or more datagrams of equal length (the last may be shorter) to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) to: UdpPeer,
    pub(crate) start: usize,
    pub(crate) octets: usize,
    /// Octets of each datagram; at least 1 but for an empty one.
    pub(crate) datagram_octets: usize,
}

impl Piece {
    /// Datagrams in it.
    pub(crate) fn datagrams(&self) -> usize {
        self.octets.div_ceil(self.datagram_octets.max(1)).max(1)
    }

    /// Whether a datagram that begins at `start` can be one more of this piece: a client with several requests on their
    /// way is answered by datagrams of equal length often, and the kernel takes them together for little more than one.
    fn may_go_on(&self, to: &UdpPeer, start: usize, octets: usize) -> bool {
        let full = self.datagram_octets > 0 && self.octets.is_multiple_of(self.datagram_octets);
        let fits = self.datagrams() < SEGMENTS_MAX && self.octets + octets <= PIECE_OCTETS_MAX;
        let behind = self.start + self.octets == start && self.to == *to;
        behind && full && fits && (1..=self.datagram_octets).contains(&octets)
    }

    /// One of them.
    pub(crate) fn datagram(&self, number: usize) -> Piece {
        let skipped = number * self.datagram_octets;
        let octets = (self.octets - skipped).min(self.datagram_octets);
        Piece { start: self.start + skipped, octets, ..*self }
    }
}

impl Replies {
    /// One datagram. A longer one than UDP carries (65,507 octets) is not sent, and counted.
    pub fn datagram(&mut self, to: &UdpPeer, payload: &[u8]) {
        if payload.len() > PIECE_OCTETS_MAX {
            self.too_long += 1;
            return;
        }
        let start = self.octets.len();
        self.octets.extend_from_slice(payload);
        match self.queue.last_mut().filter(|last| last.may_go_on(to, start, payload.len())) {
            Some(last) => last.octets += payload.len(),
            None => self.queue.push(Piece { to: *to, start, octets: payload.len(), datagram_octets: payload.len() }),
        }
    }

    /// A reply that is cut into datagrams of at most `datagram_octets`, each with a header of `header_octets` that
    /// [`Numbered::finish`] fills in: it knows how many there are. No datagram is longer than 65,507 octets, and each
    /// has room for one octet at least behind its header.
    pub fn numbered(&mut self, to: &UdpPeer, header_octets: usize, datagram_octets: usize) -> Numbered<'_> {
        let header = header_octets.min(PIECE_OCTETS_MAX - 1);
        let most = datagram_octets.clamp(header + 1, PIECE_OCTETS_MAX);
        let start = self.octets.len();
        self.octets.resize(start + header, 0);
        Numbered { replies: self, to: *to, start, header, most, room: most - header, finished: false }
    }

    /// Octets that wait to be sent.
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// What waits, in order; to be given back to [`Replies::clear`].
    pub(crate) fn take_queue(&mut self) -> Vec<Piece> {
        core::mem::take(&mut self.queue)
    }

    /// The octets of a piece.
    pub(crate) fn payload(&self, piece: &Piece) -> &[u8] {
        &self.octets[piece.start..piece.start + piece.octets]
    }

    /// Forgets what was sent, and keeps the room of its queue; memory of a long reply is given back. How many were too
    /// long since the last time.
    pub(crate) fn clear(&mut self, queue: Vec<Piece>) -> u64 {
        self.octets.clear();
        self.octets.shrink_to(2 * QUEUED_OCTETS_MAX);
        self.queue = queue;
        self.queue.clear();
        core::mem::take(&mut self.too_long)
    }

    /// Whether there is nothing to send and nothing to count.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.too_long == 0
    }
}

/// A reply in numbered datagrams that is being made; dropped without [`Numbered::finish`], it is not sent.
#[derive(Debug)]
pub struct Numbered<'a> {
    replies: &'a mut Replies,
    to: UdpPeer,
    start: usize,
    header: usize,
    /// Octets of a full datagram.
    most: usize,
    /// Octets that go into the last datagram yet.
    room: usize,
    finished: bool,
}

impl Numbered<'_> {
    /// Goes on with these octets. False when the reply would be longer than [`REPLY_OCTETS_MAX`]: nothing of them was
    /// taken.
    #[must_use]
    pub fn put(&mut self, octets: &[u8]) -> bool {
        let datagrams = octets.len() / (self.most - self.header) + 1;
        if self.len() + octets.len() + datagrams * self.header > REPLY_OCTETS_MAX {
            return false;
        }
        let mut rest = octets;
        while !rest.is_empty() {
            if self.room == 0 {
                self.replies.octets.resize(self.replies.octets.len() + self.header, 0);
                self.room = self.most - self.header;
            }
            let (now, later) = rest.split_at(rest.len().min(self.room));
            self.replies.octets.extend_from_slice(now);
            self.room -= now.len();
            rest = later;
        }
        true
    }

    /// Octets of the reply up to now, headers included.
    pub fn len(&self) -> usize {
        self.replies.octets.len() - self.start
    }

    /// Whether there is not even a header.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The reply is complete: `header` is called for each datagram with its header to be filled in (zeroes), its number
    /// from 0, and how many there are.
    pub fn finish(mut self, mut header: impl FnMut(&mut [u8], usize, usize)) {
        self.finished = true;
        let total = self.len().div_ceil(self.most).max(1);
        let reply = &mut self.replies.octets[self.start..];
        for (number, datagram) in reply.chunks_mut(self.most).enumerate() {
            header(&mut datagram[..self.header], number, total);
        }
        let piece_octets = self.most * SEGMENTS_MAX.min(PIECE_OCTETS_MAX / self.most);
        let octets = self.len();
        for start in (0..octets.max(1)).step_by(piece_octets) {
            let piece_octets = piece_octets.min(octets - start);
            let (start, datagram_octets) = (self.start + start, self.most.min(piece_octets));
            self.replies.queue.push(Piece { to: self.to, start, octets: piece_octets, datagram_octets });
        }
    }
}

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.replies.octets.truncate(self.start);
            self.replies.too_long += 1;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn peer() -> UdpPeer {
        UdpPeer { address: "192.0.2.1:7".parse().expect("address"), listener: 0, local: None }
    }

    /// The datagrams as they would go out, one by one.
    fn datagrams(replies: &Replies) -> Vec<Vec<u8>> {
        let pieces = replies.queue.iter();
        let all = pieces.flat_map(|p| (0..p.datagrams()).map(|n| replies.payload(&p.datagram(n)).to_vec()));
        all.collect()
    }

    proptest! {
        #[test]
        fn numbered_datagrams_put_together_are_the_reply(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..60),
            header in 0usize..12, most in 0usize..5000,
        ) {
            let mut replies = Replies::default();
            replies.datagram(&peer(), b"before");
            let mut reply = replies.numbered(&peer(), header, most);
            for part in &parts {
                prop_assert!(reply.put(part));
            }
            reply.finish(|place, number, total| {
                let mark = [number as u8, total as u8, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7];
                place.copy_from_slice(&mark[..place.len()]);
            });
            let sent = datagrams(&replies);
            let total = sent.len() - 1;
            let mut together = Vec::new();
            for (number, datagram) in sent[1..].iter().enumerate() {
                prop_assert!(datagram.len() <= most.max(header + 1));
                prop_assert!(number + 1 == total || datagram.len() == most.max(header + 1));
                let mark = [number as u8, total as u8];
                prop_assert_eq!(&datagram[..header.min(2)], &mark[..header.min(2)]);
                together.extend_from_slice(&datagram[header..]);
            }
            prop_assert_eq!(together, parts.concat());
            for piece in &replies.queue {
                prop_assert!(piece.octets <= PIECE_OCTETS_MAX && piece.datagrams() <= SEGMENTS_MAX);
            }
        }
    }

    #[test]
    fn what_is_too_long_or_not_finished_is_counted_and_not_sent() {
        let mut replies = Replies::default();
        replies.datagram(&peer(), &vec![0; PIECE_OCTETS_MAX + 1]);
        let mut reply = replies.numbered(&peer(), 8, 1400);
        assert!(reply.put(&vec![1; 1 << 20]));
        assert!(!reply.put(&vec![1; REPLY_OCTETS_MAX]));
        drop(reply);
        assert!(replies.queue.is_empty() && replies.len() == 0);
        assert_eq!(replies.clear(Vec::new()), 2);
    }

    #[test]
    fn datagrams_of_equal_length_to_one_peer_go_together() {
        let other = UdpPeer { listener: 1, ..peer() };
        let mut replies = Replies::default();
        let said: [(&UdpPeer, &[u8]); 9] = [
            (&peer(), b"aa"),
            (&peer(), b"bb"),
            (&peer(), b"c"),
            (&peer(), b"d"),
            (&peer(), b"ee"),
            (&peer(), b""),
            (&peer(), b""),
            (&other, b"f"),
            (&peer(), b"g"),
        ];
        said.iter().for_each(|(to, payload)| replies.datagram(to, payload));
        (0..100).for_each(|_| replies.datagram(&other, b"many"));
        let counts: Vec<usize> = replies.queue.iter().map(Piece::datagrams).collect();
        assert_eq!(counts, [3, 1, 1, 1, 1, 1, 1, 64, 36]);
        let sent = datagrams(&replies);
        assert!(said.iter().zip(&sent).all(|((_, said), sent)| said == sent));
        assert!(sent.len() == 109 && sent[9..].iter().all(|d| d == b"many"));
    }

    #[test]
    fn empty_datagrams_are_datagrams() {
        let mut replies = Replies::default();
        replies.datagram(&peer(), b"");
        replies.numbered(&peer(), 0, 100).finish(|_, _, _| {});
        assert_eq!(datagrams(&replies), [b"", b""]);
    }
}
