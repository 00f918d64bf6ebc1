//! Whether a segment is whole: its contents by their checksums, and its index by what a full scan says.

use std::io;
use std::path::{Path, PathBuf};

use trunkline_capture::FileError;
use trunkline_kit::sums::{Compared, Origin, Sums};

use super::folder::{HOUR_NS, LENGTH_MAX_NS, SegmentFile};
use super::index_file::{self, FileAt};
use crate::identity::{Identity, LogId};
use crate::index::{Facts, Flow, IndexError, ReadAt, Span, View};
use crate::names::segment_name;

/// How much of a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Its index with all sections, whose checksums are compared, and its length.
    Index,
    /// All of it: the contents are compared with their checksums, and the index with a scan.
    Contents,
}

/// What is known of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// They are what the checksums say; what these were made of.
    Whole(Origin),
    /// They differ there.
    Damaged(Compared),
    /// They were not compared: why.
    NotChecked(NotChecked),
}

/// Why contents were not compared with checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotChecked {
    /// They are being written.
    Growing,
    /// Only the index was asked for.
    NotRead,
    /// The file was written before there were checksums, or its index was made of a file without any.
    NoSums,
    /// The index that has them cannot be used.
    NoIndex,
}

/// What verifying a file found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What the file holds, as a scan of it says, or the index if it was not scanned; none if that cannot be used.
    pub facts: Option<Facts>,
    /// What is wrong with the file.
    pub fault: Option<FileError>,
    /// What is wrong with its index; a file that is being written has none.
    pub index: Option<IndexError>,
    /// Octets of the index file.
    pub index_octets: u64,
    /// What is known of what is in it.
    pub contents: Contents,
    /// Which segment of which log it says that it is.
    pub identity: Option<Identity>,
}

/// Reads a file as deep as that, compares its contents with their checksums and what its index says with a scan.
///
/// # Errors
/// Nothing of the file can be read.
pub fn verify(file: &SegmentFile, depth: Depth) -> Result<Verified, FileError> {
    let decompressed = file.is_packed();
    let error = |offset, fault| FileError { path: file.path.clone(), offset, decompressed, fault };
    let unreadable = |e: io::Error| error(0, trunkline_capture::FileFault::Unreadable(e.to_string()));
    let capture = file.open().map_err(unreadable)?;
    let identity = if file.class.is_some() { Identity::of(&capture).map_err(unreadable)? } else { None };
    let path = file.indexes.iter().find(|path| path.exists());
    let opened = || match path {
        _ if file.growing => Err(IndexError::Unreadable("it is being written".to_owned())),
        None => Err(IndexError::Unreadable("there is none".to_owned())),
        Some(path) => index_file::open(path, &capture),
    };
    let opened = opened();
    let contents = match (&opened, depth) {
        _ if file.growing => Contents::NotChecked(NotChecked::Growing),
        (Err(_), _) => saved(path.map(PathBuf::as_path), &capture, depth).map_err(unreadable)?,
        (Ok(_), Depth::Index) => Contents::NotChecked(NotChecked::NotRead),
        (Ok(view), Depth::Contents) => match view.sums() {
            Ok(sums) => compared(sums, &capture).map_err(unreadable)?,
            Err(_) => Contents::NotChecked(NotChecked::NoIndex),
        },
    };
    let index_octets = opened.as_ref().map_or(0, |view| view.facts().index_octets);
    if depth == Depth::Index {
        let facts = opened.as_ref().ok().map(View::facts);
        let index = opened.and_then(|view| whole(&view)).err().filter(|_| !file.growing);
        return Ok(Verified { facts, fault: None, index, index_octets, contents, identity });
    }
    let (octets, _, fault) = index_file::make(capture, file.growing).map_err(|f| error(f.offset, f.fault))?;
    let scanned = View::open(octets).map_err(|e| unreadable(io::Error::other(e.to_string())))?;
    let fault = fault.map(|f| error(f.offset, f.fault));
    let facts = Some(scanned.facts());
    let index = opened.and_then(|view| whole(&view).and_then(|()| compare(&view, &scanned)));
    Ok(Verified { facts, fault, index: index.err().filter(|_| !file.growing), index_octets, contents, identity })
}

/// Whether a segment is the one of its name, and of the log of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// It is.
    Here,
    /// It is another one: what it says, or its packets.
    Elsewhere(String),
    /// It is, as far as can be told: what nobody knows.
    Unknown(&'static str),
}

/// Compares what a segment says of itself with its name, and with the log of its data folder as far as that is known.
/// Of one that says nothing the times of its packets, as `facts` has them, have to be near that of its name.
pub fn belongs(
    file: &SegmentFile,
    (identity, facts): (Option<&Identity>, Option<&Facts>),
    log: Option<LogId>,
) -> Belongs {
    let Some(class) = file.class else { return Belongs::Here };
    let name = segment_name(class, file.begins_ns, file.lane, file.again);
    match (identity, log) {
        (Some(identity), _) if identity.name != name => Belongs::Elsewhere(format!(
            "it is another segment, by its header: {} of log {}",
            identity.name, identity.log
        )),
        (Some(identity), Some(log)) if identity.log != log => {
            Belongs::Elsewhere(format!("it is of another log, by its header: of {}, and this is {log}", identity.log))
        }
        (Some(_), Some(_)) => Belongs::Here,
        (Some(_), None) => Belongs::Unknown("whether it is of this log: the note of volumes does not say which it is"),
        (None, _) => {
            let span = facts.map(|facts| facts.span).filter(|span| !span.is_empty());
            let near = Span {
                first_ns: file.begins_ns.saturating_sub(HOUR_NS),
                last_ns: file.begins_ns.saturating_add(LENGTH_MAX_NS),
            };
            match span.filter(|span| span.first_ns < near.first_ns || span.last_ns > near.last_ns) {
                Some(_) => Belongs::Elsewhere("its packets are not of the time of its name".to_owned()),
                None => Belongs::Unknown("whether it is the segment of its name and log: written before segments said"),
            }
        }
    }
}

/// All sections of an index, and the checksums behind them.
fn whole(view: &View<FileAt>) -> Result<(), IndexError> {
    view.check()?;
    view.sums().map(|_| ())
}

/// Compares contents with checksums of which the index itself cannot be used.
fn saved(index: Option<&Path>, capture: &FileAt, depth: Depth) -> io::Result<Contents> {
    match index.and_then(index_file::sums_of).filter(|sums| sums.origin != Origin::None) {
        Some(sums) if depth == Depth::Contents => compared(Some(sums), capture),
        Some(_) => Ok(Contents::NotChecked(NotChecked::NotRead)),
        None => Ok(Contents::NotChecked(NotChecked::NoIndex)),
    }
}

fn compared(sums: Option<Sums>, capture: &FileAt) -> io::Result<Contents> {
    let Some(sums) = sums.filter(|sums| sums.origin != Origin::None) else {
        return Ok(Contents::NotChecked(NotChecked::NoSums));
    };
    let found = sums.compare(index_file::InOrder { file: capture, at: 0 })?;
    Ok(if found.is_whole() { Contents::Whole(sums.origin) } else { Contents::Damaged(found) })
}

/// Compares all that the two say of the file.
fn compare<R: ReadAt, S: ReadAt>(index: &View<R>, scanned: &View<S>) -> Result<(), IndexError> {
    index.check()?;
    let same = |fits: bool| if fits { Ok(()) } else { Err(IndexError::Damaged("it differs from a full scan")) };
    let (a, b) = (index.facts(), scanned.facts());
    same((a.packets, a.head_octets, a.span, a.sequential) == (b.packets, b.head_octets, b.span, b.sequential))?;
    same(index.sets() == scanned.sets() && index.starts()? == scanned.starts()?)?;
    same(index.spans()? == scanned.spans()? && index.descriptions()? == scanned.descriptions()?)?;
    let (a, b) = (flows(index)?, flows(scanned)?);
    same(a == b)
}

type Flows = (Vec<(Flow, Vec<u32>)>, Vec<u32>);

fn flows<R: ReadAt>(view: &View<R>) -> Result<Flows, IndexError> {
    let mut list = Vec::new();
    let unlisted = view.flows(|flow, pages| list.push((*flow, pages)))?;
    let mut found = Vec::with_capacity(list.len());
    for (flow, pages) in list {
        let mut out = Vec::new();
        view.pages_of(pages, &mut out)?;
        found.push((flow, out));
    }
    Ok((found, unlisted))
}
