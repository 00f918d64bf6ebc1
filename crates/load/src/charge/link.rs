//! A connection that does not block, by TCP or UDP: octets out, messages in.

use super::plan::Protocol;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use trunkline_wire::diameter::Frames;
use trunkline_wire::gtpp;

/// Octets that wait to be taken by the server; with more, nothing is sent there.
pub const OUTPUT_OCTETS_MAX: usize = 1 << 20;
/// Octets of a message that is read.
const MESSAGE_OCTETS_MAX: usize = 1 << 20;
/// Octets that are read at a time.
const READ_OCTETS: usize = 256 << 10;
/// Octets of the room that connections read into: a message that is not whole, and what comes behind it.
pub const ROOM_OCTETS: usize = MESSAGE_OCTETS_MAX + READ_OCTETS;
/// Octets of the longest datagram.
const DATAGRAM_OCTETS_MAX: usize = 65_535;
/// Octets of a socket's buffer for answers by UDP, as far as the system gives them.
const UDP_BUFFER_OCTETS: usize = 4 << 20;

#[derive(Debug)]
enum Socket {
    Stream(TcpStream),
    Datagrams(UdpSocket),
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    socket: Socket,
    outgoing: Vec<u8>,
    sent: usize,
    rest: Vec<u8>,
}

/// What a read has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Octets that the room begins with now.
    pub whole: usize,
    /// How many of them are new.
    pub new: usize,
    /// Datagrams that are no message, and are left out.
    pub broken: u64,
}

impl Link {
    /// Begins to connect; it is over when there is room to send.
    ///
    /// # Errors
    /// The system has no socket, or knows at once that nobody is there.
    pub fn connect(address: SocketAddr, protocol: Protocol) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let kind = match protocol {
            Protocol::Diameter => SocketType::STREAM,
            Protocol::Gtpp => SocketType::DGRAM,
        };
        let socket = socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(e) => return Err(e.into()),
        }
        let socket = match protocol {
            Protocol::Diameter => {
                let socket = TcpStream::from(socket);
                socket.set_nodelay(true)?;
                Socket::Stream(socket)
            }
            Protocol::Gtpp => {
                // Less room loses answers sooner, and lost ones are counted.
                let _ = sockopt::set_socket_recv_buffer_size(&socket, UDP_BUFFER_OCTETS);
                Socket::Datagrams(UdpSocket::from(socket))
            }
        };
        Ok(Link { socket, outgoing: Vec::new(), sent: 0, rest: Vec::new() })
    }

    /// What became of connecting: the address at this end.
    ///
    /// # Errors
    /// It failed.
    pub fn connected(&self) -> io::Result<SocketAddr> {
        sockopt::socket_error(self.socket())??;
        match &self.socket {
            Socket::Stream(socket) => socket.local_addr(),
            Socket::Datagrams(socket) => socket.local_addr(),
        }
    }

    /// The socket, to be waited for.
    pub fn socket(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Stream(socket) => socket.as_fd(),
            Socket::Datagrams(socket) => socket.as_fd(),
        }
    }

    /// Where messages are appended, to be sent with the next [`Link::flush`].
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// Whether the server takes what it is sent.
    pub fn has_room(&self) -> bool {
        self.outgoing.len() - self.sent < OUTPUT_OCTETS_MAX
    }

    /// Sends as much as the socket takes; how much, and whether that was all.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn flush(&mut self) -> io::Result<(u64, bool)> {
        let before = self.sent;
        while self.sent < self.outgoing.len() {
            match self.send_some() {
                Ok(octets) => self.sent += octets,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let octets = (self.sent - before) as u64;
                    self.compact();
                    return Ok((octets, false));
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        let octets = (self.sent - before) as u64;
        self.outgoing.clear();
        self.sent = 0;
        Ok((octets, true))
    }

    /// As much as a stream takes, or one datagram.
    fn send_some(&mut self) -> io::Result<usize> {
        let rest = &self.outgoing[self.sent..];
        match &mut self.socket {
            Socket::Stream(socket) => socket.write(rest),
            Socket::Datagrams(socket) => {
                let first = gtpp::Frames::new(rest, DATAGRAM_OCTETS_MAX).next_message().ok().flatten();
                socket.send(first.unwrap_or(rest))
            }
        }
    }

    /// What was sent gives its room back before it is as much as may wait.
    fn compact(&mut self) {
        if self.sent >= OUTPUT_OCTETS_MAX {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Reads once from a stream, behind what was left the last time, or all datagrams that the room holds. It has
    /// [`ROOM_OCTETS`].
    ///
    /// # Errors
    /// The connection has ended.
    pub fn receive(&mut self, room: &mut [u8]) -> io::Result<Received> {
        let before = self.rest.len();
        let socket = match &mut self.socket {
            Socket::Stream(socket) => socket,
            Socket::Datagrams(socket) => return datagrams(socket, room),
        };
        room[..before].copy_from_slice(&self.rest);
        let new = match socket.read(&mut room[before..before + READ_OCTETS]) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server")),
            Err(e) if is_nothing(&e) => 0,
            other => other?,
        };
        self.rest.clear();
        Ok(Received { whole: before + new, new, broken: 0 })
    }

    /// Keeps what is no whole message yet.
    pub fn keep(&mut self, rest: &[u8]) {
        self.rest.extend_from_slice(rest);
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Datagrams one behind the other, each a whole message.
fn datagrams(socket: &UdpSocket, room: &mut [u8]) -> io::Result<Received> {
    let mut received = Received::default();
    while room.len() - received.whole >= DATAGRAM_OCTETS_MAX {
        let octets = match socket.recv(&mut room[received.whole..]) {
            Ok(octets) => octets,
            Err(e) if is_nothing(&e) => break,
            Err(e) => return Err(e),
        };
        received.new += octets;
        match gtpp::Message::new(&room[received.whole..received.whole + octets]) {
            Ok(_) => received.whole += octets,
            Err(_) => received.broken += 1,
        }
    }
    Ok(received)
}

/// The messages of Diameter at the front of what came.
pub fn frames(octets: &[u8]) -> Frames<'_> {
    Frames::new(octets, MESSAGE_OCTETS_MAX)
}

/// Those of GTP'.
pub fn datagram_frames(octets: &[u8]) -> gtpp::Frames<'_> {
    gtpp::Frames::new(octets, DATAGRAM_OCTETS_MAX)
}
