//! Packets put onto an interface: at the pace at which they were captured, at a rate, or as fast as it goes.

use core::time::Duration;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use super::error::LiveError;
use super::{interface, sys};
use crate::batch::{Batch, Packet};

/// Packets that are given to the kernel at once.
pub const BURST_MAX: usize = 64;
/// Nearer than this a packet's time is waited for by looking at the clock.
const NEAR: Duration = Duration::from_micros(60);
/// Waits while the interface's queue is full.
const FULL: Duration = Duration::from_micros(50);
/// Such waits before a packet is given up: a second.
const FULL_MAX: u32 = 20_000;

/// How fast packets are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As they were captured, so many times as fast (1 as recorded).
    Recorded(f64),
    /// So many packets a second.
    Packets(f64),
    /// So many bits of frames a second.
    Bits(f64),
    /// As fast as the interface takes them.
    Fastest,
}

/// How packets are put onto an interface.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderOptions {
    /// The interface's name.
    pub interface: String,
    /// How fast.
    pub pace: Pace,
    /// Whether the interface's queueing discipline is passed by (PACKET_QDISC_BYPASS): faster, and what the hardware
    /// has no room for is lost.
    pub bypass: bool,
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Packets that the interface took.
    pub packets: u64,
    /// Octets of those.
    pub octets: u64,
    /// Packets that are longer than the interface takes, or too short to be a frame.
    pub refused: u64,
    /// Packets that the interface had no room for.
    pub dropped: u64,
    /// Packets of which not all octets were captured: what is there was sent.
    pub cut: u64,
    /// The most that a packet was late, nanoseconds.
    pub late_ns_max: u64,
}

/// Puts packets onto an interface.
pub struct Sender {
    socket: OwnedFd,
    options: SenderOptions,
    link: u16,
    /// When the first packet was sent, and the time it bears.
    begin: Option<(Instant, i64)>,
    /// Packets and octets whose time has been reckoned.
    paced: (u64, u64),
    sent: Sent,
}

impl Sender {
    /// Opens an interface to send. Needs CAP_NET_RAW.
    ///
    /// # Errors
    /// There is no such interface, it is down, or the capability is missing.
    pub fn open(options: SenderOptions) -> Result<Sender, LiveError> {
        let facts = interface::facts(&options.interface)?;
        if !facts.is_up {
            return Err(LiveError::Down(facts.name));
        }
        let what = format!("sending on {}", facts.name);
        let error = |e| LiveError::of(&what, "CAP_NET_RAW", e);
        let socket = sys::socket(libc::AF_PACKET, libc::SOCK_RAW).map_err(error)?;
        if options.bypass {
            sys::set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1).map_err(error)?;
        }
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            // No protocol: nothing is received.
            sll_protocol: 0,
            sll_ifindex: facts.index as i32,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        sys::bind(socket.as_fd(), &address).map_err(error)?;
        Ok(Sender { socket, options, link: facts.link, begin: None, paced: (0, 0), sent: Sent::default() })
    }

    /// Sends a batch's packets, each in its time; those of another link type are refused.
    ///
    /// # Errors
    /// The interface is down or gone, or the system refuses.
    pub fn send(&mut self, batch: &Batch) -> Result<(), LiveError> {
        let mut burst: Vec<&[u8]> = Vec::with_capacity(BURST_MAX);
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            if packet.link != self.link || octets.is_empty() {
                self.sent.refused += 1;
                continue;
            }
            self.sent.cut += u64::from(packet.captured < packet.wire);
            let due = self.due(packet);
            if burst.len() == BURST_MAX || due.is_some_and(|due| due > Instant::now()) {
                self.flush(&mut burst)?;
            }
            if let Some(due) = due {
                self.wait_until(due);
            }
            burst.push(octets);
        }
        self.flush(&mut burst)
    }

    /// What was sent so far.
    pub fn sent(&self) -> Sent {
        self.sent
    }

    /// When a packet is to be sent.
    fn due(&mut self, packet: &Packet) -> Option<Instant> {
        let (begin, first_ns) = *self.begin.get_or_insert_with(|| (Instant::now(), packet.at_ns));
        let (packets, octets) = self.paced;
        self.paced = (packets + 1, octets + u64::from(packet.captured));
        let seconds = match self.options.pace {
            Pace::Recorded(times) => packet.at_ns.saturating_sub(first_ns).max(0) as f64 / 1e9 / times,
            Pace::Packets(rate) => packets as f64 / rate,
            Pace::Bits(rate) => octets as f64 * 8.0 / rate,
            Pace::Fastest => return None,
        };
        // A pace of nothing would wait for ever.
        begin.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
    }

    fn wait_until(&mut self, due: Instant) {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if left > NEAR {
                sys::pause(left - NEAR);
            } else {
                core::hint::spin_loop();
            }
        }
        let late = Instant::now().saturating_duration_since(due).as_nanos();
        self.sent.late_ns_max = self.sent.late_ns_max.max(u64::try_from(late).unwrap_or(u64::MAX));
    }

    /// Sends what is gathered.
    fn flush(&mut self, burst: &mut Vec<&[u8]>) -> Result<(), LiveError> {
        let mut rest = burst.as_slice();
        let mut waits = 0;
        while let Some(first) = rest.first() {
            match sys::send_many(self.socket.as_fd(), rest) {
                Ok(n) => {
                    let (done, left) = rest.split_at(n.min(rest.len()));
                    self.sent.packets += done.len() as u64;
                    self.sent.octets += done.iter().map(|p| p.len() as u64).sum::<u64>();
                    (rest, waits) = (left, 0);
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) if waits < FULL_MAX && !self.options.bypass => {
                        waits += 1;
                        sys::pause(FULL);
                    }
                    Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => {
                        self.sent.dropped += 1;
                        (rest, waits) = (&rest[1..], 0);
                    }
                    Some(libc::EMSGSIZE | libc::EINVAL) => {
                        self.sent.refused += 1;
                        rest = &rest[1..];
                    }
                    _ => return Err(self.error(e, first.len())),
                },
            }
        }
        burst.clear();
        Ok(())
    }

    fn error(&self, error: io::Error, octets: usize) -> LiveError {
        let name = self.options.interface.clone();
        match error.raw_os_error() {
            Some(libc::ENETDOWN) => LiveError::Down(name),
            Some(libc::ENXIO | libc::ENODEV) => LiveError::Gone(name),
            _ => LiveError::System { what: format!("sending {octets} octets on {name}"), error },
        }
    }
}
