//! Streams of public captures against what two other programs say of them: TShark (`captures/expected.json`) and
//! rtpproxy's own expectations (`captures/third-party/sippy+rtpproxy`). Skipped where the shared captures are absent.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trunkline_calls::payload::PayloadMap;
use trunkline_calls::stream::Analyzer;
use trunkline_store::row::Stream;
use trunkline_wire::rtp;

/// Streams by source, destination (as TShark writes them) and SSRC.
type Streams = BTreeMap<(String, String, u32), Stream>;

#[test]
fn tshark_agrees() {
    let Some(shared) = shared() else { return };
    let expected: Value = serde_json::from_slice(&std::fs::read(shared.join("expected.json")).unwrap()).unwrap();
    let mut compared = 0;
    for file in [
        "rtpproxy/G723_1.a.rtp.pcap",
        "rtpproxy/G723_1.o.rtp.pcap",
        "rtpproxy/alice_srtp.pcap",
        "rtpproxy/bob_srtp.pcap",
        "rtpproxy/call1_alaw.pcap",
        "rtpproxy/call1_g729.pcap",
        "rtpproxy/dtmf.pcap",
        "rtpproxy/dups.a.rtp.pcap",
        "rtpproxy/lost.a.rtp.pcap",
        "rtpproxy/lost.o.rtp.pcap",
        "freeswitch/milliwatt.pcmu.rtp.pcap",
        "testsuite/40msalaw.pcap",
        "testsuite/ulaw-2013785496.pcap",
        "sipp/g711a.pcap",
        "heplify/rtp_rtcp_sip_ipv4_udp.pcap",
        "heplify/sip_ipv4_tcp.pcap",
    ] {
        let streams = read(&shared.join(file));
        let oracle = &expected[file];
        let key = if oracle["rtp_streams_heuristic"].is_array() { "rtp_streams_heuristic" } else { "rtp_streams" };
        for theirs in oracle[key].as_array().unwrap() {
            let text = |k: &str| theirs[k].as_str().unwrap();
            let ssrc = u32::from_str_radix(&text("ssrc")[2..], 16).unwrap();
            let ours = &streams[&(text("src").into(), text("dst").into(), ssrc)];
            compare(file, theirs, ours);
            if ours.missing == 0 && ours.jitter_max_ms < 3.0 && ours.mos.vm_f1.is_some() {
                assert_eq!([ours.mos.vm_f1, ours.mos.vm_f2, ours.mos.vm_adapt], [Some(4.5); 3], "{file}");
            }
            compared += 1;
        }
    }
    assert!(compared >= 24, "{compared}");
}

fn compare(file: &str, theirs: &Value, ours: &Stream) {
    let number = |k: &str| theirs[k].as_f64().or_else(|| theirs[k].as_str()?.parse().ok()).unwrap();
    let at = format!("{file} {}", theirs["ssrc"]);
    assert_eq!(ours.packets as f64, number("packets"), "{at}");
    assert_eq!(ours.lost as f64, number("lost"), "{at}");
    let (mean, highest) = (number("mean_jitter_ms"), number("max_jitter_ms"));
    let close = (ours.jitter_mean_ms - mean).abs() <= 0.01 && (ours.jitter_max_ms - highest).abs() <= 0.01;
    // Where TShark differs: it lets copies and telephone events, which repeat a timestamp, into the jitter of their
    // neighbours, and tells none for streams of events alone.
    let copies = ours.duplicates > 0;
    let events = ours.codec.contains("telephone-event");
    // Where comfort noise comes in, its mean, though not its maximum, is over fewer packets.
    let noise = ours.comfort_noise > 0
        && (ours.jitter_max_ms - highest).abs() <= 0.01
        && (ours.jitter_mean_ms - mean).abs() <= 0.05;
    assert!(
        close || copies || events || noise,
        "{at}: jitter {:.3} {:.3}, TShark {mean} {highest}",
        ours.jitter_mean_ms,
        ours.jitter_max_ms
    );
}

/// rtpproxy counts copies apart and expects from the lowest to the highest number, as we do. Its jitter, in units of
/// the timestamp, is ours within 0.02 ms; where a copy came, it takes the copy's arrival for the packet's.
#[test]
fn rtpproxy_agrees() {
    let Some(shared) = shared() else { return };
    let told = shared.join("third-party/sippy+rtpproxy/tests");
    let mut compared = 0;
    for (output, files) in [
        ("rtp_analyze/G723_1.output", &["G723_1.a.rtp.pcap", "G723_1.o.rtp.pcap"][..]),
        ("rtp_analyze/dups.output", &["dups.a.rtp.pcap"]),
        ("rtp_analyze/lost.output", &["lost.a.rtp.pcap", "lost.o.rtp.pcap"]),
        ("rtp_analyze/a2b_nosync.output", &["alice_srtp.pcap", "bob_srtp.pcap"]),
        ("extractaudio/call1_alaw.output", &["call1_alaw.pcap"]),
        ("extractaudio/call1_g729.output", &["call1_g729.pcap"]),
    ] {
        let streams: Vec<Stream> =
            files.iter().flat_map(|f| read(&shared.join("rtpproxy").join(f)).into_values()).collect();
        let text = std::fs::read_to_string(told.join(output)).unwrap();
        let lines: Vec<&str> = text.lines().filter(|l| l.contains('=')).collect();
        for lines in lines.chunks_exact(3) {
            let (counts, sums, jitters) = (lines[0], lines[1], lines[2]);
            let ssrc = u32::from_str_radix(&field(counts, "ssrc")[2..], 16).unwrap();
            let ours = streams.iter().find(|s| s.ssrc == ssrc).unwrap();
            let number = |line, name| field(line, name).parse::<f64>().unwrap();
            assert_eq!((ours.packets - ours.duplicates) as f64, number(counts, "pcount"), "{output} {ssrc:#x}");
            assert_eq!(ours.duplicates as f64, number(counts, "duplicates"));
            assert_eq!(ours.expected as f64, number(sums, "psent"));
            assert_eq!(ours.missing as f64, number(sums, "plost"));
            let ticks_ms = f64::from(ours.clock_rate) / 1000.0;
            let (mean, highest) = (number(jitters, "average_jitter"), number(jitters, "max_jitter"));
            let close = (mean / ticks_ms - ours.jitter_mean_ms).abs() < 0.02
                && (highest / ticks_ms - ours.jitter_max_ms).abs() < 0.02;
            assert!(
                close || ours.duplicates > 0,
                "{output} {ssrc:#x}: jitter {:.4} {:.4}, rtpproxy {:.4} {:.4}",
                ours.jitter_mean_ms,
                ours.jitter_max_ms,
                mean / ticks_ms,
                highest / ticks_ms
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 11);
}

/// The digits that TShark lists, event by event.
#[test]
fn digits_are_told_once() {
    let Some(shared) = shared() else { return };
    let digits = |file: &str| -> Vec<String> { read(&shared.join(file)).into_values().map(|s| s.dtmf).collect() };
    assert_eq!(digits("rtpproxy/dtmf.pcap"), ["123456789*0#5", "54321#"]);
    assert!(digits("testsuite/ulaw-2013785496.pcap").contains(&"2013785496".to_string()));
    for n in [0, 1, 2, 3, 5] {
        assert!(digits(&format!("sipp/dtmf_2833_{n}.pcap")).contains(&n.to_string()), "{n}");
    }
}

fn field<'a>(line: &'a str, name: &str) -> &'a str {
    let from = line.split([',', ' ']).find_map(|f| f.strip_prefix(name)?.strip_prefix('='));
    from.unwrap_or_else(|| panic!("{name} in {line}"))
}

pub fn shared() -> Option<PathBuf> {
    let root = std::env::var_os("TRUNKLINE_SHARED").map(PathBuf::from);
    let root = root.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let captures = root.join("captures");
    if !captures.join("expected.json").exists() {
        println!("SKIPPED: no shared captures");
        return None;
    }
    Some(captures)
}

fn read(path: &Path) -> Streams {
    let octets = std::fs::read(path).unwrap();
    let mut analyzers: BTreeMap<(String, String, u32), Analyzer> = BTreeMap::new();
    for (at_ns, link, packet) in packets(&octets) {
        let Some((src, dst, payload)) = datagram(link, packet) else { continue };
        if !rtp::looks_like_rtp(payload) {
            continue;
        }
        let Ok(packet) = rtp::Packet::new(payload, payload.len() as u32) else { continue };
        let h = &packet.header;
        let analyzer =
            analyzers.entry((src, dst, h.ssrc)).or_insert_with(|| Analyzer::new(at_ns, PayloadMap::standard(), h));
        analyzer.packet(at_ns, h, packet.payload, packet.payload_wire);
    }
    let report = |(key, analyzer): ((String, String, u32), Analyzer)| {
        let ssrc = key.2;
        (key, Stream { ssrc, ..analyzer.report() })
    };
    analyzers.into_iter().map(report).collect()
}

/// Packets of a little-endian pcap file with microseconds, or of a pcapng file.
fn packets(octets: &[u8]) -> Vec<(i64, u32, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
    let mut packets = Vec::new();
    if word(0) == 0x0a0d_0d0a {
        let (mut at, mut link) = (0, 0);
        while at + 12 <= octets.len() {
            match word(at) {
                1 => link = word(at + 8) & 0xffff,
                6 => {
                    let us = (i64::from(word(at + 12)) << 32) | i64::from(word(at + 16));
                    packets.push((us * 1000, link, &octets[at + 28..][..word(at + 20) as usize]));
                }
                _ => {}
            }
            at += word(at + 4) as usize;
        }
        return packets;
    }
    assert_eq!(word(0), 0xa1b2_c3d4);
    let mut at = 24;
    while at + 16 <= octets.len() {
        let at_ns = i64::from(word(at)) * 1_000_000_000 + i64::from(word(at + 4)) * 1000;
        let captured = word(at + 8) as usize;
        packets.push((at_ns, word(20), &octets[at + 16..][..captured]));
        at += 16 + captured;
    }
    packets
}

/// Source, destination and payload of a UDP datagram over IPv4.
fn datagram(link: u32, packet: &[u8]) -> Option<(String, String, &[u8])> {
    let ip = match link {
        1 if packet.get(12..14)? == [8, 0] => &packet[14..],
        113 => packet.get(16..)?,
        12 | 101 | 228 => packet,
        _ => return None,
    };
    let udp = ip.get(usize::from(ip.first()? & 15) * 4..).filter(|_| ip[0] >> 4 == 4 && ip[9] == 17)?;
    let end = usize::from(u16::from_be_bytes([udp[4], udp[5]])).clamp(8, udp.len());
    let name = |o: &[u8], p: &[u8]| format!("{}.{}.{}.{}:{}", o[0], o[1], o[2], o[3], u16::from_be_bytes([p[0], p[1]]));
    Some((name(&ip[12..16], udp), name(&ip[16..20], &udp[2..]), &udp[8..end]))
}
