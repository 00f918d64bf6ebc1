//! Facts become findings. Every limit that divides good from bad is named here or beside its check.

mod folders;
mod interfaces;
mod machine;
mod mirrored;
mod rows;

use super::Finding;
use super::facts::{Facts, Watched};

/// All findings: the machine, each interface, each folder, and what they have to do with each other.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    let mut findings = machine::judge(&facts.machine, &facts.wanted);
    for name in &facts.missing {
        let there = facts.names.join(", ");
        findings.push(
            Finding::bad("interface", name, format!("there is none of that name; there are {there}"))
                .loses("all of its packets"),
        );
    }
    for interface in &facts.interfaces {
        findings.extend(interfaces::judge(interface, &facts.machine, &facts.wanted));
    }
    if facts.wanted.record {
        for folder in &facts.folders {
            findings.extend(folders::judge(folder, &traffic(facts), &facts.wanted));
        }
    }
    findings.extend(facts.rows.iter().flat_map(rows::judge));
    findings
}

/// What has to be written: what all interfaces receive together, shared by all folders.
struct Traffic {
    /// Octets in a second for each folder; none if nothing was watched.
    octets_per_second: Option<f64>,
    /// What the links could carry, for each folder.
    link_octets_per_second: f64,
}

fn traffic(facts: &Facts) -> Traffic {
    let folders = facts.folders.len().max(1) as f64;
    let watched: Vec<&Watched> = facts.interfaces.iter().filter_map(|i| i.watched.as_ref()).collect();
    let seen: f64 = watched.iter().map(|w| w.octets_per_second()).sum();
    let links: f64 = facts.interfaces.iter().filter_map(|i| i.speed_mbit).map(|mbit| mbit as f64 * 125_000.0).sum();
    Traffic {
        octets_per_second: (!watched.is_empty()).then_some(seen / folders),
        link_octets_per_second: links / folders,
    }
}
