//! What the fuzz targets and the replay of their corpora drive: one function per parser, with its invariants.

use crate::job::Sink;
use crate::join::{Joined, Joiner};
use crate::lane::LaneOutput;
use crate::limits::{HOSTS_PER_CALL_MAX, MESSAGES_PER_CALL_MAX, SECOND_NS};
use crate::payload::PayloadMap;
use crate::signalling::{Incoming, Signalling};
use crate::stream::Analyzer;
use crate::transport::framed::{Frame, Frames, Framing};
use crate::unread::{self, Transport};
use std::sync::Arc;
use trunkline_audio::codec::Media;
use trunkline_store::json;
use trunkline_store::row::Rows;
use trunkline_wire::rtp::Header;

/// Messages between three hosts, from signalling to rows and JSON: an octet tells who speaks and how, the next one how
/// much later, then the message up to a record separator (0x1e). Rows must not depend on how often calls were closed.
pub fn signalling(octets: &[u8]) {
    let often = rows(octets, 1);
    assert_eq!(often, rows(octets, usize::MAX));
    for call in &often.calls {
        assert!(call.ladder.messages.len() <= MESSAGES_PER_CALL_MAX && call.ladder.hosts.len() <= HOSTS_PER_CALL_MAX);
        assert!(call.start_ns <= call.last_ns && call.ringing_ns.is_none_or(|at| at >= call.start_ns));
        // A BYE may be captured before the 2xx (RFC 3261 section 15 allows it in an early dialog): only the start is
        // first.
        assert!(call.end_ns.iter().chain(&call.answer_ns).all(|at| (call.start_ns..=call.last_ns).contains(at)));
        let mut text = String::new();
        json::call_with_ladder(&mut text, call);
        assert!(!text.contains('\n') && text.starts_with("{\"id\":\"") && text.ends_with('}'));
    }
}

/// The rows of all messages, sorted; `every` so many messages what is over is closed.
fn rows(octets: &[u8], every: usize) -> Rows {
    let hosts = ["192.0.2.1:5060", "198.51.100.2:5060", "[2001:db8::3]:5062"].map(|h| h.parse().unwrap_or_default());
    let mut gathered = Gathered::default();
    let mut joiner = Joiner::new(std::sync::Arc::new(vec!["exercise".to_owned()]), &mut gathered);
    let mut signalling = Signalling::default();
    let mut at_ns = 1_700_000_000 * SECOND_NS;
    let mut close = |signalling: &mut Signalling, now_ns, last| {
        let lanes = vec![LaneOutput::default()];
        let _ = joiner.join(Joined { output: signalling.poll(), lanes, losses: &[], now_ns, last });
    };
    for (n, piece) in octets.split(|o| *o == 0x1e).enumerate() {
        let [how, later, message @ ..] = piece else { continue };
        let later = i64::from(*later);
        at_ns += if later < 200 { later * later * 1_000_000 } else { (later - 199) * 600 * SECOND_NS };
        signalling.handle(&Incoming {
            at_ns,
            number: n as u64 + 1,
            offset: n as u64 * 100,
            file: 0,
            src: hosts[usize::from(how & 3) % 3],
            dst: hosts[usize::from(how >> 2 & 3) % 3],
            stream: how & 0x20 != 0,
            cut: how & 0x40 != 0,
            octets: message,
        });
        if (n + 1) % every == 0 {
            signalling.tick(at_ns);
            close(&mut signalling, at_ns, false);
        }
    }
    signalling.tick(at_ns);
    close(&mut signalling, at_ns, false);
    signalling.finish();
    close(&mut signalling, at_ns, true);
    gathered.sorted()
}

#[derive(Default)]
struct Gathered(Rows);

impl Sink for Gathered {
    fn rows(&mut self, rows: Rows) -> Result<(), String> {
        self.0.calls.extend(rows.calls);
        self.0.registrations.extend(rows.registrations);
        self.0.events.extend(rows.events);
        Ok(())
    }
}

impl Gathered {
    fn sorted(mut self) -> Rows {
        self.0.calls.sort_by_key(|c| (c.start_ns, c.id, c.last_ns));
        self.0.registrations.sort_by_key(|r| (r.start_ns, r.id, r.end_ns));
        // Forks that begin at the same time share an identifier: all of the row, then.
        self.0.events.sort_by_cached_key(|e| (e.start_ns, e.id, format!("{e:?}")));
        self.0
    }
}

/// A packet of any protocol: two octets tell its ports, the third how much longer it was on the wire.
pub fn unread(octets: &[u8]) {
    const PORTS: [u16; 16] =
        [40000, 3478, 2427, 2945, 4569, 2000, 5061, 2123, 5246, 5247, 1812, 554, 443, 9060, 1720, 1719];
    let [from, to, longer, rest @ ..] = octets else { return };
    let port = |octet: &u8| PORTS[usize::from(*octet) % PORTS.len()];
    let ports = (port(from), port(to));
    let wire = rest.len() + usize::from(*longer);
    const OVER: [Transport; 4] = [Transport::Udp, Transport::Tcp, Transport::Sctp, Transport::Udp];
    for (found, over) in unread::of(rest, wire, ports).into_iter().zip(OVER) {
        assert!(found.is_none_or(|protocol| protocol.goes_over(over)), "{found:?} over {over:?}");
    }
    // Cut anywhere: nothing is read past the end.
    for end in 0..rest.len().min(64) {
        let _ = unread::of(&rest[..end], wire, ports);
    }
}

/// A stream of any packets: eight octets tell each one's time, sequence number, timestamp, type and length.
pub fn stream(octets: &[u8]) {
    let mut map = PayloadMap::new(Media::Audio);
    map.map(96, "opus", 48000);
    map.map(97, "telephone-event", 8000);
    map.map(98, "unheard-of", 44100);
    let map = Arc::new(map);
    let mut at_ns = 1_700_000_000_000_000_000i64;
    let mut header = Header::default();
    let mut analyzer: Option<Analyzer> = None;
    let mut intervals = 0;
    for o in octets.chunks_exact(8) {
        step(&mut header, &mut at_ns, o);
        let analyzer = analyzer.get_or_insert_with(|| Analyzer::new(at_ns, PayloadMap::standard(), &header));
        if o[6] == 0x77 {
            analyzer.set_payloads(Arc::clone(&map));
        }
        let ended = analyzer.packet(at_ns, &header, &octets[..octets.len().min(usize::from(o[7]))], u32::from(o[7]));
        intervals += ended.and_then(|news| news.interval).map_or(0, |i| i.packets);
    }
    let Some(analyzer) = analyzer else { return };
    let report = analyzer.report();
    intervals += analyzer.interval().map_or(0, |i| i.packets);
    assert_eq!(u64::from(intervals), report.packets);
    assert!(analyzer.gaps().iter().map(|g| u64::from(g.missing)).sum::<u64>() <= report.missing);
    assert_eq!(report.packets, report.expected - report.missing + report.duplicates + analyzer.strays());
    assert_eq!(report.lost, report.expected as i64 - report.packets as i64);
    assert!(report.missing <= report.expected && report.reordered <= report.packets);
    assert!(report.jitter_mean_ms.is_finite() && report.jitter_mean_ms <= report.jitter_max_ms + 1e-9);
    let runs: u64 = report.loss_runs.iter().zip(1..).map(|(&n, length)| u64::from(n) * length).sum();
    assert!(runs <= report.missing, "{runs} lost in runs, {} missing", report.missing);
    for score in [report.mos.g107, report.mos.vm_f1, report.mos.vm_f2, report.mos.vm_adapt] {
        assert!(score.is_none_or(|s| (1.0..=4.5).contains(&s)));
    }
}

/// One direction of a TCP connection that carries media: the first octet tells how messages follow each other and
/// whether it begins with one; then each octet tells how many octets come in one piece, or (from 224 on) are missing.
pub fn framed(octets: &[u8]) {
    let [how, rest @ ..] = octets else { return };
    let framing = if how & 1 == 0 { Framing::Length } else { Framing::Turn };
    let mut frames = Frames::new(framing, how & 2 == 0);
    let (mut rest, mut given, mut pushed, mut gaps) = (rest, 0, 0, 0);
    let mut sink = |frame: Frame<'_>| {
        assert!(frame.wire > 0 && frame.octets.len() <= frame.wire && frame.gaps >= gaps);
        given += frame.octets.len() as u64;
        gaps = frame.gaps;
    };
    while let [piece, next @ ..] = rest {
        let octets = usize::from(*piece);
        match octets {
            224.. => {
                frames.gap((octets - 223) * 97, &mut sink);
                rest = next;
            }
            _ => {
                let (now, later) = next.split_at(octets.min(next.len()));
                frames.push(now, &mut sink);
                pushed += now.len() as u64;
                rest = later;
            }
        }
    }
    // Nothing is given that did not come, and nothing twice.
    assert!(given + frames.passed_over <= pushed && gaps as usize <= octets.len());
}

/// Small numbers are the usual step, large ones a jump.
fn step(header: &mut Header, at_ns: &mut i64, o: &[u8]) {
    header.sequence = match o[0] {
        n @ 0..=223 => header.sequence.wrapping_add(u16::from(n % 8)).wrapping_sub(1),
        n => u16::from_be_bytes([n, o[1]]),
    };
    header.timestamp = match o[2] {
        n @ 0..=223 => header.timestamp.wrapping_add(u32::from(n % 4) * 80),
        n => u32::from_be_bytes([n, o[3], o[1], o[0]]),
    };
    *at_ns = at_ns.wrapping_add(match o[4] {
        n @ 0..=239 => i64::from(n) * 400_000,
        n => i64::from_be_bytes([0, 0, n, o[5], o[3], o[2], o[1], o[0]]).wrapping_sub(1 << 47),
    });
    header.payload_type = [0, 8, 9, 13, 18, 96, 97, 98, 101][usize::from(o[6]) % 9];
    header.marker = o[5] & 0x10 != 0;
}
