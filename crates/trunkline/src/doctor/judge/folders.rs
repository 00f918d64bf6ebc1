//! A folder that is written to: its file system, its speed against the traffic, and for how long it holds.

use super::Traffic;
use crate::doctor::Finding;
use crate::doctor::facts::{Folder, Wanted};
use crate::show::figure;
use std::time::Duration;
use trunkline_kit::config::Share;
use trunkline_spool::KEEP_FREE_OCTETS;

/// How much faster than the traffic a disk has to be, so that a busy hour fits.
const HEADROOM: f64 = 2.0;
/// The longest that one block may take; the buffer bridges it.
const WAIT_MAX: Duration = Duration::from_millis(500);
/// Retention below this is hardly meant.
const RETENTION_GOOD: Duration = Duration::from_secs(86_400);
/// File systems of another machine.
const NETWORK: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.sshfs", "fuse.glusterfs"];
/// File systems in memory.
const MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

pub fn judge(folder: &Folder, traffic: &Traffic, wanted: &Wanted) -> Vec<Finding> {
    let name = folder.path.display().to_string();
    let all = [
        file_system(&name, folder),
        speed(&name, folder, traffic),
        retention(&name, folder, traffic, wanted),
        compression(&name, folder, wanted),
    ];
    all.into_iter().flatten().collect()
}

fn file_system(name: &str, folder: &Folder) -> Option<Finding> {
    let kind = folder.file_system.as_deref()?;
    Some(if NETWORK.contains(&kind) {
        Finding::warn("file system", name, format!("{kind}, on another machine"))
            .loses("packets, whenever the network or that machine is slow")
            .fix("keep the packet log on a local disk; [record] slow-tier may be on the network")
    } else if MEMORY.contains(&kind) {
        Finding::warn("file system", name, format!("{kind}, in memory"))
            .loses("everything at the next start of the machine")
            .fix("name a folder on a disk: [data] folder")
    } else {
        Finding::good("file system", name, kind)
    })
}

fn speed(name: &str, folder: &Folder, traffic: &Traffic) -> Option<Finding> {
    let speed = match folder.speed.as_ref()? {
        Ok(speed) => speed,
        Err(why) => {
            let finding = Finding::bad("disk", name, format!("cannot be written to: {why}"));
            return Some(finding.loses("all packets: none could be recorded"));
        }
    };
    let cache = if speed.direct { "" } else { ", through the page cache" };
    let seen = format!("writes {}{cache}", per_second(speed.octets_per_second));
    let needed = traffic.octets_per_second.unwrap_or(0.0);
    if needed > speed.octets_per_second {
        let seen = format!("{seen}; {} come", per_second(needed));
        return Some(Finding::bad("disk", name, seen).loses("packets, as soon as the buffer is full").fix(MORE_DISKS));
    }
    if needed * HEADROOM > speed.octets_per_second {
        let seen = format!("{seen}; {} come", per_second(needed));
        return Some(Finding::warn("disk", name, seen).loses("packets in a busier hour").fix(MORE_DISKS));
    }
    if speed.slowest > WAIT_MAX {
        let seen = format!("{seen}, but took {} for one block", wait(speed.slowest));
        return Some(
            Finding::warn("disk", name, seen)
                .loses("packets, if the buffer does not hold as long")
                .fix("in the configuration: more for [record] memory; or a disk that is not shared"),
        );
    }
    if traffic.link_octets_per_second > speed.octets_per_second {
        let seen = format!("{seen}; the links could carry {}", per_second(traffic.link_octets_per_second));
        return Some(Finding::warn("disk", name, seen).loses("packets, if the links were full").fix(MORE_DISKS));
    }
    Some(Finding::good("disk", name, seen))
}

const MORE_DISKS: &str =
    "in the configuration: further disks in [record] volumes; snap = \"headers\" in [record.rtp] and [record.other]";

fn retention(name: &str, folder: &Folder, traffic: &Traffic, wanted: &Wanted) -> Option<Finding> {
    let limit = wanted.limit.map_or(folder.size, |limit| limit.of(folder.size));
    // What others keep there counts against a limit in percent, and what is free bounds any.
    let others = folder.size.saturating_sub(folder.free).saturating_sub(folder.log);
    let room = match wanted.limit {
        Some(Share::Octets(_)) => limit.min(folder.free.saturating_add(folder.log)),
        _ => limit.saturating_sub(others),
    };
    let seen = format!("{} of {} free, {} for the log", octets(folder.free), octets(folder.size), octets(room));
    if room == 0 {
        let finding = Finding::bad("retention", name, seen).loses("all packets: there is no room for any");
        return Some(finding.fix("make room, or in the configuration: another [data] folder, more for [record] limit"));
    }
    let rate = traffic.octets_per_second.filter(|rate| *rate > 0.0);
    let Some(rate) = rate else { return Some(Finding::good("retention", name, seen)) };
    let time = Duration::from_secs_f64((room as f64 / rate).min(1e12));
    let seen = format!("{seen}: {} at the rate seen", age(time));
    if time >= RETENTION_GOOD {
        return Some(Finding::good("retention", name, seen));
    }
    // Recording goes on: nothing is lost that was not to leave.
    let seen = format!("{seen}, then the oldest packets leave for new ones");
    Some(Finding::warn("retention", name, seen).fix(MORE_DISKS))
}

/// Whether what the limit leaves free has room for a full segment in both forms, while it is compressed.
fn compression(name: &str, folder: &Folder, wanted: &Wanted) -> Option<Finding> {
    let segment = wanted.compressed_segment?;
    let free = match wanted.limit? {
        share @ Share::Percent(_) => folder.size.saturating_sub(share.of(folder.size)),
        share @ Share::Octets(_) => folder.free.saturating_add(folder.log).saturating_sub(share.of(folder.size)),
    };
    // Retention begins a quarter above what writing leaves free.
    let free = free.max(KEEP_FREE_OCTETS / 4 * 5);
    let needed = KEEP_FREE_OCTETS.saturating_add(segment);
    (free < needed).then(|| {
        let seen = format!(
            "the limit leaves {} free; to compress a segment of {} takes {}: larger ones stay as they are",
            octets(free),
            octets(segment),
            octets(needed)
        );
        Finding::warn("compression", name, seen)
            .fix("in the configuration: less for [record] limit, or a smaller segment-size")
    })
}

fn octets(n: u64) -> String {
    match n {
        n if n >= 10_000_000_000_000 => format!("{:.1} TB", n as f64 / 1e12),
        n => figure::octets(n),
    }
}

fn per_second(rate: f64) -> String {
    format!("{}/s", figure::octets(rate.max(0.0) as u64))
}

fn wait(time: Duration) -> String {
    figure::duration(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// `40 min`, `5.2 hours`, `31 days`.
fn age(time: Duration) -> String {
    match time.as_secs() {
        0..3600 => format!("{} min", time.as_secs() / 60),
        3600..172_800 => format!("{:.1} hours", time.as_secs_f64() / 3600.0),
        seconds => format!("{} days", figure::count(seconds / 86_400)),
    }
}
