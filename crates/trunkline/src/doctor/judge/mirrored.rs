//! The packets themselves: is the mirror whole, and does it send each once?

use crate::doctor::Finding;
use crate::doctor::facts::{Interface, Machine};
use crate::doctor::mirror::Mirror;
use crate::show::figure;

/// Packets from which on anything is concluded.
const PACKETS_MIN: u64 = 100;
/// From this share of packets without an answer on, the mirror is one-sided; percent.
const ONE_SIDED_PERCENT: u64 = 90;
/// From this share on, a part of it is.
const PARTLY_PERCENT: u64 = 30;
/// From this share of copies on, the mirror sends packets twice: two mirrored ports make half of all packets copies.
const COPIES_PERCENT: u64 = 5;

pub fn judge(interface: &Interface, machine: &Machine) -> Vec<Finding> {
    let Some(mirror) = &interface.mirror else {
        let not_looked = |why: &String| {
            Finding::warn("mirror", &interface.name, format!("not looked at: {why}"))
                .loses("not known: whether both directions are there, and each packet once")
        };
        // Without the capability that is the reason, and it has been told.
        let why = interface.not_looked.iter().filter(|_| machine.capabilities.net_raw);
        return why.map(not_looked).collect();
    };
    if mirror.packets_both + mirror.packets_one < PACKETS_MIN {
        let seen = format!("too few packets to judge: {}", figure::count(mirror.packets));
        return vec![Finding::good("mirror", &interface.name, seen)];
    }
    [directions(&interface.name, mirror), Some(copies(&interface.name, mirror))].into_iter().flatten().collect()
}

fn directions(name: &str, mirror: &Mirror) -> Option<Finding> {
    let all = mirror.packets_both + mirror.packets_one;
    let share = figure::percent(mirror.packets_one, all);
    let is_over = |percent: u64| mirror.packets_one.saturating_mul(100) >= all.saturating_mul(percent);
    let pairs = figure::of(mirror.pairs_one, "pair", "pairs");
    let fix = "mirror both directions: on the switch, monitor session 1 source interface PORT both";
    let lost = "one side of the calls: answers to SIP, or the voice of one party";
    Some(if is_over(ONE_SIDED_PERCENT) && (mirror.tcp_one > 0 || mirror.pairs_one > 1) {
        let seen = format!("one-sided: {share} of the packets are of {pairs} of hosts that seem to get no answer");
        Finding::bad("mirror", name, seen).loses(lost).fix(fix)
    } else if is_over(PARTLY_PERCENT) {
        let seen = format!("partly one-sided: {share} of the packets are of {pairs} of hosts without an answer");
        Finding::warn("mirror", name, seen).loses(lost).fix(fix)
    } else {
        let (sip, rtp) = (figure::percent(mirror.sip, mirror.packets), figure::percent(mirror.rtp, mirror.packets));
        Finding::good("mirror", name, format!("both directions; SIP {sip}, RTP {rtp} of the packets"))
    })
}

fn copies(name: &str, mirror: &Mirror) -> Finding {
    let share = figure::percent(mirror.copies, mirror.compared);
    if mirror.copies.saturating_mul(100) < mirror.compared.saturating_mul(COPIES_PERCENT) {
        return Finding::good("copies", name, format!("{share} of the packets came twice"));
    }
    let vlan = match mirror.copies_other_vlan {
        0 => "",
        n if n * 2 > mirror.copies => ", once in each of two VLANs",
        _ => ", some of them in two VLANs",
    };
    Finding::warn("copies", name, format!("{share} of the packets came twice{vlan}"))
        .loses("room in ring and disk; copies in streams are counted as duplicates")
        .fix("mirror what a port receives alone: on the switch, monitor session 1 source interface PORT rx")
}
