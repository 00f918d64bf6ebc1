//! One function per parser, driven by the fuzz targets and by the replay of their corpora.

use crate::filter::{Filter, sql};
use crate::packed::Unpack;
use crate::row::{Call, Rows};
use crate::{detail, journal, ladder};

/// A ladder as it lies in a packed column: what decodes must come back from its own encoding.
pub fn ladder(octets: &[u8]) {
    if let Ok(read) = ladder::decode(&mut Unpack::new(octets)) {
        assert!(read.messages.iter().all(|m| read.text_of(m).len() <= read.texts.len()));
        let mut again = vec![];
        ladder::encode(&mut again, &read);
        assert_eq!(ladder::decode(&mut Unpack::new(&again)).as_ref(), Ok(&read));
    }
    let (mut call, mut stream) = (Call::default(), crate::row::Stream::default());
    let _ = detail::decode_call(octets, &mut call);
    let _ = detail::decode_stream(octets, &mut stream);
    let _ = detail::hosts_of_call(octets);
}

/// A filter: what is understood is understood again; a mistake has its place in the text.
pub fn filter(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    match Filter::parse(text) {
        Ok(filter) => {
            let holds = filter.matches(&Call::default());
            assert_eq!(Filter::parse(filter.text()).map(|f| f.matches(&Call::default())), Ok(holds));
            let condition = sql::condition(&filter);
            assert_eq!(condition.sql.matches('?').count(), condition.parameters.len());
        }
        Err(mistake) => {
            assert!(mistake.column <= text.chars().count() + 1, "{mistake}");
            assert!(!mistake.caret(text).is_empty());
        }
    }
}

/// The body of a journal's record: what is read is written as it was read, once numbers are as short as they can be.
pub fn journal(octets: &[u8]) {
    let Ok(rows) = journal::read(octets) else { return };
    let once = written(&rows);
    let body = once.get(journal::FRAME_OCTETS..).unwrap_or_default();
    assert_eq!(journal::read(body).map(|rows| written(&rows)).as_ref(), Ok(&once));
}

fn written(rows: &Rows) -> Vec<u8> {
    let mut out = vec![];
    assert!(journal::write(rows, &mut out));
    out
}
