//! One interface: link, losses, ring, queues, interrupts, offloads, pause frames, timestamps.

use super::mirrored;
use crate::doctor::Finding;
use crate::doctor::facts::{Interface, Machine, Wanted, Watched};
use crate::show::figure;
use trunkline_capture::live::ethtool::OfMost;

/// Beyond this wait software timestamps are so late that jitter is no longer that of the network, microseconds.
const COALESCE_US_MAX: u32 = 250;
/// Packets a second from which on an interrupt for each is too many.
const INTERRUPTS_PER_SECOND_MAX: f64 = 20_000.0;
/// What to wait for instead, microseconds.
const COALESCE_US_GOOD: u32 = 50;
/// Packets in the ring that hold a burst; hardware that cannot do more is as it is.
const RING_GOOD: u32 = 2048;

pub fn judge(interface: &Interface, machine: &Machine, wanted: &Wanted) -> Vec<Finding> {
    if !interface.is_up {
        let finding = Finding::bad("link", &interface.name, "the interface is down").loses("all of its packets");
        return vec![finding.fix(format!("sudo ip link set dev {} up", interface.name))];
    }
    let mut findings: Vec<Finding> = [
        link(interface),
        traffic(interface, wanted),
        losses(interface),
        ring(interface),
        queues(interface, machine, wanted),
        interrupts(interface),
        offloads(interface),
        pause(interface),
        timestamps(interface, wanted),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.extend(mirrored::judge(interface, machine));
    findings
}

fn link(interface: &Interface) -> Option<Finding> {
    let name = &interface.name;
    if interface.has_carrier == Some(false) {
        let finding = Finding::bad("link", name, "no carrier: nothing is plugged in, or the other end is off");
        return Some(finding.loses("all of its packets"));
    }
    let mut words = vec!["up".to_owned()];
    words.extend(interface.speed_mbit.map(|mbit| format!("{} Mbit/s", figure::count(mbit))));
    words.extend(interface.mtu.map(|mtu| format!("MTU {mtu}")));
    words.extend(interface.driver.driver.clone());
    let seen = words.join(", ");
    Some(match interface.full_duplex {
        Some(false) => Finding::warn("link", name, format!("{seen}, half duplex"))
            .loses("packets that collide")
            .fix(format!("sudo ethtool -s {name} autoneg on")),
        _ => Finding::good("link", name, seen),
    })
}

fn traffic(interface: &Interface, wanted: &Wanted) -> Option<Finding> {
    let watched = interface.watched?;
    if watched.packets == 0 {
        let seen = format!("nothing came in {}", seconds(&watched));
        return Some(match wanted.named {
            true => Finding::warn("traffic", &interface.name, seen)
                .fix("see to it that the switch mirrors its ports to this one"),
            false => Finding::good("traffic", &interface.name, seen),
        });
    }
    let seen = format!(
        "{} packets/s, {:.1} Mbit/s",
        figure::count(watched.packets_per_second().round() as u64),
        watched.octets_per_second() * 8.0 / 1e6
    );
    Some(Finding::good("traffic", &interface.name, seen))
}

fn seconds(watched: &Watched) -> String {
    format!("{:.0} s", watched.time.as_secs_f64())
}

fn losses(interface: &Interface) -> Option<Finding> {
    let (name, watched) = (&interface.name, interface.watched?);
    let time = seconds(&watched);
    if watched.missed > 0 {
        let seen = format!("the card dropped {} in {time} for want of room", packets(watched.missed));
        let finding = Finding::bad("drops", name, seen).loses("these, and as many again");
        let larger = interface.driver.ring.filter(|ring| ring.set < ring.most);
        return Some(match larger {
            Some(ring) => finding.fix(format!("sudo ethtool -G {name} rx {}", ring.most)),
            None => finding.fix("more queues (ethtool -L), fewer interrupts, or a faster processor"),
        });
    }
    if watched.length > 0 {
        let seen = format!("{} too long or too short in {time}", packets(watched.length));
        let finding = Finding::bad("drops", name, seen).loses("packets that a VLAN tag or a tunnel made longer");
        let more = interface.mtu.unwrap_or(1500).saturating_add(100);
        return Some(finding.fix(format!("sudo ip link set dev {name} mtu {more}")));
    }
    if watched.dropped > 0 {
        let seen = format!("the kernel dropped {} in {time} (rx_dropped)", packets(watched.dropped));
        return Some(
            Finding::warn("drops", name, seen)
                .loses("some of these, if they are not of protocols that this machine does not know")
                .fix("sudo sysctl net.core.netdev_max_backlog=16384 net.core.netdev_budget=600"),
        );
    }
    if watched.damaged > 0 {
        let seen = format!("{} damaged in {time}", packets(watched.damaged));
        return Some(Finding::warn("drops", name, seen).loses("these").fix("look at the cable and the optics"));
    }
    Some(Finding::good("drops", name, format!("none in {time}")))
}

fn packets(n: u64) -> String {
    figure::of(n, "packet", "packets")
}

fn ring(interface: &Interface) -> Option<Finding> {
    let OfMost { set, most } = interface.driver.ring?;
    let seen = format!("{set} of {most} packets");
    if set >= most || set >= RING_GOOD {
        return Some(Finding::good("ring", &interface.name, seen));
    }
    let finding = Finding::warn("ring", &interface.name, seen).loses("bursts that are longer than the ring");
    Some(finding.fix(format!("sudo ethtool -G {} rx {most}", interface.name)))
}

fn queues(interface: &Interface, machine: &Machine, wanted: &Wanted) -> Option<Finding> {
    let OfMost { set, most } = interface.driver.queues?;
    let wish = match wanted.lanes {
        0 => machine.processors as u64,
        lanes => u64::from(lanes),
    };
    let wish = u32::try_from(wish).unwrap_or(u32::MAX).min(most).max(1);
    let seen = format!("{set} of {most}");
    if set >= wish {
        return Some(Finding::good("queues", &interface.name, seen));
    }
    let kind = if interface.driver.queues_combined { "combined" } else { "rx" };
    let finding = Finding::warn("queues", &interface.name, seen);
    let finding = finding.loses("some of the highest packet rate: one processor takes over what several could");
    Some(finding.fix(format!("sudo ethtool -L {} {kind} {wish}", interface.name)))
}

fn interrupts(interface: &Interface) -> Option<Finding> {
    let (name, coalescing) = (&interface.name, interface.driver.coalescing?);
    let rate = interface.watched.map_or(0.0, |watched| watched.packets_per_second());
    let seen = if coalescing.adaptive {
        format!("adaptive, {} us now", coalescing.rx_us)
    } else {
        format!("after {} us or {}", coalescing.rx_us, packets(u64::from(coalescing.rx_frames)))
    };
    let fix = format!("sudo ethtool -C {name} adaptive-rx off rx-usecs {COALESCE_US_GOOD}");
    if coalescing.rx_us > COALESCE_US_MAX {
        let lost = format!("accuracy: software timestamps are up to {} us late", coalescing.rx_us);
        return Some(Finding::warn("interrupts", name, seen).loses(lost).fix(fix));
    }
    let each = coalescing.rx_us == 0 && coalescing.rx_frames <= 1 && !coalescing.adaptive;
    if each && rate > INTERRUPTS_PER_SECOND_MAX {
        let lost = "packets, when the processor does nothing but take interrupts";
        return Some(Finding::warn("interrupts", name, seen).loses(lost).fix(fix));
    }
    Some(Finding::good("interrupts", name, seen))
}

fn offloads(interface: &Interface) -> Option<Finding> {
    let (name, driver) = (&interface.name, &interface.driver);
    driver.gro.or(driver.lro)?;
    let merging: Vec<&str> = [("gro", driver.gro), ("lro", driver.lro)]
        .into_iter()
        .filter_map(|(feature, is_on)| (is_on == Some(true)).then_some(feature))
        .collect();
    if merging.is_empty() {
        return Some(Finding::good("offloads", name, "none that merges packets"));
    }
    let merged = interface.mirror.map_or(0, |mirror| mirror.merged);
    let seen = match merged {
        0 => format!("{} may merge packets", merging.join(" and ")),
        n => format!("{} merges packets: {} longer than the link takes", merging.join(" and "), packets(n)),
    };
    let off: Vec<String> = merging.iter().map(|feature| format!("{feature} off")).collect();
    let finding = Finding::warn("offloads", name, seen);
    let finding = finding.loses("the packets as they were on the wire: TCP segments come merged, with one time");
    Some(finding.fix(format!("sudo ethtool -K {name} {}", off.join(" "))))
}

fn pause(interface: &Interface) -> Option<Finding> {
    let (name, pause) = (&interface.name, interface.driver.pause?);
    if !pause.rx && !pause.tx {
        return Some(Finding::good("pause frames", name, "off"));
    }
    let finding = Finding::warn("pause frames", name, "on: the card may ask the switch to wait");
    let finding = finding.loses("packets in the switch, where nobody counts them");
    Some(finding.fix(format!("sudo ethtool -A {name} autoneg off rx off tx off")))
}

fn timestamps(interface: &Interface, wanted: &Wanted) -> Option<Finding> {
    let name = &interface.name;
    Some(match (interface.driver.stamps?, wanted.hardware_timestamps) {
        (true, true) => Finding::good("timestamps", name, "by the card"),
        (true, false) => Finding::good("timestamps", name, "by the kernel; the card could, too"),
        (false, false) => Finding::good("timestamps", name, "by the kernel"),
        (false, true) => Finding::warn("timestamps", name, "the card cannot stamp every packet")
            .loses("accuracy: the kernel stamps instead")
            .fix("in the configuration: [capture] timestamps = \"software\""),
    })
}
