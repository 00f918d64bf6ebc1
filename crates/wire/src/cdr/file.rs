//! Files of records (3GPP TS 32.297 clause 6.1): a header of the file, then each record behind a header of its own.

use crate::calendar::{DAY_SECONDS, days};
use crate::cdr::RecordTime;
use core::fmt;
use core::net::IpAddr;

/// Octets of a file's header without what has a length of its own.
const FIXED_OCTETS: usize = 52;
/// Release identifier of what stands in an octet of its own: from release 10 on.
const EXTENDED: u8 = 7;
/// Octets of the longest record.
pub const RECORD_OCTETS_MAX: usize = u16::MAX as usize;

/// How records are encoded.
pub mod encoding {
    #![allow(missing_docs, reason = "the names are those of the specification")]
    pub const BER: u8 = 1;
    pub const UNALIGNED_PER: u8 = 2;
    pub const ALIGNED_PER: u8 = 3;
    pub const XER: u8 = 4;
}

/// The specification that says what a record holds.
pub mod specification {
    /// TS 32.251: packet switched.
    pub const PACKET_SWITCHED: u8 = 7;
    /// TS 32.260: IMS.
    pub const IMS: u8 = 9;
    /// TS 32.274: short messages.
    pub const SHORT_MESSAGES: u8 = 15;
    /// TS 32.255: 5G data.
    pub const DATA_5G: u8 = 20;
}

/// Why a file was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Closure {
    /// As it should be.
    #[default]
    Normal,
    /// It has its size.
    Size,
    /// It has been open for its time.
    Time,
    /// It has its count of records.
    Count,
    /// Somebody closed it.
    Manual,
    /// Records are of another release from now on.
    ReleaseChange,
    /// Something went wrong.
    Abnormal,
    /// The file system failed.
    FileSystemError,
    /// The file system is full.
    FileSystemFull,
    /// The file is not sound.
    Integrity,
    /// Another reason.
    Other(u8),
}

/// Reasons with their numbers.
const CLOSURES: [(u8, Closure); 10] = [
    (0, Closure::Normal),
    (1, Closure::Size),
    (2, Closure::Time),
    (3, Closure::Count),
    (4, Closure::Manual),
    (5, Closure::ReleaseChange),
    (128, Closure::Abnormal),
    (129, Closure::FileSystemError),
    (130, Closure::FileSystemFull),
    (131, Closure::Integrity),
];

impl Closure {
    /// The octet of the header.
    pub fn number(self) -> u8 {
        match self {
            Closure::Other(number) => number,
            closure => CLOSURES.iter().find(|(_, c)| *c == closure).map_or(128, |(number, _)| *number),
        }
    }

    /// Of the octet.
    pub fn from_number(number: u8) -> Closure {
        CLOSURES.iter().find(|(n, _)| *n == number).map_or(Closure::Other(number), |(_, closure)| *closure)
    }
}

/// Records that were lost before they came into the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lost {
    /// None.
    #[default]
    None,
    /// That many, 1 to 126.
    Exactly(u8),
    /// That many or more, 1 to 127.
    AtLeast(u8),
}

impl Lost {
    /// Of a count that is known; beyond 126 it says 127 or more.
    pub fn of(count: u64) -> Lost {
        match count {
            0 => Lost::None,
            1..=126 => Lost::Exactly(count as u8),
            _ => Lost::AtLeast(127),
        }
    }

    /// The octet of the header: the top bit says that the count is exact, except where it is of none or of 127.
    pub fn octet(self) -> u8 {
        match self {
            Lost::None => 0,
            Lost::Exactly(count) => 0x80 | count.clamp(1, 126),
            Lost::AtLeast(1) => 0x80,
            Lost::AtLeast(count) if count >= 127 => 0xff,
            Lost::AtLeast(count) => count.max(1),
        }
    }

    /// Of the octet.
    pub fn from_octet(octet: u8) -> Lost {
        match octet {
            0 => Lost::None,
            1..=127 => Lost::AtLeast(octet),
            128 => Lost::AtLeast(1),
            255 => Lost::AtLeast(127),
            octet => Lost::Exactly(octet & 0x7f),
        }
    }
}

/// Release and version of the specification that records follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    /// 3GPP release: 4 and higher; 3 stands for release 99.
    pub release: u8,
    /// The second number of the specification's version, up to 31.
    pub version: u8,
}

impl Edition {
    /// The octet of identifier and version.
    fn octet(self) -> u8 {
        self.identifier() << 5 | self.version & 0x1f
    }

    fn identifier(self) -> u8 {
        self.release.saturating_sub(3).min(EXTENDED)
    }

    /// The octet of its own that releases from 10 on have.
    fn extension(self) -> Option<u8> {
        (self.identifier() == EXTENDED).then(|| self.release - 10)
    }

    /// Of the octet, and of the one of its own where there is one.
    fn read(octet: u8, extension: impl FnOnce() -> Option<u8>) -> Option<Edition> {
        let release = match octet >> 5 {
            EXTENDED => extension()?.checked_add(10)?,
            identifier => identifier + 3,
        };
        Some(Edition { release, version: octet & 0x1f })
    }
}

/// A time in the header: month to minute, local, and its distance from UTC. There is no year.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTime {
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// Minutes that local time is ahead of UTC.
    pub offset_minutes: i16,
}

impl FileTime {
    /// Of a time, cut to its minute.
    pub fn new(time: RecordTime) -> FileTime {
        let ((_, month, day), second) = time.local();
        let (hour, minute) = ((second / 3600) as u8, (second / 60 % 60) as u8);
        FileTime { month: month as u8, day: day as u8, hour, minute, offset_minutes: time.offset_minutes }
    }

    /// The time in a year.
    pub fn in_year(&self, year: i64) -> Option<RecordTime> {
        let day = days(year, self.month.into(), self.day.into())?;
        let minute = 60 * i64::from(self.hour) + i64::from(self.minute) - i64::from(self.offset_minutes);
        Some(RecordTime { unix_seconds: day * DAY_SECONDS + 60 * minute, offset_minutes: self.offset_minutes })
    }

    /// Four bits of month, five of day, five of hour, six of minute, one that is set ahead of UTC, five and six of the
    /// distance.
    fn word(self) -> u32 {
        let ahead = u32::from(self.offset_minutes.unsigned_abs());
        let local = u32::from(self.month) << 28 | u32::from(self.day) << 23 | u32::from(self.hour) << 18;
        let plus = u32::from(self.offset_minutes >= 0);
        let distance = ((ahead / 60) << 6) | (ahead % 60);
        local | u32::from(self.minute) << 12 | plus << 11 | distance
    }

    /// None where the distance has more than 59 minutes; the rest is as it came.
    fn of(word: u32) -> Option<FileTime> {
        let field = |at: u32, bits: u32| (word >> at & ((1 << bits) - 1)) as u8;
        let ahead = 60 * i16::from(field(6, 5)) + i16::from(field(0, 6));
        (field(0, 6) < 60).then_some(FileTime {
            month: field(28, 4),
            day: field(23, 5),
            hour: field(18, 5),
            minute: field(12, 6),
            offset_minutes: if field(11, 1) == 1 { ahead } else { -ahead },
        })
    }
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader<'a> {
    /// Octets of the whole file.
    pub file_octets: u32,
    /// The newest edition of its records.
    pub high: Edition,
    /// The oldest.
    pub low: Edition,
    /// When it was opened.
    pub opened: FileTime,
    /// When the last record was appended.
    pub appended: FileTime,
    /// Records.
    pub count: u32,
    /// Grows by one with each file of the node.
    pub sequence: u32,
    /// Why it was closed.
    pub closure: Closure,
    /// Who made it.
    pub node: IpAddr,
    /// Records lost on the way into it.
    pub lost: Lost,
    /// What routes the file, text of the operator.
    pub routeing_filter: &'a [u8],
    /// The operator's own.
    pub private_extension: &'a [u8],
}

impl<'a> FileHeader<'a> {
    /// Octets of the header.
    pub fn octets(&self) -> usize {
        let extensions = usize::from(self.high.extension().is_some()) + usize::from(self.low.extension().is_some());
        FIXED_OCTETS + self.routeing_filter.len() + self.private_extension.len() + extensions
    }

    /// Appends it. A file that is still open is written over with the final one when it is closed: it has the same
    /// length then. Filters and extensions over 65,535 octets are cut.
    pub fn write(&self, out: &mut Vec<u8>) {
        let cut = |octets: &'a [u8]| &octets[..octets.len().min(usize::from(u16::MAX))];
        let header = FileHeader {
            routeing_filter: cut(self.routeing_filter),
            private_extension: cut(self.private_extension),
            ..*self
        };
        out.extend_from_slice(&header.file_octets.to_be_bytes());
        out.extend_from_slice(&(header.octets() as u32).to_be_bytes());
        out.extend_from_slice(&[header.high.octet(), header.low.octet()]);
        for word in [header.opened.word(), header.appended.word(), header.count, header.sequence] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.push(header.closure.number());
        // Twenty octets: four that are set, then IPv6, of IPv4 the mapped form.
        out.extend_from_slice(&[0xff; 4]);
        out.extend_from_slice(crate::Address::from(header.node).octets());
        out.push(header.lost.octet());
        for octets in [header.routeing_filter, header.private_extension] {
            out.extend_from_slice(&(octets.len() as u16).to_be_bytes());
            out.extend_from_slice(octets);
        }
        out.extend(header.high.extension().into_iter().chain(header.low.extension()));
    }

    /// The header at the beginning of a file.
    ///
    /// # Errors
    /// It is not all there, or its length is not that of what it holds.
    pub fn read(file: &'a [u8]) -> Result<FileHeader<'a>, FileError> {
        let fixed: &[u8; 48] = file.first_chunk().ok_or(FileError::Header)?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let header = file.get(48..word(4) as usize).ok_or(FileError::Header)?;
        let (routeing_filter, rest) = counted(header)?;
        let (private_extension, mut rest) = counted(rest)?;
        let mut extension = || first(&mut rest);
        let high = Edition::read(fixed[8], &mut extension).ok_or(FileError::Header)?;
        let low = Edition::read(fixed[9], &mut extension).ok_or(FileError::Header)?;
        let mut node = [0; 16];
        node.copy_from_slice(&fixed[31..47]);
        let read = FileHeader {
            file_octets: word(0),
            high,
            low,
            opened: FileTime::of(word(10)).ok_or(FileError::Header)?,
            appended: FileTime::of(word(14)).ok_or(FileError::Header)?,
            count: word(18),
            sequence: word(22),
            closure: Closure::from_number(fixed[26]),
            node: crate::Address::v6(node).to_ip(),
            lost: Lost::from_octet(fixed[47]),
            routeing_filter,
            private_extension,
        };
        if read.octets() == word(4) as usize { Ok(read) } else { Err(FileError::Header) }
    }
}

/// Takes the first octet off.
fn first(octets: &mut &[u8]) -> Option<u8> {
    let (first, rest) = octets.split_first()?;
    *octets = rest;
    Some(*first)
}

/// Octets behind their count, and what follows.
fn counted(octets: &[u8]) -> Result<(&[u8], &[u8]), FileError> {
    let (count, rest) = octets.split_first_chunk::<2>().ok_or(FileError::Header)?;
    rest.split_at_checked(u16::from_be_bytes(*count).into()).ok_or(FileError::Header)
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileError {
    /// Its header.
    Header,
    /// A record that begins at this octet is not all there.
    Record(usize),
    /// There are not as many records or octets as the header says.
    Count,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Header => write!(f, "the header of the file is not sound"),
            FileError::Record(at) => write!(f, "the record at octet {at} is not all there"),
            FileError::Count => write!(f, "not as many records or octets as the header says"),
        }
    }
}

impl core::error::Error for FileError {}

/// The header of a record in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The edition of the record.
    pub edition: Edition,
    /// See [`encoding`].
    pub encoding: u8,
    /// See [`specification`].
    pub specification: u8,
}

impl RecordHeader {
    /// Appends a record behind its header; false, and nothing, where it has more than [`RECORD_OCTETS_MAX`] octets.
    pub fn write(&self, record: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(octets) = u16::try_from(record.len()) else { return false };
        out.extend_from_slice(&octets.to_be_bytes());
        out.extend_from_slice(&[self.edition.octet(), self.encoding << 5 | self.specification & 0x1f]);
        out.extend(self.edition.extension());
        out.extend_from_slice(record);
        true
    }

    /// Of four octets or five; the record's length, the header, what follows.
    fn read(octets: &[u8]) -> Option<(usize, RecordHeader, &[u8])> {
        let (&[l1, l2, edition, kind], mut rest) = octets.split_first_chunk()?;
        let edition = Edition::read(edition, || first(&mut rest))?;
        let header = RecordHeader { edition, encoding: kind >> 5, specification: kind & 0x1f };
        Some((usize::from(u16::from_be_bytes([l1, l2])), header, rest))
    }
}

/// The records of a file. A file that was not closed, or whose end is missing, gives those that are whole.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// Those behind a header.
    pub fn new(file: &'a [u8], header: &FileHeader<'_>) -> Records<'a> {
        Records { file, at: header.octets().min(file.len()) }
    }

    /// Those of a piece of a file that begins with a record.
    pub fn of(piece: &'a [u8]) -> Records<'a> {
        Records { file: piece, at: 0 }
    }

    /// Octets of the file up to the end of the last record given.
    pub fn taken(&self) -> usize {
        self.at
    }

    /// Whether a closed file has what its header says: its length, its count, no half record.
    ///
    /// # Errors
    /// What it has not.
    pub fn check(file: &'a [u8]) -> Result<FileHeader<'a>, FileError> {
        let header = FileHeader::read(file)?;
        let mut count = 0u32;
        for record in Records::new(file, &header) {
            record?;
            count += 1;
        }
        let sound = count == header.count && file.len() == header.file_octets as usize;
        if sound { Ok(header) } else { Err(FileError::Count) }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<(RecordHeader, &'a [u8]), FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.file[self.at..];
        if rest.is_empty() {
            return None;
        }
        let whole =
            RecordHeader::read(rest).and_then(|(octets, header, rest)| Some((header, rest.get(..octets)?, rest)));
        let Some((header, record, behind)) = whole else {
            let broken = Err(FileError::Record(self.at));
            self.file = &self.file[..self.at];
            return Some(broken);
        };
        self.at = self.file.len() - behind.len() + record.len();
        Some(Ok((header, record)))
    }
}

/// The name of a file (TS 32.297 clause 6.2): who made it, its running count, when it was closed, `PI` where the
/// private information says something, the operator's ending.
#[derive(Clone, Copy, Debug)]
pub struct FileName<'a> {
    /// Who made it.
    pub node_id: &'a str,
    /// Its running count.
    pub count: u32,
    /// When it was closed.
    pub time: RecordTime,
    /// Private information.
    pub private: Option<&'a str>,
    /// Its ending.
    pub extension: Option<&'a str>,
}

/// `ocs1_-_42.20261123_-_0220+0000`.
impl fmt::Display for FileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), second) = self.time.local();
        let (sign, ahead) =
            (if self.time.offset_minutes < 0 { '-' } else { '+' }, self.time.offset_minutes.unsigned_abs());
        write!(f, "{}_-_{}.{year:04}{month:02}{day:02}_-_", self.node_id, self.count)?;
        write!(f, "{:02}{:02}{sign}{:02}{:02}", second / 3600, second / 60 % 60, ahead / 60, ahead % 60)?;
        [self.private, self.extension].into_iter().flatten().try_for_each(|part| write!(f, ".{part}"))
    }
}
