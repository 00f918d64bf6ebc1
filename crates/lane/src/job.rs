//! What a job of a lane is: it takes packets in order of capture, decoded and classified.

use crate::class::{PacketClass, payload};
use crate::counters::DecodeCounters;
use core::ops::ControlFlow;
use trunkline_capture::{Batch, CaptureLoss, Packet};
use trunkline_wire::{Datagram, Decoded};

/// The file of a live packet that no job recorded.
pub const NOT_RECORDED: u32 = u32::MAX;

/// A packet as the jobs of a lane see it: decoded and classified once.
#[derive(Debug)]
pub struct SeenPacket<'a> {
    /// Its place in its batch's list of packets.
    pub at: u32,
    /// The packet, with the time that the clock said. A job that records it sets where its record lies
    /// ([`SeenPacket::recorded_at`]); the jobs behind see that place.
    pub packet: &'a mut Packet,
    /// Its steady time, nanoseconds: what the clock said without the steps in which it was set
    /// (docs/decisions/0072). What is recorded bears the clock's time, what is analysed this one.
    pub steady_ns: i64,
    /// Its captured octets.
    pub octets: &'a [u8],
    /// What it turned out to be.
    pub decoded: &'a Decoded,
    /// What it is for.
    pub class: PacketClass,
}

impl<'a> SeenPacket<'a> {
    /// The packet with its steady time in place of the clock's.
    #[inline]
    pub fn steady(&self) -> Packet {
        Packet { at_ns: self.steady_ns, ..*self.packet }
    }

    /// The captured payload of one of its datagrams.
    #[inline]
    pub fn payload(&self, datagram: &Datagram) -> &'a [u8] {
        payload(datagram, self.octets)
    }

    /// Says where its record lies: number of the file or segment, and offset in it.
    #[inline]
    pub fn recorded_at(&mut self, (file, offset): (u32, u64)) {
        (self.packet.file, self.packet.offset) = (file, offset);
    }
}

/// A job of a lane. The lane's thread owns it: nothing here is shared or locked on the way of a packet.
///
/// A tuple of jobs is a job that passes everything to each of them in turn, and an `Option` is a job that sees nothing
/// while it is none.
pub trait LaneJob {
    /// Takes a packet, in order of capture. After [`ControlFlow::Break`] the jobs behind do not see it: nothing more is
    /// made of it.
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()>;

    /// All packets of a batch were taken, and `counted` is what decoding counted of them. A job that needs its octets
    /// later keeps the batch, else it gives it back; it holds the memory of the source until it is dropped or cleared.
    /// Where several want it, the first has it.
    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        let _ = counted;
        Some(batch)
    }

    /// A batch that was kept and is not needed any more, empty, for the source to fill.
    fn spare(&mut self) -> Option<Batch> {
        None
    }

    /// The lane's source lost packets.
    fn lost(&mut self, loss: &CaptureLoss) {
        let _ = loss;
    }

    /// Time goes on, though perhaps no packet comes: what the clock says, nanoseconds since 1970.
    fn tick(&mut self, now_ns: i64) {
        let _ = now_ns;
    }

    /// No packet will come any more.
    fn finish(&mut self) {}
}

/// A job that is disabled sees no packets.
impl<J: LaneJob> LaneJob for Option<J> {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        match self {
            Some(job) => job.take(seen),
            None => ControlFlow::Continue(()),
        }
    }

    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        match self {
            Some(job) => job.keep(batch, counted),
            None => Some(batch),
        }
    }

    fn spare(&mut self) -> Option<Batch> {
        self.as_mut().and_then(LaneJob::spare)
    }

    fn lost(&mut self, loss: &CaptureLoss) {
        self.iter_mut().for_each(|job| job.lost(loss));
    }

    fn tick(&mut self, now_ns: i64) {
        self.iter_mut().for_each(|job| job.tick(now_ns));
    }

    fn finish(&mut self) {
        self.iter_mut().for_each(LaneJob::finish);
    }
}

/// No job at all.
impl LaneJob for () {
    #[inline]
    fn take(&mut self, _: &mut SeenPacket<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Somebody else's job.
impl<J: LaneJob> LaneJob for &mut J {
    #[inline]
    fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
        (**self).take(seen)
    }

    fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
        (**self).keep(batch, counted)
    }

    fn spare(&mut self) -> Option<Batch> {
        (**self).spare()
    }

    fn lost(&mut self, loss: &CaptureLoss) {
        (**self).lost(loss);
    }

    fn tick(&mut self, now_ns: i64) {
        (**self).tick(now_ns);
    }

    fn finish(&mut self) {
        (**self).finish();
    }
}

/// Passes everything to each job of a tuple in turn.
macro_rules! in_turn {
    ($($job:ident $at:tt),*) => {
        impl<$($job: LaneJob),*> LaneJob for ($($job,)*) {
            #[inline]
            fn take(&mut self, seen: &mut SeenPacket<'_>) -> ControlFlow<()> {
                $(self.$at.take(seen)?;)*
                ControlFlow::Continue(())
            }

            fn keep(&mut self, batch: Batch, counted: &DecodeCounters) -> Option<Batch> {
                $(let batch = self.$at.keep(batch, counted)?;)*
                Some(batch)
            }

            fn spare(&mut self) -> Option<Batch> {
                None$(.or_else(|| self.$at.spare()))*
            }

            fn lost(&mut self, loss: &CaptureLoss) {
                $(self.$at.lost(loss);)*
            }

            fn tick(&mut self, now_ns: i64) {
                $(self.$at.tick(now_ns);)*
            }

            fn finish(&mut self) {
                $(self.$at.finish();)*
            }
        }
    };
}

in_turn!(A 0, B 1);
in_turn!(A 0, B 1, C 2);
in_turn!(A 0, B 1, C 2, D 3);
