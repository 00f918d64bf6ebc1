//! The two sockets of a sender of records.

use crate::gateway::Sender;
use crate::gateway::sender::{Entry, Port};
use core::time::Duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use trunkline_wire::{Address, Endpoint};

/// Messages that are taken before what they come to is written.
const MESSAGES: usize = 256;
/// Octets of the longest answer that is read.
const MESSAGE_OCTETS: usize = 2048;

/// See the module.
pub(super) struct Ports([(Port, UdpSocket); 2]);

impl Ports {
    /// Opens them at an address.
    ///
    /// # Errors
    /// The system's: it is not this machine's, above all.
    pub fn open(from: IpAddr) -> io::Result<Ports> {
        let socket = || {
            let socket = UdpSocket::bind((from, 0))?;
            socket.set_nonblocking(true).map(|()| socket)
        };
        Ok(Ports([(Port::Records, socket()?), (Port::Questions, socket()?)]))
    }

    /// Gives a sender what came.
    ///
    /// # Errors
    /// The system's.
    pub fn receive(&self, sender: &mut Sender, now: Duration, entries: &mut Vec<Entry>) -> io::Result<()> {
        let mut room = [0; MESSAGE_OCTETS];
        for (port, socket) in &self.0 {
            for _ in 0..MESSAGES {
                match socket.recv_from(&mut room) {
                    Ok((octets, from)) => {
                        sender.handle(*port, endpoint(&from), &room[..octets], now, entries);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // A gateway that is away: it is silent.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Sends what may leave, as long as this one may speak: that is asked before each message.
    pub fn send(&self, sender: &mut Sender, now: Duration, may: impl Fn() -> bool) {
        while may() {
            let Some(sent) = sender.poll(now) else { break };
            let to = SocketAddr::new(sent.to.to.address.to_ip(), sent.to.to.port);
            if let Some((_, socket)) = self.0.iter().find(|(port, _)| *port == sent.to.port) {
                // What the network does not take now is sent again.
                let _lost = socket.send_to(&sent.octets, to);
            }
        }
    }

    /// Waits for a message, less than a second.
    ///
    /// # Errors
    /// The system's.
    pub fn wait(&self, most: Duration) -> io::Result<()> {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut events = self.0.each_ref().map(|(_, socket)| PollFd::new(socket, PollFlags::IN));
        match poll(&mut events, Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// An address as gateways are known by.
pub(super) fn endpoint(address: &SocketAddr) -> Endpoint {
    Endpoint::new(Address::from(address.ip()), address.port())
}
