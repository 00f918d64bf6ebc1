//! What the fuzz targets of this crate drive.

use crate::bpf::{self, View};
use crate::live::RingStatistics;
use crate::live::fanout::{self, Begin};
use crate::live::frames;
use crate::{Batch, FileSource, Packet};

/// Reads octets as a file of any format and compression, in large and in small batches, and merged with itself.
pub fn source(octets: &[u8]) {
    let (large, error) = read(vec![octets.to_vec()], 16 << 10);
    let (small, small_error) = read(vec![octets.to_vec()], 1);
    assert_eq!(large, small);
    assert_eq!(error, small_error);
    let (twice, _) = read(vec![octets.to_vec(), octets.to_vec()], 4096);
    assert_eq!(twice.len(), large.len() * 2);
}

/// All packets of some files with a digest of their octets, and the first file's error.
fn read(files: Vec<Vec<u8>>, batch_octets: usize) -> (Vec<(Packet, u64)>, Option<crate::FileError>) {
    let mut source = FileSource::of_octets(files).with_batch_octets(batch_octets);
    let mut batch = Batch::default();
    let mut all = Vec::new();
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let digest = batch.octets_of(packet).iter().fold(5381u64, |d, o| d.wrapping_mul(33) ^ u64::from(*o));
            all.push((Packet { start: 0, ..*packet }, digest));
        }
    }
    for (i, (packet, _)) in all.iter().enumerate() {
        assert_eq!(packet.number, i as u64 + 1);
    }
    (all, source.files().first().and_then(|f| f.error.clone()))
}

/// Takes octets for a frame, and for IP alone: the kernel's program and our hash choose the same lane, whichever way
/// the packet goes.
pub fn lane(octets: &[u8]) {
    let ours = |link| fanout::hash(octets, link).unwrap_or(0);
    let ethernet = fanout::program(Begin::Ethernet);
    assert_eq!(bpf::run(&ethernet, &Incoming(octets)), ours(1));
    // A tag that goes out stands in the frame only if the interface cannot be given it beside.
    if !matches!(octets.get(12..14), Some([0x81, 0] | [0x88, 0xa8])) {
        assert_eq!(bpf::run(&ethernet, &Outgoing(octets)), ours(1));
    }
    assert_eq!(bpf::run(&fanout::program(Begin::Network), &Network(octets)), ours(101));
}

/// Takes octets for a block of an AF_PACKET ring.
pub fn block(octets: &[u8]) {
    let mut octets = octets.to_vec();
    let (mut packets, mut number, mut statistics) = (Vec::new(), 1, RingStatistics::default());
    frames::scan(&mut octets, 1, &mut number, &mut packets, &mut statistics);
    assert_eq!((statistics.packets, number), (packets.len() as u64, packets.len() as u64 + 1));
    for packet in packets {
        assert!(octets.get(packet.start as usize..).is_some_and(|o| o.len() >= packet.captured as usize));
    }
}

/// What the kernel shows its program of an incoming frame: all behind the Ethernet header and the outermost tag.
struct Incoming<'a>(&'a [u8]);

impl View for Incoming<'_> {
    fn load(&self, offset: u32, width: u32) -> Option<u32> {
        let is_tagged = matches!(bpf::big_endian(self.0, 12, 2)?, 0x8100 | 0x88a8);
        match offset {
            bpf::PACKET_TYPE => Some(0),
            bpf::PROTOCOL => bpf::big_endian(self.0, if is_tagged { 16 } else { 12 }, 2),
            _ => bpf::big_endian(self.0.get(if is_tagged { 18 } else { 14 }..)?, offset as usize, width),
        }
    }

    fn length(&self) -> u32 {
        self.0.len() as u32
    }
}

/// What it shows of a frame that goes out: all of it.
struct Outgoing<'a>(&'a [u8]);

impl View for Outgoing<'_> {
    fn load(&self, offset: u32, width: u32) -> Option<u32> {
        match offset {
            bpf::PACKET_TYPE => Some(u32::from(libc::PACKET_OUTGOING)),
            _ => bpf::big_endian(self.0, offset as usize, width),
        }
    }

    fn length(&self) -> u32 {
        self.0.len() as u32
    }
}

/// What it shows of a packet of an interface that has no header before IP, either way.
struct Network<'a>(&'a [u8]);

impl View for Network<'_> {
    fn load(&self, offset: u32, width: u32) -> Option<u32> {
        match offset {
            bpf::PROTOCOL => Some(match self.0.first()? >> 4 {
                4 => 0x0800,
                6 => 0x86dd,
                _ => 0,
            }),
            _ => bpf::big_endian(self.0, offset as usize, width),
        }
    }

    fn length(&self) -> u32 {
        self.0.len() as u32
    }
}
