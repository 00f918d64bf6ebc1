//! Index files: opened with the file that they belong to, made anew where they are missing, damaged or stale.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::Advice;
use trunkline_capture::{Batch, FileError, FileFault, FileSource};
use trunkline_kit::place;
use trunkline_kit::sums::{Origin, Sums};
use trunkline_spool::{AHEAD_PIECES_MAX, Ahead, PACKED};

use crate::index::{Builder, FileMark, IndexError, ReadAt, View};
use crate::packed::Frames;
use crate::segment::{Segment, SegmentFault};

/// Below a data folder: indexes of files in folders that cannot be written.
pub const ELSEWHERE: &str = "indexes";

/// User and group of a capture file: what root makes of it beside it is theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner(pub u32, pub u32);

/// A file that is read at any place: as it lies there or, if it is zstd with a seek table, as the stream in it.
#[derive(Debug)]
pub struct FileAt(Form);

#[derive(Debug)]
enum Form {
    Plain(Plain),
    Packed(Box<Frames<Plain>>),
}

/// A file as it lies there.
#[derive(Debug)]
struct Plain {
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
        let plain = Plain { file, octets };
        if path.extension().is_none_or(|e| e != PACKED) {
            return Ok(FileAt(Form::Plain(plain)));
        }
        Ok(FileAt(match Frames::open(plain)? {
            Ok(frames) => Form::Packed(Box::new(frames)),
            Err(plain) => Form::Plain(plain),
        }))
    }

    /// Whose file it is.
    ///
    /// # Errors
    /// What the system says.
    pub fn owner(&self) -> io::Result<Owner> {
        self.plain().file.metadata().map(|about| Owner(about.uid(), about.gid()))
    }

    /// Octets that the file takes.
    pub fn file_octets(&self) -> u64 {
        self.plain().octets
    }

    /// Whether what is read is decompressed.
    pub fn is_packed(&self) -> bool {
        matches!(self.0, Form::Packed(_))
    }

    /// Tells the system what will be done with octets from `offset` on; none: all of them.
    pub fn advise(&self, region: Option<(u64, u64)>, advice: Advice) {
        let (mut offset, mut octets) = region.unwrap_or_default();
        if let (Form::Packed(frames), true) = (&self.0, octets > 0) {
            let begin = frames.table().at(offset).map_or(0, |entry| entry.packed.0);
            let last = frames.table().at(offset.saturating_add(octets - 1));
            let end = last.map_or(self.file_octets(), |entry| entry.packed.0.saturating_add(entry.packed.1 as u64));
            (offset, octets) = (begin, end.saturating_sub(begin));
        }
        let _ = rustix::fs::fadvise(&self.plain().file, offset, NonZeroU64::new(octets), advice);
    }

    /// Begins to read pieces of it, `(offset, octets)` each, that are wanted soon; how many were taken.
    pub fn fetch(&self, ahead: &mut Ahead, pieces: impl Iterator<Item = (u64, u64)>) -> usize {
        match &self.0 {
            Form::Plain(plain) => ahead.fetch(&plain.file, pieces),
            // Frames are long, and many pieces lie in one: the system is told.
            Form::Packed(_) => {
                pieces.take(AHEAD_PIECES_MAX).map(|piece| self.advise(Some(piece), Advice::WillNeed)).count()
            }
        }
    }

    /// Asks again how long the file is.
    ///
    /// # Errors
    /// What the system says.
    pub fn refresh(&mut self) -> io::Result<()> {
        if let Form::Plain(plain) = &mut self.0 {
            plain.octets = plain.file.metadata()?.len();
        }
        Ok(())
    }

    /// What the file is now; of a packed one, what is in it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn mark(&self) -> io::Result<FileMark> {
        let metadata = self.plain().file.metadata()?;
        let mut head = [0; FileMark::HEAD_OCTETS];
        let n = self.read_at(0, &mut head)?;
        let octets = if self.is_packed() { self.octets() } else { metadata.len() };
        let modified_ns = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Ok(FileMark::of(octets, modified_ns, &head[..n]))
    }

    fn plain(&self) -> &Plain {
        match &self.0 {
            Form::Plain(plain) => plain,
            Form::Packed(frames) => frames.file(),
        }
    }
}

impl ReadAt for FileAt {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Form::Plain(plain) => plain.read_at(offset, out),
            Form::Packed(frames) => frames.read_at(offset, out),
        }
    }

    fn octets(&self) -> u64 {
        match &self.0 {
            Form::Plain(plain) => plain.octets,
            Form::Packed(frames) => frames.octets(),
        }
    }
}

impl ReadAt for Plain {
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
    let (whole, fault) = index_into(&mut builder, capture, growing)?;
    Ok((builder.seal(&mark), whole, fault))
}

/// Takes all of a file into an index: how far it is whole, and what ended it before its end.
fn index_into(
    builder: &mut Builder,
    capture: FileAt,
    growing: bool,
) -> Result<(u64, Option<SegmentFault>), SegmentFault> {
    let mut segment = Segment::open(capture, growing)?;
    Ok(match segment.index(builder) {
        Ok(whole) => (whole, None),
        Err(fault) => (fault.offset, Some(fault)),
    })
}

/// Makes the index of a segment in place of one that cannot be used, with checksums of the contents behind it: those of
/// the former index if they can still be read, so that damage to both shows, and a segment that was cut or exchanged;
/// else of what is found.
///
/// # Errors
/// Nothing of the segment can be read. What is damaged ends the index, and is told beside it.
pub fn make_again(capture: &Path, former: &Path) -> Result<(Vec<u8>, Option<SegmentFault>), SegmentFault> {
    let opened = FileAt::open(capture).map_err(unreadable)?;
    let sums = match written(former) {
        Some(sums) => sums,
        None => Sums::of(InOrder { file: &opened, at: 0 }).map_err(unreadable)?,
    };
    make_with(opened, Some(&sums))
}

/// The same for who only looks for packets and does not read all of the contents: where the former index has no
/// checksums, this one has none.
///
/// # Errors
/// As [`make_again`].
pub fn make_for_reading(capture: FileAt, former: &Path) -> Result<(Vec<u8>, Option<SegmentFault>), SegmentFault> {
    make_with(capture, written(former).as_ref())
}

fn make_with(capture: FileAt, sums: Option<&Sums>) -> Result<(Vec<u8>, Option<SegmentFault>), SegmentFault> {
    let (mut builder, mark) = (Builder::new(), capture.mark().map_err(unreadable)?);
    let fault = index_into(&mut builder, capture, false)?.1;
    let Some(sums) = sums else { return Ok((builder.seal(&mark), fault)) };
    builder.summed();
    let mut index = builder.seal(&mark);
    sums.emit(&mut index);
    Ok((index, fault))
}

/// What an index knows of contents, whatever else is wrong with it.
fn written(former: &Path) -> Option<Sums> {
    sums_of(former).filter(|sums| sums.origin != Origin::None)
}

fn unreadable(e: io::Error) -> SegmentFault {
    SegmentFault { offset: 0, fault: FileFault::Unreadable(e.to_string()) }
}

/// The checksums of contents at the end of an index file, whatever else is in it.
pub fn sums_of(index: &Path) -> Option<Sums> {
    let mut file = place::open(index).ok()?;
    let octets = file.metadata().ok()?.len();
    let mut end = [0; 16];
    file.read_exact_at(&mut end, octets.checked_sub(16)?).ok()?;
    let begin = octets.checked_sub(Sums::trailer_octets(&end)?)?;
    file.seek(SeekFrom::Start(begin)).ok()?;
    let mut trailer = Vec::new();
    file.read_to_end(&mut trailer).ok()?;
    Sums::parse(&trailer)
}

/// A file from its beginning to its end.
pub(super) struct InOrder<'f> {
    pub(super) file: &'f FileAt,
    pub(super) at: u64,
}

impl Read for InOrder<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(self.at, out)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// Makes the index of any capture file. That of one that has to be read as a stream (compressed, or in a variant of
/// pcap that only reading whole files knows) says which flows there are, and that it is read from its beginning.
///
/// # Errors
/// Nothing of the file can be read. What is damaged ends the index, and is told beside it.
pub fn make_of_file(path: &Path) -> Result<(Vec<u8>, Option<FileError>), FileError> {
    let error = |offset, decompressed, fault| FileError { path: path.to_path_buf(), offset, decompressed, fault };
    let unreadable = |e: io::Error| error(0, false, FileFault::Unreadable(e.to_string()));
    let capture = FileAt::open(path).map_err(unreadable)?;
    let mark = capture.mark().map_err(unreadable)?;
    // Offsets in a packed file are those of what is in it.
    let is_packed = capture.is_packed();
    if let Ok((octets, _, fault)) = make(capture, false) {
        return Ok((octets, fault.map(|f| error(f.offset, is_packed, f.fault))));
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

/// Writes an index to its place: whole or not at all. Root writes that of somebody else's capture as its owner.
///
/// # Errors
/// What the system says.
pub fn write(path: &Path, octets: &[u8], owner: Owner) -> io::Result<()> {
    let folder = path.parent().map(Path::metadata).transpose()?;
    let Owner(uid, gid) = match folder {
        Some(folder) if owner.0 == 0 => Owner(folder.uid(), folder.gid()),
        _ => owner,
    };
    place::as_owner((uid, gid), || place::replace(path, octets, place::PRIVATE))
}
