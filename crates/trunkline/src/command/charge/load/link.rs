//! A connection by TCP that does not block: octets out, messages in.

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use trunkline_wire::diameter::Frames;

/// Octets that wait to be taken by the server; with more, nothing is sent there.
pub const OUTPUT_OCTETS_MAX: usize = 1 << 20;
/// Octets of a message that is read.
const MESSAGE_OCTETS_MAX: usize = 1 << 20;
/// Octets that are read at a time.
const READ_OCTETS: usize = 256 << 10;
/// Octets of the room that connections read into: a message that is not whole, and what comes behind it.
pub const ROOM_OCTETS: usize = MESSAGE_OCTETS_MAX + READ_OCTETS;

/// A connection.
#[derive(Debug)]
pub struct Link {
    socket: TcpStream,
    outgoing: Vec<u8>,
    sent: usize,
    rest: Vec<u8>,
}

impl Link {
    /// Begins to connect; it is over when there is room to send.
    ///
    /// # Errors
    /// The system has no socket, or knows at once that nobody is there.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        match connect(&socket, &address) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(e) => return Err(e.into()),
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true)?;
        Ok(Link { socket, outgoing: Vec::new(), sent: 0, rest: Vec::new() })
    }

    /// What became of connecting.
    ///
    /// # Errors
    /// It failed.
    pub fn connected(&self) -> io::Result<SocketAddr> {
        sockopt::socket_error(&self.socket)??;
        self.socket.local_addr()
    }

    /// The socket, to be waited for.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
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
            match self.socket.write(&self.outgoing[self.sent..]) {
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

    /// What was sent gives its room back before it is as much as may wait.
    fn compact(&mut self) {
        if self.sent >= OUTPUT_OCTETS_MAX {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Reads once, behind what was left the last time; how many octets `room` begins with now, and how many of them
    /// are new. It has [`ROOM_OCTETS`].
    ///
    /// # Errors
    /// The connection has ended.
    pub fn receive(&mut self, room: &mut [u8]) -> io::Result<(usize, usize)> {
        let before = self.rest.len();
        room[..before].copy_from_slice(&self.rest);
        let new = match self.socket.read(&mut room[before..before + READ_OCTETS]) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server")),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            other => other?,
        };
        self.rest.clear();
        Ok((before + new, new))
    }

    /// Keeps what is no whole message yet.
    pub fn keep(&mut self, rest: &[u8]) {
        self.rest.extend_from_slice(rest);
    }
}

/// The messages at the front of what came.
pub fn frames(octets: &[u8]) -> Frames<'_> {
    Frames::new(octets, MESSAGE_OCTETS_MAX)
}
