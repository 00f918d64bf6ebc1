//! A socket of UDP: requests by number, answers of several datagrams, and what is lost.

use super::answer::{self, Found};
use super::exchange::Exchange;
use super::frame::{Frame, Message};
use super::tally::Tally;
use super::versions::Versions;
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

/// Datagrams that are read before other sockets have their turn.
const TURN_MAX: usize = 64;

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    number: u16,
    sent_ns: u64,
    exchange: Exchange,
    message: Message,
}

/// A socket with what waits on it, the oldest first.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    waiting: VecDeque<Waiting>,
    number: u16,
    old_numbering: bool,
}

impl Datagrams {
    /// Over a socket that is connected and does not block.
    pub fn new(socket: UdpSocket, old_numbering: bool) -> Self {
        Datagrams { socket, waiting: VecDeque::new(), number: 0, old_numbering }
    }

    /// The socket, to be waited for.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// All that wait, given up.
    pub fn give_up(&mut self) -> Vec<Exchange> {
        self.waiting.drain(..).map(|waiting| waiting.exchange).collect()
    }

    /// Sends a request; `datagram` begins with room for the frame. What the socket does not take is lost.
    pub fn send(&mut self, datagram: &mut [u8], exchange: Exchange, now_ns: u64, tally: &mut Tally) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        // Far fewer wait than there are numbers.
        while self.waiting.iter().any(|waiting| waiting.number == self.number) {
            self.number = self.number.wrapping_add(1);
        }
        let frame = Frame::of_request(self.number).octets();
        datagram[..frame.len()].copy_from_slice(&frame);
        let waiting = Waiting { number: self.number, sent_ns: now_ns, exchange, message: Message::default() };
        self.waiting.push_back(waiting);
        match self.socket.send(datagram) {
            Ok(octets) => tally.sent_octets += octets as u64,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Gives up what was sent longer ago than that.
    pub fn expired(&mut self, now_ns: u64, patience_ns: u64) -> Option<Exchange> {
        let oldest = self.waiting.front()?.sent_ns;
        if now_ns.saturating_sub(oldest) < patience_ns {
            return None;
        }
        self.waiting.pop_front().map(|waiting| waiting.exchange)
    }

    /// Reads what has come, and counts the answers that are whole; how many.
    ///
    /// # Errors
    /// Nobody listens there, or what came is no answer.
    pub fn receive(
        &mut self,
        room: &mut [u8],
        now_ns: impl Fn() -> u64,
        versions: Option<&Versions>,
        tally: &mut Tally,
    ) -> io::Result<usize> {
        let mut over = 0;
        for _ in 0..TURN_MAX {
            let octets = match self.socket.recv(room) {
                Ok(octets) => octets,
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => break,
                Err(e) => return Err(e),
            };
            tally.received_octets += octets as u64;
            over += usize::from(self.datagram(&room[..octets], now_ns(), versions, tally)?);
            // Nothing else is due: no call only to hear that nothing is there.
            if self.waiting.is_empty() {
                break;
            }
        }
        Ok(over)
    }

    /// One datagram; whether its request is over by it.
    fn datagram(
        &mut self,
        datagram: &[u8],
        now_ns: u64,
        versions: Option<&Versions>,
        tally: &mut Tally,
    ) -> io::Result<bool> {
        let strange = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        let none = "a datagram that is none of memcached's protocol";
        let (frame, octets) = Frame::read(datagram).ok_or_else(|| strange(none))?;
        let Some(at) = self.waiting.iter().position(|waiting| waiting.number == frame.request) else {
            tally.late += 1;
            return Ok(false);
        };
        let waiting = &mut self.waiting[at];
        let whole;
        let message = if frame.count == 1 {
            octets
        } else {
            let pushed = waiting.message.push(frame, octets).map_err(|()| strange("datagrams of different counts"))?;
            let Some(message) = pushed else { return Ok(false) };
            whole = message;
            &whole
        };
        match taken(message, &mut waiting.exchange, versions, tally) {
            Some(true) => waiting.exchange.count(now_ns, tally),
            Some(false) if self.old_numbering => return Ok(false),
            Some(false) => {
                return Err(strange("a message ends without END (memcached 1.6 does that: --old-udp-numbering)"));
            }
            None => return Err(strange(none)),
        }
        self.waiting.remove(at);
        Ok(true)
    }
}

/// Gives a message to its exchange: whether the answer is whole by it; none where it is none.
fn taken(mut message: &[u8], exchange: &mut Exchange, versions: Option<&Versions>, tally: &mut Tally) -> Option<bool> {
    while !message.is_empty() {
        let Found::Part(part, length) = answer::read(message) else { return None };
        if exchange.take(part, versions, tally).ok()? {
            return Some(true);
        }
        message = &message[length..];
    }
    Some(false)
}
