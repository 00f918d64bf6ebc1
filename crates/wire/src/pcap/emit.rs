//! Writing pcap: nanoseconds, little-endian, version 2.4.

/// Magic number of the nanosecond format.
pub const NANOSECONDS_MAGIC: u32 = 0xa1b2_3c4d;

/// Appends a file header. `snap` is the snapshot length in octets.
pub fn header(out: &mut Vec<u8>, link: u16, snap: u32) {
    out.extend_from_slice(&NANOSECONDS_MAGIC.to_le_bytes());
    out.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&snap.to_le_bytes());
    out.extend_from_slice(&u32::from(link).to_le_bytes());
}

/// Appends a record: `octets` are what was captured of a packet that had `wire` octets. Times before 1970 or after
/// 2106 do not fit the format and become its first or last second.
pub fn record(out: &mut Vec<u8>, at_ns: i64, wire: u32, octets: &[u8]) {
    let seconds = u32::try_from(at_ns.div_euclid(1_000_000_000).max(0)).unwrap_or(u32::MAX);
    let fraction = at_ns.rem_euclid(1_000_000_000) as u32;
    let captured = u32::try_from(octets.len()).unwrap_or(u32::MAX);
    for word in [seconds, fraction, captured, wire] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(octets);
}

#[cfg(test)]
mod tests {
    use crate::pcap::{ByteOrder, FileHeader, Frame, check};

    #[test]
    fn what_is_written_is_read() {
        let mut file = Vec::new();
        super::header(&mut file, 113, 65_535);
        super::record(&mut file, 1_700_000_000_123_456_789, 100, b"hello");
        let header = FileHeader::parse(&file, true).unwrap();
        assert_eq!((header.order, header.nanoseconds, header.snap), (ByteOrder::Little, true, 65_535));
        let found = check::Frames::of(&file[24..], |o, s| header.scan(o, s));
        let frame = Frame { at_ns: 1_700_000_000_123_456_789, record: 0, start: 16, captured: 5, wire: 100, link: 113 };
        assert_eq!(found.frames, [frame]);
    }
}
