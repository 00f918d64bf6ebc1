//! AF_XDP (Documentation/networking/af_xdp.rst of Linux): packets as the driver has them, before the kernel's network
//! stack, in memory that it writes itself where it can.
//!
//! One ring for each receive queue of the interface. What differs from AF_PACKET:
//! - **Packets are taken away.** XDP has no way to copy one: what this captures, the machine itself does not receive.
//!   That is as it should be on a mirror port, and wrong on the port by which the machine is reached.
//! - Only what arrives is seen, not what the machine sends.
//! - **The interface chooses the queue**, by its own hash: both directions of a flow meet only if it is symmetric
//!   (`ethtool -X IFACE xfrm symmetric-xor`), and fragments after the first go without ports. So the lane is not the
//!   one that [`super::fanout`] tells.
//! - A tag that the hardware takes out of frames is lost: `ethtool -K IFACE rxvlan off`.
//! - The filter is run here, after the packets were taken.
//! - Frames of up to [`XdpOptions::packet_octets_max`] octets: no jumbo frames.
//! - Timestamps are the kernel's clock in the XDP program, in nanoseconds. That clock (CLOCK_MONOTONIC) is set against
//!   the time of day once for each batch, so they follow its steps. Where the driver has no room for a stamp, packets
//!   bear the time at which their batch was fetched: [`RingStatistics::stamped_late`] counts those.
//!
//! Modes are tried best first: the program in the driver with zero copy, in the driver with a copy, in the kernel
//! ("generic"): [`XdpRing::mode`]. Opening needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF; an interface that was removed
//! and comes back is opened again only while they are there.

use core::fmt;
use core::time::Duration;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use super::error::LiveError;
use super::presence::{LOOK, Presence, Seen};
use super::{Live, Next, RingStatistics, sys};
use crate::batch::{Batch, CaptureLoss, LossPlace, Packet};
use crate::octets::Octets;

mod group;
mod program;
pub(crate) mod umem;

use group::Group;
use umem::{Fill, Frames, Received, Umem};

/// Frames of one ring.
// Limit: frames of one AF_XDP ring
// Beyond: the setting is refused
// Seen in: the error message
pub const FRAMES_MAX: u32 = 1 << 20;
/// Packets of one batch.
pub const BATCH_MAX: usize = 1024;
/// A time that runs back by less is that of reading clocks, and not of setting them.
const UNSURE_NS: i64 = 100_000;
/// Octets before a packet that the kernel keeps in each frame (`XDP_PACKET_HEADROOM`).
const HEADROOM: u32 = 256;

/// How an interface is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// Its name.
    pub interface: String,
    /// Frames of each ring: a power of two up to [`FRAMES_MAX`].
    pub frames: u32,
    /// Octets of a frame: 2048 or 4096.
    pub frame_octets: u32,
    /// How long the first packets wait for more.
    pub gather: Duration,
    /// Whether packets for other machines are taken as well.
    pub promiscuous: bool,
    /// Which packets, in the language of pcap-filter(7); all if empty.
    pub filter: String,
    /// The best mode that is tried.
    pub best: XdpMode,
}

/// Where the program runs and how packets come. The better is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum XdpMode {
    /// In the kernel, for any interface; copied.
    Generic,
    /// In the driver; copied.
    Native,
    /// In the driver, and the hardware writes into the ring.
    ZeroCopy,
}

impl fmt::Display for XdpMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            XdpMode::Generic => "generic",
            XdpMode::Native => "native",
            XdpMode::ZeroCopy => "native, zero copy",
        })
    }
}

impl XdpOptions {
    /// Rings of 16384 frames of 4 KiB, 2 ms, promiscuous, everything, any mode.
    pub fn new(interface: &str) -> Self {
        XdpOptions {
            interface: interface.to_owned(),
            frames: 16_384,
            frame_octets: 4096,
            gather: Duration::from_millis(2),
            promiscuous: true,
            filter: String::new(),
            best: XdpMode::ZeroCopy,
        }
    }

    /// The longest packet that a frame holds, octets.
    pub fn packet_octets_max(&self) -> u32 {
        self.frame_octets.saturating_sub(HEADROOM)
    }

    fn check(&self) -> Result<(), LiveError> {
        if !self.frames.is_power_of_two() || !(64..=FRAMES_MAX).contains(&self.frames) {
            let text = format!("{} frames: a power of two, 64 to {FRAMES_MAX}", self.frames);
            return Err(LiveError::Option(text));
        }
        if !matches!(self.frame_octets, 2048 | 4096) {
            return Err(LiveError::Option(format!("frames of {} octets: 2048 or 4096", self.frame_octets)));
        }
        Ok(())
    }
}

/// Opens an interface: a ring for each of its receive queues, in their order.
///
/// # Errors
/// The options or the filter make no sense, there is no such interface, it is down or takes longer packets than fit, a
/// capability is missing, or the kernel or the driver cannot do it.
pub fn open(options: &XdpOptions) -> Result<Vec<XdpRing>, LiveError> {
    options.check()?;
    let group = Arc::new(Group::open(options.clone())?);
    Ok((0..).map_while(|number| XdpRing::of(number, &group)).collect())
}

/// One receive queue of an interface.
pub struct XdpRing {
    number: u16,
    group: Arc<Group>,
    open: Open,
    packet: u64,
    statistics: RingStatistics,
    /// What the kernel had counted as dropped when it was asked last, since the ring was opened.
    told: u64,
    since_ns: i64,
    presence: Presence,
    generation: u64,
    /// Time of the last packet.
    last_ns: i64,
    /// When it was last looked whether the interface is up.
    looked: Instant,
}

/// A socket with its rings.
pub(super) struct Open {
    fill: Fill,
    received: Received,
    umem: Arc<Umem>,
    mode: XdpMode,
    interface: u32,
    socket: OwnedFd,
}

impl XdpRing {
    fn of(number: u16, group: &Arc<Group>) -> Option<XdpRing> {
        let open = group.take(number)?;
        let statistics = RingStatistics { is_up: true, ..RingStatistics::default() };
        let presence = Presence::new(group.interface(), open.interface);
        let (group, since_ns, looked) = (group.clone(), sys::now_ns(), Instant::now());
        Some(XdpRing {
            number,
            group,
            open,
            packet: 1,
            statistics,
            told: 0,
            since_ns,
            presence,
            generation: 0,
            last_ns: 0,
            looked,
        })
    }

    /// How packets come.
    pub fn mode(&self) -> XdpMode {
        self.open.mode
    }

    /// Takes what is there, up to a batch.
    fn take(&mut self, batch: &mut Batch) -> bool {
        let waiting = self.open.received.waiting();
        self.statistics.waiting_max = self.statistics.waiting_max.max(waiting);
        if waiting == 0 {
            return false;
        }
        let clocks = Clocks::now();
        let mut frames = Frames::of(&self.open.umem);
        let link = self.group.link();
        let filter = self.group.filter();
        while let Some(received) = frames.next(&mut self.open.received, BATCH_MAX) {
            let octets = frames.octets(received);
            if filter.is_some_and(|filter| !filter.matches_live(octets, received.length)) {
                continue;
            }
            let stamp = frames.stamp(received).map(|monotonic_ns| clocks.time_of(monotonic_ns));
            self.statistics.stamped_late += u64::from(stamp.is_none());
            let at_ns = stamp.unwrap_or(clocks.real_ns);
            // The two clocks are read one after the other: from batch to batch their distance varies by that.
            self.last_ns = if self.last_ns.saturating_sub(at_ns) < UNSURE_NS { self.last_ns.max(at_ns) } else { at_ns };
            self.statistics.packets += 1;
            self.statistics.octets += u64::from(received.length);
            batch.packets.push(Packet {
                at_ns: self.last_ns,
                number: self.packet,
                offset: 0,
                start: received.start,
                captured: received.length,
                wire: received.length,
                link,
                file: 0,
            });
            self.packet += 1;
        }
        batch.octets = Octets::Frames(frames);
        self.losses(clocks.real_ns, batch);
        true
    }

    /// Gives frames that are back to the kernel.
    fn refill(&mut self) {
        self.open.umem.refill(&mut self.open.fill);
        if self.open.fill.is_awaited() {
            sys::kick(self.open.socket.as_fd());
        }
    }

    /// Asks for losses; the kernel goes on counting.
    fn losses(&mut self, at_ns: i64, batch: &mut Batch) {
        let Ok(told) = group::statistics(&self.open.socket) else { return };
        let dropped = told.rx_dropped + told.rx_ring_full;
        let packets = dropped.saturating_sub(self.told);
        self.told = dropped;
        self.statistics.drops += packets;
        self.statistics.freezes = told.rx_fill_ring_empty_descs;
        self.statistics.invalid = told.rx_invalid_descs;
        if packets > 0 {
            let since_ns = self.since_ns.min(at_ns);
            batch.losses.push(CaptureLoss { at_ns, since_ns, packets, file: 0, place: LossPlace::Ring });
        }
        self.since_ns = at_ns;
    }

    /// Waits for packets; whether the interface went away. An interface that goes down does not tell.
    fn wait(&mut self, wait: Duration) -> Result<bool, LiveError> {
        let system = |error| LiveError::System { what: format!("waiting for {}", self.interface()), error };
        let events = sys::poll(self.open.socket.as_fd(), libc::POLLIN, wait.min(LOOK)).map_err(system)?;
        if events & libc::POLLERR != 0 && sys::pending_error(&self.open.socket).map_err(system)?.is_some() {
            return Ok(true);
        }
        if events & libc::POLLIN == 0 && events != 0 {
            sys::pause(wait.min(LOOK));
        }
        let now = Instant::now();
        if self.presence.is_away() || now < self.looked + LOOK {
            return Ok(false);
        }
        self.looked = now;
        Ok(self.presence.is_missing())
    }

    /// Looks whether the interface is back.
    fn look(&mut self) -> Result<(), LiveError> {
        match self.presence.look() {
            Seen::Away => return Ok(()),
            Seen::Same => {}
            Seen::Another => {
                let Some((open, generation)) = self.group.again(self.number, self.generation)? else { return Ok(()) };
                (self.open, self.generation, self.told) = (open, generation, 0);
            }
        }
        self.presence.come_back(self.open.interface);
        self.statistics.is_up = true;
        self.statistics.returns += 1;
        Ok(())
    }
}

impl Live for XdpRing {
    fn next(&mut self, batch: &mut Batch, wait: Duration) -> Result<Next, LiveError> {
        batch.packets.clear();
        batch.losses.clear();
        batch.octets.give_back();
        let until = Instant::now() + wait;
        let left = || until.saturating_duration_since(Instant::now());
        loop {
            self.refill();
            let waiting = self.open.received.waiting();
            if waiting > 0 && (waiting as usize) < BATCH_MAX / 4 {
                sys::pause(self.group.gather().min(left()));
            }
            if self.take(batch) && !(batch.packets.is_empty() && batch.losses.is_empty()) {
                return Ok(Next::Packets);
            }
            batch.octets.give_back();
            if left().is_zero() {
                break;
            }
            let is_away = self.presence.is_away();
            if self.wait(left())? {
                self.statistics.is_up = false;
                return Err(self.presence.leave());
            }
            if is_away {
                self.look()?;
            }
        }
        self.losses(sys::now_ns(), batch);
        Ok(if batch.losses.is_empty() { Next::Nothing } else { Next::Packets })
    }

    fn statistics(&mut self) -> RingStatistics {
        let statistics = RingStatistics {
            room: self.open.umem.frames(),
            waiting: self.open.received.waiting(),
            held: self.open.umem.held(),
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

/// Both clocks at one moment.
#[derive(Clone, Copy)]
struct Clocks {
    real_ns: i64,
    monotonic_ns: u64,
}

impl Clocks {
    fn now() -> Clocks {
        Clocks { real_ns: sys::now_ns(), monotonic_ns: sys::monotonic_ns() }
    }

    /// The time of day at a moment of the other clock; no later than now.
    fn time_of(&self, monotonic_ns: u64) -> i64 {
        let ago = self.monotonic_ns.saturating_sub(monotonic_ns);
        self.real_ns.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_make_no_sense_are_told() {
        let good = XdpOptions::new("eth0");
        assert!(good.check().is_ok());
        assert!(XdpOptions { frames: 100, ..good.clone() }.check().is_err());
        assert!(XdpOptions { frame_octets: 8192, ..good }.check().is_err());
        assert!(XdpMode::ZeroCopy > XdpMode::Native && XdpMode::Native > XdpMode::Generic);
    }

    #[test]
    fn a_stamp_is_so_long_ago() {
        let clocks = Clocks { real_ns: 1_000_000, monotonic_ns: 5_000 };
        assert_eq!(clocks.time_of(4_000), 999_000);
        assert_eq!(clocks.time_of(6_000), 1_000_000);
    }
}
