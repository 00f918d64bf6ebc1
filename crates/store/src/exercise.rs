//! One function per parser, driven by the fuzz targets and by the replay of their corpora.

use crate::filter::{Filter, Pattern, TextField, sql};
use crate::gist::plan::Plan;
use crate::gist::{self, Columns};
use crate::packed::{Damaged, Unpack};
use crate::row::{Call, Rows};
use crate::store::{Cursor, Order};
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

/// The cursor of a page: one that is read is written as it came, and leaves of a span no more than there was, less with
/// each page.
pub fn cursor(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    let Ok(cursor) = text.parse::<Cursor>() else { return };
    assert_eq!(cursor.to_string(), text);
    let noon_ns = cursor.day.start_ns().saturating_add(43_200_000_000_000);
    for (from_ns, to_ns) in [(i64::MIN, i64::MAX), (0, noon_ns), (noon_ns, i64::MAX)] {
        for order in [Order::Newest, Order::Oldest] {
            let left = cursor.cut(order, (from_ns, to_ns));
            assert!(left.0 >= from_ns && left.1 <= to_ns);
            let through = Cursor::behind(cursor.day, order).cut(order, left);
            assert!(through.0 >= left.0 && through.1 <= left.1);
            let is_out = |at_ns: i64| !(through.0..through.1).contains(&at_ns);
            assert!(is_out(cursor.day.start_ns()) && is_out(noon_ns), "{text} {order:?} {through:?}");
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

/// Gists as they lie in a day: what can be read is asked every kind of filter, and written again.
pub fn gists(octets: &[u8]) {
    let Ok(head) = gist::Head::read(octets) else { return };
    let mut whole = Whole { head, octets, values: vec![], hosts: gist::Hosts::default() };
    for text in ["mos<3 or not code:5xx", "ip:10.0.0.0/8 and duration>1s", "caller:+44* or callee:*7 pdd<9", "lost>1%"]
    {
        let Ok(filter) = Filter::parse(text) else { continue };
        let words = |_: TextField, _: &Pattern| Ok::<_, Damaged>(vec![1, 2]);
        if let Ok(plan) = Plan::of(filter.node(), 0, &words)
            && let Ok(answers) = plan.ask(&mut whole)
        {
            let (passing, open) = (answers.passing().count(), answers.open().count());
            assert_eq!(passing + open, answers.possible().count());
            assert!(answers.possible().all(|at| at < whole.rows()));
        }
    }
    let mut read = gist::Gists::default();
    if read.append(&mut whole).is_ok() {
        let _ = read.write(|_, _, _| Ok::<_, Damaged>(()));
    }
}

/// Gists of which all lies in the head.
struct Whole<'o> {
    head: gist::Head,
    octets: &'o [u8],
    values: Vec<u64>,
    hosts: gist::Hosts,
}

impl Columns for Whole<'_> {
    type Error = Damaged;

    fn rows(&self) -> usize {
        self.head.rows
    }

    fn range(&self, column: usize) -> gist::Range {
        self.head.range(column)
    }

    fn values(&mut self, column: usize) -> Result<&[u64], Damaged> {
        self.head.values(column, self.octets, &mut self.values)?;
        Ok(&self.values)
    }

    fn hosts(&mut self) -> Result<&gist::Hosts, Damaged> {
        self.hosts = self.head.hosts(self.octets)?;
        Ok(&self.hosts)
    }
}
