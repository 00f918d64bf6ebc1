//! The client's side of datagrams: one socket, many peers, batches both ways.

use crate::options::BATCH_DATAGRAMS_MAX;
use crate::sys::{self, Message, Receiver, Sender};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Batches that one call of [`Asking::receive`] takes before others have their turn.
const BATCHES_MAX: usize = 16;
/// How often one call of [`Asking::send`] waits for room in the socket.
const WAITS_MAX: usize = 8;
/// How long it waits each time.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

trunkline_kit::counters! {
    /// What a socket that asks counts.
    pub struct AskingCounts {
        /// datagrams sent to peers that are asked
        sent: "trunkline_net_asking_sent_datagrams_total",
        /// octets of them
        sent_octets: "trunkline_net_asking_sent_octets_total",
        /// calls that sent them
        writes: "trunkline_net_asking_writes_total",
        /// datagrams not sent: the system refused them, or has no way to the peer
        refused: "trunkline_net_asking_refused_datagrams_total",
        /// datagrams not sent because there was no room in the socket
        overflow: "trunkline_net_asking_send_overflow_total",
        /// datagrams that came
        came: "trunkline_net_asking_came_datagrams_total",
        /// octets of them
        came_octets: "trunkline_net_asking_came_octets_total",
        /// calls that brought them
        reads: "trunkline_net_asking_reads_total",
        /// datagrams left out because they were longer than there is room
        truncated: "trunkline_net_asking_truncated_datagrams_total",
        /// datagrams that the kernel dropped because the socket was full
        dropped: "trunkline_net_asking_receive_overflow_total",
    }
}

/// How a socket that asks is opened.
#[derive(Clone, Copy, Debug)]
pub struct AskingOptions {
    /// What it is bound to; its family is that of its peers. Port 0 leaves that to the system.
    pub bind: SocketAddr,
    /// Octets of the longest datagram that is taken.
    pub datagram_octets: usize,
    /// Room that the system is asked for, each way; it gives as much as it allows.
    pub buffer_octets: usize,
    /// Whether the socket tells which address of ours a datagram was sent to ([`Came::local`]).
    pub tell_local: bool,
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// Who sent it.
    pub from: SocketAddr,
    /// The address of ours that it was sent to, if the socket tells.
    pub local: Option<IpAddr>,
    /// What it holds.
    pub payload: &'a [u8],
}

/// A datagram that is to go.
#[derive(Clone, Copy, Debug)]
pub struct Going<'a> {
    /// Whom it is for.
    pub to: SocketAddr,
    /// The address of ours that it comes from, if that is not left to the system.
    pub local: Option<IpAddr>,
    /// What it holds.
    pub payload: &'a [u8],
}

/// A socket that asks many peers and takes their answers. It is not connected: who an answer is from is for the caller
/// to look at.
pub struct Asking {
    socket: OwnedFd,
    receiver: Receiver,
    sender: Sender,
    counts: AskingCounts,
    dropped: u32,
}

impl Asking {
    /// Opens it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(options: &AskingOptions) -> io::Result<Asking> {
        let family = if options.bind.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None)?;
        if options.bind.is_ipv6() {
            sockopt::set_ipv6_v6only(&socket, true)?;
        }
        // Beyond what the system allows everybody, if it is ours to say.
        if sockopt::set_socket_recv_buffer_size_force(&socket, options.buffer_octets).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, options.buffer_octets)?;
        }
        sockopt::set_socket_send_buffer_size(&socket, options.buffer_octets)?;
        rustix::net::bind(&socket, &options.bind)?;
        if options.tell_local {
            sys::tell_local(socket.as_fd(), options.bind.is_ipv6())?;
        }
        let receiver = Receiver::new(BATCH_DATAGRAMS_MAX, options.datagram_octets);
        let sender = Sender::new(BATCH_DATAGRAMS_MAX);
        Ok(Asking { socket, receiver, sender, counts: AskingCounts::default(), dropped: 0 })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        let name = rustix::net::getsockname(&self.socket)?;
        SocketAddr::try_from(name).map_err(|_| io::ErrorKind::Unsupported.into())
    }

    /// Octets that the system keeps for what came and was not taken yet, its own overhead included.
    ///
    /// # Errors
    /// The system's.
    pub fn receive_buffer_octets(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.socket)?)
    }

    /// What it has counted.
    pub fn counts(&mut self) -> AskingCounts {
        if let Ok(dropped) = sys::dropped(self.socket.as_fd()) {
            self.counts.dropped += u64::from(dropped.wrapping_sub(self.dropped));
            self.dropped = dropped;
        }
        self.counts
    }

    /// Hands over what came, some batches of it, without waiting. Whether there may be more.
    pub fn receive(&mut self, mut each: impl FnMut(Came<'_>)) -> bool {
        for _ in 0..BATCHES_MAX {
            self.counts.reads += 1;
            // An error is one that a peer has caused (no one listens there), or that nothing is there.
            let Ok(came) = self.receiver.receive(self.socket.as_fd()) else { return false };
            for received in (0..came).filter_map(|at| self.receiver.datagram(at)) {
                self.counts.came += 1;
                self.counts.came_octets += received.payload.len() as u64;
                if received.truncated {
                    self.counts.truncated += 1;
                    continue;
                }
                each(Came { from: received.from, local: received.local, payload: received.payload });
            }
            if came < BATCH_DATAGRAMS_MAX {
                return false;
            }
        }
        true
    }

    /// Sends these; those that the system does not take are counted and left out.
    pub fn send(&mut self, datagrams: &[Going<'_>]) {
        let (mut at, mut waits) = (0, WAITS_MAX);
        while at < datagrams.len() {
            let rest = datagrams[at..].iter();
            let messages = rest.map(|d| Message { to: d.to, local: d.local, payload: d.payload, segment: 0 });
            self.counts.writes += 1;
            match self.sender.send(self.socket.as_fd(), messages) {
                Ok(sent) => {
                    let octets: usize = datagrams[at..at + sent].iter().map(|d| d.payload.len()).sum();
                    self.counts.sent += sent as u64;
                    self.counts.sent_octets += octets as u64;
                    at += sent.max(1);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if waits == 0 || !self.wait_for_room() {
                        self.counts.overflow += (datagrams.len() - at) as u64;
                        return;
                    }
                    waits -= 1;
                }
                // That of the first alone: no way to it, or what an ICMP message has left behind.
                Err(_) => {
                    self.counts.refused += 1;
                    at += 1;
                }
            }
        }
    }

    fn wait_for_room(&self) -> bool {
        matches!(poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&WAIT)), Ok(1..))
    }

    /// Waits until something has come to one of these, at most so long. Whether something has.
    pub fn wait(sockets: &[Asking], longest: Duration) -> bool {
        let mut events: Vec<PollFd<'_>> = sockets.iter().map(|s| PollFd::new(&s.socket, PollFlags::IN)).collect();
        matches!(poll(&mut events, Some(&timespec(longest))), Ok(1..))
    }

    /// The same, and hands over what came ([`Asking::receive`]) to those that have something. Whether there may be
    /// more: who gives up what is not answered asks again before that.
    pub fn receive_any(sockets: &mut [Asking], longest: Duration, mut each: impl FnMut(Came<'_>)) -> bool {
        let mut events: Vec<PollFd<'_>> = sockets.iter().map(|s| PollFd::new(&s.socket, PollFlags::IN)).collect();
        let Ok(1..) = poll(&mut events, Some(&timespec(longest))) else { return false };
        let ready: Vec<bool> = events.iter().map(|event| !event.revents().is_empty()).collect();
        let mut is_more = false;
        for (socket, _) in sockets.iter_mut().zip(ready).filter(|(_, is_ready)| *is_ready) {
            is_more |= socket.receive(&mut each);
        }
        is_more
    }
}

fn timespec(length: Duration) -> Timespec {
    let seconds = i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: length.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn open(bind: &str, tell_local: bool) -> Asking {
        let bind = bind.parse().expect("an address");
        Asking::open(&AskingOptions { bind, datagram_octets: 100, buffer_octets: 4 << 20, tell_local }).expect("opened")
    }

    /// What has come once so many have.
    fn received(asking: &mut Asking, count: usize) -> Vec<(SocketAddr, Option<IpAddr>, Vec<u8>)> {
        let mut all = Vec::new();
        while all.len() < count {
            let before = all.len();
            let sockets = core::slice::from_mut(asking);
            Asking::receive_any(sockets, PATIENCE, |came| all.push((came.from, came.local, came.payload.to_vec())));
            assert!(all.len() > before, "{all:?}");
        }
        all
    }

    #[test]
    fn many_are_asked_through_one_socket() {
        let peers: Vec<UdpSocket> =
            (0..100).map(|n| UdpSocket::bind(format!("127.0.1.{n}:0")).expect("a socket")).collect();
        let mut asking = open("127.0.0.1:0", false);
        let addresses: Vec<SocketAddr> = peers.iter().map(|peer| peer.local_addr().expect("an address")).collect();
        let payloads: Vec<[u8; 1]> = (0..100).map(|n| [n]).collect();
        let datagrams: Vec<Going<'_>> = addresses
            .iter()
            .zip(&payloads)
            .map(|(to, payload)| Going { to: *to, local: None, payload: payload.as_slice() })
            .collect();
        asking.send(&datagrams);
        for peer in &peers {
            let mut octets = [0; 100];
            peer.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            let (length, from) = peer.recv_from(&mut octets).expect("what was sent");
            assert_eq!(from, asking.address().expect("an address"));
            octets[length] = 0xff;
            peer.send_to(&octets[..length + 1], from).expect("sent");
        }
        peers[0].send_to(&[7; 101], asking.address().expect("an address")).expect("sent");
        let mut came = received(&mut asking, 100);
        came.sort();
        let expected = addresses.iter().enumerate().map(|(n, from)| (*from, None, vec![n as u8, 0xff]));
        let mut expected: Vec<_> = expected.collect();
        expected.sort();
        assert_eq!(came, expected);
        let counts = asking.counts();
        assert_eq!((counts.sent, counts.sent_octets, counts.refused, counts.dropped), (100, 100, 0, 0));
        assert!(counts.writes < 10, "{counts:?}");
    }

    #[test]
    fn an_answer_comes_from_the_address_that_was_asked() {
        let mut answering = open("0.0.0.0:0", true);
        let port = answering.address().expect("an address").port();
        let mut asking = open("127.0.0.1:0", false);
        let to = format!("127.9.8.7:{port}").parse().expect("an address");
        asking.send(&[Going { to, local: None, payload: b"?" }]);
        let question = received(&mut answering, 1);
        let (from, local) = (question[0].0, question[0].1);
        assert_eq!(local, Some(to.ip()));
        answering.send(&[Going { to: from, local, payload: b"!" }]);
        assert_eq!(received(&mut asking, 1), [(to, None, b"!".to_vec())]);
    }

    /// One call takes so many that others have their turn, and says that there are more.
    #[test]
    fn what_is_left_in_a_socket_is_told() {
        let mut asking = open("127.0.0.1:0", false);
        let peer = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let at_once = BATCHES_MAX * BATCH_DATAGRAMS_MAX;
        let room = asking.receive_buffer_octets().expect("its room");
        if room < 2 * at_once * 1280 {
            eprintln!("SKIPPED: a socket has room for {room} octets here; as root it would be more");
            return;
        }
        let to = asking.address().expect("an address");
        (0..at_once + 10).for_each(|_| assert_eq!(peer.send_to(b"!", to).expect("sent"), 1));
        let mut came = 0;
        let sockets = core::slice::from_mut(&mut asking);
        assert!(Asking::receive_any(sockets, PATIENCE, |_| came += 1));
        assert_eq!(came, at_once);
        assert!(!Asking::receive_any(sockets, PATIENCE, |_| came += 1));
        assert_eq!(came, at_once + 10);
        assert!(!Asking::receive_any(sockets, Duration::ZERO, |_| came += 1));
    }

    /// What a peer that is not there has caused is no reason to stop asking others.
    #[test]
    fn a_peer_that_is_away_disturbs_no_other() {
        let away = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("an address");
        let peer = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let to = peer.local_addr().expect("an address");
        let mut asking = open("127.0.0.1:0", false);
        for _ in 0..3 {
            asking.send(&[away, to].map(|to| Going { to, local: None, payload: b"?" }));
        }
        peer.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        (0..3).for_each(|_| assert_eq!(peer.recv(&mut [0; 10]).expect("it came"), 1));
        assert!(!asking.receive(|came| panic!("{came:?}")));
        assert!(!Asking::wait(&[asking], Duration::ZERO));
    }
}
