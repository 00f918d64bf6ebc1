//! Network interfaces as sources: rings that the kernel fills, batches of packets that lie where it wrote them.
//!
//! [`packet::open`] gives AF_PACKET rings, one for each lane of an interface; [`fanout`] says which packet goes to
//! which. [`xdp::open`] gives AF_XDP rings, one for each queue. All that needs a capability is done while opening:
//! [`privileges`] can be dropped after it. [`Sender`] puts packets onto an interface.

use core::time::Duration;

use crate::batch::Batch;

pub(crate) mod block;
pub mod clock;
pub mod error;
pub mod ethtool;
pub mod fanout;
pub(crate) mod frames;
pub mod interface;
pub mod packet;
mod presence;
pub mod privileges;
pub mod sender;
mod sys;
pub mod xdp;

pub use error::LiveError;
pub use packet::{PacketOptions, PacketRing, Timestamps};
pub use sender::{Pace, Sender, SenderOptions, Sent};
pub use xdp::{XdpMode, XdpOptions, XdpRing};

/// A source of packets that come when they come. One thread at a time asks it; it may move to another.
pub trait Live: Send {
    /// Replaces what is in the batch by the next packets or losses, and waits so long for them. The batch may be kept
    /// while the next ones are asked for: the ring gets its memory back when the batch is filled again or dropped, and
    /// has that much less room until then.
    ///
    /// # Errors
    /// The interface is down or gone: told once, then waited for ([`LiveError::passes`]). What does not pass ends the
    /// source.
    fn next(&mut self, batch: &mut Batch, wait: Duration) -> Result<Next, LiveError>;

    /// What has happened since it was opened, and how full the ring is.
    fn statistics(&mut self) -> RingStatistics;

    /// The interface's name.
    fn interface(&self) -> &str;

    /// Which of the interface's rings this is, from 0: the lane that [`fanout`] chooses.
    fn ring(&self) -> u16;

    /// Link type of its packets.
    fn link(&self) -> u16;

    /// What time it is for its packets, nanoseconds since 1970; none where that is the system's time, as of all packets
    /// that come when they are captured. A source that plays what was earlier says how far it has come.
    fn now_ns(&self) -> Option<i64> {
        None
    }
}

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Packets, or losses without packets.
    Packets,
    /// Nothing in the time given.
    Nothing,
}

/// Figures of a ring. Counts are since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RingStatistics {
    /// Packets handed out.
    pub packets: u64,
    /// Octets of those, as captured.
    pub octets: u64,
    /// Packets that the kernel dropped because the ring was full.
    pub drops: u64,
    /// Times the ring became full; with AF_XDP, times that there was no free frame.
    pub freezes: u64,
    /// Frames that the kernel could not use: AF_XDP only.
    pub invalid: u64,
    /// Blocks (AF_PACKET) or frames (AF_XDP) that came out of order: the kernel's numbering has a gap.
    pub sequence_gaps: u64,
    /// Records of the ring that made no sense, with what followed in their block.
    pub malformed: u64,
    /// Packets stamped by the interface itself.
    pub hardware_stamped: u64,
    /// Packets that bear the time at which their batch was fetched: AF_XDP only.
    pub stamped_late: u64,
    /// Packets whose VLAN tag was put back.
    pub tags_restored: u64,
    /// Times the interface came back after it had been down or gone.
    pub returns: u64,
    /// Blocks (or frames) of the ring.
    pub room: u32,
    /// Of those, filled and waiting to be handed out.
    pub waiting: u32,
    /// The most that waited at once since the last time it was asked.
    pub waiting_max: u32,
    /// Of those, handed out and still in use.
    pub held: u32,
    /// Whether the interface is up.
    pub is_up: bool,
}
