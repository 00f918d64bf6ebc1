//! The packet log of a run: opened as the settings say, changed while it runs, and what it has to tell in the log.

use super::config::{self, Classes, Settings};
use crate::failure::Failure;
use crate::show::figure;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trunkline_record::job::{Keep, News};
use trunkline_record::{Class, ClassRules, Recorder, Rules, Snap};
use trunkline_spool::retention::{Action, ClassRule, Reason, Swept};
use trunkline_spool::{Direct, Event, Limit, Options, Repaired, Volume, What};

/// Segments that one line names, of those that could not be removed.
const NAMED_MAX: usize = 3;

/// Opens it.
///
/// # Errors
/// A folder cannot be made or listed.
pub fn open(settings: &Settings) -> Result<Recorder, Failure> {
    let failed = |e: trunkline_spool::SpoolError| Failure::Failed(format!("packet log: {e}"));
    let (mut recorder, opened) = Recorder::open(options(settings), rules(settings)).map_err(failed)?;
    for note in &opened.notes {
        tracing::warn!("packet log: {note}");
    }
    opened.repaired.iter().for_each(tell_repaired);
    recorder.keep(keep(settings)).map_err(failed)?;
    Ok(recorder)
}

/// Goes on as these settings say, as far as it can while running.
pub fn apply(recorder: &mut Recorder, settings: &Settings) {
    recorder.follow(rules(settings));
    if let Err(error) = recorder.keep(keep(settings)) {
        tracing::error!("retention: {error}");
    }
}

/// Tells what happened on the disks.
pub fn tell_events(events: &[Event]) {
    for event in events {
        match &event.what {
            What::State(state) if state.is_usable() => tracing::info!(volume = event.volume, "disk: {state}"),
            What::State(state) => tracing::error!(volume = event.volume, "disk: {state}"),
            What::Sealed { path, octets, .. } => tracing::debug!(octets, "segment {}", path.display()),
            What::Cut { path, octets } => {
                tracing::error!(octets, "segment {} ended early: its disk failed", path.display());
            }
        }
    }
}

/// Tells what retention and the program for finished segments did.
pub fn tell_news(news: &[News]) {
    for news in news {
        match news {
            News::Left(swept) => tell_left(swept),
            News::Suspended(why) => tracing::error!("retention: nothing is deleted: {why}"),
            News::Resumed => tracing::info!("retention: works again"),
            News::NotPacked(path, why) => tracing::warn!("segment {} is not compressed: {why}", path.display()),
            News::NoRoom(path, missing) => tracing::warn!(
                "segment {} waits to be compressed: {} too little is free for both forms of it; lower record.limit or \
                 record.segment-size",
                path.display(),
                figure::octets(*missing)
            ),
            News::Errand(path, ending) => tracing::warn!("exec for {}: {ending}", path.display()),
        }
    }
}

/// A line for a round of retention: how much left, and why.
fn tell_left(swept: &Swept) {
    let reasons = [Reason::Age, Reason::ClassOctets, Reason::VolumeOctets, Reason::FreeSpace];
    for (action, what) in [(Action::Delete, "deleted"), (Action::Move, "moved to the slow tier")] {
        let of = || swept.removed.iter().filter(move |r| r.action == action);
        if of().next().is_none() {
            continue;
        }
        let octets = figure::octets(of().map(|r| r.octets).sum());
        let whys = reasons.iter().map(|reason| (reason.name(), of().filter(|r| r.reason == *reason).count()));
        let whys: Vec<String> =
            whys.filter(|(_, n)| *n > 0).map(|(name, n)| format!("{} by {name}", figure::count(n as u64))).collect();
        let segments = figure::of(of().count() as u64, "segment", "segments");
        tracing::info!(in_use = swept.in_use, "retention: {segments} {what}, {octets}: {}", whys.join(", "));
    }
    for (path, why) in swept.failed.iter().take(NAMED_MAX) {
        tracing::error!("retention: {} cannot be removed: {why}", path.display());
    }
    if swept.failed.len() > NAMED_MAX {
        tracing::error!("retention: {} more cannot be removed", swept.failed.len() - NAMED_MAX);
    }
}

fn tell_repaired(repaired: &Repaired) {
    for (path, octets) in &repaired.kept {
        tracing::warn!(octets, "repaired after a crash: {}", path.display());
    }
    for path in &repaired.discarded {
        tracing::warn!("left by a crash without one whole packet, removed: {}", path.display());
    }
    for path in abandoned(&repaired.orphans) {
        tracing::error!("{}: an index alone, removed: its segment is gone, and nobody deleted it here", path.display());
    }
    for (path, why) in &repaired.left {
        tracing::error!("left by a crash and not repaired: {}: {why}", path.display());
    }
    if repaired.cut_octets > 0 {
        tracing::warn!(octets = repaired.cut_octets, "packets that were being written when it crashed are lost");
    }
}

/// Indexes whose segments are gone, but for those whose deletion a crash cut off: then the segment is renamed.
fn abandoned(orphans: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let is_deleted = |index: &Path| {
        let of = format!("{}.", index.with_extension("").display());
        let mut renamed = orphans.iter().map(|path| path.to_string_lossy()).filter(|path| path.ends_with(".gone"));
        renamed.any(|path| path.starts_with(&of))
    };
    let is_index = |path: &&PathBuf| path.extension().is_some_and(|end| end == "idx");
    orphans.iter().filter(is_index).filter(move |path| !is_deleted(path))
}

fn options(settings: &Settings) -> Options {
    let record = &settings.record;
    let folders = std::iter::once(&settings.data.folder).chain(&record.volumes);
    let volumes = folders.map(|path| Volume { limit: limit(settings), ..Volume::new(path) }).collect();
    let mut options = Options::new(volumes).memory(usize::try_from(record.memory.0).unwrap_or(usize::MAX));
    options.slow.clone_from(&record.slow_tier);
    options.direct = match record.direct {
        config::Direct::Auto => Direct::Auto,
        config::Direct::Always => Direct::On,
        config::Direct::Never => Direct::Off,
    };
    options
}

fn limit(settings: &Settings) -> Limit {
    match settings.record.limit {
        trunkline_kit::config::Share::Percent(percent) => Limit::Percent(percent.clamp(1.0, 100.0) as u8),
        trunkline_kit::config::Share::Octets(octets) => Limit::Octets(octets.0),
    }
}

fn keep(settings: &Settings) -> Keep {
    let of = |class: &config::RecordedClass| ClassRule {
        age: class.keep_age,
        octets: class.keep_size.map(|octets| octets.0),
        move_after: None,
    };
    Keep {
        classes: [of(&settings.record_sip), of(&settings.record_rtp), of(&settings.record_other)],
        limit: limit(settings),
        compress: [&settings.record_sip, &settings.record_rtp, &settings.record_other]
            .map(|class| class.compress == config::Compress::Zstd),
        exec: settings.record.exec.clone(),
        exec_patience: settings.record.exec_timeout,
    }
}

fn rules(settings: &Settings) -> Rules {
    let of = |class: Class| {
        let (name, how) = match class {
            Class::Sip => (Classes::Sip, &settings.record_sip),
            Class::Rtp => (Classes::Rtp, &settings.record_rtp),
            Class::Other => (Classes::Other, &settings.record_other),
        };
        let snap = match how.snap {
            config::Snap::Whole => Snap::Whole,
            config::Snap::Headers => Snap::Headers,
            config::Snap::Octets(octets) => Snap::Octets(octets),
        };
        ClassRules { record: settings.record.classes.contains(&name), snap }
    };
    let ns = |d: Duration| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX);
    Rules {
        classes: Class::ALL.map(of),
        segment_ns: ns(settings.record.segment_time),
        segment_octets: settings.record.segment_size.0,
        flush_ns: ns(settings.record.flush),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_alone_is_told_but_where_a_deletion_was_cut_off() {
        let paths =
            ["s/11-0.idx", "s/12-0.idx", "s/12-0.pcapng.gone", "s/13-0.idx.part", "s/14-0.1.idx"].map(PathBuf::from);
        let told: Vec<_> = abandoned(&paths).collect();
        assert_eq!(told, [&paths[0], &paths[4]]);
    }
}
