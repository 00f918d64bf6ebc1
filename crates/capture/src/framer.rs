//! Which format a file has, and framing by it.

use trunkline_wire::pcap::{self, ByteOrder, FileHeader, Rest, Sink};
use trunkline_wire::pcapng::{self, Sections};

use crate::error::FileFault;
use crate::looks::looks_like;

/// Octets of a file's beginning that tell its format. Always the same, so that how a file is read does not depend on
/// the size of batches.
pub(crate) const DETECT_OCTETS: usize = 4096;

/// Frames the packets of one file.
pub(crate) enum Framer {
    Pcap(FileHeader),
    Pcapng(Box<Sections>),
}

/// What a file's beginning tells.
pub(crate) enum Detected {
    /// A capture; its records begin behind so many octets.
    Capture(Framer, usize),
    /// An empty file.
    Empty,
    /// More octets are needed to tell.
    More,
    /// No capture, or none that can be read.
    Fault(FileFault),
}

impl Framer {
    /// Looks at a file's beginning. `ended`: there is no more of it. `slow`: waiting for more may take long.
    pub(crate) fn detect(head: &[u8], ended: bool, slow: bool, compression: Option<&'static str>) -> Detected {
        // At exactly the limit a reader of small batches does not yet know that the file has ended.
        let whole = ended && head.len() < DETECT_OCTETS;
        let head = &head[..head.len().min(DETECT_OCTETS)];
        let enough = if slow && !pcap::variant::wants_records(head) { pcap::HEADER_OCTETS + 4 } else { DETECT_OCTETS };
        if head.len() < enough && !ended {
            return Detected::More;
        }
        if head.is_empty() {
            return Detected::Empty;
        }
        if pcapng::is_pcapng(head) {
            return Detected::Capture(Framer::Pcapng(Box::default()), 0);
        }
        if pcap::variant::is_pcap(head) {
            return match FileHeader::parse(head, whole) {
                Ok(header) => Detected::Capture(Framer::Pcap(header), header.octets),
                Err(e) => Detected::Fault(e.into()),
            };
        }
        let looks = looks_like(head);
        Detected::Fault(match compression {
            Some(compression) => FileFault::NotACaptureInside(compression, looks),
            None => FileFault::NotACapture(looks),
        })
    }

    /// Frames the records that lie whole in `octets`; how many octets that was and what follows.
    #[inline]
    pub(crate) fn scan(&mut self, octets: &[u8], sink: &mut impl Sink) -> (usize, Rest<FileFault>) {
        match self {
            Framer::Pcap(header) => {
                let scanned = header.scan(octets, sink);
                (scanned.consumed, fault(scanned.rest))
            }
            Framer::Pcapng(sections) => {
                let scanned = sections.scan(octets, sink);
                (scanned.consumed, fault(scanned.rest))
            }
        }
    }

    /// Whether the file may end where the last scan ended.
    pub(crate) fn may_end(&self) -> bool {
        match self {
            Framer::Pcap(_) => true,
            Framer::Pcapng(sections) => sections.is_between_blocks(),
        }
    }

    /// The fault of a file that ends inside a record.
    pub(crate) fn cut(&self, needs: u64, has: u64) -> FileFault {
        match self {
            Framer::Pcap(_) => FileFault::CutInPacket { needs, has },
            Framer::Pcapng(_) => FileFault::CutInBlock { needs, has },
        }
    }

    /// The format in words.
    pub(crate) fn describe(&self) -> String {
        let (name, order, unit) = match self {
            Framer::Pcap(header) => {
                let unit = if header.nanoseconds { ", nanoseconds" } else { ", microseconds" };
                (header.variant.name(), Some(header.order), unit)
            }
            Framer::Pcapng(sections) => ("pcapng", sections.order(), ""),
        };
        let order = match order {
            Some(ByteOrder::Little) => ", little-endian",
            Some(ByteOrder::Big) => ", big-endian",
            None => "",
        };
        format!("{name}{order}{unit}")
    }
}

fn fault<E: Into<FileFault>>(rest: Rest<E>) -> Rest<FileFault> {
    match rest {
        Rest::Needs(n) => Rest::Needs(n),
        Rest::Skip(n) => Rest::Skip(n),
        Rest::Broken(e) => Rest::Broken(e.into()),
    }
}
