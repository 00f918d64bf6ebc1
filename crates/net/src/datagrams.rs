//! The UDP side of a thread: datagrams come in batches, replies go out in batches.

use std::net::SocketAddr;
use std::os::fd::AsFd as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::counts::Counts;
use crate::options::{BATCH_DATAGRAMS_MAX, Limits, Networks};
use crate::replies::{Piece, QUEUED_OCTETS_MAX, Replies};
use crate::service::{Now, Service, UdpPeer};
use crate::sockets::UdpSocket;
use crate::sys::{Message, Received, Receiver, Sender};

/// Batches of one socket in a round, before connections have their turn.
const BATCHES_MAX: usize = 4;

/// Waits for room while the replies that are there go out; each takes [`Limits::udp_send_wait`] at most.
const WAITS_MAX: u32 = 8;

/// What a thread needs for datagrams.
pub(crate) struct Datagrams {
    /// None without a socket: the places take memory.
    receiver: Option<Receiver>,
    /// Of the last batch, the places of those that may come in, and whose they are.
    admitted: Vec<(usize, UdpPeer)>,
    networks: Networks,
    pub(crate) out: Outgoing,
}

/// The sockets, and what goes out through them.
pub(crate) struct Outgoing {
    pub(crate) sockets: Vec<UdpSocket>,
    pub(crate) replies: Replies,
    sender: Sender,
    send_wait: Timespec,
    /// Left for what goes out now.
    waits: u32,
}

impl Datagrams {
    pub(crate) fn new(sockets: Vec<UdpSocket>, limits: &Limits, networks: Networks) -> Datagrams {
        let receiver = (!sockets.is_empty()).then(|| Receiver::new(BATCH_DATAGRAMS_MAX, limits.datagram_octets));
        let send_wait = Timespec {
            tv_sec: i64::try_from(limits.udp_send_wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(limits.udp_send_wait.subsec_nanos()),
        };
        let sender = Sender::new(BATCH_DATAGRAMS_MAX);
        Datagrams {
            receiver,
            admitted: Vec::new(),
            networks,
            out: Outgoing { sockets, replies: Replies::default(), sender, send_wait, waits: 0 },
        }
    }

    /// Handles what came to a socket, a few batches of it.
    pub(crate) fn serve<S: Service>(&mut self, socket: usize, service: &mut S, counts: &mut Counts, now: Now) {
        for _ in 0..BATCHES_MAX {
            if !self.serve_batch(socket, service, counts, now) {
                break;
            }
        }
    }

    /// Handles a batch; whether there may be more.
    fn serve_batch<S: Service>(&mut self, socket: usize, service: &mut S, counts: &mut Counts, now: Now) -> bool {
        let (Some(receiver), Some(from)) = (&mut self.receiver, self.out.sockets.get(socket)) else { return false };
        let listener = from.listener;
        counts.datagram_reads += 1;
        let came = match receiver.receive(from.socket.as_fd()) {
            Ok(came) => came,
            Err(error) => {
                let nothing = matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted);
                counts.datagram_read_errors += u64::from(!nothing);
                return false;
            }
        };
        counts.datagrams += came as u64;
        self.admitted.clear();
        self.admitted.extend((0..came).filter_map(|at| {
            let peer = admit(&receiver.datagram(at)?, &self.networks, listener, counts)?;
            Some((at, peer))
        }));
        let mut seen = 0;
        for (number, (at, peer)) in self.admitted.iter().enumerate() {
            if number == seen {
                let rest = self.admitted[number..].iter().map(|(at, _)| receiver.payload(*at));
                seen = seen.saturating_add(service.ahead(rest).max(1));
            }
            service.datagram(peer, receiver.payload(*at), &mut self.out.replies, now);
            if self.out.replies.len() > QUEUED_OCTETS_MAX {
                self.out.flush(counts);
            }
        }
        self.out.flush(counts);
        came == BATCH_DATAGRAMS_MAX
    }
}

/// Whose datagram it is, if it may come in.
fn admit(received: &Received<'_>, networks: &Networks, listener: u16, counts: &mut Counts) -> Option<UdpPeer> {
    counts.datagram_octets += received.payload.len() as u64;
    if !networks.contains(received.from.ip()) {
        counts.datagrams_refused += 1;
        return None;
    }
    if received.truncated {
        counts.datagrams_truncated += 1;
        return None;
    }
    Some(UdpPeer { address: received.from, listener, local: received.local })
}

impl Outgoing {
    /// Sends all replies that wait.
    pub(crate) fn flush(&mut self, counts: &mut Counts) {
        if self.replies.is_idle() {
            return;
        }
        let mut pieces = self.replies.take_queue();
        let mut at = 0;
        self.waits = WAITS_MAX;
        while at < pieces.len() {
            let listener = pieces[at].to.listener;
            let run = pieces[at..].iter().take_while(|p| p.to.listener == listener).count();
            match self.sockets.iter().position(|s| s.listener == listener) {
                Some(socket) => at += self.send_run(socket, &mut pieces, at, run, counts),
                None => at += run,
            }
        }
        counts.replies_too_long += self.replies.clear(pieces);
    }

    /// Sends a run of pieces through one socket. How many pieces it has been in the end.
    fn send_run(
        &mut self,
        socket: usize,
        pieces: &mut Vec<Piece>,
        from: usize,
        run: usize,
        counts: &mut Counts,
    ) -> usize {
        let (mut at, mut end) = (from, from + run);
        while at < end {
            if !self.sockets[socket].segmentation && pieces[at..end].iter().any(|p| p.datagrams() > 1) {
                end += cut(pieces, at, end);
            }
            counts.reply_writes += 1;
            let replies = &self.replies;
            let messages = pieces[at..end].iter().map(|piece| message(replies, piece));
            match self.sender.send(self.sockets[socket].socket.as_fd(), messages) {
                Ok(sent) => {
                    for piece in &pieces[at..at + sent] {
                        counts.replies += piece.datagrams() as u64;
                        counts.reply_octets += piece.octets as u64;
                    }
                    at += sent.max(1);
                }
                Err(error) => {
                    let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                    let (skipped, more) = self.refused(socket, errno, pieces, at, end, counts);
                    at += skipped;
                    end += more;
                }
            }
        }
        end - from
    }

    /// The kernel refused the first of these pieces. How many to leave out, and by how many there are more.
    fn refused(
        &mut self,
        socket: usize,
        errno: Errno,
        pieces: &mut Vec<Piece>,
        at: usize,
        end: usize,
        counts: &mut Counts,
    ) -> (usize, usize) {
        let first = pieces[at];
        match errno {
            Errno::INTR => (0, 0),
            Errno::AGAIN => {
                if self.waits > 0 && self.wait(socket, counts) {
                    return (0, 0);
                }
                counts.replies_overflow += pieces[at..end].iter().map(|p| p.datagrams() as u64).sum::<u64>();
                (end - at, 0)
            }
            // The way to this peer has no room for datagrams so long (EINVAL), or what it goes out of cannot do it.
            Errno::INVAL | Errno::IO | Errno::OPNOTSUPP | Errno::MSGSIZE if first.datagrams() > 1 => {
                counts.segmentation_refused += 1;
                self.sockets[socket].segmentation &= !matches!(errno, Errno::IO | Errno::OPNOTSUPP);
                (0, cut(pieces, at, at + 1))
            }
            _ => {
                counts.replies_failed += first.datagrams() as u64;
                (1, 0)
            }
        }
    }

    /// Waits for room to send; whether there is.
    fn wait(&mut self, socket: usize, counts: &mut Counts) -> bool {
        counts.reply_waits += 1;
        self.waits -= 1;
        let mut events = [PollFd::new(&self.sockets[socket].socket, PollFlags::OUT)];
        matches!(poll(&mut events, Some(&self.send_wait)), Ok(1..))
    }

    /// Counts what the kernel dropped since the last time.
    pub(crate) fn count_dropped(&mut self, counts: &mut Counts) {
        for socket in &mut self.sockets {
            if let Ok(dropped) = crate::sys::dropped(socket.socket.as_fd()) {
                counts.datagrams_overflow += u64::from(dropped.wrapping_sub(socket.dropped));
                socket.dropped = dropped;
            }
        }
    }
}

fn message<'a>(replies: &'a Replies, piece: &Piece) -> Message<'a> {
    let segment = if piece.datagrams() > 1 { u16::try_from(piece.datagram_octets).unwrap_or(0) } else { 0 };
    let to: SocketAddr = piece.to.address;
    Message { to, local: piece.to.local, payload: replies.payload(piece), segment }
}

/// Puts single datagrams in the place of these pieces; by how many there are more.
fn cut(pieces: &mut Vec<Piece>, at: usize, end: usize) -> usize {
    let before = pieces.len();
    let single: Vec<Piece> = pieces[at..end].iter().flat_map(|p| (0..p.datagrams()).map(|n| p.datagram(n))).collect();
    pieces.splice(at..end, single);
    pieces.len() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Listen;
    use crate::output::Output;
    use crate::service::{Arrival, Next, Taken};
    use crate::sockets;

    /// Looks at three datagrams at a time, and notes the first octets of what it is shown.
    #[derive(Default)]
    struct Noting {
        shown: Vec<Vec<u8>>,
        /// With how many times it was shown something before.
        handled: Vec<(u8, usize)>,
    }

    impl Service for Noting {
        type Connection = ();
        type Mail = ();

        fn accepted(&mut self, _: &Arrival<'_>, _: Now) {}

        fn octets(&mut self, (): &mut (), _: &[u8], _: &mut Output<'_>, _: Now) -> Taken {
            Taken { octets: 0, next: Next::Close }
        }

        fn ahead<'d>(&mut self, payloads: impl Iterator<Item = &'d [u8]>) -> usize {
            self.shown.push(payloads.map(|payload| payload[0]).collect());
            3
        }

        fn datagram(&mut self, _: &UdpPeer, payload: &[u8], _: &mut Replies, _: Now) {
            self.handled.push((payload[0], self.shown.len()));
        }
    }

    #[test]
    fn a_batch_is_shown_before_it_is_handled_without_strangers() {
        let listen = [Listen::Udp { address: "127.0.0.1:0".parse().expect("address") }];
        let limits = Limits { datagram_octets: 100, ..Limits::default() };
        let mut opened = sockets::open(&listen, 1, &limits, true).expect("a socket");
        let to = opened.addresses[0].expect("an address");
        let networks = Networks::only(vec!["127.0.0.1/32".parse().expect("a network")]);
        let mut datagrams = Datagrams::new(core::mem::take(&mut opened.threads[0].udp), &limits, networks);
        let [friend, stranger] = ["127.0.0.1:0", "127.0.0.2:0"].map(|a| std::net::UdpSocket::bind(a).expect("socket"));
        for number in 1..=8u8 {
            let from = if number == 5 { &stranger } else { &friend };
            let octets = if number == 6 { 101 } else { 10 };
            from.send_to(&vec![number; octets], to).expect("sent");
        }
        let (mut service, mut counts) = (Noting::default(), Counts::default());
        datagrams.serve(0, &mut service, &mut counts, Now::default());
        assert_eq!(service.shown, [&[1, 2, 3, 4, 7, 8][..], &[4, 7, 8]]);
        assert_eq!(service.handled, [(1, 1), (2, 1), (3, 1), (4, 2), (7, 2), (8, 2)]);
        assert_eq!((counts.datagrams, counts.datagrams_refused, counts.datagrams_truncated), (8, 1, 1));
    }
}
