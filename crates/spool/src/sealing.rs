//! The end of a segment: cut, synchronised, index committed, segment committed. A thread of its own for each volume, so
//! that writing goes on meanwhile.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use trunkline_kit::sums::Sums;

use crate::event::What;
use crate::progress::Rest;
use crate::queue::{Command, Seal};
use crate::repair::PartFile;
use crate::segment::Segment;
use crate::shared::Shared;
use crate::volume::Volume;

/// A segment of which all blocks are written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) seal: Seal,
    pub(crate) file: Arc<File>,
    pub(crate) part: PathBuf,
    pub(crate) committed: PathBuf,
    /// Checksums of its contents, where they are wanted.
    pub(crate) sums: Option<Sums>,
}

/// A segment that failed, nothing of it in flight, and could not be cut.
#[derive(Debug)]
pub(crate) struct Uncut {
    pub(crate) segment: Arc<Segment>,
    /// Open, and so locked: nobody repairs it meanwhile.
    pub(crate) file: Arc<File>,
    pub(crate) part: PathBuf,
    pub(crate) rest: Rest,
}

/// What became of a segment.
#[derive(Debug)]
pub(crate) enum Ended {
    Written(Written),
    Uncut(Uncut),
}

/// Commits what comes until the volume's thread is gone.
pub(crate) fn run(shared: &Shared, volume: usize, ended: &Receiver<Ended>) {
    let Some(volume) = shared.volumes.get(volume) else { return };
    for ended in ended {
        match ended {
            Ended::Written(written) => seal(shared, volume, written),
            Ended::Uncut(uncut) => uncut.tell(shared, volume),
        }
        shared.end();
    }
}

impl Ended {
    /// Nobody is there any more who would look after it.
    pub(crate) fn tell(self, shared: &Shared, volume: &Volume) {
        match self {
            Ended::Written(written) => shared.discard(Command::Seal(written.seal)),
            Ended::Uncut(uncut) => uncut.tell(shared, volume),
        }
        shared.end();
    }
}

impl Uncut {
    /// Tells as lost what the next start will not find. What is on the disk now stays as it is: the volume takes
    /// nothing, and when it does again nobody comes back to this segment before it is repaired.
    fn tell(self, shared: &Shared, volume: &Volume) {
        let Uncut { segment, file, part, rest } = self;
        let octets = file.metadata().map_or(0, |m| m.len());
        let committed = crate::name::without(&part, crate::name::PART).unwrap_or_default();
        let found = PartFile { path: part, committed, octets };
        let whole = shared.options.whole.and_then(|whole| whole(&found).ok());
        let (tally, behind) = whole.map_or_else(|| rest.lost(), |whole| rest.lost_behind(whole));
        let octets = whole.map_or(rest.boundary, |whole| whole.octets.max(rest.boundary));
        volume.figures().counts.written_octets += octets - rest.boundary;
        shared.lose(&segment, tally, behind);
        shared.log.tell(volume.index, What::Cut { path: found.path, octets });
    }
}

fn seal(shared: &Shared, volume: &Volume, written: Written) {
    let extra_octets = written.seal.extra_octets();
    let octets = written.seal.octets;
    match commit(shared, &volume.disk, &written) {
        Ok(()) => {
            volume.figures().counts.sealed_segments += 1;
            let span_ns = written.seal.span_ns;
            shared.log.tell(volume.index, What::Sealed { path: written.committed, octets, span_ns });
        }
        Err(error) => {
            volume.figures().counts.cut_segments += 1;
            volume.fail(&error, &format!("{}", written.part.display()), &shared.log);
            shared.log.tell(volume.index, What::Cut { path: written.part, octets });
        }
    }
    shared.pool.discharge(extra_octets);
}

/// DESIGN law 6: what belongs to the segment is there before the segment, whose new name is the commit.
fn commit(shared: &Shared, disk: &crate::disk::Disk, written: &Written) -> io::Result<()> {
    let volume = shared.volumes.get(written.seal.segment.volume);
    let count = |error: io::Error, sync: bool| {
        if let Some(volume) = volume {
            let counts = &mut volume.figures().counts;
            *(if sync { &mut counts.sync_errors } else { &mut counts.file_errors }) += 1;
        }
        error
    };
    disk.truncate(&written.file, written.seal.octets).map_err(|e| count(e, false))?;
    let since = Instant::now();
    disk.sync(&written.file).map_err(|e| count(e, true))?;
    if let Some(volume) = volume {
        volume.figures().syncs.add(since.elapsed());
    }
    for extra in &written.seal.extra {
        let path = written.committed.with_extension(&extra.extension);
        let mut octets = Cow::Borrowed(&extra.octets);
        if let Some(sums) = written.sums.as_ref().filter(|_| shared.options.sums == Some(extra.extension.as_str())) {
            sums.emit(octets.to_mut());
        }
        disk.commit_extra(&path, &octets).map_err(|e| count(e, false))?;
    }
    disk.rename(&written.part, &written.committed).map_err(|e| count(e, false))?;
    disk.sync_folder_of(&written.committed).map_err(|e| count(e, true))
}
