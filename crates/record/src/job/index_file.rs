//! Index files: opened with the file that they belong to, made anew where they are missing, damaged or stale.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use trunkline_capture::{Batch, FileError, FileFault, FileSource};

use crate::index::{Builder, FileMark, IndexError, ReadAt, View};
use crate::segment::{Segment, SegmentFault};

/// Below a data folder: indexes of files in folders that cannot be written.
pub const ELSEWHERE: &str = "indexes";

/// A file that is read at any place.
#[derive(Debug)]
pub struct FileAt {
    file: File,
    octets: u64,
}

impl FileAt {
    /// Opens a file; a segment that retention would remove stays as long as it is open.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> io::Result<FileAt> {
        let file = trunkline_spool::read_lock(path)?;
        let octets = file.metadata()?.len();
        Ok(FileAt { file, octets })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Asks again how long the file is.
    ///
    /// # Errors
    /// What the system says.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.octets = self.file.metadata()?.len();
        Ok(())
    }

    /// What the file is now.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn mark(&self) -> io::Result<FileMark> {
        let metadata = self.file.metadata()?;
        let mut head = [0; FileMark::HEAD_OCTETS];
        let n = self.read_at(0, &mut head)?;
        let modified_ns = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Ok(FileMark::of(metadata.len(), modified_ns, &head[..n]))
    }
}

impl ReadAt for FileAt {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut have = 0;
        while have < out.len() {
            match self.file.read_at(&mut out[have..], offset + have as u64) {
                Ok(0) => break,
                Ok(n) => have += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(have)
    }

    fn octets(&self) -> u64 {
        self.octets
    }
}

/// The places where the index of a capture file may be: beside it, then in the data folder.
pub fn places(capture: &Path, data: Option<&Path>) -> Vec<PathBuf> {
    let mut name = capture.file_name().unwrap_or_default().to_os_string();
    name.push(".idx");
    let beside = capture.with_file_name(&name);
    let elsewhere = data.map(|data| {
        let whole = std::path::absolute(capture).unwrap_or_else(|_| capture.to_path_buf());
        let check = crc32fast::hash(whole.as_os_str().as_encoded_bytes());
        data.join(ELSEWHERE).join(format!("{check:08x}-{}", name.to_string_lossy()))
    });
    core::iter::once(beside).chain(elsewhere).collect()
}

/// Opens the index of a capture file, if it is the file's as it is now.
///
/// # Errors
/// It cannot be read, or is damaged, or of another file.
pub fn open(index: &Path, capture: &FileAt) -> Result<View<FileAt>, IndexError> {
    let unreadable = |e: io::Error| IndexError::Unreadable(e.to_string());
    let view = View::open(FileAt::open(index).map_err(unreadable)?)?;
    let mark = capture.mark().map_err(unreadable)?;
    if view.facts().file.fits(&mark) { Ok(view) } else { Err(IndexError::Stale) }
}

/// Makes the index of a file that can be read at any place. What is damaged ends it: the index is then of what came
/// before, and the fault says where.
///
/// # Errors
/// Nothing of the file can be read.
pub fn make(capture: FileAt, growing: bool) -> Result<(Vec<u8>, u64, Option<SegmentFault>), SegmentFault> {
    let mark = capture
        .mark()
        .map_err(|e| SegmentFault { offset: 0, fault: trunkline_capture::FileFault::Unreadable(e.to_string()) })?;
    let mut builder = Builder::new();
    let mut segment = Segment::open(capture, growing)?;
    let (whole, fault) = match segment.index(&mut builder) {
        Ok(whole) => (whole, None),
        Err(fault) => (fault.offset, Some(fault)),
    };
    Ok((builder.seal(&mark), whole, fault))
}

/// Makes the index of any capture file. That of one that has to be read as a stream (compressed, or in a variant of
/// pcap that only reading whole files knows) says which flows there are, and that it is read from its beginning.
///
/// # Errors
/// Nothing of the file can be read. What is damaged ends the index, and is told beside it.
pub fn make_of_file(path: &Path) -> Result<(Vec<u8>, Option<FileError>), FileError> {
    let error = |offset, fault| FileError { path: path.to_path_buf(), offset, decompressed: false, fault };
    let capture = FileAt::open(path).map_err(|e| error(0, FileFault::Unreadable(e.to_string())))?;
    let mark = capture.mark().map_err(|e| error(0, FileFault::Unreadable(e.to_string())))?;
    if let Ok((octets, _, fault)) = make(capture, false) {
        return Ok((octets, fault.map(|f| error(f.offset, f.fault))));
    }
    let mut source = FileSource::open(&[path.to_path_buf()]);
    let (mut batch, mut builder, mut packets) = (Batch::default(), Builder::new(), 0u64);
    builder.sequential();
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            let octets = batch.octets_of(packet);
            let decoded = trunkline_wire::decode(packet.link, octets);
            builder.packet(packet.at_ns, packet.offset, packet.captured, packet.link, octets, &decoded);
        }
        packets += batch.packets.len() as u64;
    }
    match source.files().first().and_then(|f| f.error.clone()) {
        Some(error) if packets == 0 => Err(error),
        fault => Ok((builder.seal(&mark), fault)),
    }
}

/// Writes an index to its place: whole or not at all.
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, octets: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = File::create(&part)?;
    file.write_all(octets)?;
    file.sync_data()?;
    std::fs::rename(&part, path)
}
