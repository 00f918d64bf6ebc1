//! What the demonstration runs with: its world, and everything else on.

use super::farm::TEMPLATES;
use crate::run::config::{self, Compress, LogLevel, Settings};
use std::path::Path;
use std::time::Duration;
use trunkline_kit::config::Octets;
use trunkline_sim::settings::{CALLS_MAX, Duration as Lasting};
use trunkline_sim::{Preset, Settings as World};

/// Memory between lanes and disk: enough for so little traffic.
const MEMORY: Octets = Octets::mib(48);
/// Memory of the cache.
const CACHE: Octets = Octets::mib(16);
/// The most of media that is kept; where the disk has little room, less.
const MEDIA: u64 = 1 << 30;
/// The least; with less room no media is recorded.
const MEDIA_MIN: u64 = 48 << 20;

/// What alerts look at.
const RULES: &str = include_str!("alerts.toml");

/// The world: an operator with some twenty calls up, every tenth with a fault. It goes on for years: a call's number is
/// in all its identifiers.
pub fn world(seed: u64, start_ns: i64) -> World {
    World {
        seed,
        start_ns,
        calls: CALLS_MAX,
        calls_per_second: 0.6,
        duration: Lasting { min_s: 8.0, mean_s: 40.0, max_s: 240.0 },
        background: 1.0,
        faults: 0.12,
        near_misses: 0.1,
        ..World::preset(Preset::Demo)
    }
}

/// The settings of the program. The packet log of media is bounded, so that a demonstration that is forgotten fills no
/// disk.
pub fn settings(data: &Path, listen: std::net::SocketAddr) -> Settings {
    let mut settings = Settings::default();
    settings.data.folder = data.to_path_buf();
    settings.record.memory = MEMORY;
    // Its past is made up anew with each start.
    settings.calls.recover = Duration::ZERO;
    settings.record.segment_time = Duration::from_secs(60);
    settings.record_sip.compress = Compress::Zstd;
    settings.record_sip.keep_size = Some(Octets::mib(256));
    settings.record_other.keep_size = Some(Octets::mib(64));
    let free = rustix::fs::statvfs(data).map_or(u64::MAX, |s| s.f_bavail.saturating_mul(s.f_frsize));
    let media = (free / 4).min(MEDIA);
    settings.record_rtp.keep_size = Some(Octets(media.max(MEDIA_MIN)));
    if media < MEDIA_MIN {
        settings.record.classes = vec![config::Classes::Sip];
    }
    // A file system that others have filled is no reason to keep nothing: the sizes above are what bounds it.
    settings.record.limit = trunkline_kit::config::Share::Percent(99.0);
    settings.web.enabled = true;
    settings.web.listen = config::Address(listen);
    settings.web.uploads = true;
    // The losses that are planted are in the pages; the terminal is for the link.
    settings.log.level = LogLevel::Error;
    settings.capture.pin = false;
    // Whatever port is free, on this machine alone; so small that it evicts.
    settings.cache.listen = vec![config::Door::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 0)))];
    settings.cache.memory = CACHE;
    settings.cache.threads = 1;
    settings.cache.slow_from = Some(Duration::from_millis(1));
    settings.charge.listen = vec![config::Door::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 0)))];
    (settings.charge.host, settings.charge.realm) = ("ocs.demo.example".to_owned(), "demo.example".to_owned());
    (settings.charge.threads, settings.charge.sessions) = (1, 100_000);
    settings.cdr.file_time = Duration::from_secs(300);
    settings.cdr.keep = Some(super::charging::KEPT);
    (settings.graph.enabled, settings.alert.enabled) = (true, true);
    settings
}

/// Puts what graphs read and what alerts look at into a data folder.
///
/// # Errors
/// They cannot be written.
pub fn templates_and_rules(data: &Path) -> std::io::Result<()> {
    let templates = crate::graph::here::folder(data).join("templates");
    let rules = crate::alert::rules::folder(data);
    for (folder, text) in [(templates, TEMPLATES), (rules, RULES)] {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("demo.toml"), text)?;
    }
    Ok(())
}
