//! AF_XDP rings.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use trunkline_capture::live::xdp::{XdpMode, XdpOptions, XdpRing, open};
use trunkline_capture::live::{Live, LiveError, PacketOptions};
use trunkline_capture::{Batch, Expression, LossPlace};

use crate::live::traffic;
use crate::live::wire::{Seen, Wire, all_of, keep, now_ns, read, read_once, send, wait_for_error, wait_until_up};

/// One queue, and the longest frames that fit.
const ONE: &str = "mtu 3400 numtxqueues 1 numrxqueues 1";
const TWO: &str = "mtu 3400 numtxqueues 2 numrxqueues 2";

fn right(best: XdpMode) -> XdpOptions {
    XdpOptions { best, ..XdpOptions::new("right") }
}

/// `None`, and says why, where the kernel has no AF_XDP or this process may not use it.
fn rings(options: &XdpOptions) -> Option<Vec<XdpRing>> {
    match open(options) {
        Ok(rings) => Some(rings),
        Err(error @ (LiveError::NotPermitted { .. } | LiveError::System { .. })) => {
            println!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Packets that a veth pair with XDP holds (`VETH_RING_SIZE` is 256): beyond them it drops.
const WIRE: usize = 200;

/// Sends no more at once than the wire holds, and reads it.
fn pass(ring: &mut XdpRing, frames: &[Vec<u8>]) -> Seen {
    let mut seen = Seen::default();
    for part in frames.chunks(WIRE) {
        assert_eq!(send("left", part).packets as usize, part.len());
        let some = read_exactly(ring, part.len());
        seen.octets.extend(some.octets);
        seen.packets.extend(some.packets);
    }
    seen
}

/// Reads until so many packets were seen, or five seconds went by.
fn read_exactly(ring: &mut XdpRing, packets: usize) -> Seen {
    let mut seen = Seen::default();
    let until = Instant::now() + Duration::from_secs(5);
    while seen.octets.len() < packets && Instant::now() < until {
        read_once(ring, &mut seen, Duration::from_secs(1));
    }
    seen
}

/// What the sending end had no room for.
fn lost_on_the_wire() -> u64 {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row[0] == "left:").unwrap()[12].parse().unwrap()
}

fn frames() -> Vec<Vec<u8>> {
    let mut frames = traffic::mixed();
    frames.extend(traffic::captured());
    frames.retain(|f| f.len() <= 3400);
    frames
}

/// The same octets in the same order as AF_PACKET has them, and as they were sent, in each mode.
#[test]
fn every_packet_as_it_was_sent() {
    let Some(_wire) = Wire::lay_of(ONE) else { return };
    let frames = frames();
    for (best, mode) in [(XdpMode::ZeroCopy, XdpMode::Native), (XdpMode::Generic, XdpMode::Generic)] {
        let Some(mut rings) = rings(&right(best)) else { return };
        // What arrives at the right is what goes out on the left.
        let options = PacketOptions { ring_octets: 32 << 20, ..PacketOptions::new("left") };
        let mut beside = trunkline_capture::live::packet::open(&options).unwrap().remove(0);
        let ring = &mut rings[0];
        assert_eq!((ring.mode(), ring.interface(), ring.link()), (mode, "right", 1));
        let begin = now_ns();
        let seen = pass(ring, &frames);
        assert_eq!(seen.octets.len(), frames.len(), "{:?}", ring.statistics());
        for (i, (packet, (got, expected))) in seen.packets.iter().zip(seen.octets.iter().zip(&frames)).enumerate() {
            assert_eq!(got, expected, "frame {i}, {mode}");
            assert_eq!((packet.number, packet.wire), (i as u64 + 1, expected.len() as u32));
            assert!((begin..now_ns()).contains(&packet.at_ns));
        }
        assert!(seen.octets == read(&mut beside, frames.len()).octets, "{mode}");
        assert!(seen.packets.is_sorted_by_key(|p| p.at_ns));
        let statistics = ring.statistics();
        assert_eq!((statistics.packets as usize, statistics.drops, statistics.held), (frames.len(), 0, 0));
        assert_eq!(statistics.stamped_late, 0, "{mode}");
    }
}

/// Each queue is a ring; a flow keeps its order.
#[test]
fn queues_are_rings() {
    let Some(_wire) = Wire::lay_of(TWO) else { return };
    let Some(mut rings) = rings(&right(XdpMode::Native)) else { return };
    assert_eq!(rings.len(), 2);
    let frames: Vec<_> = (0..2000).map(|n| traffic::trunk(n as u16 % 40, false, n)).collect();
    let mut last: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut total = 0;
    for part in frames.chunks(WIRE) {
        send("left", part);
        for ring in &mut rings {
            let seen = read(ring, 0);
            total += seen.octets.len();
            for octets in &seen.octets {
                let count = u32::from_be_bytes(octets[42..46].try_into().unwrap());
                assert!(last.insert(octets[34..36].to_vec(), count).is_none_or(|before| before < count));
            }
        }
    }
    assert_eq!(total, frames.len());
}

#[test]
fn a_ring_too_small_says_what_it_lost() {
    let Some(_wire) = Wire::lay_of(ONE) else { return };
    for best in [XdpMode::Native, XdpMode::Generic] {
        let Some(mut rings) = rings(&XdpOptions { frames: 64, ..right(best) }) else { return };
        let ring = &mut rings[0];
        let wire = lost_on_the_wire();
        let frames: Vec<_> = (0..2000).map(|n| traffic::trunk(n as u16 % 100, false, n)).collect();
        assert_eq!(send("left", &frames).packets, 2000);
        let seen = read(ring, 1500);
        assert!(seen.octets.len() >= 64 && seen.lost() > 0, "{}", seen.octets.len());
        // What the wire itself had no room for is counted at its end.
        let lost_before = lost_on_the_wire() - wire;
        assert_eq!(seen.octets.len() as u64 + seen.lost() + lost_before, 2000);
        assert!(seen.losses.iter().all(|l| l.place == LossPlace::Ring && l.since_ns <= l.at_ns));
        let statistics = ring.statistics();
        assert_eq!((statistics.drops, statistics.room), (seen.lost(), 64));
        send("left", &frames[..10]);
        assert_eq!(read(ring, 10).octets, frames[..10]);
    }
}

#[test]
fn batches_may_be_kept() {
    let Some(_wire) = Wire::lay_of(ONE) else { return };
    let Some(mut rings) = rings(&XdpOptions { frames: 128, ..right(XdpMode::Native) }) else { return };
    let ring = &mut rings[0];
    let mut kept: Vec<Batch> = Vec::new();
    let frames: Vec<_> = (0..120).map(|n| traffic::trunk(n, false, 1)).collect();
    for part in frames.chunks(20) {
        send("left", part);
        keep(ring, &mut kept, 20);
    }
    assert!(kept.len() >= 6);
    assert_eq!(ring.statistics().held, 120);
    assert!(all_of(&kept) == frames);
    // Eight frames are left for twenty packets.
    let frames: Vec<_> = (0..20).map(|n| traffic::trunk(n, false, 9)).collect();
    send("left", &frames);
    let seen = read(ring, 20);
    assert_eq!(seen.octets.len() as u64 + seen.lost(), 20);
    assert!(seen.octets.len() >= 8, "{}", seen.octets.len());
    std::thread::spawn(move || kept.drain(..).rev().for_each(drop)).join().unwrap();
    assert_eq!(ring.statistics().held, 0);
    read(ring, 0);
    send("left", &frames);
    assert_eq!(read(ring, 20).octets, frames);
}

/// Packets are taken from whoever else listens, and given back afterwards.
#[test]
fn packets_are_taken_away_and_filtered_here() {
    let Some(_wire) = Wire::lay_of(ONE) else { return };
    let text = "udp port 10020 or (vlan and udp)";
    let Some(mut rings) = rings(&XdpOptions { filter: text.to_owned(), ..right(XdpMode::Native) }) else { return };
    let mut beside = trunkline_capture::live::packet::open(&PacketOptions::new("right")).unwrap().remove(0);
    let frames: Vec<_> = frames().into_iter().take(3000).collect();
    let filter = Expression::compile(text, 1).unwrap();
    let expected: Vec<_> = frames.iter().filter(|f| filter.matches_live(f, f.len() as u32)).cloned().collect();
    assert!(!expected.is_empty() && expected.len() < frames.len());
    let mut seen = Seen::default();
    for part in frames.chunks(WIRE) {
        send("left", part);
        let some = part.iter().filter(|f| filter.matches_live(f, f.len() as u32)).count();
        seen.octets.extend(read_exactly(&mut rings[0], some).octets);
    }
    assert!(seen.octets == expected);
    assert_eq!(read(&mut beside, 0).octets.len(), 0);
    drop(rings);
    send("left", &frames[..100]);
    assert_eq!(read(&mut beside, 100).octets, frames[..100]);
}

#[test]
fn an_interface_that_comes_back_is_captured_again() {
    let Some(wire) = Wire::lay_of(ONE) else { return };
    let Some(mut rings) = rings(&right(XdpMode::Native)) else { return };
    let ring = &mut rings[0];
    let frames: Vec<_> = (0..50).map(|n| traffic::trunk(n, false, 0)).collect();
    send("left", &frames);
    assert_eq!(read(ring, 50).octets, frames);
    wire.set("right", false);
    let error = wait_for_error(ring);
    assert!(matches!(&error, LiveError::Down(name) if name == "right") && error.passes(), "{error}");
    wire.set("right", true);
    wait_until_up(ring);
    send("left", &frames);
    assert_eq!(read(ring, 50).octets, frames);
    wire.unplug();
    let error = wait_for_error(ring);
    assert!(matches!(&error, LiveError::Gone(name) if name == "right"), "{error}");
    wire.plug().unwrap();
    wait_until_up(ring);
    send("left", &frames);
    assert_eq!(read(ring, 50).octets, frames);
    assert_eq!((ring.statistics().returns, ring.statistics().packets), (2, 150));
}

#[test]
fn what_cannot_be_is_said() {
    let Some(_wire) = Wire::lay() else { return };
    let error = open(&XdpOptions::new("right")).err().unwrap();
    assert!(error.to_string().contains("use AF_PACKET, or a smaller MTU"), "{error}");
}
