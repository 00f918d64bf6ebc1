//! AF_PACKET with TPACKET_V3 rings (packet(7), Documentation/networking/packet_mmap.rst of Linux).
//!
//! An interface is opened with a number of rings, one for each lane. They make up a fanout group whose program
//! ([`super::fanout`]) gives every packet to one of them. The filter is attached before a socket is bound, so that
//! nothing comes that it would have refused; while the group is not complete, nothing comes at all.
//!
//! Packets of one ring come in the order in which the kernel wrote them. Their times may run back by microseconds where
//! several cores receive for one ring.
//!
//! Packets that the machine sends itself are captured as well, as other captures do, unless
//! [`PacketOptions::outgoing`] is false: before the hardware fills in checksums and cuts large TCP segments.
//!
//! **When the interface goes.** An interface that goes down and comes up again goes on with the same ring. One that is
//! removed and comes back under its name is opened again, all rings of it in one go, so that ring and lane still agree.
//! Sockets for that are opened beforehand ([`SPARES`]), since opening one needs a capability that may be gone by then.

use core::time::Duration;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use super::block::Ring;
use super::error::LiveError;
use super::presence::{LOOK, Presence, Seen};
use super::{Live, Next, RingStatistics, frames, sys};
use crate::batch::{Batch, CaptureLoss, LossPlace};
use crate::octets::Octets;

mod group;

use group::Group;

/// Rings of one interface.
// Limit: rings (lanes) of one interface
// Beyond: the setting is refused
// Seen in: the error message
pub const RINGS_MAX: u16 = 256;
/// Octets of one ring.
// Limit: size of one ring
// Beyond: the setting is refused
// Seen in: the error message
pub const RING_OCTETS_MAX: usize = 4 << 30;
/// Octets of one block: each holds one packet at least, and `start` of a packet has 32 bits.
// Limit: size of one block of a ring
// Beyond: the setting is refused
// Seen in: the error message
pub const BLOCK_OCTETS_MAX: usize = 64 << 20;
/// Times that each ring can be opened again after its interface was removed, if the capability is gone by then.
pub const SPARES: usize = 4;
/// Time to wait while all blocks that could be filled are in use.
const HELD: Duration = Duration::from_millis(1);

/// How an interface is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketOptions {
    /// Its name.
    pub interface: String,
    /// Rings, that is lanes: 1..=[`RINGS_MAX`].
    pub rings: u16,
    /// Octets of each ring; rounded to whole blocks, two at least.
    pub ring_octets: usize,
    /// Octets of a block: what is handed out at once under load. A power of two from 4 KiB on.
    pub block_octets: usize,
    /// How long a packet waits in a block that does not fill; milliseconds count.
    pub block_timeout: Duration,
    /// Whether packets for other machines are taken as well.
    pub promiscuous: bool,
    /// Whether packets that this machine sends are taken as well.
    pub outgoing: bool,
    /// Which packets, in the language of pcap-filter(7); all if empty. See [`crate::filter`] for VLANs.
    pub filter: String,
    /// Who stamps the packets.
    pub timestamps: Timestamps,
}

/// Who stamps the packets. Either way in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timestamps {
    /// The kernel, when it gets them.
    #[default]
    Software,
    /// The interface, where it does; else the kernel. [`RingStatistics::hardware_stamped`] tells how many.
    Hardware,
    /// The interface, and it is told to. Needs CAP_NET_ADMIN, and changes the interface for everybody.
    SetHardware,
}

impl PacketOptions {
    /// One ring of 64 MiB in blocks of 256 KiB (what fits a core's second-level cache) with 20 ms, promiscuous, both
    /// directions, everything.
    pub fn new(interface: &str) -> Self {
        PacketOptions {
            interface: interface.to_owned(),
            rings: 1,
            ring_octets: 64 << 20,
            block_octets: 256 << 10,
            block_timeout: Duration::from_millis(20),
            promiscuous: true,
            outgoing: true,
            filter: String::new(),
            timestamps: Timestamps::Software,
        }
    }

    /// Blocks of a ring.
    fn blocks(&self) -> usize {
        (self.ring_octets / self.block_octets.max(1)).max(2)
    }

    fn check(&self) -> Result<(), LiveError> {
        let wrong = |text: String| Err(LiveError::Option(text));
        if self.rings == 0 || self.rings > RINGS_MAX {
            return wrong(format!("{} rings: 1 to {RINGS_MAX}", self.rings));
        }
        if !self.block_octets.is_power_of_two() || !(4096..=BLOCK_OCTETS_MAX).contains(&self.block_octets) {
            return wrong(format!(
                "blocks of {} octets: a power of two, 4096 to {BLOCK_OCTETS_MAX}",
                self.block_octets
            ));
        }
        if self.blocks().saturating_mul(self.block_octets) > RING_OCTETS_MAX {
            return wrong(format!("a ring of {} octets: at most {RING_OCTETS_MAX}", self.ring_octets));
        }
        Ok(())
    }
}

/// Opens an interface: its rings, in the order of their lanes. Needs CAP_NET_RAW; nothing after it needs a capability.
///
/// # Errors
/// The options or the filter make no sense, there is no such interface or it is down, a capability is missing.
pub fn open(options: &PacketOptions) -> Result<Vec<PacketRing>, LiveError> {
    options.check()?;
    let group = Arc::new(Group::open(options.clone())?);
    let ring = |number| PacketRing::of(number, &group);
    (0..options.rings).map(ring).collect()
}

/// One ring of an interface.
pub struct PacketRing {
    number: u16,
    group: Arc<Group>,
    open: Open,
    /// Blocks taken since the ring was opened.
    taken: u64,
    /// Blocks that were seen filled since then.
    filled: u64,
    /// Number of the next packet.
    packet: u64,
    statistics: RingStatistics,
    /// When losses were asked for last.
    since_ns: i64,
    presence: Presence,
    /// How often the interface's rings had been opened again.
    generation: u64,
}

/// A socket with its ring.
pub(super) struct Open {
    ring: Arc<Ring>,
    socket: OwnedFd,
    /// The number of the interface that it is bound to.
    interface: u32,
}

impl PacketRing {
    fn of(number: u16, group: &Arc<Group>) -> Result<PacketRing, LiveError> {
        let open = group.take(number).ok_or_else(|| LiveError::Option(format!("no ring {number}")))?;
        let statistics = RingStatistics { is_up: true, ..RingStatistics::default() };
        let since_ns = sys::now_ns();
        let presence = Presence::new(group.interface(), open.interface);
        let (group, taken, filled, packet, generation) = (group.clone(), 0, 0, 1, 0);
        Ok(PacketRing { number, group, open, taken, filled, packet, statistics, since_ns, presence, generation })
    }

    /// Takes the next block, if the kernel has filled it.
    fn take(&mut self, batch: &mut Batch) -> bool {
        self.look_ahead();
        let blocks = (self.open.ring.blocks() as u64).max(1);
        let Some(mut lease) = self.open.ring.take((self.taken % blocks) as usize) else { return false };
        self.taken += 1;
        let link = self.group.link();
        let octets = lease.octets_mut();
        let block = frames::scan(octets, link, &mut self.packet, &mut batch.packets, &mut self.statistics);
        // The kernel numbers the blocks from 1.
        self.statistics.sequence_gaps += u64::from(block.sequence != self.taken);
        batch.octets = Octets::Block(lease);
        let at_ns = if block.last_ns > 0 { block.last_ns } else { sys::now_ns() };
        self.losses(at_ns, batch);
        true
    }

    /// Counts the blocks that are filled and wait. Each is looked at once, since the kernel fills them in order.
    fn look_ahead(&mut self) {
        let blocks = (self.open.ring.blocks() as u64).max(1);
        self.filled = self.filled.max(self.taken);
        while self.filled < self.taken + blocks && self.open.ring.is_ready((self.filled % blocks) as usize) {
            self.filled += 1;
        }
        self.statistics.waiting_max = self.statistics.waiting_max.max((self.filled - self.taken) as u32);
    }

    /// Asks for losses; the kernel counts from zero after each time.
    fn losses(&mut self, at_ns: i64, batch: &mut Batch) {
        let Ok(told) = group::statistics(&self.open.socket) else { return };
        self.statistics.freezes += u64::from(told.tp_freeze_q_cnt);
        self.statistics.drops += u64::from(told.tp_drops);
        if told.tp_drops > 0 {
            let (since_ns, packets) = (self.since_ns.min(at_ns), u64::from(told.tp_drops));
            batch.losses.push(CaptureLoss { at_ns, since_ns, packets, file: 0, place: LossPlace::Ring });
        }
        self.since_ns = at_ns;
    }

    /// Waits for the next block; whether the interface went away.
    fn wait(&mut self, wait: Duration) -> Result<bool, LiveError> {
        let system = |error| LiveError::System { what: format!("waiting for {}", self.interface()), error };
        let events = sys::poll(self.open.socket.as_fd(), libc::POLLIN | libc::POLLERR, wait).map_err(system)?;
        if events & libc::POLLERR != 0 {
            // ENETDOWN is told once, when the interface goes down or is removed.
            return Ok(sys::pending_error(&self.open.socket).map_err(system)?.is_some());
        }
        // Readable, but no block to take: the kernel takes one that is held for one that it has filled.
        if events & libc::POLLIN != 0 && !self.is_ready() {
            sys::pause(wait.min(HELD));
        }
        Ok(false)
    }

    fn is_ready(&self) -> bool {
        let blocks = (self.open.ring.blocks() as u64).max(1);
        self.open.ring.is_ready((self.taken % blocks) as usize)
    }

    /// Looks whether the interface is back.
    fn look(&mut self) -> Result<(), LiveError> {
        match self.presence.look() {
            Seen::Away => return Ok(()),
            Seen::Same => {}
            Seen::Another => {
                let Some((open, generation)) = self.group.again(self.number, self.generation)? else { return Ok(()) };
                // Its blocks that are still in use keep their memory.
                (self.open, self.generation) = (open, generation);
                (self.taken, self.filled) = (0, 0);
            }
        }
        self.presence.come_back(self.open.interface);
        self.statistics.is_up = true;
        self.statistics.returns += 1;
        Ok(())
    }
}

impl Live for PacketRing {
    fn next(&mut self, batch: &mut Batch, wait: Duration) -> Result<Next, LiveError> {
        batch.packets.clear();
        batch.losses.clear();
        batch.octets.give_back();
        let until = Instant::now() + wait;
        loop {
            if self.take(batch) {
                return Ok(Next::Packets);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let is_away = self.presence.is_away();
            if self.wait(if is_away { left.min(LOOK) } else { left })? {
                self.statistics.is_up = false;
                return Err(self.presence.leave());
            }
            if is_away {
                self.look()?;
            }
        }
        // A ring that stays full is lost from without a single block that says so.
        self.losses(sys::now_ns(), batch);
        Ok(if batch.losses.is_empty() { Next::Nothing } else { Next::Packets })
    }

    fn statistics(&mut self) -> RingStatistics {
        self.look_ahead();
        let statistics = RingStatistics {
            room: self.open.ring.blocks() as u32,
            waiting: (self.filled - self.taken) as u32,
            held: self.open.ring.lent(),
            ..self.statistics
        };
        self.statistics.waiting_max = 0;
        statistics
    }

    fn interface(&self) -> &str {
        self.group.interface()
    }

    fn ring(&self) -> u16 {
        self.number
    }

    fn link(&self) -> u16 {
        self.group.link()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_make_no_sense_are_told() {
        let good = PacketOptions::new("eth0");
        assert!(good.check().is_ok());
        assert!(PacketOptions { rings: 0, ..good.clone() }.check().is_err());
        assert!(PacketOptions { rings: 257, ..good.clone() }.check().is_err());
        assert!(PacketOptions { block_octets: 5000, ..good.clone() }.check().is_err());
        assert!(PacketOptions { ring_octets: usize::MAX, ..good.clone() }.check().is_err());
        assert_eq!(PacketOptions { ring_octets: 1, ..good }.blocks(), 2);
    }
}
