//! The end of a segment: cut, synchronised, index committed, segment committed. A thread of its own for each volume, so
//! that writing goes on meanwhile.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use crate::event::What;
use crate::queue::Seal;
use crate::shared::Shared;

/// A segment of which all blocks are written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) seal: Seal,
    pub(crate) file: Arc<File>,
    pub(crate) part: PathBuf,
    pub(crate) committed: PathBuf,
}

/// Commits what comes until the volume's thread is gone.
pub(crate) fn run(shared: &Shared, volume: usize, written: &Receiver<Written>) {
    let Some(volume) = shared.volumes.get(volume) else { return };
    for written in written {
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
        shared.end();
    }
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
        disk.commit_extra(&path, &extra.octets).map_err(|e| count(e, false))?;
    }
    disk.rename(&written.part, &written.committed).map_err(|e| count(e, false))?;
    disk.sync_folder_of(&written.committed).map_err(|e| count(e, true))
}
