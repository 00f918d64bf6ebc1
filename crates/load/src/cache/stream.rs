//! A connection by TCP or a unix socket: requests and answers in order.

use super::answer::{self, Found};
use super::exchange::Exchange;
use super::tally::Tally;
use super::versions::Versions;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A socket that does not block.
#[derive(Debug)]
pub enum Socket {
    /// Of the network.
    Tcp(TcpStream),
    /// Of this machine.
    Unix(UnixStream),
}

impl Socket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.read(room),
            Socket::Unix(socket) => socket.read(room),
        }
    }

    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write(octets),
            Socket::Unix(socket) => socket.write(octets),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}

/// A connection with what waits on it.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    waiting: VecDeque<Exchange>,
    outgoing: Vec<u8>,
    sent: usize,
    rest: Vec<u8>,
    needed: usize,
}

impl Stream {
    /// Over a socket that is connected and does not block.
    pub fn new(socket: Socket) -> Self {
        Stream { socket, waiting: VecDeque::new(), outgoing: Vec::new(), sent: 0, rest: Vec::new(), needed: 0 }
    }

    /// The socket, to be waited for.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Requests on their way.
    pub fn waiting(&mut self) -> &mut VecDeque<Exchange> {
        &mut self.waiting
    }

    /// Where the next request is appended, before its exchange waits.
    pub fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// Sends as much as the socket takes; whether all went.
    pub fn flush(&mut self, tally: &mut Tally) -> io::Result<bool> {
        while self.sent < self.outgoing.len() {
            match self.socket.write(&self.outgoing[self.sent..]) {
                Ok(octets) => {
                    self.sent += octets;
                    tally.sent_octets += octets as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.outgoing.clear();
        self.sent = 0;
        Ok(true)
    }

    /// Reads once, and counts the answers that are whole; how many.
    ///
    /// # Errors
    /// The connection has ended, or what came is no answer.
    pub fn receive(
        &mut self,
        room: &mut [u8],
        now_ns: impl Fn() -> u64,
        versions: Option<&Versions>,
        tally: &mut Tally,
    ) -> io::Result<usize> {
        let octets = match self.socket.read(room) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed by the server")),
            Ok(octets) => octets,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(0),
            Err(e) => return Err(e),
        };
        tally.received_octets += octets as u64;
        let now_ns = now_ns();
        if self.rest.is_empty() {
            let (used, over) = self.answers(&room[..octets], now_ns, versions, tally)?;
            self.rest.extend_from_slice(&room[used..octets]);
            return Ok(over);
        }
        self.rest.extend_from_slice(&room[..octets]);
        if self.rest.len() < self.needed {
            return Ok(0);
        }
        let mut rest = std::mem::take(&mut self.rest);
        let (used, over) = self.answers(&rest, now_ns, versions, tally)?;
        rest.drain(..used);
        self.rest = rest;
        Ok(over)
    }

    /// Octets that were used, and exchanges that are over.
    fn answers(
        &mut self,
        octets: &[u8],
        now_ns: u64,
        versions: Option<&Versions>,
        tally: &mut Tally,
    ) -> io::Result<(usize, usize)> {
        let strange = || io::Error::new(io::ErrorKind::InvalidData, "an answer that is none of memcached's protocol");
        let (mut used, mut over) = (0, 0);
        while used < octets.len() {
            match answer::read(&octets[used..]) {
                Found::Less(needed) => {
                    self.needed = needed;
                    break;
                }
                Found::Broken => return Err(strange()),
                Found::Part(part, length) => {
                    used += length;
                    let exchange = self.waiting.front_mut().ok_or_else(strange)?;
                    if exchange.take(part, versions, tally).map_err(|()| strange())? {
                        exchange.count(now_ns, tally);
                        self.waiting.pop_front();
                        over += 1;
                    }
                }
            }
        }
        Ok((used, over))
    }
}
