//! Records of a file (TS 32.297) as packets of GTP'.

use super::Records;
use trunkline_wire::cdr::file::{FileError, RecordHeader, Records as Packed};
use trunkline_wire::gtpp::records::FormatVersion;

/// Octets of records in a packet, unless one alone has more.
pub const PACKET_OCTETS: usize = 8000;
/// Records in a packet (TS 32.295 clause 6.2.4.5.3: their number is an octet).
pub const PACKET_RECORDS: usize = 255;
/// Application of the records: packet switched charging (TS 32.295 clause 6.2.4.5.3).
const PACKET_SWITCHED: u8 = 1;

/// The next packet of records that stand one after the other, as in a file behind its header, and how many octets those
/// are; none behind the last one. Records of a packet have the same header.
///
/// # Errors
/// There is no whole record first, or one does not fit into a message.
pub fn packet(octets: &[u8]) -> Result<Option<(Records, usize)>, FileError> {
    let (mut records, mut gathered, mut sum, mut end) = (Packed::of(octets), Vec::<(RecordHeader, &[u8])>::new(), 0, 0);
    loop {
        match records.next() {
            Some(Ok((header, record))) => {
                let other = gathered.first().is_some_and(|(first, _)| *first != header);
                let full = gathered.len() == PACKET_RECORDS || (sum + record.len() > PACKET_OCTETS && sum > 0);
                if other || full {
                    break;
                }
                (sum, end) = (sum + record.len(), records.taken());
                gathered.push((header, record));
            }
            // What is whole before it goes first.
            Some(Err(broken)) if gathered.is_empty() => return Err(broken),
            _ => break,
        }
    }
    let Some((RecordHeader { edition, encoding, .. }, _)) = gathered.first() else { return Ok(None) };
    let version =
        FormatVersion { application: PACKET_SWITCHED, release: edition.release, version: edition.version + 1 };
    let packet = Records::of(*encoding, version, gathered.iter().map(|(_, record)| *record));
    packet.map(|packet| Some((packet, end))).map_err(|_| FileError::Record(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::cdr::file::Edition;

    fn header(version: u8) -> RecordHeader {
        RecordHeader { edition: Edition { release: 15, version }, encoding: 1, specification: 10 }
    }

    #[test]
    fn packets_have_all_records_in_order() {
        let mut octets = Vec::new();
        let lengths = (0..700_usize).map(|at| if at % 97 == 0 { 9000 } else { 10 + at % 50 });
        let sent: Vec<Vec<u8>> = lengths.map(|octets| vec![(octets % 251) as u8; octets]).collect();
        for (at, record) in sent.iter().enumerate() {
            assert!(header((at / 300) as u8).write(record, &mut octets));
        }
        let (mut rest, mut came, mut packets) = (&octets[..], Vec::new(), 0);
        while let Some((records, taken)) = packet(rest).unwrap() {
            let read = records.packet().unwrap();
            let those: Vec<&[u8]> = read.records().collect();
            assert!(those.len() == 1 || those.iter().map(|record| record.len()).sum::<usize>() <= PACKET_OCTETS);
            came.extend(those.iter().map(|record| record.to_vec()));
            rest = &rest[taken..];
            packets += 1;
        }
        assert!(rest.is_empty() && came == sent && packets > 10, "{packets} packets");
        // A half record at the end is left for later, and is a mistake alone.
        let half = &octets[..octets.len() - 1];
        let (mut at, mut taken) = (0, usize::MAX);
        while taken > 0 {
            taken = packet(&half[at..]).map_or(0, |packet| packet.map_or(0, |(_, taken)| taken));
            at += taken;
        }
        assert!(at < half.len() && packet(&half[at..]).is_err());
    }
}
