//! Interfaces: which there are, what they count, what their drivers tell (Documentation/ABI/testing/sysfs-class-net).

use super::machine::line;
use crate::doctor::facts::{Interface, Watched};
use std::fs;
use std::path::Path;
use std::time::Duration;
use trunkline_capture::live::ethtool;

/// Interfaces that are looked at.
pub const INTERFACES_MAX: usize = 64;
/// Where the kernel shows them.
const FOLDER: &str = "/sys/class/net";

/// The interfaces to look at, those that were asked for and are not there, and the names of all.
pub fn chosen(asked: &[String]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let names = names();
    let (mut there, missing) = if asked.is_empty() {
        (by_themselves(&names, is_up, |name| Path::new(FOLDER).join(name).join("device").exists()), Vec::new())
    } else {
        asked.iter().cloned().partition(|name| names.contains(name))
    };
    there.truncate(INTERFACES_MAX);
    (there, missing, names)
}

/// Those that are up, the loopback left out: real hardware, or where there is none, all.
fn by_themselves(names: &[String], is_up: impl Fn(&str) -> bool, is_real: impl Fn(&str) -> bool) -> Vec<String> {
    let up: Vec<String> = names.iter().filter(|name| *name != "lo" && is_up(name)).cloned().collect();
    let real: Vec<String> = up.iter().filter(|name| is_real(name)).cloned().collect();
    if real.is_empty() { up } else { real }
}

fn names() -> Vec<String> {
    let Ok(folder) = fs::read_dir(FOLDER) else { return Vec::new() };
    let mut names: Vec<String> = folder.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    // Files such as bonding_masters stand there, too.
    names.retain(|name| file(name, "ifindex").is_some());
    names.sort();
    names
}

fn file(name: &str, file: &str) -> Option<String> {
    line(&format!("{FOLDER}/{name}/{file}")).filter(|text| !text.is_empty())
}

/// `IFF_UP`.
fn is_up(name: &str) -> bool {
    let flags = file(name, "flags").and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    flags.is_some_and(|flags| flags & 1 != 0)
}

/// What is known of an interface without watching it.
pub fn interface(name: &str) -> Interface {
    Interface {
        name: name.to_owned(),
        is_up: is_up(name),
        has_carrier: file(name, "carrier").map(|text| text == "1"),
        // What has no speed says -1.
        speed_mbit: file(name, "speed").and_then(|text| text.parse::<u64>().ok()).filter(|mbit| *mbit > 0),
        full_duplex: match file(name, "duplex").as_deref() {
            Some("full") => Some(true),
            Some("half") => Some(false),
            _ => None,
        },
        mtu: file(name, "mtu").and_then(|text| text.parse().ok()),
        driver: ethtool::settings(name).unwrap_or_default(),
        ..Interface::default()
    }
}

/// What an interface has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    packets: u64,
    octets: u64,
    missed: u64,
    dropped: u64,
    damaged: u64,
    length: u64,
}

impl Counters {
    /// Reads them.
    pub fn of(name: &str) -> Self {
        let count = |of: &str| file(name, &format!("statistics/{of}")).and_then(|t| t.parse().ok()).unwrap_or(0u64);
        Counters {
            packets: count("rx_packets"),
            octets: count("rx_bytes"),
            // Drivers use one or another, and the same packet may stand in two: the largest is meant.
            missed: count("rx_missed_errors").max(count("rx_fifo_errors")).max(count("rx_over_errors")),
            dropped: count("rx_dropped"),
            damaged: count("rx_crc_errors").max(count("rx_frame_errors")),
            length: count("rx_length_errors"),
        }
    }

    /// What was counted from these to the later ones.
    pub fn until(&self, later: &Counters, time: Duration) -> Watched {
        Watched {
            time,
            packets: later.packets.saturating_sub(self.packets),
            octets: later.octets.saturating_sub(self.octets),
            missed: later.missed.saturating_sub(self.missed),
            dropped: later.dropped.saturating_sub(self.dropped),
            damaged: later.damaged.saturating_sub(self.damaged),
            length: later.length.saturating_sub(self.length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_ones_come_before_virtual_ones() {
        let names: Vec<String> = ["eth0", "eth1", "lo", "veth1"].map(str::to_owned).to_vec();
        let choose = |real: &'static [&str]| by_themselves(&names, |n| n != "eth1", move |n| real.contains(&n));
        assert_eq!(choose(&["eth0", "eth1"]), ["eth0"]);
        assert_eq!(choose(&[]), ["eth0", "veth1"]);
    }

    #[test]
    fn the_loopback_is_there() {
        let (there, missing, names) = chosen(&["lo".to_owned(), "no-such-name".to_owned()]);
        assert_eq!((there.as_slice(), missing.as_slice()), (&["lo".to_owned()][..], &["no-such-name".to_owned()][..]));
        assert!(names.contains(&"lo".to_owned()));
        assert!(interface("lo").mtu.is_some_and(|mtu| mtu > 1000));
    }

    #[test]
    fn counters_that_start_anew_give_nothing() {
        let (before, after) = (Counters { packets: 10, ..Counters::default() }, Counters::default());
        assert_eq!(before.until(&after, Duration::from_secs(1)).packets, 0);
    }
}
