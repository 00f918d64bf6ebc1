//! What a batch's octets lie in: its own memory, or memory that the kernel fills and gets back.

use crate::live::block::Lease;
use crate::live::xdp::umem::Frames;

/// The octets of a batch.
#[derive(Debug)]
pub(crate) enum Octets {
    /// Memory of the batch.
    Own(Vec<u8>),
    /// A block of an AF_PACKET ring; the kernel gets it back when this is dropped.
    Block(Lease),
    /// Frames of an AF_XDP socket, as if they lay one behind the other; they go back when this is dropped.
    Frames(Frames),
}

impl Default for Octets {
    fn default() -> Self {
        Octets::Own(Vec::new())
    }
}

impl Octets {
    /// `length` octets from `start` on.
    #[inline]
    pub(crate) fn slice(&self, start: usize, length: usize) -> &[u8] {
        match self {
            Octets::Own(own) => &own[start..][..length],
            Octets::Block(lease) => &lease.octets()[start..][..length],
            Octets::Frames(frames) => frames.slice(start, length),
        }
    }

    /// The batch's own memory; what the kernel lent goes back.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut Vec<u8> {
        loop {
            match self {
                Octets::Own(own) => return own,
                Octets::Block(_) | Octets::Frames(_) => *self = Octets::default(),
            }
        }
    }

    /// Gives back what the kernel lent.
    pub(crate) fn give_back(&mut self) {
        if !matches!(self, Octets::Own(_)) {
            *self = Octets::default();
        }
    }

    /// Forgets the octets, and keeps own memory.
    pub(crate) fn clear(&mut self) {
        self.own().clear();
    }
}
