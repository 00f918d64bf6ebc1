//! Facts, from where the system keeps them. Nothing is changed, and what was written to measure a disk is gone after.

pub mod disk;
pub mod folders;
pub mod interfaces;
pub mod live;
pub mod machine;
pub mod rows;

use super::facts::{Facts, Folder, Interface, Wanted};
use super::mirror::Look;
use crate::run::config::{Compress, Settings, Source, Timestamps};
use interfaces::Counters;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trunkline_capture::{Batch, FileSource};

/// What is to be found out.
#[derive(Clone, Debug)]
pub struct Asked {
    /// For how long the interfaces are watched.
    pub time: Duration,
    /// Whether the disks are measured.
    pub disks: bool,
}

/// Watches the interfaces that the configuration names (all that are up, if it names none), and asks about the rest.
pub fn facts(settings: &Settings, asked: &Asked) -> Facts {
    let (chosen, missing, names) = interfaces::chosen(&settings.capture.interfaces);
    let begin = Instant::now();
    let before: Vec<Counters> = chosen.iter().map(|name| Counters::of(name)).collect();
    let mut interfaces: Vec<_> = chosen.iter().map(|name| interfaces::interface(name)).collect();
    watch(&mut interfaces, begin + asked.time);
    for (interface, before) in interfaces.iter_mut().zip(&before) {
        interface.watched = Some(before.until(&Counters::of(&interface.name), begin.elapsed()));
    }
    // Only now: writing would slow down whoever records on this machine while it is watched.
    let folders = volumes(settings).iter().map(|path| folder(path, asked.disks)).collect();
    let (machine, rows, wanted) = (machine::machine(), rows::rows(settings), wanted(settings));
    Facts { machine, interfaces, missing, names, folders, rows, wanted }
}

/// What the packets of capture files say about the mirror port that they were captured at.
///
/// # Errors
/// A file cannot be read; what could be read of it was looked at.
pub fn look_at_files(files: &[PathBuf]) -> Result<super::mirror::Mirror, String> {
    let mut source = FileSource::open(files);
    let mut batch = Batch::default();
    let mut look = Look::new(None);
    while source.fill(&mut batch) {
        for packet in &batch.packets {
            look.packet(packet.at_ns, packet.link, packet.wire, batch.octets_of(packet));
        }
    }
    match source.files().iter().find_map(|file| file.error.as_ref()) {
        Some(error) => Err(error.to_string()),
        None => Ok(look.result()),
    }
}

/// Looks at the packets of the first interfaces that are up until that time, each in a thread of its own.
fn watch(interfaces: &mut [Interface], end: Instant) {
    std::thread::scope(|scope| {
        let looked_at = interfaces.iter_mut().filter(|interface| interface.is_up);
        for (i, interface) in looked_at.enumerate() {
            if i >= live::LOOKED_AT_MAX {
                interface.not_looked = Some(format!("more than {} interfaces", live::LOOKED_AT_MAX));
                continue;
            }
            scope.spawn(move || match live::look(&interface.name, interface.mtu, end) {
                Ok(mirror) => interface.mirror = Some(mirror),
                Err(why) => interface.not_looked = Some(why),
            });
        }
    });
    wait_until(end);
}

fn wait_until(end: Instant) {
    while let Some(rest) = end.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        std::thread::park_timeout(rest);
    }
}

fn volumes(settings: &Settings) -> Vec<PathBuf> {
    std::iter::once(&settings.data.folder).chain(&settings.record.volumes).cloned().collect()
}

fn folder(path: &Path, measured: bool) -> Folder {
    let mut folder = folders::folder(path);
    folder.speed = measured.then(|| disk::measure(&folder.path, folder.free));
    folder
}

fn wanted(settings: &Settings) -> Wanted {
    let classes = [&settings.record_sip, &settings.record_rtp, &settings.record_other].map(|class| class.compress);
    Wanted {
        named: !settings.capture.interfaces.is_empty(),
        lanes: settings.capture.lanes,
        ring: settings.capture.ring.0,
        memory: settings.record.memory.0,
        xdp: settings.capture.source == Source::AfXdp,
        hardware_timestamps: settings.capture.timestamps == Timestamps::Hardware,
        filter: !settings.capture.filter.is_empty(),
        record: settings.record.enabled,
        graphs: settings.graph.enabled,
        limit: Some(settings.record.limit),
        compressed_segment: classes.contains(&Compress::Zstd).then_some(settings.record.segment_size.0),
    }
}
