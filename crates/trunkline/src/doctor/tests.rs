//! Made-up facts in, findings out; and mirrors made of simulated packets.

use super::facts::{Capabilities, Facts, Folder, Interface, Machine, Speed, Wanted, Watched};
use super::judge::judge;
use super::mirror::{Look, Mirror};
use super::{Finding, State};
use std::path::PathBuf;
use std::time::Duration;
use trunkline_capture::filter::LibraryError;
use trunkline_capture::live::clock::Synchronisation;
use trunkline_capture::live::ethtool::{Coalescing, OfMost, Pause, Settings as Driver};
use trunkline_capture::{Batch, FileSource};
use trunkline_kit::config::{Octets, Share};

const GIB: u64 = 1 << 30;

/// A machine that does everything as it should.
fn healthy() -> Facts {
    let driver = Driver {
        driver: Some("ixgbe".to_owned()),
        ring: Some(OfMost { set: 4096, most: 4096 }),
        queues: Some(OfMost { set: 8, most: 16 }),
        queues_combined: true,
        coalescing: Some(Coalescing { rx_us: 50, rx_frames: 0, adaptive: false }),
        pause: Some(Pause { rx: false, tx: false }),
        gro: Some(false),
        lro: Some(false),
        tso: Some(false),
        stamps: Some(true),
    };
    let watched = Watched { time: Duration::from_secs(3), packets: 300_000, octets: 75_000_000, ..Watched::default() };
    let mirror = Mirror {
        packets: 10_000,
        sip: 300,
        rtp: 9_500,
        pairs_both: 20,
        packets_both: 9_800,
        pairs_one: 1,
        packets_one: 10,
        compared: 9_800,
        ..Mirror::default()
    };
    let interface = Interface {
        name: "eth1".to_owned(),
        is_up: true,
        has_carrier: Some(true),
        speed_mbit: Some(1000),
        full_duplex: Some(true),
        mtu: Some(1500),
        driver,
        watched: Some(watched),
        mirror: Some(mirror),
        not_looked: None,
    };
    let speed = Speed { octets_per_second: 1e9, octets: 256 << 20, slowest: Duration::from_millis(4), direct: true };
    let folder = Folder {
        path: PathBuf::from("/data"),
        file_system: Some("ext4".to_owned()),
        size: 100_000 * GIB,
        free: 99_000 * GIB,
        log: 0,
        speed: Some(Ok(speed)),
    };
    let machine = Machine {
        kernel: "6.1.0-13-amd64".to_owned(),
        program: PathBuf::from("/usr/bin/trunkline"),
        capabilities: Capabilities { net_raw: true, net_admin: true, ipc_lock: true, bpf: true, perfmon: true },
        packet_sockets: Some(true),
        xdp_sockets: Some(true),
        io_uring: Some(Ok(())),
        echo: Some([Ok(()), Ok(())]),
        filters_compiled: Some(true),
        libpcap: Some(Ok("libpcap.so.0.8")),
        memory_available: Some(16 * GIB),
        locked_max: Some(8 << 20),
        processors: 8,
        governor: Some("performance".to_owned()),
        clock: Some(Synchronisation { is_kept: true, error_us_max: 1500 }),
        clock_source: Some(("tsc".to_owned(), vec!["tsc".to_owned(), "hpet".to_owned()])),
    };
    let wanted = Wanted {
        named: true,
        lanes: 0,
        ring: 128 << 20,
        memory: 512 << 20,
        xdp: false,
        hardware_timestamps: false,
        filter: false,
        record: true,
        graphs: true,
        limit: Some(Share::Percent(80.0)),
        compressed_segment: Some(GIB),
    };
    Facts { machine, interfaces: vec![interface], folders: vec![folder], wanted, ..Facts::default() }
}

/// Asserts that a change of the healthy machine gives that one finding, with these parts in what is said and its fix.
fn finds(check: &str, state: State, says: &str, fix: &str, change: impl FnOnce(&mut Facts)) {
    let finding = found(check, state, says, fix, change);
    assert!(finding.lost.is_some(), "{check}: {finding:#?}");
}

/// The same of one that is worth a look, and by which nothing is lost.
fn warns(check: &str, says: &str, fix: &str, change: impl FnOnce(&mut Facts)) {
    let finding = found(check, State::Warn, says, fix, change);
    assert!(finding.lost.is_none(), "{check}: {finding:#?}");
}

fn found(check: &str, state: State, says: &str, fix: &str, change: impl FnOnce(&mut Facts)) -> Finding {
    let mut facts = healthy();
    change(&mut facts);
    let worse: Vec<Finding> = judge(&facts).into_iter().filter(|f| f.state != State::Good).collect();
    let [finding] = worse.as_slice() else { unreachable!("{check}: {worse:#?}") };
    let fixed = finding.fix.as_deref().unwrap_or_default();
    assert!(finding.check == check && finding.state == state, "{check}: {finding:#?}");
    assert!(finding.seen.contains(says) && fixed.contains(fix), "{check}: {finding:#?}");
    finding.clone()
}

fn eth(facts: &mut Facts) -> &mut Interface {
    facts.interfaces.first_mut().unwrap()
}

fn watched(facts: &mut Facts) -> &mut Watched {
    eth(facts).watched.as_mut().unwrap()
}

fn seen(facts: &mut Facts) -> &mut Mirror {
    eth(facts).mirror.as_mut().unwrap()
}

fn speed(facts: &mut Facts) -> &mut Speed {
    facts.folders.first_mut().unwrap().speed.as_mut().unwrap().as_mut().unwrap()
}

#[test]
fn a_healthy_machine_has_no_findings() {
    let findings = judge(&healthy());
    assert!(findings.iter().all(|f| f.state == State::Good && f.fix.is_none()), "{findings:#?}");
    let retention = findings.iter().find(|f| f.check == "retention").unwrap();
    assert!(retention.seen.ends_with("39 days at the rate seen"), "{}", retention.seen);
    assert_eq!(judge(&Facts::default()).iter().filter(|f| f.state == State::Bad).count(), 1, "no capabilities");
}

#[test]
fn the_machine_is_judged() {
    let setcap = "sudo setcap cap_net_raw,cap_net_admin,cap_ipc_lock,cap_bpf,cap_perfmon+ep /usr/bin/trunkline";
    finds("capabilities", State::Bad, "missing: CAP_NET_RAW", setcap, |f| f.machine.capabilities.net_raw = false);
    finds("capabilities", State::Bad, "CAP_NET_ADMIN", setcap, |f| {
        f.machine.capabilities.net_admin = false;
        f.wanted.hardware_timestamps = true;
    });
    finds("kernel", State::Bad, "2.6.32", "", |f| f.machine.kernel = "2.6.32-754.el6".to_owned());
    finds("kernel", State::Bad, "without AF_PACKET", "modprobe", |f| f.machine.packet_sockets = Some(false));
    finds("af-xdp", State::Bad, "none", "af-packet", |f| {
        f.machine.xdp_sockets = Some(false);
        f.wanted.xdp = true;
    });
    finds("io_uring", State::Warn, "not permitted", "kernel.io_uring_disabled=0", |f| {
        f.machine.io_uring = Some(Err("Operation not permitted".to_owned()));
    });
    finds("echo", State::Warn, "no right to ICMP echo over IPv4", "ping_group_range", |f| {
        f.machine.echo = Some([Err("no right to ICMP echo over IPv4 (Permission denied): let ..".to_owned()), Ok(())]);
    });
    let quiet = |f: &mut Facts| (f.machine.echo, f.wanted.graphs) = (Some([Err("no".to_owned()), Ok(())]), false);
    let mut facts = healthy();
    quiet(&mut facts);
    assert!(judge(&facts).iter().all(|f| f.state == State::Good), "nobody asks for it");
    finds("filters", State::Warn, "interprets", "bpf_jit_enable=1", |f| f.machine.filters_compiled = Some(false));
    finds("libpcap", State::Warn, "filters do not work: libpcap is not installed", "apt-get install libpcap0.8", |f| {
        f.machine.libpcap = Some(Err(LibraryError::Missing));
    });
    finds("libpcap", State::Bad, "libpcap.so.1 lacks pcap_compile", "apt-get install libpcap0.8", |f| {
        let library = "libpcap.so.1".to_owned();
        f.machine.libpcap = Some(Err(LibraryError::Symbol { library, symbol: "pcap_compile" }));
        f.wanted.filter = true;
    });
    finds("memory", State::Bad, "7 rings of 134.2 MB", "ring", |f| f.machine.memory_available = Some(GIB));
    finds("locked memory", State::Bad, "8.4 MB", "LimitMEMLOCK=infinity", |f| {
        f.machine.capabilities.ipc_lock = false;
        f.wanted.xdp = true;
    });
    finds("processors", State::Warn, "save power", "performance", |f| {
        f.machine.governor = Some("powersave".to_owned())
    });
    finds("processors", State::Warn, "8 processors, 9 lanes", "lanes = 0", |f| {
        f.wanted.lanes = 9;
        eth(f).driver.queues = None;
    });
    finds("clock", State::Warn, "nothing keeps it right", "chrony", |f| {
        f.machine.clock = Some(Synchronisation { is_kept: false, error_us_max: 16_000_000 });
    });
    finds("clock source", State::Warn, "hpet", "echo tsc | sudo tee /sys/", |f| {
        f.machine.clock_source = Some(("hpet".to_owned(), vec!["hpet".to_owned(), "tsc".to_owned()]));
    });
}

#[test]
fn interfaces_are_judged() {
    finds("interface", State::Bad, "there are eth1, lo", "", |f| {
        f.missing.push("eth7".to_owned());
        f.names = vec!["eth1".to_owned(), "lo".to_owned()];
    });
    finds("link", State::Bad, "down", "sudo ip link set dev eth1 up", |f| eth(f).is_up = false);
    finds("link", State::Bad, "no carrier", "", |f| eth(f).has_carrier = Some(false));
    finds("link", State::Warn, "half duplex", "autoneg on", |f| eth(f).full_duplex = Some(false));
    warns("traffic", "nothing came in 3 s", "mirrors", |f| watched(f).packets = 0);
    finds("drops", State::Bad, "dropped 12 packets in 3 s", "more queues", |f| watched(f).missed = 12);
    finds("drops", State::Bad, "too long", "mtu 1600", |f| watched(f).length = 1);
    finds("drops", State::Warn, "rx_dropped", "netdev_max_backlog", |f| watched(f).dropped = 1);
    finds("drops", State::Warn, "damaged", "cable", |f| watched(f).damaged = 1);
    finds("ring", State::Warn, "256 of 4096", "sudo ethtool -G eth1 rx 4096", |f| {
        eth(f).driver.ring = Some(OfMost { set: 256, most: 4096 });
    });
    finds("queues", State::Warn, "1 of 16", "sudo ethtool -L eth1 combined 8", |f| {
        eth(f).driver.queues = Some(OfMost { set: 1, most: 16 });
    });
    finds("queues", State::Warn, "1 of 4", "sudo ethtool -L eth1 rx 4", |f| {
        eth(f).driver.queues = Some(OfMost { set: 1, most: 4 });
        eth(f).driver.queues_combined = false;
    });
    finds("interrupts", State::Warn, "after 1000 us", "rx-usecs 50", |f| {
        eth(f).driver.coalescing = Some(Coalescing { rx_us: 1000, rx_frames: 0, adaptive: false });
    });
    finds("interrupts", State::Warn, "after 0 us or 1 packet", "rx-usecs 50", |f| {
        eth(f).driver.coalescing = Some(Coalescing { rx_us: 0, rx_frames: 1, adaptive: false });
    });
    finds("offloads", State::Warn, "gro and lro may merge", "sudo ethtool -K eth1 gro off lro off", |f| {
        (eth(f).driver.gro, eth(f).driver.lro) = (Some(true), Some(true));
    });
    finds("offloads", State::Warn, "gro merges packets: 5 packets longer", "gro off", |f| {
        eth(f).driver.gro = Some(true);
        seen(f).merged = 5;
    });
    finds("pause frames", State::Warn, "on", "sudo ethtool -A eth1 autoneg off rx off tx off", |f| {
        eth(f).driver.pause = Some(Pause { rx: false, tx: true });
    });
    finds("timestamps", State::Warn, "cannot", "software", |f| {
        eth(f).driver.stamps = Some(false);
        f.wanted.hardware_timestamps = true;
    });
}

#[test]
fn mirrors_are_judged() {
    finds("mirror", State::Bad, "one-sided: 90.0 % of the packets are of 9 pairs", "both", |f| {
        (seen(f).packets_one, seen(f).packets_both, seen(f).pairs_one) = (9_000, 1_000, 9);
    });
    finds("mirror", State::Warn, "partly one-sided", "both", |f| {
        (seen(f).packets_one, seen(f).packets_both, seen(f).pairs_one) = (4_000, 6_000, 9);
    });
    // One stream without an answer may be all that there is.
    finds("mirror", State::Warn, "partly one-sided", "both", |f| {
        (seen(f).packets_one, seen(f).packets_both, seen(f).pairs_one) = (10_000, 0, 1);
    });
    finds("copies", State::Warn, "50.0 % of the packets came twice", "rx", |f| seen(f).copies = 4_900);
    finds("mirror", State::Warn, "not looked at: no capability", "", |f| {
        eth(f).mirror = None;
        eth(f).not_looked = Some("no capability".to_owned());
    });
}

#[test]
fn folders_are_judged() {
    let folder = |f: &mut Facts, change: &dyn Fn(&mut Folder)| change(f.folders.first_mut().unwrap());
    finds("file system", State::Warn, "nfs4", "slow-tier", |f| folder(f, &|d| d.file_system = Some("nfs4".to_owned())));
    finds("file system", State::Warn, "in memory", "disk", |f| {
        folder(f, &|d| d.file_system = Some("tmpfs".to_owned()))
    });
    finds("disk", State::Bad, "Permission denied", "", |f| {
        folder(f, &|d| d.speed = Some(Err("Permission denied".to_owned())));
    });
    finds("disk", State::Bad, "writes 20.0 MB/s; 25.0 MB/s come", "volumes", |f| speed(f).octets_per_second = 20e6);
    finds("disk", State::Warn, "writes 40.0 MB/s; 25.0 MB/s come", "volumes", |f| speed(f).octets_per_second = 40e6);
    finds("disk", State::Warn, "took 2.0 s for one block", "memory", |f| speed(f).slowest = Duration::from_secs(2));
    finds("disk", State::Warn, "links could carry 1.2 GB/s", "volumes", |f| eth(f).speed_mbit = Some(10_000));
    // The oldest leave for new ones: recording goes on, and nothing is lost.
    warns("retention", "19.4 hours at the rate seen, then the oldest packets leave", "volumes", |f| {
        f.wanted.limit = Some(Share::Octets(Octets(1_750_000_000_000)));
    });
    warns("retention", "46 min", "volumes", |f| f.wanted.limit = Some(Share::Octets(Octets::gib(65))));
    finds("retention", State::Bad, "0 B for the log", "make room", |f| folder(f, &|d| d.free = 0));
    let compressed = |limit: Share| {
        warns("compression", "a segment of 1.1 GB takes 1.3 GB: larger ones stay", "segment-size", |f| {
            f.wanted.limit = Some(limit);
            // 39 days at the rate seen, whatever is free.
            folder(f, &|d| (d.size, d.free, d.log) = (1000 * GIB, 1000 * GIB, 0));
            watched(f).octets /= 100;
        });
    };
    compressed(Share::Percent(99.9));
    compressed(Share::Octets(Octets::gib(999)));
    // The log itself fills the disk: it makes its own room.
    let mut facts = healthy();
    folder(&mut facts, &|d| (d.free, d.log) = (10_000 * GIB, 89_000 * GIB));
    assert!(judge(&facts).iter().all(|f| f.state == State::Good));
    // Not recording, there is nothing to say about folders.
    facts.wanted.record = false;
    assert!(judge(&facts).iter().all(|f| f.check != "disk"));
}

/// The packets of a simulated world, each with time, link type, length and octets.
fn world() -> Vec<(i64, u16, u32, Vec<u8>)> {
    let preset = "demo".parse::<trunkline_sim::Preset>().unwrap();
    let mut settings = trunkline_sim::Settings::preset(preset);
    (settings.calls, settings.seed, settings.faults) = (20, 3, 0.0);
    let mut file = Vec::new();
    trunkline_sim::write(&settings, &mut file, None::<&mut Vec<u8>>, &mut |_, _| {}).unwrap();
    let mut source = FileSource::of_octets(vec![file]);
    let (mut batch, mut packets) = (Batch::default(), Vec::new());
    while source.fill(&mut batch) {
        packets.extend(batch.packets.iter().map(|p| (p.at_ns, p.link, p.wire, batch.octets_of(p).to_vec())));
    }
    packets
}

fn look(packets: impl IntoIterator<Item = (i64, u16, u32, Vec<u8>)>) -> Mirror {
    let mut look = Look::new(Some(1500));
    for (at_ns, link, wire, octets) in packets {
        look.packet(at_ns, link, wire, &octets);
    }
    look.result()
}

#[test]
fn a_whole_mirror_is_told_from_half_of_one_and_from_two() {
    let world = world();
    let whole = look(world.clone());
    assert_eq!(whole.packets, world.len() as u64);
    assert!(whole.packets_one * 20 < whole.packets_both && whole.pairs_both > 3, "{whole:?}");
    assert!(whole.copies * 100 < whole.compared && whole.merged == 0 && whole.sip > 0 && whole.rtp > 0, "{whole:?}");

    // Ethernet and IPv4 or IPv6: one direction of each pair is where the source is the smaller address.
    let towards = |octets: &[u8]| match octets.get(12..14) {
        Some([0x08, 0x00]) => octets.get(26..30) < octets.get(30..34),
        Some([0x86, 0xdd]) => octets.get(22..38) < octets.get(38..54),
        _ => false,
    };
    let half = look(world.iter().filter(|(.., octets)| towards(octets)).cloned());
    assert!(half.packets > 100 && half.pairs_both == 0 && half.packets_one * 10 > half.packets * 9, "{half:?}");

    // The second port hands out the same packet a moment later, with a tag and one hop on.
    let twice = world.iter().flat_map(|(at_ns, link, wire, octets)| {
        let mut copy = octets.clone();
        if octets.get(12..14) == Some(&[0x08, 0x00]) {
            copy[22] = copy[22].wrapping_sub(1);
        }
        copy.splice(12..12, [0x81, 0x00, 0x00, 0x64]);
        [(*at_ns, *link, *wire, octets.clone()), (*at_ns + 5_000, *link, *wire + 4, copy)]
    });
    let twice = look(twice);
    assert!(twice.copies * 100 > twice.compared * 49 && twice.copies_other_vlan + 5 > twice.copies, "{twice:?}");
}

#[test]
fn merged_packets_are_longer_than_the_link_takes() {
    let merged = look(world().into_iter().take(10).map(|(at, link, wire, octets)| (at, link, wire + 9000, octets)));
    assert_eq!(merged.merged, 10);
}

#[test]
fn limits_hold() {
    let mut look = Look::new(None);
    let mut frame = vec![0; 60];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    frame[14..24].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17]);
    frame[38..40].copy_from_slice(&26u16.to_be_bytes());
    for i in 0..super::mirror::PAIRS_MAX as u32 + 10 {
        frame[26..30].copy_from_slice(&(0x0a00_0000 + i).to_be_bytes());
        frame[30..34].copy_from_slice(&[192, 0, 2, 1]);
        look.packet(0, 1, 60, &frame);
    }
    assert_eq!(look.result().pairs_overflow, 10);
}
