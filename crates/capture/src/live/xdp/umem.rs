//! The memory of an AF_XDP socket: frames that the kernel fills and lends, and the two rings by which frames go there
//! (fill) and come back (receive).
//!
//! Each ring has a producer and a consumer, numbers that only grow (`struct xdp_ring` of net/xdp/xsk_queue.h).
#![expect(unsafe_code, reason = "memory shared with the kernel")]

use core::sync::atomic::{AtomicU32, Ordering};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, mem};

use super::program::{STAMP_MARK, STAMP_OCTETS};
use crate::live::sys::Mapping;

/// Frames, and which of them are not with the kernel.
#[derive(Debug)]
pub(crate) struct Umem {
    memory: Mapping,
    frame_octets: u32,
    /// Frames that came back and are not yet offered to the kernel.
    back: Mutex<Vec<u32>>,
    held: AtomicU32,
}

/// Frames that one batch holds. They go back when this is dropped.
#[derive(Debug)]
pub(crate) struct Frames {
    umem: Arc<Umem>,
    frames: Vec<u32>,
}

/// A packet in one of a batch's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFrame {
    /// Where it begins, as if the batch's frames lay one behind the other.
    pub(crate) start: u32,
    pub(crate) length: u32,
}

impl Umem {
    /// So many frames, all of them here. `frame_octets` is a power of two.
    pub(crate) fn new(frames: u32, frame_octets: u32) -> io::Result<Arc<Umem>> {
        let memory = Mapping::own(frames as usize * frame_octets as usize)?;
        let back = Mutex::new((0..frames).rev().collect());
        Ok(Arc::new(Umem { memory, frame_octets, back, held: AtomicU32::new(0) }))
    }

    pub(crate) fn frames(&self) -> u32 {
        (self.memory.length() / self.frame_octets.max(1) as usize) as u32
    }

    /// Frames that batches hold.
    pub(crate) fn held(&self) -> u32 {
        self.held.load(Ordering::Relaxed)
    }

    /// What the kernel registers.
    pub(crate) fn registration(&self) -> libc::xdp_umem_reg {
        libc::xdp_umem_reg {
            addr: self.memory.at().as_ptr() as u64,
            len: self.memory.length() as u64,
            chunk_size: self.frame_octets,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        }
    }

    /// Offers the kernel what came back.
    pub(crate) fn refill(&self, fill: &mut Fill) {
        let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(frame) = back.pop() {
            if !fill.offer(u64::from(frame) * u64::from(self.frame_octets)) {
                back.push(frame);
                break;
            }
        }
        drop(back);
        fill.publish();
    }

    /// What a frame holds from an octet on.
    ///
    /// # Safety
    /// The frame is not with the kernel.
    unsafe fn frame(&self, frame: u32, offset: usize, length: usize) -> &[u8] {
        let room = self.frame_octets as usize;
        assert!(frame < self.frames() && offset <= room && length <= room - offset, "outside of a frame");
        // SAFETY: inside the mapping, as was looked after; the kernel does not write into a frame it has not.
        unsafe {
            let at = self.memory.at().as_ptr().add(frame as usize * room + offset);
            core::slice::from_raw_parts(at, length)
        }
    }
}

impl Frames {
    /// None yet.
    pub(crate) fn of(umem: &Arc<Umem>) -> Frames {
        Frames { umem: umem.clone(), frames: Vec::new() }
    }

    /// Takes the next packet that was received, up to so many; what the kernel says of a frame it cannot have is passed
    /// over.
    pub(crate) fn next(&mut self, received: &mut Received, most: usize) -> Option<InFrame> {
        while self.frames.len() < most {
            let Some((address, length)) = received.take() else { break };
            let octets = u64::from(self.umem.frame_octets);
            let (frame, offset) = (address / octets, (address % octets) as u32);
            let Ok(frame) = u32::try_from(frame) else { continue };
            if frame >= self.umem.frames() || length > self.umem.frame_octets - offset {
                continue;
            }
            let start = self.frames.len() as u32 * self.umem.frame_octets + offset;
            self.frames.push(frame);
            self.umem.held.fetch_add(1, Ordering::Relaxed);
            return Some(InFrame { start, length });
        }
        received.release();
        None
    }

    /// A packet's octets.
    pub(crate) fn octets(&self, packet: InFrame) -> &[u8] {
        self.slice(packet.start as usize, packet.length as usize)
    }

    /// The stamp that the program put before a packet: CLOCK_MONOTONIC, nanoseconds.
    pub(crate) fn stamp(&self, packet: InFrame) -> Option<u64> {
        let start = packet.start as usize;
        let room = self.umem.frame_octets as usize;
        let before = start.checked_sub(STAMP_OCTETS).filter(|before| before / room == start / room)?;
        let octets = self.slice(before, STAMP_OCTETS);
        let word = |at: usize| Some(u64::from_ne_bytes(octets.get(at..)?.first_chunk().copied()?));
        let (stamp, check) = (word(0)?, word(8)?);
        (stamp ^ check == STAMP_MARK).then_some(stamp)
    }

    /// `length` octets from `start` on, as if the frames lay one behind the other; all in one frame.
    #[inline]
    pub(crate) fn slice(&self, start: usize, length: usize) -> &[u8] {
        let room = self.umem.frame_octets as usize;
        let frame = self.frames[start / room];
        // SAFETY: the kernel gave this frame, and gets it back when this is dropped.
        unsafe { self.umem.frame(frame, start % room, length) }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        let frames = mem::take(&mut self.frames);
        self.umem.held.fetch_sub(frames.len() as u32, Ordering::Relaxed);
        self.umem.back.lock().unwrap_or_else(PoisonError::into_inner).extend(frames);
    }
}

/// One of the two rings, in memory shared with the kernel.
struct Shared {
    memory: Mapping,
    offsets: libc::xdp_ring_offset,
    /// Entries, a power of two.
    entries: u32,
}

impl Shared {
    /// Maps a ring of entries of so many octets. `None` if the kernel's offsets do not lie in it.
    fn map(
        fd: BorrowedFd<'_>,
        at: i64,
        offsets: libc::xdp_ring_offset,
        entries: u32,
        entry_octets: usize,
    ) -> io::Result<Shared> {
        let length = offsets.desc as usize + entries as usize * entry_octets;
        let places = [offsets.producer, offsets.consumer, offsets.flags];
        if !entries.is_power_of_two() || places.iter().any(|o| o % 4 != 0 || *o + 4 > offsets.desc) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Shared { memory: Mapping::of(fd, length, at)?, offsets, entries })
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: `map` saw to it that the three words lie in the mapping, aligned; the kernel's side is atomic too.
        unsafe { AtomicU32::from_ptr(self.memory.at().as_ptr().add(offset as usize).cast()) }
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offsets.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offsets.consumer)
    }

    /// Where an entry lies; the ring was mapped for entries of this type.
    fn entry<T>(&self, number: u32) -> *mut T {
        let at = self.offsets.desc as usize + (number & (self.entries - 1)) as usize * size_of::<T>();
        // SAFETY: inside the mapping, by the mask.
        unsafe { self.memory.at().as_ptr().add(at).cast() }
    }
}

/// The ring by which frames go to the kernel.
pub(crate) struct Fill {
    ring: Shared,
    /// The next entry to write, and the one that the kernel reads next as it was last looked.
    next: u32,
    read: u32,
}

impl Fill {
    pub(crate) fn map(fd: BorrowedFd<'_>, offsets: libc::xdp_ring_offset, entries: u32) -> io::Result<Fill> {
        let at = libc::XDP_UMEM_PGOFF_FILL_RING as i64;
        Ok(Fill { ring: Shared::map(fd, at, offsets, entries, size_of::<u64>())?, next: 0, read: 0 })
    }

    /// Whether there was room for a frame.
    fn offer(&mut self, address: u64) -> bool {
        if self.next.wrapping_sub(self.read) >= self.ring.entries {
            self.read = self.ring.consumer().load(Ordering::Acquire);
            if self.next.wrapping_sub(self.read) >= self.ring.entries {
                return false;
            }
        }
        // SAFETY: an entry that the kernel has read already, and reads again only after `publish`.
        unsafe { self.ring.entry::<u64>(self.next).write(address) };
        self.next = self.next.wrapping_add(1);
        true
    }

    /// Lets the kernel see what was offered.
    fn publish(&self) {
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// Whether the driver waits to be woken.
    pub(crate) fn is_awaited(&self) -> bool {
        self.ring.word(self.ring.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The ring by which packets come.
pub(crate) struct Received {
    ring: Shared,
    next: u32,
    written: u32,
}

impl Received {
    pub(crate) fn map(fd: BorrowedFd<'_>, offsets: libc::xdp_ring_offset, entries: u32) -> io::Result<Received> {
        let at = libc::XDP_PGOFF_RX_RING;
        Ok(Received { ring: Shared::map(fd, at, offsets, entries, size_of::<libc::xdp_desc>())?, next: 0, written: 0 })
    }

    /// How many packets wait.
    pub(crate) fn waiting(&self) -> u32 {
        self.ring.producer().load(Ordering::Acquire).wrapping_sub(self.next)
    }

    /// The next packet's address and length.
    fn take(&mut self) -> Option<(u64, u32)> {
        if self.next == self.written {
            self.written = self.ring.producer().load(Ordering::Acquire);
            if self.next == self.written {
                return None;
            }
        }
        // SAFETY: an entry that the kernel wrote before it raised its number, and writes again only after `release`.
        let entry = unsafe { self.ring.entry::<libc::xdp_desc>(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some((entry.addr, entry.len))
    }

    /// Lets the kernel write over what was taken.
    fn release(&self) {
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(entry_octets: usize) -> Shared {
        let offsets = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };
        Shared { memory: Mapping::own(192 + 4 * entry_octets).unwrap(), offsets, entries: 4 }
    }

    fn word(ring: &Shared, offset: u64) -> u32 {
        ring.word(offset).load(Ordering::Acquire)
    }

    /// Plays the kernel: takes what was offered, puts it into the other ring with a length.
    fn turn(fill: &Fill, received: &Received, length: u32) {
        let (mut read, write) = (word(&fill.ring, 64), word(&fill.ring, 0));
        let mut written = word(&received.ring, 0);
        while read != write && written.wrapping_sub(word(&received.ring, 64)) < 4 {
            // SAFETY: entries of these rings, which nobody else touches now.
            unsafe {
                let addr = fill.ring.entry::<u64>(read).read() + 256;
                received.ring.entry::<libc::xdp_desc>(written).write(libc::xdp_desc { addr, len: length, options: 0 });
            }
            (read, written) = (read.wrapping_add(1), written.wrapping_add(1));
        }
        fill.ring.consumer().store(read, Ordering::Release);
        received.ring.producer().store(written, Ordering::Release);
    }

    #[test]
    fn frames_go_round() {
        let umem = Umem::new(6, 2048).unwrap();
        let mut fill = Fill { ring: ring(8), next: 0, read: 0 };
        let mut received = Received { ring: ring(16), next: 0, written: 0 };
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..20 {
            umem.refill(&mut fill);
            turn(&fill, &received, 60);
            assert_eq!(received.waiting(), 4);
            let mut frames = Frames::of(&umem);
            for expected in 0..4 {
                let packet = frames.next(&mut received, 9).unwrap();
                assert_eq!(packet, InFrame { start: expected * 2048 + 256, length: 60 });
                assert_eq!((frames.octets(packet).len(), frames.stamp(packet)), (60, None));
            }
            assert!(frames.next(&mut received, 9).is_none());
            assert_eq!(umem.held(), 4);
            seen.extend(frames.frames.iter().copied());
            std::thread::spawn(move || drop(frames)).join().unwrap();
            assert_eq!(umem.held(), 0);
        }
        assert!(seen.len() >= 4 && seen.iter().all(|f| *f < 6));
    }

    #[test]
    fn what_cannot_be_a_frame_is_passed_over() {
        let umem = Umem::new(2, 2048).unwrap();
        let mut fill = Fill { ring: ring(8), next: 0, read: 0 };
        let mut received = Received { ring: ring(16), next: 0, written: 0 };
        umem.refill(&mut fill);
        turn(&fill, &received, 2000);
        assert!(Frames::of(&umem).next(&mut received, 9).is_none());
    }
}
