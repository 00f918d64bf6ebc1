//! AF_PACKET rings.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use trunkline_capture::live::fanout::lane_of;
use trunkline_capture::live::interface::{counts, facts};
use trunkline_capture::live::packet::{PacketOptions, PacketRing, open};
use trunkline_capture::live::{Live, LiveError, Next, Pace, Sender, SenderOptions, Timestamps, privileges};
use trunkline_capture::{Batch, Expression, LossPlace};

use crate::live::traffic;
use crate::live::wire::{
    Seen, Wire, all_of, batch_of, keep, now_ns, read, read_once, send, send_at, wait_for_error, wait_until_up,
};

fn right() -> PacketOptions {
    PacketOptions { ring_octets: 32 << 20, ..PacketOptions::new("right") }
}

fn one(options: &PacketOptions) -> PacketRing {
    open(options).unwrap().remove(0)
}

#[test]
fn every_packet_as_it_was_sent() {
    let Some(_wire) = Wire::lay() else { return };
    let mut frames = traffic::mixed();
    frames.extend(traffic::captured());
    let mut ring = one(&right());
    let begin = now_ns();
    let sent = send("left", &frames);
    assert_eq!(sent.packets as usize, frames.len());
    let seen = read(&mut ring, frames.len());
    assert_eq!(seen.octets.len(), frames.len());
    for (i, (packet, (got, expected))) in seen.packets.iter().zip(seen.octets.iter().zip(&frames)).enumerate() {
        assert_eq!(got, expected, "frame {i}");
        assert_eq!((packet.number, packet.wire, packet.link), (i as u64 + 1, expected.len() as u32, 1));
        assert!((begin..now_ns()).contains(&packet.at_ns));
    }
    assert!(seen.packets.is_sorted_by_key(|p| p.at_ns));
    let statistics = ring.statistics();
    assert_eq!((statistics.packets as usize, statistics.drops, statistics.sequence_gaps), (frames.len(), 0, 0));
    assert_eq!((statistics.malformed, statistics.held, statistics.waiting), (0, 0, 0));
    assert!(statistics.tags_restored > 800 && statistics.is_up, "{statistics:?}");
}

/// Frames that arrive and frames that are sent: the kernel's choice is ours.
#[test]
fn lanes_are_those_that_the_hash_says() {
    let Some(_wire) = Wire::lay() else { return };
    let mut frames = traffic::mixed();
    frames.extend(traffic::captured());
    for from in ["left", "right"] {
        let mut rings = open(&PacketOptions { rings: 4, ..right() }).unwrap();
        send(from, &frames);
        let mut expected: Vec<Vec<&Vec<u8>>> = vec![Vec::new(); 4];
        for frame in &frames {
            expected[usize::from(lane_of(frame, 1, 4))].push(frame);
        }
        for (ring, expected) in rings.iter_mut().zip(&expected) {
            assert!(expected.len() > 500, "{}", expected.len());
            let seen = read(ring, expected.len());
            assert_eq!(seen.octets.len(), expected.len(), "from {from} ring {}", ring.ring());
            assert!(seen.octets.iter().eq(expected.iter().copied()), "from {from} ring {}", ring.ring());
        }
    }
}

#[test]
fn a_trunk_spreads_and_its_flows_and_fragments_stay_together() {
    let Some(_wire) = Wire::lay() else { return };
    let flows = (0..400).flat_map(|n| [traffic::trunk(n, false, 1), traffic::trunk(n, true, 2)]);
    let frames: Vec<_> = flows.chain((0..100).flat_map(traffic::fragments)).collect();
    let mut rings = open(&PacketOptions { rings: 4, ..right() }).unwrap();
    send("left", &frames);
    let mut lane_of_flow: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut total = 0;
    for (lane, ring) in rings.iter_mut().enumerate() {
        let seen = read(ring, 100);
        assert!((200..350).contains(&seen.octets.len()), "{}", seen.octets.len());
        total += seen.octets.len();
        for octets in &seen.octets {
            // A fragment by its identification, else a flow by its port.
            let is_fragment = u16::from_be_bytes([octets[20], octets[21]]) & 0x3fff != 0;
            let key = if is_fragment { [&b"part"[..], &octets[18..20]].concat() } else { octets[34..36].to_vec() };
            assert_eq!(*lane_of_flow.entry(key).or_insert(lane), lane);
        }
    }
    assert_eq!((total, lane_of_flow.len()), (frames.len(), 500));
}

/// What is sent is seen or told as lost.
#[test]
fn a_ring_too_small_says_what_it_lost() {
    let Some(_wire) = Wire::lay() else { return };
    let frames: Vec<_> = (0..20_000).map(|n| traffic::trunk(n as u16 % 100, false, n)).collect();
    let options = PacketOptions { ring_octets: 256 << 10, block_octets: 64 << 10, ..right() };
    let mut ring = one(&options);
    let before = now_ns();
    assert_eq!(send("left", &frames).packets, 20_000);
    let full = ring.statistics();
    assert_eq!((full.room, full.waiting, full.waiting_max), (4, 4, 4));
    let mut seen = read(&mut ring, 20_000);
    // It goes on after that.
    send("left", &frames[..10]);
    while ring.statistics().packets as usize + (seen.lost() as usize) < 20_010 {
        assert!(read_once(&mut ring, &mut seen, Duration::from_secs(2)) == Some(Next::Packets));
    }
    let statistics = ring.statistics();
    assert!(seen.lost() > 10_000, "{}", seen.lost());
    assert_eq!(seen.octets.len() as u64 + seen.lost(), 20_010);
    assert_eq!((statistics.drops, statistics.packets), (seen.lost(), seen.octets.len() as u64));
    assert!(statistics.freezes > 0 && statistics.waiting == 0, "{statistics:?}");
    for loss in &seen.losses {
        assert_eq!(loss.place, LossPlace::Ring);
        assert!(loss.since_ns <= loss.at_ns && loss.since_ns >= before - 1_000_000_000);
    }
}

/// A batch that is kept keeps its packets, whatever comes after it.
#[test]
fn batches_may_be_kept() {
    let Some(_wire) = Wire::lay() else { return };
    let options = PacketOptions { ring_octets: 16 << 16, block_octets: 1 << 16, ..right() };
    let mut ring = one(&options);
    let mut kept: Vec<Batch> = Vec::new();
    let frames: Vec<_> = (0..120).map(|n| traffic::trunk(n, false, 1)).collect();
    for part in frames.chunks(20) {
        send("left", part);
        keep(&mut ring, &mut kept, 20);
    }
    assert!(kept.len() >= 6);
    assert_eq!(ring.statistics().held as usize, kept.len());
    assert!(all_of(&kept) == frames);
    // Given back in no order, on another thread.
    std::thread::spawn(move || kept.drain(..).rev().for_each(drop)).join().unwrap();
    assert_eq!(ring.statistics().held, 0);
    for _ in 0..20 {
        send("left", &[traffic::trunk(1, false, 99)]);
        assert_eq!(read_once(&mut ring, &mut Seen::default(), Duration::from_secs(2)), Some(Next::Packets));
    }
    assert_eq!((ring.statistics().drops, ring.statistics().sequence_gaps), (0, 0));
}

/// While all blocks are kept, waiting does not spin, and nothing is handed out twice.
#[test]
fn all_blocks_kept() {
    let Some(_wire) = Wire::lay() else { return };
    let options = PacketOptions { ring_octets: 4 << 12, block_octets: 1 << 12, ..right() };
    let mut ring = one(&options);
    let mut kept = Vec::new();
    let frames: Vec<_> = (0..200).map(|n| traffic::trunk(n, false, 0)).collect();
    send("left", &frames);
    let mut lost = 0;
    for _ in 0..6 {
        let mut batch = Batch::default();
        ring.next(&mut batch, Duration::from_millis(30)).unwrap();
        lost += batch.losses.iter().map(|l| l.packets).sum::<u64>();
        kept.push(batch);
    }
    let packets: usize = kept.iter().map(|b| b.packets.len()).sum();
    assert_eq!(packets as u64 + lost, 200);
    assert_eq!(ring.statistics().held, 4);
}

#[test]
fn the_kernel_filters_as_the_filter_matches() {
    let Some(_wire) = Wire::lay() else { return };
    let frames = traffic::mixed();
    for text in
        ["udp port 10020", "vlan 7", "vlan and udp", "not ip and not ip6", "ip[6:2] & 0x3fff != 0", "greater 1000"]
    {
        let mut ring = one(&PacketOptions { filter: text.to_owned(), ..right() });
        send("left", &frames);
        let filter = Expression::compile(text, 1).unwrap();
        let expected: Vec<_> = frames.iter().filter(|f| filter.matches_live(f, f.len() as u32)).cloned().collect();
        assert!(!expected.is_empty() && expected.len() < frames.len(), "{text}");
        let seen = read(&mut ring, expected.len());
        assert_eq!(seen.octets.len(), expected.len(), "{text}");
        assert!(seen.octets == expected, "{text}");
    }
    let error = open(&PacketOptions { filter: "udp prot 5".to_owned(), ..right() }).err().unwrap();
    assert!(matches!(error, LiveError::Filter(_)));
}

#[test]
fn what_goes_out_is_left_out_if_asked() {
    let Some(_wire) = Wire::lay() else { return };
    let frames: Vec<_> = (0..40).map(|n| traffic::trunk(n, false, 0)).collect();
    for (rings, outgoing, expected) in [(1, true, 40), (1, false, 0), (2, true, 40), (2, false, 0)] {
        let mut rings = open(&PacketOptions { rings, outgoing, ..right() }).unwrap();
        send("right", &frames);
        let seen: usize = rings.iter_mut().map(|ring| read(ring, 0).octets.len()).sum();
        assert_eq!(seen, expected);
    }
}

#[test]
fn an_interface_that_comes_back_is_captured_again() {
    let Some(wire) = Wire::lay() else { return };
    let mut rings = open(&PacketOptions { rings: 3, ..right() }).unwrap();
    let frames: Vec<_> = (0..100).map(|n| traffic::trunk(n, false, 0)).collect();
    let check = |rings: &mut Vec<PacketRing>, returns: u64| {
        send("left", &frames);
        for ring in rings {
            let seen = read(ring, 1);
            let mine = |f: &&Vec<u8>| lane_of(f, 1, 3) == ring.ring();
            assert!(seen.octets.iter().eq(frames.iter().filter(mine)), "{} after {returns}", ring.ring());
            assert_eq!(ring.statistics().returns, returns);
        }
    };
    check(&mut rings, 0);
    wire.set("right", false);
    for ring in &mut rings {
        let error = wait_for_error(ring);
        assert!(matches!(&error, LiveError::Down(name) if name == "right") && error.passes(), "{error}");
        // Told once.
        assert_eq!(read_once(ring, &mut Seen::default(), Duration::from_millis(300)), Some(Next::Nothing));
        assert!(!ring.statistics().is_up);
    }
    wire.set("right", true);
    rings.iter_mut().rev().for_each(|ring| wait_until_up(ring));
    check(&mut rings, 1);
    for returns in 2..4 {
        wire.unplug();
        for ring in &mut rings {
            let error = wait_for_error(ring);
            assert!(matches!(&error, LiveError::Gone(name) if name == "right"), "{error}");
        }
        wire.plug().unwrap();
        rings.iter_mut().rev().for_each(|ring| wait_until_up(ring));
        check(&mut rings, returns);
    }
}

/// Without the capability the sockets that were opened beforehand are taken.
#[test]
fn comes_back_without_privileges_too() {
    let Some(wire) = Wire::lay() else { return };
    let mut rings = open(&PacketOptions { rings: 2, ..right() }).unwrap();
    let wait = Duration::from_millis(100);
    wire.unplug();
    for ring in &mut rings {
        wait_for_error(ring);
    }
    wire.plug().unwrap();
    let mut rings = std::thread::spawn(move || {
        trunkline_capture::live::privileges::give_up(None).unwrap();
        assert!(matches!(open(&right()), Err(LiveError::NotPermitted { capability: "CAP_NET_RAW", .. })));
        rings.iter_mut().for_each(|ring| wait_until_up(ring));
        rings
    })
    .join()
    .unwrap();
    let frames: Vec<_> = (0..50).map(|n| traffic::trunk(n, false, 0)).collect();
    send("left", &frames);
    let mut total = 0;
    for ring in &mut rings {
        let mut seen = Seen::default();
        while read_once(ring, &mut seen, wait) == Some(Next::Packets) {}
        assert!(seen.octets.iter().all(|f| lane_of(f, 1, 2) == ring.ring()));
        total += seen.octets.len();
    }
    assert_eq!(total, 50);
}

#[test]
fn opening_what_is_not_there_says_so() {
    let Some(wire) = Wire::lay() else { return };
    let error = open(&PacketOptions::new("middle")).err().unwrap();
    assert!(error.to_string().contains("there are: lo, "), "{error}");
    wire.set("right", false);
    let error = open(&right()).err().unwrap();
    assert!(error.to_string().contains("ip link set dev right up"), "{error}");
}

/// An interface without anything before IP, both ways.
#[test]
fn interfaces_of_ip_alone() {
    let Some(wire) = Wire::lay() else { return };
    let Some(mut tunnel) = wire.tunnel() else { return };
    let mut rings = open(&PacketOptions { rings: 3, ..PacketOptions::new("tunnel") }).unwrap();
    let is_ip = |f: &&Vec<u8>| matches!(f[12..14], [8, 0] | [0x86, 0xdd]);
    let packets: Vec<Vec<u8>> = traffic::mixed().iter().filter(is_ip).map(|f| f[14..].to_vec()).collect();
    for arrives in [true, false] {
        if arrives {
            packets.iter().for_each(|packet| tunnel.write_all(packet).unwrap());
        } else {
            let interface = "tunnel".to_owned();
            let mut sender = Sender::open(SenderOptions { interface, pace: Pace::Fastest, bypass: false }).unwrap();
            sender.send(&batch_of(&packets, 101)).unwrap();
            assert_eq!(sender.sent().packets as usize, packets.len());
        }
        for ring in &mut rings {
            assert_eq!(ring.link(), 101);
            let mine: Vec<_> = packets.iter().filter(|p| lane_of(p, 101, 3) == ring.ring()).cloned().collect();
            assert!(mine.len() > 100);
            let seen = read(ring, mine.len());
            assert_eq!((seen.octets.len(), seen.octets == mine), (mine.len(), true), "arrives: {arrives}");
        }
    }
}

#[test]
fn hardware_that_does_not_stamp_is_made_up_for() {
    let Some(_wire) = Wire::lay() else { return };
    let mut ring = one(&PacketOptions { timestamps: Timestamps::Hardware, ..right() });
    let begin = now_ns();
    send("left", &[traffic::trunk(1, false, 1)]);
    let seen = read(&mut ring, 1);
    assert!((begin..now_ns()).contains(&seen.packets[0].at_ns));
    assert_eq!(ring.statistics().hardware_stamped, 0);
    let error = open(&PacketOptions { timestamps: Timestamps::SetHardware, ..right() }).err().unwrap();
    assert!(error.to_string().contains("cannot stamp every packet"), "{error}");
}

#[test]
fn the_interface_counts_what_came() {
    let Some(_wire) = Wire::lay() else { return };
    let frames: Vec<_> = (0..40).map(|n| traffic::trunk(n, false, 0)).collect();
    let before = counts("right").unwrap();
    send("left", &frames);
    let (left, right) = (counts("left").unwrap(), counts("right").unwrap());
    assert_eq!((left.sent, right.packets - before.packets, right.lost()), (40, 40, 0));
    let facts = facts("right").unwrap();
    assert_eq!((facts.driver.as_deref(), facts.mtu, facts.is_running), (Some("veth"), 65535, true));
    assert!(facts.queues >= Some(1) && facts.gro.is_some() && !facts.hardware_timestamps, "{facts:?}");
}

/// As root, another user after opening; what is open goes on. In a process of its own, which it changes for good.
#[test]
fn another_user_after_opening() {
    let Some(_wire) = Wire::lay() else { return };
    let program = std::env::current_exe().unwrap();
    let child = ["--ignored", "--exact", "--nocapture", "live::packet::child_that_becomes_nobody"];
    let output = std::process::Command::new(program).args(child).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("20 packets as nobody"), "{text}");
}

#[test]
#[ignore = "gives up its privileges"]
fn child_that_becomes_nobody() {
    let Some(_wire) = Wire::lay() else { return };
    let mut ring = one(&right());
    let frames: Vec<_> = (0..20).map(|n| traffic::trunk(n, false, 0)).collect();
    send("left", &frames);
    privileges::give_up(Some("nobody")).unwrap();
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(status.contains("CapEff:\t0000000000000000") && status.contains("CapPrm:\t0000000000000000"), "{status}");
    assert!(status.contains("Groups:\t \n") && !status.contains("Uid:\t0"), "{status}");
    assert_eq!(read(&mut ring, 20).octets, frames);
    println!("20 packets as nobody");
}

/// The sender keeps the distances at which packets were captured.
#[test]
fn sent_at_the_recorded_pace() {
    let Some(_wire) = Wire::lay() else { return };
    let mut ring = one(&right());
    let frames: Vec<_> = (0..200).map(|n| traffic::trunk(n, false, 0)).collect();
    send_at("left", &frames, Pace::Recorded(2.0));
    let seen = read(&mut ring, 200);
    assert_eq!(seen.octets, frames);
    let took = seen.packets[199].at_ns - seen.packets[0].at_ns;
    assert!(took >= 99_000_000, "{took}");
}
