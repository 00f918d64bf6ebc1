//! Sockets for ICMP echo: one for each of IPv4 and IPv6.

use crate::probe::echo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketAddrAny, SocketFlags, SocketType, ipproto, recvfrom, sendto,
    socket_with, sockopt,
};
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use trunkline_kit::random::mixed;

/// Room for answers that the system is asked for: of all requests that may be on their way.
const BUFFER_OCTETS: usize = 4 << 20;
/// Octets of a message that are looked at: longer than ours with an IP header and all its options.
const MESSAGE_OCTETS: usize = 128;
/// Messages that are taken at once, before anything else is looked at.
const MESSAGES_AT_ONCE: usize = 1024;
/// How long a request waits for room in the socket, which the network card makes.
const ROOM_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// How echo requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoRight {
    /// By a socket that anybody of the group may open who is named in `net.ipv4.ping_group_range`.
    Datagram,
    /// By a raw socket: `CAP_NET_RAW`.
    Raw,
}

/// Sockets for echo requests, or why there is none: to be opened before privileges are given up.
pub struct EchoSockets {
    v4: Result<EchoSocket, String>,
    v6: Result<EchoSocket, String>,
}

struct EchoSocket {
    socket: OwnedFd,
    right: EchoRight,
    /// Of a raw socket, which is given everybody's answers.
    identifier: u16,
}

impl EchoSockets {
    /// Opens them, as far as there is the right to.
    pub fn open() -> EchoSockets {
        let identifier = mixed(RandomState::new().hash_one("echo")) as u16;
        EchoSockets {
            v4: EchoSocket::open(AddressFamily::INET, ipproto::ICMP, identifier),
            v6: EchoSocket::open(AddressFamily::INET6, ipproto::ICMPV6, identifier),
        }
    }

    fn of(&self, v4: bool) -> Result<&EchoSocket, &str> {
        if v4 { &self.v4 } else { &self.v6 }.as_ref().map_err(String::as_str)
    }

    pub(super) fn socket(&self, v4: bool) -> Result<&OwnedFd, &str> {
        self.of(v4).map(|socket| &socket.socket)
    }

    /// How echo requests are sent over IPv4 and over IPv6.
    ///
    /// # Errors
    /// They cannot be sent: what has to be done for it, for people.
    pub fn rights(&self) -> [Result<EchoRight, &str>; 2] {
        [true, false].map(|v4| self.of(v4).map(|socket| socket.right))
    }

    /// Sends a request.
    ///
    /// # Errors
    /// It could not be sent from here, in words.
    pub(super) fn send(&self, to: IpAddr, sequence: u16, token: u64) -> Result<(), String> {
        let EchoSocket { socket, identifier, .. } = self.of(to.is_ipv4())?;
        let octets = echo::request(to, *identifier, sequence, token);
        let to = SocketAddr::new(to, 0);
        let sent = match sendto(socket, &octets, SendFlags::DONTWAIT, &to) {
            Err(Errno::AGAIN | Errno::NOBUFS) => {
                // What comes of the wait is told by the second try.
                let _ready = poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(&ROOM_WAIT));
                sendto(socket, &octets, SendFlags::DONTWAIT, &to)
            }
            sent => sent,
        };
        sent.map(drop).map_err(|error| format!("ICMP echo to {}: {error}", to.ip()))
    }

    /// Gives what has come, without IP headers, as far as it may be an answer to us.
    pub(super) fn receive(&self, v4: bool, mut take: impl FnMut(IpAddr, &[u8])) {
        let Ok(EchoSocket { socket, right, identifier }) = self.of(v4) else { return };
        let mut octets = [0; MESSAGE_OCTETS];
        for _ in 0..MESSAGES_AT_ONCE {
            let came = recvfrom(socket, &mut octets[..], RecvFlags::DONTWAIT | RecvFlags::TRUNC);
            let (length, from) = match came {
                Ok((_, length, from)) => (length, from),
                // What a router has said of a request is told here; its answer will be missing.
                Err(Errno::AGAIN) => return,
                Err(_) => continue,
            };
            let Some(from) = from.and_then(address_of) else { continue };
            let Some(whole) = octets.get(..length) else { continue };
            let is_raw = *right == EchoRight::Raw;
            let message = if is_raw && v4 { echo::behind_ipv4(whole) } else { Some(whole) };
            // Raw sockets are given everything that comes, to whomever it is an answer.
            let is_other = |message: &[u8]| is_raw && message.get(4..6) != Some(&identifier.to_be_bytes());
            if let Some(message) = message.filter(|message| !is_other(message) && echo::is_reply(from, message)) {
                take(from, message);
            }
        }
    }
}

impl EchoSocket {
    fn open(family: AddressFamily, protocol: Protocol, identifier: u16) -> Result<EchoSocket, String> {
        let mut refusal = None;
        for (kind, right) in [(SocketType::DGRAM, EchoRight::Datagram), (SocketType::RAW, EchoRight::Raw)] {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match socket_with(family, kind, flags, Some(protocol)) {
                Ok(socket) => {
                    // Less room than was asked for is what the system allows.
                    let _less = sockopt::set_socket_recv_buffer_size(&socket, BUFFER_OCTETS);
                    return Ok(EchoSocket { socket, right, identifier });
                }
                Err(error) => refusal = Some(error),
            }
        }
        let family = if family == AddressFamily::INET { "IPv4" } else { "IPv6" };
        let error = refusal.map_or(String::new(), |error| error.to_string());
        Err(format!(
            "no right to ICMP echo over {family} ({error}): let the sysctl net.ipv4.ping_group_range hold the group of \
             this process, as in \"0 2147483647\", or give it the capability CAP_NET_RAW"
        ))
    }
}

fn address_of(from: SocketAddrAny) -> Option<IpAddr> {
    SocketAddr::try_from(from).ok().map(|from| from.ip())
}
