//! The packet log as people and scripts meet it: a simulated world recorded, searched, damaged and mended.

use crate::eventually::awaited;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use trunkline_capture::{Batch, FileSource, PcapWriter};
use trunkline_record::Class;
use trunkline_record::names::segment_name;
use trunkline_wire::{Decoded, decode};

/// A packet: time, link type, octets.
type Packet = (i64, u16, Vec<u8>);

struct Desk {
    folder: TempDir,
}

impl Desk {
    /// A simulated world, read into a store and recorded into the log of the same folder.
    fn new(tunnel: &str) -> Desk {
        let desk = Desk { folder: tempfile::tempdir().unwrap() };
        let set = format!("tunnel={tunnel}");
        code(&desk.run(&["sim", "--calls", "25", "--seed", "11", "--set", &set, "-w", "world.pcap"]), 0);
        desk.record("data", &desk.packets("world.pcap"), 2);
        desk
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env_clear();
        command.env("TZ", "UTC").env("LANG", "C.UTF-8").env("COLUMNS", "140").output().unwrap()
    }

    /// The packets of a file, in its order.
    fn packets(&self, name: &str) -> Vec<Packet> {
        let mut source = FileSource::open(&[self.path(name)]);
        let (mut batch, mut found) = (Batch::default(), Vec::new());
        while source.fill(&mut batch) {
            found.extend(batch.packets.iter().map(|p| (p.at_ns, p.link, batch.octets_of(p).to_vec())));
        }
        assert_eq!(source.files()[0].error, None);
        found
    }

    /// Records packets as the recorder would: by class, minute and lane, without indexes.
    fn record(&self, data: &str, packets: &[Packet], lanes: u16) {
        let mut writers: BTreeMap<PathBuf, PcapWriter<File>> = BTreeMap::new();
        for (n, (at_ns, link, octets)) in packets.iter().enumerate() {
            let name = segment_name(class(*link, octets), *at_ns, n as u16 % lanes, 0);
            let path = self.path(data).join(name);
            let writer = writers.entry(path.clone()).or_insert_with(|| {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                PcapWriter::pcapng(File::create(&path).unwrap())
            });
            writer.write(*at_ns, *link, octets.len() as u32, octets).unwrap();
        }
        writers.into_values().for_each(|w| _ = w.finish().unwrap());
    }

    fn extract(&self, args: &[&str]) -> Vec<Packet> {
        let all = [&["extract", "--data", "data", "-w", "out.pcapng"], args].concat();
        code(&self.run(&all), 0);
        self.packets("out.pcapng")
    }

    fn json(&self, args: &[&str], expected: i32) -> Vec<Value> {
        let output = self.run(args);
        code(&output, expected);
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The paths of all segments.
    fn segments_of(&self, data: &str) -> Vec<PathBuf> {
        let listed = self.json(&["packets", "ls", "--json", "--data", data], 0);
        listed.iter().map(|l| self.path(l["path"].as_str().unwrap())).collect()
    }
}

fn class(link: u16, octets: &[u8]) -> Class {
    let payload = |d: &trunkline_wire::Datagram| octets.get(d.payload_start as usize..).unwrap_or_default().to_vec();
    match decode(link, octets) {
        Decoded::Udp(d) if payload(&d).first().is_some_and(|o| o >> 6 == 2) => Class::Rtp,
        Decoded::Udp(d) if payload(&d).windows(7).any(|w| w == b"SIP/2.0") => Class::Sip,
        Decoded::Tcp(..) | Decoded::Fragment(_) => Class::Sip,
        _ => Class::Other,
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

fn code(output: &Output, expected: i32) {
    assert_eq!(output.status.code(), Some(expected), "\n{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// Packets in the order of time; those of one time in any.
fn ordered(mut packets: Vec<Packet>) -> Vec<Packet> {
    packets.sort();
    packets
}

fn times(packets: &[Packet]) -> Vec<i64> {
    packets.iter().map(|p| p.0).collect()
}

/// The packets of the world that tcpdump takes; none where there is no tcpdump.
fn tcpdump(desk: &Desk, expression: &str) -> Option<Vec<Packet>> {
    let taken = desk.path("taken.pcap");
    let mut command = Command::new("tcpdump");
    command.arg("-r").arg(desk.path("world.pcap")).arg("--time-stamp-precision=nano").arg("-w").arg(&taken);
    let done = command.arg(expression).output().ok()?;
    code(&done, 0);
    Some(desk.packets("taken.pcap"))
}

/// What `compress = "zstd"` makes of the log.
fn compress(data: &Path) {
    let options = trunkline_spool::Options::new(vec![trunkline_spool::Volume::new(data)]);
    let (mut recorder, _) = trunkline_record::Recorder::open(options, trunkline_record::Rules::default()).unwrap();
    let limit = trunkline_spool::Limit::Percent(100);
    recorder.keep(trunkline_record::job::Keep { limit, compress: [true; 3], ..Default::default() }).unwrap();
    let counted = || recorder.report().unwrap().counters;
    let wish = trunkline_record::job::Wish { span: trunkline_record::index::Span::ALL, classes: Class::ALL.to_vec() };
    awaited("all are rewritten", || {
        let rewritten = trunkline_record::job::list(data, 0, &wish).unwrap().iter().all(|f| f.is_packed());
        if rewritten { Ok(()) } else { Err(Box::new(counted())) }
    });
    recorder.close(std::time::Duration::from_secs(20));
}

#[test]
fn a_compressed_log_answers_as_before() {
    let desk = Desk::new("vxlan");
    code(&desk.run(&["packets", "repair", "--data", "data"]), 0);
    code(&desk.run(&["read", "world.pcap", "--data", "data", "--json"]), 0);
    let queries = [vec![], vec!["udp", "port", "5060"], vec!["inner", "portrange", "10000-20000"], vec!["less", "100"]];
    let before: Vec<_> = queries.iter().map(|query| desk.extract(query)).collect();
    let listed = |desk: &Desk| desk.json(&["packets", "ls", "--json", "--data", "data"], 0);
    let sums = |listed: &[Value], key: &str| listed.iter().map(|l| l[key].as_u64().unwrap()).sum::<u64>();
    let plain = listed(&desk);
    compress(&desk.path("data"));
    let packed = listed(&desk);
    assert!(packed.iter().all(|l| l["path"].as_str().unwrap().ends_with(".pcapng.zst")));
    for key in ["octets", "packets", "index_octets"] {
        assert_eq!(sums(&plain, key), sums(&packed, key), "{key}");
    }
    assert_eq!(sums(&plain, "file_octets"), sums(&plain, "octets"));
    assert!(sums(&packed, "file_octets") < sums(&packed, "octets"));
    for (query, wanted) in queries.iter().zip(&before) {
        assert_eq!(&desk.extract(query), wanted, "{query:?}");
    }
    let table = text(&desk.run(&["packets", "ls", "--data", "data"]).stdout);
    assert!(table.contains("ON DISK") && table.contains(" on disk), "), "{table}");
    assert!(text(&desk.run(&["packets", "verify", "--data", "data"]).stdout).contains("all whole"));
    assert!(text(&desk.run(&["packets", "repair", "--data", "data"]).stdout).contains("nothing to repair"));
    // The capture is gone: the call's packets come from the log.
    let wanted = desk.json(&["calls", "--data", "data", "--json"], 0);
    let id = wanted[0]["id"].as_str().unwrap();
    code(&desk.run(&["call", id, "--data", "data", "--pcap", "before.pcapng"]), 0);
    fs::rename(desk.path("world.pcap"), desk.path("gone.pcap")).unwrap();
    code(&desk.run(&["call", id, "--data", "data", "--pcap", "after.pcapng"]), 0);
    assert_eq!(ordered(desk.packets("before.pcapng")), ordered(desk.packets("after.pcapng")));
    // A frame and an index that are damaged are told; an index comes back.
    let path = desk.path(packed[0]["path"].as_str().unwrap());
    let name = path.to_string_lossy().replace(".pcapng.zst", ".idx");
    fs::remove_file(&name).unwrap();
    code(&desk.run(&["packets", "verify", "--data", "data"]), 3);
    assert!(text(&desk.run(&["packets", "repair", "--data", "data"]).stdout).contains("its index was missing"));
    let mut octets = fs::read(&path).unwrap();
    octets[20] ^= 1;
    fs::write(&path, octets).unwrap();
    let verified = desk.run(&["packets", "verify", "--data", "data"]);
    code(&verified, 3);
    assert!(text(&verified.stdout).contains("of the compressed file is damaged"), "{}", text(&verified.stdout));
}

#[test]
fn everything_comes_back_in_the_order_of_time() {
    let desk = Desk::new("none");
    let world = desk.packets("world.pcap");
    let all = desk.extract(&[]);
    assert!(times(&all).is_sorted());
    assert_eq!(ordered(all.clone()), ordered(world.clone()));
    // With indexes that the first time has made, and without: the same packets with the same numbers.
    assert_eq!(desk.extract(&[]), all);
    assert_eq!(desk.extract(&["--limit", "17"]), all[..17]);
    let (from, to) = (all[all.len() / 3].0, all[all.len() / 2].0);
    let name = |ns: i64| trunkline_store::time::rfc3339(ns);
    let some = desk.extract(&["--from", &name(from), "--to", &name(to)]);
    let microsecond = |ns: i64| ns.div_euclid(1000);
    let inside = |p: &&Packet| (microsecond(from)..=microsecond(to)).contains(&microsecond(p.0));
    assert_eq!(some, all.iter().filter(inside).cloned().collect::<Vec<_>>());
    assert_eq!(desk.extract(&["--class", "sip"]).len() + desk.extract(&["--class", "rtp,other"]).len(), all.len());
}

#[test]
fn expressions_find_what_tcpdump_finds() {
    for tunnel in ["none", "vlan", "vxlan"] {
        let desk = Desk::new(tunnel);
        let world = desk.packets("world.pcap");
        let (mut hosts, mut ports) = (Vec::new(), Vec::new());
        for (_, link, octets) in world.iter().step_by(world.len() / 5) {
            if let Decoded::Udp(d) = decode(*link, octets) {
                hosts.push(d.src);
                ports.push(d.dst_port);
            }
        }
        let mut expressions: Vec<String> =
            ["udp port 5060", "not udp", "tcp or ip6", "vlan and udp", "less 200 and udp", "port 4789"]
                .map(str::to_owned)
                .to_vec();
        expressions.extend(hosts.iter().zip(&ports).map(|(host, port)| format!("host {host} and port {port}")));
        expressions.extend(hosts.iter().map(|host| format!("vlan and src host {host} and udp[8] & 0xc0 = 0x80")));
        for expression in &expressions {
            let Some(expected) = tcpdump(&desk, expression) else { return println!("SKIPPED: no tcpdump") };
            assert_eq!(ordered(desk.extract(&[expression])), ordered(expected), "{tunnel}: {expression}");
        }
        for host in &hosts {
            let inner = desk.extract(&[&format!("inner host {host} and not inner port 9")]);
            let of_host = |p: &&Packet| match decode(p.1, &p.2) {
                Decoded::Udp(d) | Decoded::Tcp(d, _) => {
                    (d.src == *host || d.dst == *host) && ![d.src_port, d.dst_port].contains(&9)
                }
                Decoded::Fragment(f) => f.src == *host || f.dst == *host,
                _ => false,
            };
            assert_eq!(ordered(inner), ordered(world.iter().filter(of_host).cloned().collect()), "{tunnel}: {host}");
        }
    }
}

#[test]
fn the_index_spares_reading() {
    let desk = Desk::new("none");
    desk.extract(&[]);
    let world = desk.packets("world.pcap");
    let media = world.iter().find_map(|p| match decode(p.1, &p.2) {
        Decoded::Udp(d) if class(p.1, &p.2) == Class::Rtp => Some((d.src, d.src_port)),
        _ => None,
    });
    let (host, port) = media.unwrap();
    let expression = format!("host {host} and port {port}");
    let out = ["extract", "--data", "data", "-w", "out.pcapng", "--json"];
    let done = &desk.json(&[&out[..], &[&expression]].concat(), 0)[0];
    let number = |name: &str| done[name].as_u64().unwrap();
    assert!(number("packets") > 0 && number("octets_read") < number("octets_total") / 3, "{done}");
    let nothing = &desk.json(&[&out[..], &["host 203.0.113.250"]].concat(), 0)[0];
    assert_eq!((nothing["packets"].as_u64(), nothing["files_read"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn several_folders_and_files_are_one_timeline() {
    let desk = Desk::new("none");
    let all = desk.extract(&[]);
    let (a, b): (Vec<_>, Vec<_>) = all.iter().cloned().enumerate().partition(|(n, _)| n % 3 == 0);
    let only = |packets: Vec<(usize, Packet)>| packets.into_iter().map(|p| p.1).collect::<Vec<_>>();
    desk.record("a", &only(a), 1);
    desk.record("b", &only(b), 2);
    code(&desk.run(&["extract", "--data", "a", "--data", "b", "-w", "both.pcapng"]), 0);
    assert_eq!(ordered(desk.packets("both.pcapng")), ordered(all.clone()));
    // A capture of anyone: read whole, then by its index; compressed, too.
    let expression = "udp port 5060";
    let sip = desk.extract(&[expression]);
    code(&desk.run(&["extract", "-r", "world.pcap", "-w", "one.pcapng", expression]), 0);
    assert_eq!(ordered(desk.packets("one.pcapng")), ordered(sip.clone()));
    code(&desk.run(&["packets", "index", "world.pcap"]), 0);
    let args = ["extract", "-r", "world.pcap", "-w", "two.pcapng", "--json", expression];
    let done = &desk.json(&args, 0)[0];
    assert!(done["octets_read"].as_u64().unwrap() < done["octets_total"].as_u64().unwrap());
    assert_eq!(desk.packets("two.pcapng"), desk.packets("one.pcapng"));
    // An index of what the file was is not used.
    let shorter: Vec<Packet> = desk.packets("world.pcap").into_iter().skip(40).collect();
    let mut writer = PcapWriter::pcap(File::create(desk.path("world.pcap")).unwrap());
    shorter.iter().for_each(|(at, link, o)| writer.write(*at, *link, o.len() as u32, o).unwrap());
    writer.finish().unwrap();
    let done = &desk.json(&args, 0)[0];
    assert!(done["indexes_remade"][0]["why"].as_str().unwrap().contains("changed"), "{done}");
}

#[test]
fn damage_is_told_in_a_line_and_the_rest_goes_on() {
    let desk = Desk::new("none");
    let all = desk.extract(&[]);
    code(&desk.run(&["packets", "verify", "--data", "data"]), 0);
    let listed = desk.json(&["packets", "ls", "--json", "--data", "data"], 0);
    let largest = listed.iter().max_by_key(|l| l["octets"].as_u64()).unwrap();
    let path = desk.path(largest["path"].as_str().unwrap());
    // A damaged index is found, and made anew by whoever needs it.
    let index = path.with_extension("idx");
    let mut octets = fs::read(&index).unwrap();
    octets[300] ^= 1;
    fs::write(&index, &octets).unwrap();
    let verified = desk.run(&["packets", "verify", "--data", "data"]);
    code(&verified, 3);
    assert!(text(&verified.stdout).contains("its index"), "{}", text(&verified.stdout));
    let done = &desk.json(&["extract", "--data", "data", "-w", "out.pcapng", "--json"], 0)[0];
    assert_eq!(done["indexes_remade"].as_array().unwrap().len(), 1);
    assert_eq!(desk.packets("out.pcapng"), all);
    code(&desk.run(&["packets", "verify", "--data", "data"]), 0);
    // A damaged segment loses what is behind the damage, and nothing else.
    let mut octets = fs::read(&path).unwrap();
    let middle = octets.len() / 2;
    octets[middle..middle + 4096].fill(0xff);
    fs::write(&path, &octets).unwrap();
    let output = desk.run(&["extract", "--data", "data", "-w", "out.pcapng"]);
    code(&output, 3);
    let error = text(&output.stderr);
    assert_eq!(error.lines().filter(|line| line.contains(": at octet ")).count(), 1, "{error}");
    let left = desk.packets("out.pcapng");
    assert!(left.len() > all.len() / 4 && left.len() < all.len() && left.iter().all(|p| all.contains(p)));
    code(&desk.run(&["packets", "verify", "--data", "data"]), 3);
}

#[test]
fn what_is_being_written_is_read_and_what_a_crash_left_is_committed() {
    let desk = Desk::new("none");
    let all = desk.extract(&[]);
    let path = desk.segments_of("data").pop().unwrap();
    let part = PathBuf::from(format!("{}.part", path.display()));
    fs::remove_file(path.with_extension("idx")).unwrap();
    fs::rename(&path, &part).unwrap();
    let whole = fs::read(&part).unwrap();
    fs::write(&part, [whole.as_slice(), &[0; 3000]].concat()).unwrap();
    assert_eq!(desk.extract(&[]), all);
    // The last record is cut: the packets before it stay.
    fs::write(&part, &whole[..whole.len() - 10]).unwrap();
    assert_eq!(desk.extract(&[]).len(), all.len() - 1);
    let repaired = desk.run(&["packets", "repair", "--data", "data"]);
    code(&repaired, 0);
    assert!(text(&repaired.stdout).contains("committed with"), "{}", text(&repaired.stdout));
    assert!(path.exists() && path.with_extension("idx").exists() && !part.exists());
    code(&desk.run(&["packets", "verify", "--data", "data"]), 0);
    fs::remove_file(path.with_extension("idx")).unwrap();
    code(&desk.run(&["packets", "ls", "--data", "data"]), 3);
    assert!(text(&desk.run(&["packets", "repair", "--data", "data"]).stdout).contains("was missing: made anew"));
    let again = desk.run(&["packets", "repair", "--data", "data"]);
    assert!(text(&again.stdout).contains("nothing to repair"));
}

#[test]
fn a_call_is_cut_out_of_the_log_when_its_file_is_gone() {
    let desk = Desk::new("none");
    code(&desk.run(&["read", "world.pcap", "--data", "data"]), 0);
    let calls = desk.json(&["calls", "--json", "--data", "data"], 0);
    let id = |call: &Value| call["id"].as_str().unwrap().to_owned();
    let mut before = BTreeMap::new();
    for call in &calls {
        let id = id(call);
        code(&desk.run(&["call", &id, "--data", "data", "--pcap", "call.pcapng"]), 0);
        let messages = desk.run(&["call", &id, "--data", "data", "--messages"]);
        before.insert(id, (desk.packets("call.pcapng"), messages.stdout));
    }
    fs::rename(desk.path("world.pcap"), desk.path("moved.pcap")).unwrap();
    for (id, (packets, messages)) in &before {
        code(&desk.run(&["call", id, "--data", "data", "--pcap", "call.pcapng"]), 0);
        assert_eq!(ordered(desk.packets("call.pcapng")), ordered(packets.clone()), "{id}");
        assert_eq!(text(&desk.run(&["call", id, "--data", "data", "--messages"]).stdout), text(messages), "{id}");
        let extracted = desk.extract(&["--call", id]);
        assert!(times(&extracted).is_sorted());
        assert_eq!(ordered(extracted), ordered(packets.clone()), "{id}");
    }
    assert!(before.values().any(|(packets, _)| packets.len() > 500), "no call with media");
    fs::remove_dir_all(desk.path("data/packets")).unwrap();
    let output = desk.run(&["call", before.keys().next().unwrap(), "--data", "data", "--pcap", "call.pcapng"]);
    code(&output, 1);
    assert!(text(&output.stderr).contains("was moved or deleted"));
}

/// Segments that somebody deleted, or retention: a call that is not whole in the log is not written as if it were.
#[test]
fn what_is_gone_of_a_call_is_told() {
    let desk = Desk::new("none");
    code(&desk.run(&["read", "world.pcap", "--data", "data"]), 0);
    fs::rename(desk.path("world.pcap"), desk.path("moved.pcap")).unwrap();
    let calls = desk.json(&["calls", "--json", "--data", "data"], 0);
    let with_media =
        calls.iter().find(|call| call["streams"].as_array().is_some_and(|streams| streams.len() == 2)).unwrap();
    let id = with_media["id"].as_str().unwrap();
    let cut = |expected: i32| {
        let output = desk.run(&["call", id, "--data", "data", "--pcap", "call.pcapng"]);
        code(&output, expected);
        let extracted = desk.run(&["extract", "--data", "data", "-w", "out.pcapng", "--call", id]);
        code(&extracted, expected);
        for line in text(&output.stderr).lines().filter(|line| line.starts_with("trunkline: ")) {
            assert!(text(&extracted.stderr).contains(line), "{line}");
        }
        text(&output.stderr)
    };
    let said = cut(0);
    assert!(!said.contains("are not in the packet log"), "{said}");
    fs::remove_dir_all(desk.path("data/packets/rtp")).unwrap();
    let said = cut(3);
    assert!(said.contains(" RTP packets of the call are not in the packet log"), "{said}");
    assert!(!said.contains("SIP messages of the call"), "{said}");
    fs::create_dir_all(desk.path("data/packets/rtp")).unwrap();
    let sip = desk.path("data/packets/sip");
    fs::rename(&sip, desk.path("sip")).unwrap();
    let output = desk.run(&["call", id, "--data", "data", "--pcap", "call.pcapng"]);
    code(&output, 1);
    assert!(text(&output.stderr).contains("was moved or deleted"));
}

#[test]
fn what_closing_finds_lost_of_a_recorded_file_is_told_in_rows() {
    let desk = Desk { folder: tempfile::tempdir().unwrap() };
    let (first_ns, count) = (1_795_181_100_000_000_000, 1000);
    let mut writer = PcapWriter::pcapng(File::create(desk.path("large.pcapng")).unwrap());
    for n in 0..count {
        // UDP in raw IPv4 of 1428 octets, neither SIP nor RTP.
        let mut octets = vec![0x45, 0, 0x05, 0x94, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
        octets.extend([0x13, 0x88, 0x13, 0x89, 0x05, 0x80, 0, 0]);
        octets.resize(1428, 0);
        writer.write(first_ns + n, 101, 1428, &octets).unwrap();
    }
    writer.finish().unwrap();
    // The first block of the segment fits into a file of 1 MiB; its end is written when reading is over, and fails.
    let limited = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" read --record large.pcapng --data data --json";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_trunkline")]).current_dir(desk.folder.path());
    let read = command.stdin(Stdio::null()).output().unwrap();
    code(&read, 3);
    let losses = "SELECT place, source, since, at, count FROM losses";
    let rows = desk.json(&["sql", "--data", "data", "--json", losses], 0);
    let [row] = &rows[..] else { panic!("{rows:?}\n{}", text(&read.stderr)) };
    let lost = row["count"].as_u64().unwrap();
    assert!(lost > 0 && lost < count as u64, "{row}");
    assert_eq!((row["place"].as_str(), row["source"].as_str()), (Some("disk"), Some("packet log")));
    let said = format!("{lost} packets were not recorded: ");
    assert!(text(&read.stderr).contains(&said), "{}", text(&read.stderr));
    // What is not told as lost is there, and the times are those of what is not.
    code(&desk.run(&["packets", "repair", "--data", "data"]), 0);
    let there = desk.extract(&[]);
    assert_eq!(there.len() as u64, count as u64 - lost);
    assert_eq!(times(&there).last(), Some(&(first_ns + count - 1 - lost as i64)));
}

#[test]
fn what_is_pinned_stays_and_the_rest_leaves() {
    let desk = Desk::new("none");
    desk.extract(&[]);
    let listed = desk.json(&["packets", "ls", "--json", "--data", "data"], 0);
    let first = listed.iter().min_by_key(|l| l["first"].as_str().unwrap().to_owned()).unwrap();
    let (from, to) = (first["first"].as_str().unwrap(), first["last"].as_str().unwrap());
    let class = first["class"].as_str().unwrap();
    let args =
        ["packets", "pin", "--data", "data", "--from", from, "--to", to, "--class", class, "--note", "ticket 4711"];
    code(&desk.run(&args), 0);
    let pins = desk.json(&["packets", "pins", "--data", "data", "--json"], 0);
    assert_eq!(
        (pins.len(), pins[0]["note"].as_str(), pins[0]["class"].as_str()),
        (1, Some("ticket 4711"), Some(class))
    );
    code(&desk.run(&["packets", "prune", "--data", "data"]), 2);
    let removed = desk.json(&["packets", "prune", "--data", "data", "--keep-size", "1 B", "--json"], 0);
    let left = desk.segments_of("data");
    assert_eq!(removed.len() + left.len(), listed.len());
    assert!(!removed.is_empty() && left.contains(&desk.path(first["path"].as_str().unwrap())));
    let indexes = left.iter().filter(|path| path.with_extension("idx").exists()).count();
    assert_eq!(indexes, left.len());
    code(&desk.run(&["packets", "unpin", "--data", "data", "1"]), 0);
    code(&desk.run(&["packets", "unpin", "--data", "data", "1"]), 1);
    code(&desk.run(&["packets", "prune", "--data", "data", "--keep-size", "1 B"]), 0);
    assert!(desk.segments_of("data").is_empty());
}

#[test]
fn wrong_questions_are_told_with_their_place() {
    let desk = Desk { folder: tempfile::tempdir().unwrap() };
    let says = |args: &[&str], expected: i32, part: &str| {
        let output = desk.run(args);
        code(&output, expected);
        assert!(text(&output.stderr).contains(part), "{args:?}: {}", text(&output.stderr));
    };
    says(&["extract", "-w", "x.pcap", "udp prt 5060"], 2, "\n  udp prt 5060\n      ^^^");
    says(&["extract", "-w", "x.pcap", "ether hst 5"], 2, "libpcap does not understand");
    says(&["extract", "udp"], 2, "--write");
    says(&["extract", "-w", "x.pcap", "--class", "sipp"], 2, "the classes are sip, rtp and other");
    says(&["extract", "-w", "x.pcap"], 1, "no packet log in ./trunkline-data");
    says(&["extract", "-w", "x.pcap", "-r", "none.pcap"], 3, "none.pcap");
    says(&["packets", "verify", "--from", "tomorrow"], 2, "--from");
    says(&["packets", "index", "none.pcap"], 3, "none.pcap");
    assert!(!desk.path("trunkline-data").exists(), "a question made a folder");
}
