//! What record files hold, read as a stranger would: files in BER, and tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use trunkline_wire::cdr::PgwRecord;
use trunkline_wire::cdr::file::{Closure, Lost, Records};

/// All closed files of a folder.
#[derive(Default)]
pub struct Recorded {
    /// Octets by number, of the records in BER.
    ber: BTreeMap<u32, u64>,
    /// Lines of tables, their fields by the names of columns.
    lines: Vec<BTreeMap<String, String>>,
    /// Numbers of files.
    counts: BTreeSet<u32>,
    /// Sessions whose last record is there, by its name.
    ended: u64,
}

impl Recorded {
    pub fn read(folder: &Path) -> Recorded {
        let mut recorded = Recorded::default();
        for entry in std::fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            let octets = || std::fs::read(&path).expect("a file");
            match path.extension().and_then(|ending| ending.to_str()) {
                Some("ber") => recorded.ber(&octets()),
                Some("csv") => recorded.table(&String::from_utf8(octets()).expect("text")),
                Some("part") => panic!("{} was not closed", path.display()),
                _ => {}
            }
        }
        recorded
    }

    fn ber(&mut self, octets: &[u8]) {
        let header = Records::check(octets).expect("a sound file");
        assert!(header.lost == Lost::None && self.counts.insert(header.sequence), "file {}", header.sequence);
        assert!(matches!(header.closure, Closure::Normal | Closure::Count | Closure::Time), "{:?}", header.closure);
        for record in Records::new(octets, &header) {
            let record = PgwRecord::read(record.expect("a record").1).expect("a PGWRecord");
            let (up, down) = record.octets();
            let number = record.local_sequence_number.expect("a number");
            assert!(self.ber.insert(number, up + down).is_none(), "number {number} twice");
            self.ended += u64::from(matches!(record.cause, 0 | 4 | 20));
        }
    }

    fn table(&mut self, text: &str) {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().expect("a head").split(',').collect();
        for line in lines {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), names.len(), "{line}");
            self.lines
                .push(names.iter().zip(fields).map(|(name, field)| (name.to_string(), field.to_owned())).collect());
        }
    }

    fn of(line: &BTreeMap<String, String>, name: &str) -> u64 {
        if line[name].is_empty() { 0 } else { line[name].parse().expect("a number") }
    }

    /// Numbers are those from 1 on, each once, in both forms alike; so are the files'.
    pub fn check(&self) {
        assert!(self.ber.keys().copied().eq(1..=self.ber.len() as u32), "numbers without a gap");
        assert!(self.counts.iter().copied().eq(0..self.counts.len() as u32), "files without a gap");
        let mut table = BTreeMap::<u32, u64>::new();
        for line in &self.lines {
            *table.entry(Self::of(line, "number") as u32).or_default() += Self::of(line, "octets");
        }
        assert!(table == self.ber, "the table tells what the records do");
        // A session's records are numbered from 1 on, if there are several.
        let mut sessions = BTreeMap::<&str, BTreeSet<(u64, u64)>>::new();
        for line in &self.lines {
            let record = (Self::of(line, "record"), Self::of(line, "number"));
            sessions.entry(&line["session"]).or_default().insert(record);
        }
        for (session, records) in sessions {
            let one = records.len() == 1 && records.iter().all(|(record, _)| *record == 0);
            assert!(one || records.iter().map(|(record, _)| *record).eq(1..=records.len() as u64), "{session}");
        }
    }

    /// Octets in BER, and in tables.
    pub fn octets(&self) -> (u64, u64) {
        (self.ber.values().sum(), self.lines.iter().map(|line| Self::of(line, "octets")).sum())
    }

    /// What accounts paid, those that did.
    pub fn money(&self) -> BTreeMap<u64, i64> {
        let mut money = BTreeMap::new();
        for line in &self.lines {
            *money.entry(Self::of(line, "account")).or_default() += Self::of(line, "money") as i64;
        }
        money.retain(|_, money| *money != 0);
        money
    }

    pub fn sessions_ended(&self) -> u64 {
        self.ended
    }

    pub fn records(&self) -> u64 {
        self.ber.len() as u64
    }

    pub fn files(&self) -> usize {
        self.counts.len()
    }
}
