//! A connection of either kind, as the thread that drives it sees it.

use super::datagram::Datagrams;
use super::frame;
use super::plan::Plan;
use super::source::Source;
use super::stream::{Socket, Stream};
use super::tally::Tally;
use crate::cache::target::Target;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use trunkline_show::failure::Failure;

/// Octets of a socket's buffer for answers by UDP, as far as the system gives them.
const UDP_BUFFER_OCTETS: usize = 4 << 20;

/// How requests travel.
#[derive(Debug)]
enum Way {
    Stream(Stream),
    Datagrams(Datagrams),
}

/// A connection.
#[derive(Debug)]
pub struct Link {
    /// Its number among those of all threads.
    pub number: u32,
    way: Way,
    datagram: Vec<u8>,
}

impl Link {
    /// Connects.
    ///
    /// # Errors
    /// As [`Target::failure`] tells them.
    pub fn open(target: &Target, udp: bool, number: u32, plan: &Plan) -> Result<Self, Failure> {
        let address = target.address()?;
        let way = match (target, address) {
            (Target::Network(..), Some(address)) if udp => datagrams(address, plan),
            (Target::Network(..), Some(address)) => tcp(address, plan),
            (Target::Unix(path), _) => UnixStream::connect(path).and_then(|socket| {
                socket.set_nonblocking(true)?;
                Ok(Way::Stream(Stream::new(Socket::Unix(socket))))
            }),
            (Target::Network(..), None) => Err(io::ErrorKind::AddrNotAvailable.into()),
        };
        let way = way.map_err(|e| target.failure(&e))?;
        Ok(Link { number, way, datagram: Vec::new() })
    }

    /// The socket, to be waited for.
    pub fn socket(&self) -> BorrowedFd<'_> {
        match &self.way {
            Way::Stream(stream) => stream.socket(),
            Way::Datagrams(datagrams) => datagrams.socket(),
        }
    }

    /// How many requests wait.
    pub fn waiting(&mut self) -> usize {
        match &mut self.way {
            Way::Stream(stream) => stream.waiting().len(),
            Way::Datagrams(datagrams) => datagrams.waiting(),
        }
    }

    /// Makes a request and sends it, by a stream with the next [`Link::flush`]; false where the source has no more.
    pub fn ask(&mut self, source: &mut Source<'_>, due_ns: u64, now_ns: u64, tally: &mut Tally) -> io::Result<bool> {
        match &mut self.way {
            Way::Stream(stream) => {
                let Some(exchange) = source.next(self.number, due_ns, stream.outgoing()) else { return Ok(false) };
                stream.waiting().push_back(exchange);
            }
            Way::Datagrams(datagrams) => {
                self.datagram.clear();
                self.datagram.resize(frame::OCTETS, 0);
                let Some(exchange) = source.next(self.number, due_ns, &mut self.datagram) else { return Ok(false) };
                datagrams.send(&mut self.datagram, exchange, now_ns, tally)?;
            }
        }
        Ok(true)
    }

    /// Sends what is left; whether all went.
    pub fn flush(&mut self, tally: &mut Tally) -> io::Result<bool> {
        match &mut self.way {
            Way::Stream(stream) => stream.flush(tally),
            Way::Datagrams(_) => Ok(true),
        }
    }

    /// Reads what has come; how many requests are over by it.
    pub fn receive(
        &mut self,
        room: &mut [u8],
        now_ns: impl Fn() -> u64,
        source: &Source<'_>,
        tally: &mut Tally,
    ) -> io::Result<usize> {
        match &mut self.way {
            Way::Stream(stream) => stream.receive(room, now_ns, source.versions(), tally),
            Way::Datagrams(datagrams) => datagrams.receive(room, now_ns, source.versions(), tally),
        }
    }

    /// Gives up a datagram's request that waits too long; by a stream nothing is lost while it is open.
    pub fn expire(&mut self, now_ns: u64, patience_ns: u64, source: &mut Source<'_>, tally: &mut Tally) -> bool {
        let Way::Datagrams(datagrams) = &mut self.way else { return false };
        let expired = datagrams.expired(now_ns, patience_ns);
        if let Some(exchange) = &expired {
            source.lost(exchange);
            tally.lost += 1;
        }
        expired.is_some()
    }

    /// Gives up everything that waits.
    pub fn give_up(&mut self, source: &mut Source<'_>, tally: &mut Tally) {
        let given_up = match &mut self.way {
            Way::Stream(stream) => stream.waiting().drain(..).collect(),
            Way::Datagrams(datagrams) => datagrams.give_up(),
        };
        tally.lost += given_up.len() as u64;
        given_up.iter().for_each(|exchange| source.lost(exchange));
    }
}

fn tcp(address: SocketAddr, plan: &Plan) -> io::Result<Way> {
    let socket = TcpStream::connect_timeout(&address, plan.patience.max(super::CONNECT_PATIENCE))?;
    socket.set_nodelay(true)?;
    socket.set_nonblocking(true)?;
    Ok(Way::Stream(Stream::new(Socket::Tcp(socket))))
}

fn datagrams(address: SocketAddr, plan: &Plan) -> io::Result<Way> {
    let any = if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    // Less room loses answers sooner, and lost ones are counted.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, UDP_BUFFER_OCTETS);
    socket.connect(address)?;
    socket.set_nonblocking(true)?;
    Ok(Way::Datagrams(Datagrams::new(socket, plan.old_numbering)))
}
