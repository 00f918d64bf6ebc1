//! A call whose BYE was not captured, and a later one on its ports, whatever of its ends signalling names: the later
//! one has what comes since, and the earlier one keeps what it had (fmadio/voip_issues#5 and #8: audio of the second
//! call counted as loss of the first one; rtpengine#1208: calls mixed that share a port).

use crate::tape::{Side, Tape, audio, end, kind, rtp, says, sdp};
use trunkline_store::row::Call;
use trunkline_wire::Endpoint;

/// Where a party says that it is, and where it is seen.
#[derive(Clone, Copy, Debug)]
struct Phone {
    said: &'static str,
    seen: &'static str,
    signals: &'static str,
    /// In place of the address in `c=`.
    name: &'static str,
}

const fn phone(said: &'static str, seen: &'static str, signals: &'static str) -> Phone {
    Phone { said, seen, signals, name: "" }
}

const PLAIN: Phone = phone("198.51.100.2:5000", "198.51.100.2:5000", "198.51.100.2:5060");
/// Behind a translator that nobody corrects; it keeps the port, or does not.
const HIDDEN: Phone = phone("192.168.1.20:4000", "203.0.113.7:4000", "203.0.113.7:5060");
const TRANSLATED: Phone = phone("192.168.1.20:4000", "203.0.113.7:45000", "203.0.113.7:5060");
/// It names the public address that it has elsewhere, one for one.
const MAPPED: Phone = phone("3.120.7.9:16400", "10.0.0.5:16400", "10.0.0.5:5060");
const NAMED: Phone = Phone { name: "media.example.net", ..PLAIN };

impl Phone {
    fn side(&self, tag: &'static str) -> Side {
        let sdp = audio(end(self.said));
        let line = format!("c=IN IP4 {}\n", end(self.said).address);
        let sdp = if self.name.is_empty() { sdp } else { sdp.replace(&line, &format!("c=IN IP4 {}\n", self.name)) };
        Side { signals: end(self.signals), tag, sdp }
    }
}

/// How the later call differs from the earlier one.
#[derive(Clone, Copy, Debug)]
struct Again {
    /// So long after the last packet of the earlier one.
    rest_ms: i64,
    /// Its sources are those of the earlier one.
    same_source: bool,
    /// The other side calls.
    swapped: bool,
}

/// Packets of each side's stream.
type Heard = Vec<(u8, u64)>;

fn heard(call: &Call) -> Heard {
    let mut all: Vec<_> = call.streams.iter().map(|s| (s.direction as u8, s.packets)).collect();
    all.sort_unstable();
    all
}

/// Two calls: 10 s of the first one, whose BYE is not seen, and 6 s of the second.
fn calls([a, b]: [Phone; 2], again: Again) -> [Call; 2] {
    let mut tape = Tape::default();
    let mut at_ms = 0;
    for (n, (id, talk_ms)) in [("one", 10_000), ("two", 6_000)].into_iter().enumerate() {
        let sides = [a.side("a"), b.side("b")];
        let swapped = again.swapped && n == 1;
        let ways = if swapped { [&sides[1], &sides[0]] } else { [&sides[0], &sides[1]] };
        tape.call(at_ms, id, ways);
        let source = |of: u32| if again.same_source { of } else { of + 10 * n as u32 };
        for (ssrc, way) in [(source(1), [a, b]), (source(2), [b, a])] {
            let number = if n == 1 { 500 } else { 0 };
            for (count, ms) in (at_ms + 2_040..at_ms + 2_040 + talk_ms).step_by(20).enumerate() {
                tape.udp(ms, end(way[0].seen), end(way[1].seen), &rtp(ssrc, number + count as u16));
            }
        }
        if n == 1 {
            tape.bye(at_ms + 2_100 + talk_ms, id, ways);
        }
        at_ms += 2_040 + talk_ms + again.rest_ms;
    }
    let (mut rows, _) = tape.read();
    assert!(rows.streams.is_empty(), "{} streams without a call", rows.streams.len());
    rows.calls.sort_by_key(|c| c.start_ns);
    rows.calls.try_into().expect("two calls")
}

#[test]
fn a_later_call_has_what_comes_on_its_ports_whoever_names_them() {
    let mut wrong = Vec::new();
    for a in [PLAIN_A, HIDDEN, TRANSLATED] {
        for b in [PLAIN, MAPPED, NAMED] {
            for rest_ms in [20, 3_000, 120_000] {
                for same_source in [false, true] {
                    for swapped in [false, true] {
                        let again = Again { rest_ms, same_source, swapped };
                        let [one, two] = calls([a, b], again);
                        let told = (heard(&one), kind(&one).to_owned(), heard(&two), kind(&two).to_owned());
                        let right = (vec![(1, 500), (2, 500)], String::new(), vec![(1, 300), (2, 300)], String::new());
                        if told != right {
                            wrong.push(format!("{} {}{} {again:?}: {told:?}", a.seen, b.seen, b.name));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

const PLAIN_A: Phone = phone("192.0.2.1:4000", "192.0.2.1:4000", "192.0.2.1:5060");

/// The answer of the first one is not in the capture, either.
#[test]
fn a_later_call_has_what_comes_though_the_earlier_one_named_one_end_alone() {
    for same_source in [false, true] {
        let mut tape = Tape::default();
        let sides = [PLAIN_A.side("a"), PLAIN.side("b")];
        tape.call(0, "one", [&sides[0], &sides[1]]);
        tape.0.retain(|(_, packet)| !packet.windows(7).any(|w| w == b"200 OK\r"));
        tape.call(15_000, "two", [&sides[0], &sides[1]]);
        for (n, (from_ms, until_ms)) in [(2_040, 12_040), (17_040, 23_040)].into_iter().enumerate() {
            for (ssrc, way) in [(1, [PLAIN_A, PLAIN]), (2, [PLAIN, PLAIN_A])] {
                let ssrc = if same_source { ssrc } else { ssrc + 10 * n as u32 };
                for (count, ms) in (from_ms..until_ms).step_by(20).enumerate() {
                    let number = 500 * n as u16 + count as u16;
                    tape.udp(ms, end(way[0].seen), end(way[1].seen), &rtp(ssrc, number));
                }
            }
        }
        tape.bye(23_100, "two", [&sides[0], &sides[1]]);
        let (mut rows, _) = tape.read();
        rows.calls.sort_by_key(|c| c.start_ns);
        let told: Vec<_> = rows.calls.iter().map(heard).collect();
        assert_eq!(
            told,
            [vec![(1, 500), (2, 500)], vec![(1, 300), (2, 300)]],
            "{same_source} {}",
            says(&rows.calls[1])
        );
    }
}

/// A packet of UDPTL with a page's octets.
fn udptl(number: u16) -> Vec<u8> {
    let primary = [&[0xc0, 1, 0x80, 40][..], &[0x5a; 40]].concat();
    [&number.to_be_bytes()[..], &[primary.len() as u8], &primary, &[0, 0]].concat()
}

/// Fax has no source by which one is told from the next; each is that of both legs of a back-to-back user agent.
#[test]
fn a_later_fax_is_not_one_with_an_earlier_one_on_its_ports() {
    for rest_ms in [20, 5_000] {
        let (a, b) = (end("192.0.2.1:4000"), end("198.51.100.2:5000"));
        let image = |of: Endpoint| sdp(of, "image udptl t38", &["T38FaxVersion:0"]);
        let side = |of: Endpoint, tag| Side { signals: Endpoint { port: 5060, ..of }, tag, sdp: image(of) };
        let agent = |of: &Side| Side { signals: end("192.0.2.200:5060"), ..of.clone() };
        let sides = [side(a, "a"), side(b, "b")];
        let legs = [[sides[0].clone(), agent(&sides[1])], [agent(&sides[0]), sides[1].clone()]];
        let mut tape = Tape::default();
        let mut at_ms = 0;
        for (ids, count) in [(["one", "one b"], 300u16), (["two", "two b"], 200)] {
            for (n, (id, [from, to])) in ids.iter().zip(&legs).enumerate() {
                tape.call(at_ms + 10 * n as i64, id, [from, to]);
            }
            for n in 0..count {
                let ms = at_ms + 2_100 + 30 * i64::from(n);
                tape.udp(ms, a, b, &udptl(n));
                tape.udp(ms + 7, b, a, &udptl(n));
            }
            at_ms += 2_100 + 30 * i64::from(count) + rest_ms;
        }
        for (id, [from, to]) in ["two", "two b"].iter().zip(&legs) {
            tape.bye(at_ms, id, [from, to]);
        }
        let (mut rows, _) = tape.read();
        rows.calls.sort_by_key(|c| c.start_ns);
        let told: Vec<_> = rows.calls.iter().map(|c| (heard(c), c.shared.len(), kind(c))).collect();
        let right =
            [(vec![(1, 300), (2, 300)], 0, ""), (vec![], 2, ""), (vec![(1, 200), (2, 200)], 0, ""), (vec![], 2, "")];
        assert_eq!(told, right, "{rest_ms}");
    }
}
