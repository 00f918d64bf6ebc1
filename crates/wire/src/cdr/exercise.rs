//! Drives the readers with any octets and asserts what must always hold.

use super::ber::Elements;
use super::file::{FileHeader, Records};
use super::{Digits, PgwRecord, RecordTime};

/// A record, a file of records, and the values in records.
pub fn cdr(octets: &[u8]) {
    record(octets);
    elements(octets, 0);
    file(octets);
    if let Some(time) = octets.first_chunk().and_then(|o| RecordTime::from_octets(*o)) {
        assert_eq!(RecordTime::from_octets(time.octets()), Some(time));
    }
    if let Some(digits) = Digits::from_octets(octets) {
        assert_eq!(Digits::new(&digits.to_string()), Some(digits));
    }
}

/// What was read is written, and reads the same again.
fn record(octets: &[u8]) {
    let Ok(record) = PgwRecord::read(octets) else { return };
    let _ = (record.octets(), format!("{record} {record:#}"));
    let mut out = Vec::new();
    record.write(&mut out);
    assert_eq!(PgwRecord::read(&out), Ok(record));
}

fn elements(octets: &[u8], depth: usize) {
    for element in Elements::new(octets).map_while(Result::ok) {
        assert!(element.value.len() + 2 <= octets.len() && element.tag < 128);
        let _ = (element.unsigned(), element.bits(), element.boolean(), element.text());
        if element.constructed && depth < 8 {
            elements(element.value, depth + 1);
        }
    }
}

fn file(octets: &[u8]) {
    let Ok(header) = FileHeader::read(octets) else { return };
    let mut out = Vec::new();
    header.write(&mut out);
    assert_eq!((out.len(), FileHeader::read(&out)), (header.octets(), Ok(header)));
    let mut records = Records::new(octets, &header);
    let mut taken = records.taken();
    while let Some(Ok((kind, content))) = records.next() {
        record(content);
        assert!(records.taken() <= octets.len() && records.taken() >= taken + 4 + content.len());
        let mut again = Vec::new();
        assert!(kind.write(content, &mut again) && again.len() == records.taken() - taken);
        taken = records.taken();
    }
}
