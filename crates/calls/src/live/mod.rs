//! Live analysis: several lanes, each with its own packets as they come, one owner of the signalling, the same result
//! as reading a file.
//!
//! A lane's [`Front`] sorts a batch as soon as it comes: what is signalling goes to the [`Owner`] as a [`Told`], with
//! the time up to which the lane has told everything; RTP stays where it is, in the ring's own memory. The owner merges
//! what the lanes told by time, as far as all of them have told it, and gives out an [`Epoch`]: what the lanes must
//! know up to a time. Then each lane follows its RTP up to that time, with the notices in their places, and hands over
//! what is finished; the [`Gatherer`] joins an epoch when every lane has answered it. So calls and streams do not
//! depend on how many lanes there are or which of them was quicker: only on the packets and their times.
//!
//! Nothing here does I/O, reads a clock or knows a thread: whoever drives it carries the values between threads in
//! bounded rings. A lane that must not wait any longer (its ring fills) follows what it holds without waiting
//! ([`Front::hurry`]); streams that come before their signalling so are joined to it later, as they are in a file that
//! holds them in that order, and the packets are counted.

mod front;
mod gather;
mod owner;

pub use front::{Front, FrontCounters};
pub use gather::{Gatherer, Totals};
pub use owner::{Owned, Owner, OwnerCounters};

use crate::media::{Numbered, OfTcp};
use trunkline_capture::CaptureLoss;
use trunkline_lane::DecodeCounters;
use trunkline_lane::clock::Leap;
use trunkline_wire::icmp::Unreachable;
use trunkline_wire::{Datagram, Endpoint};

/// What a lane tells the owner of the signalling.
#[derive(Debug, Default)]
pub struct Told {
    /// Which lane.
    pub lane: u16,
    /// All packets of this lane up to this time have been told, nanoseconds since 1970.
    pub until_ns: i64,
    /// What there was, in order of capture.
    pub items: Vec<Item>,
    /// The octets that the items point into.
    pub octets: Vec<u8>,
    /// Losses reported by the lane's source.
    pub losses: Vec<CaptureLoss>,
    /// Where the clock was set, as the lane was told ([`Front::clock_was_set`]).
    pub leaps: Vec<Leap>,
    /// What decoding counted.
    pub counters: DecodeCounters,
    /// The lane has ended: nothing will follow.
    pub last: bool,
}

/// One thing that a lane tells.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: i64,
    /// Number of its packet.
    pub number: u64,
    /// Record offset of its packet.
    pub offset: u64,
    /// File of its packet.
    pub file: u32,
    /// Where its octets begin in [`Told::octets`].
    pub start: u32,
    /// How many there are.
    pub length: u32,
    /// What it is.
    pub what: What,
}

/// What a lane tells about.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// A SIP message.
    Message {
        /// Who sent it.
        src: Endpoint,
        /// Whom it was sent to.
        dst: Endpoint,
        /// It came over a stream transport.
        stream: bool,
        /// The snap length cut its datagram.
        cut: bool,
        /// It is all there: scanned as a whole message.
        whole: bool,
    },
    /// RTCP, which every lane gets.
    Rtcp(Datagram),
    /// A datagram that came in fragments and looks like RTP, or a message of media over TCP.
    Reassembled {
        /// Addresses and ports, and the payload's lengths.
        datagram: Datagram,
        /// How it came over TCP; none if it did not.
        tcp: Option<OfTcp>,
    },
    /// A packet did not arrive, by ICMP.
    Unreachable(Unreachable),
}

impl Told {
    /// The octets of one of its items.
    pub fn octets_of(&self, item: &Item) -> &[u8] {
        self.octets.get(item.start as usize..).and_then(|o| o.get(..item.length as usize)).unwrap_or_default()
    }

    /// Whether there is nothing in it but its time.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.losses.is_empty() && self.leaps.is_empty()
    }

    /// Adds an item with its octets.
    pub fn push(&mut self, item: Item, octets: &[u8]) {
        let start = self.octets.len() as u32;
        self.octets.extend_from_slice(octets);
        self.items.push(Item { start, length: octets.len() as u32, ..item });
    }
}

/// What lanes must know up to a time.
#[derive(Debug, Default)]
pub struct Epoch {
    /// Epochs are numbered from 0 without gaps.
    pub number: u64,
    /// Everything captured up to this time is in this epoch or an earlier one, nanoseconds since 1970.
    pub until_ns: i64,
    /// What signalling told, in order of time.
    pub notices: Vec<Numbered>,
    /// RTCP, in order of time.
    pub rtcp: Vec<Report>,
    /// Where the clock was set.
    pub leaps: Vec<Leap>,
    /// The octets of the RTCP.
    pub octets: Vec<u8>,
    /// The capture has ended.
    pub last: bool,
}

/// RTCP as it was captured.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// As it was told, its octets in [`Epoch::octets`].
    pub item: Item,
    /// Addresses and ports.
    pub datagram: Datagram,
}
