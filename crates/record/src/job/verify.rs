//! Whether a segment is whole and its index says what a full scan says.

use trunkline_capture::FileError;

use super::folder::SegmentFile;
use super::index_file;
use crate::index::{Facts, Flow, IndexError, ReadAt, View};

/// What verifying a file found.
#[derive(Clone, Debug)]
pub struct Verified {
    /// What the file holds, as a scan of it says.
    pub facts: Facts,
    /// What is wrong with the file.
    pub fault: Option<FileError>,
    /// What is wrong with its index; a file that is being written has none.
    pub index: Option<IndexError>,
    /// Octets of the index file.
    pub index_octets: u64,
}

/// Reads a file from beginning to end and compares what its index says with that.
///
/// # Errors
/// Nothing of the file can be read.
pub fn verify(file: &SegmentFile) -> Result<Verified, FileError> {
    let decompressed = file.is_packed();
    let error = |offset, fault| FileError { path: file.path.clone(), offset, decompressed, fault };
    let unreadable = |e: std::io::Error| error(0, trunkline_capture::FileFault::Unreadable(e.to_string()));
    let capture = file.open().map_err(unreadable)?;
    let (octets, _, fault) = index_file::make(capture, file.growing).map_err(|f| error(f.offset, f.fault))?;
    let scanned = View::open(octets).map_err(|e| unreadable(std::io::Error::other(e.to_string())))?;
    let fault = fault.map(|f| error(f.offset, f.fault));
    let facts = scanned.facts();
    if file.growing {
        return Ok(Verified { facts, fault, index: None, index_octets: 0 });
    }
    let capture = file.open().map_err(unreadable)?;
    let path = file.indexes.iter().find(|path| path.exists());
    let opened =
        path.map_or(Err(IndexError::Unreadable("there is none".to_owned())), |p| index_file::open(p, &capture));
    let index_octets = opened.as_ref().map_or(0, |view| view.facts().index_octets);
    let index = opened.and_then(|view| compare(&view, &scanned)).err();
    Ok(Verified { facts, fault, index, index_octets })
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
