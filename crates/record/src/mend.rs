//! A segment that a crash left behind: how much of it is whole, and its index made anew.

use crate::index::{Builder, FileMark};
use trunkline_capture::{Batch, FileSource};
use trunkline_spool::{Extra, Mend, PartFile};
use trunkline_wire::pcapng::emit;

/// Extension of segments.
pub const SEGMENT: &str = "pcapng";
/// Extension of indexes.
pub const INDEX: &str = "idx";

/// Looks for the last whole record and makes the index of all up to it. What follows is a record that was cut, or what
/// the disk held there before. A segment without one whole packet is discarded.
pub fn mend(part: &PartFile) -> Mend {
    let mut source = FileSource::open(std::slice::from_ref(&part.path));
    let mut index = Builder::new();
    let mut batch = Batch::default();
    let mut whole = 0;
    let mut link = None;
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            let decoded = trunkline_wire::decode(packet.link, octets);
            let length = emit::packet_octets(packet.captured);
            index.packet(packet.at_ns, packet.offset, length, packet.link, octets, &decoded);
            whole = packet.offset + u64::from(length);
            // A description that lies between packets is not told apart here: readers then begin at the beginning.
            if *link.get_or_insert(packet.link) != packet.link {
                index.sequential();
            }
        }
    }
    if whole == 0 {
        return Mend::Discard;
    }
    let octets = match source.files().first().and_then(|f| f.error.as_ref()) {
        Some(error) => whole.max(error.offset.min(part.octets)),
        None => part.octets,
    };
    let index = index.seal(&FileMark { octets, modified_ns: 0, head_check: 0 });
    Mend::Keep { octets, extra: vec![Extra { extension: INDEX.to_owned(), octets: index }] }
}
