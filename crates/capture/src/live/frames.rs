//! What the kernel writes into a block of a TPACKET_V3 ring (linux/if_packet.h): packets with a header each.
//!
//! **VLAN tags.** Linux takes the outermost tag out of a frame before it is captured, and tells it in the header. It is
//! put back by moving the two addresses before it four octets to the front, into the space that the kernel leaves
//! before each frame ([`RESERVE`] makes sure of it): twelve octets move, not the packet.

use crate::batch::Packet;

use super::RingStatistics;
use super::block::Lease;

/// Octets that are reserved before each frame (PACKET_RESERVE); as much as its alignment.
pub(crate) const RESERVE: u32 = 16;
/// Two addresses: what stands before a tag.
const ADDRESSES: usize = 12;
/// A tag.
const TAG: usize = 4;
/// Octets of `struct tpacket3_hdr`.
const HEADER: usize = 48;
/// Type of a tag whose type the kernel does not tell: 802.1Q.
const DOT1Q: u16 = 0x8100;

/// What a block says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) sequence: u64,
    /// When its last packet came, nanoseconds since 1970.
    pub(crate) last_ns: i64,
}

/// Finds the packets of a block, numbered on from `number`, and puts their tags back. `octets` is what a [`Lease`] has.
pub(crate) fn scan(
    octets: &mut [u8],
    link: u16,
    number: &mut u64,
    packets: &mut Vec<Packet>,
    statistics: &mut RingStatistics,
) -> Block {
    let word = |at: usize| number_at::<4>(octets, at).map_or(0, u32::from_ne_bytes);
    let block = Block {
        sequence: number_at::<8>(octets, 24).map_or(0, u64::from_ne_bytes),
        last_ns: nanoseconds(word(40), word(44)),
    };
    let (count, mut at) = (word(12), word(16) as usize);
    for left in (0..count).rev() {
        let Some((packet, next)) = frame(octets, at, link, *number, statistics) else {
            statistics.malformed += 1;
            break;
        };
        statistics.packets += 1;
        statistics.octets += u64::from(packet.captured);
        packets.push(packet);
        *number += 1;
        if next == 0 {
            // The last one says so. A block that counts more is not believed.
            statistics.malformed += u64::from(left > 0);
            break;
        }
        at += next;
    }
    block
}

/// One packet, whose header begins at octet `at` of the block, and how far the next one is.
fn frame(
    octets: &mut [u8],
    at: usize,
    link: u16,
    number: u64,
    statistics: &mut RingStatistics,
) -> Option<(Packet, usize)> {
    let head: [u8; HEADER] = number_at(octets, at)?;
    let word = |at: usize| u32::from_ne_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let half = |at: usize| u16::from_ne_bytes([head[at], head[at + 1]]);
    let (status, mac) = (word(20), usize::from(half(24)));
    let (mut captured, mut wire) = (word(12), word(16));
    let mut start = at.checked_add(mac)?.checked_sub(Lease::BEGIN)?;
    octets.get(start..)?.get(..captured as usize)?;
    if status & libc::TP_STATUS_TS_RAW_HARDWARE != 0 {
        statistics.hardware_stamped += 1;
    }
    if status & libc::TP_STATUS_VLAN_VALID != 0 && captured as usize >= ADDRESSES && mac >= HEADER + TAG {
        let kind = if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { half(36) } else { DOT1Q };
        let tag = (u32::from(kind) << 16 | (word(32) & 0xffff)).to_be_bytes();
        octets.copy_within(start..start + ADDRESSES, start - TAG);
        octets.get_mut(start + ADDRESSES - TAG..start + ADDRESSES)?.copy_from_slice(&tag);
        (start, captured, wire) = (start - TAG, captured + TAG as u32, wire.saturating_add(TAG as u32));
        statistics.tags_restored += 1;
    }
    let at_ns = nanoseconds(word(4), word(8));
    let packet = Packet { at_ns, number, offset: 0, start: start as u32, captured, wire, link, file: 0 };
    Some((packet, word(0) as usize))
}

/// Octets at a place of the block.
fn number_at<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at.checked_sub(Lease::BEGIN)?..)?.first_chunk().copied()
}

fn nanoseconds(seconds: u32, nanoseconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Type and value of the tag that was set aside, and the frame.
    type Laid<'a> = (Option<(u16, u16)>, &'a [u8]);

    /// A block with these frames, as the kernel lays them out.
    fn block(frames: &[Laid<'_>]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[12..16].copy_from_slice(&(frames.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48u32.to_ne_bytes());
        block[24..32].copy_from_slice(&9u64.to_ne_bytes());
        block[40..44].copy_from_slice(&2u32.to_ne_bytes());
        for (tag, octets) in frames {
            let next = (98 + octets.len()).next_multiple_of(16) as u32;
            let status = if tag.is_some() { 1 | 1 << 4 | 1 << 6 } else { 1u32 };
            let (kind, tag) = tag.unwrap_or_default();
            let length = octets.len() as u32;
            let mut frame: Vec<u8> =
                [next, 1, 5, length, length, status].into_iter().flat_map(u32::to_ne_bytes).collect();
            frame.extend([98u16, 112].into_iter().flat_map(u16::to_ne_bytes));
            frame.extend([0, u32::from(tag)].into_iter().flat_map(u32::to_ne_bytes));
            frame.extend(kind.to_ne_bytes());
            frame.resize(98, 0);
            frame.extend(*octets);
            frame.resize(next as usize, 0);
            block.extend(frame);
        }
        block
    }

    #[test]
    fn packets_with_their_tags() {
        let frames: [Laid<'_>; 3] = [
            (None, b"aaaaaabbbbbb\x08\x00first"),
            (Some((0x88a8, 0x2064)), b"aaaaaabbbbbb\x08\x00second"),
            (Some((0x8100, 5)), b"short"),
        ];
        let mut block = block(&frames);
        let (mut packets, mut number, mut statistics) = (Vec::new(), 7, RingStatistics::default());
        let octets = &mut block[Lease::BEGIN..];
        let told = scan(octets, 1, &mut number, &mut packets, &mut statistics);
        assert_eq!(told, Block { sequence: 9, last_ns: 2_000_000_000 });
        let of = |p: &Packet| &octets[p.start as usize..][..p.captured as usize];
        assert_eq!(of(&packets[0]), frames[0].1);
        assert_eq!(of(&packets[1]), b"aaaaaabbbbbb\x88\xa8\x20\x64\x08\x00second");
        assert_eq!(of(&packets[2]), b"short");
        assert_eq!((packets[1].wire, packets[1].at_ns, packets[1].number), (24, 1_000_000_005, 8));
        assert_eq!((statistics.packets, statistics.tags_restored, number), (3, 1, 10));
    }

    proptest! {
        #[test]
        fn anything_at_all(mut octets: Vec<u8>, count in 0u32..9, first in 0u32..200) {
            if octets.len() > 20 {
                octets[0..4].copy_from_slice(&count.to_ne_bytes());
                octets[4..8].copy_from_slice(&first.to_ne_bytes());
            }
            crate::exercise::block(&octets);
        }
    }
}
