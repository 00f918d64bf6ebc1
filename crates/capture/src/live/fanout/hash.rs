//! The choice of the kernel's program, made on a packet's octets in user space: the same walk, step by step.

use trunkline_wire::Endpoint;

use super::{DEPTH, EXTENSIONS, GTPU_EXTENSIONS, LABELS, MIX, TAGS};
use crate::bpf::big_endian;

/// Link type of Ethernet.
const ETHERNET: u16 = 1;

/// The lane that the kernel gives a packet to, as it was captured whole, of `lanes` lanes (at least 1). A packet that
/// is too short for what its headers say goes to lane 0.
pub fn lane_of(octets: &[u8], link: u16, lanes: u16) -> u16 {
    (hash(octets, link).unwrap_or(0) % u32::from(lanes.max(1))) as u16
}

/// The lane that the packets of a flow are given to: that of a reassembled datagram. `from` and `to` may be swapped.
pub fn lane_of_flow(from: Endpoint, to: Endpoint, lanes: u16) -> u16 {
    let end = |e: Endpoint| {
        let address = e.address.octets();
        let word = |at| big_endian(address, at, 4).unwrap_or(0);
        let digest = if e.address.is_v4() { word(12) } else { digest([word(0), word(4), word(8), word(12)]) };
        (digest, u32::from(e.port) >> 1)
    };
    (finish(end(from), end(to), 0) % u32::from(lanes.max(1))) as u16
}

/// One end: what its address comes to, and half its port.
type End = (u32, u32);

/// Where the walk stands.
struct Walk<'a> {
    octets: &'a [u8],
    at: usize,
    /// What the innermost addresses seen so far come to.
    ends: Option<(u32, u32)>,
}

/// What comes next.
enum Step {
    Ether,
    Kind(u32),
    Labels,
    Version,
    Ip4,
    Ip6,
}

/// How the walk ends.
enum Found {
    Unknown,
    Ports,
    Fragment(u32),
}

/// What the kernel's program comes to; `None` where a header is cut, and the kernel's is 0.
pub(crate) fn hash(octets: &[u8], link: u16) -> Option<u32> {
    let mut walk = Walk { octets, at: 0, ends: None };
    let mut step = if link == ETHERNET { walk.outermost()? } else { walk.network()? };
    for depth in 0..DEPTH {
        let is_last = depth + 1 == DEPTH;
        match walk.layer(step, is_last)? {
            Ok(inner) => step = inner,
            Err(end) => return walk.end(&end),
        }
    }
    Some(0)
}

impl Walk<'_> {
    fn u8(&self, offset: usize) -> Option<u32> {
        big_endian(self.octets, self.at.checked_add(offset)?, 1)
    }

    fn u16(&self, offset: usize) -> Option<u32> {
        big_endian(self.octets, self.at.checked_add(offset)?, 2)
    }

    fn u32(&self, offset: usize) -> Option<u32> {
        big_endian(self.octets, self.at.checked_add(offset)?, 4)
    }

    /// The tag that Linux sets aside is not one of those that are counted.
    fn outermost(&mut self) -> Option<Step> {
        let mut kind = self.u16(12)?;
        self.at = 14;
        if matches!(kind, 0x8100 | 0x88a8) {
            kind = self.u16(2)?;
            self.at = 18;
        }
        Some(Step::Kind(kind))
    }

    /// Without an Ethernet header the kernel goes by the version.
    fn network(&self) -> Option<Step> {
        Some(match self.u8(0)? >> 4 {
            4 => Step::Ip4,
            6 => Step::Ip6,
            _ => Step::Kind(0),
        })
    }

    /// One layer of IP and what is before it: what is inside, or how the walk ends.
    fn layer(&mut self, mut step: Step, is_last: bool) -> Option<Result<Step, Found>> {
        loop {
            let next = match step {
                Step::Ether => {
                    let kind = self.u16(12)?;
                    self.at += 14;
                    Ok(Step::Kind(kind))
                }
                Step::Kind(kind) => self.kind(kind)?,
                Step::Labels => self.labels()?,
                Step::Version => match self.u8(0)? >> 4 {
                    4 => Ok(Step::Ip4),
                    6 => Ok(Step::Ip6),
                    0 if !is_last => {
                        self.at += 4;
                        return Some(Ok(Step::Ether));
                    }
                    _ => Err(Found::Unknown),
                },
                Step::Ip4 => return self.ip4(is_last),
                Step::Ip6 => return self.ip6(is_last),
            };
            match next {
                Ok(next) => step = next,
                Err(end) => return Some(Err(end)),
            }
        }
    }

    fn kind(&mut self, mut kind: u32) -> Option<Result<Step, Found>> {
        for _ in 0..TAGS {
            if matches!(kind, 0x8100 | 0x88a8 | 0x9100) {
                kind = self.u16(2)?;
                self.at += 4;
            }
        }
        Some(match kind {
            0x0800 => Ok(Step::Ip4),
            0x86dd => Ok(Step::Ip6),
            0x8847 | 0x8848 => Ok(Step::Labels),
            0x8864 => {
                let protocol = self.u16(6)?;
                self.at += 8;
                match protocol {
                    0x0021 => Ok(Step::Ip4),
                    0x0057 => Ok(Step::Ip6),
                    _ => Err(Found::Unknown),
                }
            }
            _ => Err(Found::Unknown),
        })
    }

    fn labels(&mut self) -> Option<Result<Step, Found>> {
        for _ in 0..LABELS {
            let is_last = self.u8(2)? & 1 != 0;
            self.at += 4;
            if is_last {
                return Some(Ok(Step::Version));
            }
        }
        Some(Err(Found::Unknown))
    }

    fn ip4(&mut self, is_last: bool) -> Option<Result<Step, Found>> {
        if self.u8(0)? >> 4 != 4 {
            return Some(Err(Found::Unknown));
        }
        self.ends = Some((self.u32(12)?, self.u32(16)?));
        let protocol = self.u8(9)?;
        if self.u16(6)? & 0x3fff != 0 {
            return Some(Err(Found::Fragment((protocol << 16).wrapping_add(self.u16(4)?))));
        }
        self.at += (self.u8(0)? as usize & 15) << 2;
        self.transport(protocol, is_last)
    }

    fn ip6(&mut self, is_last: bool) -> Option<Result<Step, Found>> {
        if self.u8(0)? >> 4 != 6 {
            return Some(Err(Found::Unknown));
        }
        let mut ends = [0; 2];
        for (end, at) in ends.iter_mut().zip([8, 24]) {
            *end = digest([self.u32(at)?, self.u32(at + 4)?, self.u32(at + 8)?, self.u32(at + 12)?]);
        }
        self.ends = Some((ends[0], ends[1]));
        let mut protocol = self.u8(6)?;
        self.at += 40;
        for _ in 0..EXTENSIONS {
            let next = self.u8(0);
            match protocol {
                0 | 43 | 60 | 135 | 139 | 140 => self.at += 8 + 8 * self.u8(1)? as usize,
                51 => self.at += 8 + 4 * self.u8(1)? as usize,
                44 if self.u16(2)? & 0xfff9 != 0 => return Some(Err(Found::Fragment(self.u32(4)?))),
                44 => self.at += 8,
                _ => break,
            }
            protocol = next?;
        }
        self.transport(protocol, is_last)
    }

    fn transport(&mut self, protocol: u32, is_last: bool) -> Option<Result<Step, Found>> {
        Some(match protocol {
            6 | 132 | 33 | 136 => Err(Found::Ports),
            17 if is_last => Err(Found::Ports),
            17 => return self.udp(),
            _ if is_last => Err(Found::Unknown),
            4 => Ok(Step::Ip4),
            41 => Ok(Step::Ip6),
            137 => Ok(Step::Labels),
            47 => return self.gre(),
            _ => Err(Found::Unknown),
        })
    }

    fn gre(&mut self) -> Option<Result<Step, Found>> {
        let flags = self.u16(0)?;
        if flags & 0x4007 != 0 {
            return Some(Err(Found::Unknown));
        }
        let protocol = self.u16(2)?;
        self.at += 4 + [0x8000, 0x2000, 0x1000].iter().filter(|f| flags & **f != 0).count() * 4;
        Some(match protocol {
            0x0800 => Ok(Step::Ip4),
            0x86dd => Ok(Step::Ip6),
            0x6558 => Ok(Step::Ether),
            0x8847 => Ok(Step::Labels),
            0x88be => {
                self.at += if flags & 0x1000 != 0 { 8 } else { 0 };
                Ok(Step::Ether)
            }
            0x22eb => {
                self.at += if self.u8(11)? & 1 != 0 { 20 } else { 12 };
                Ok(Step::Ether)
            }
            _ => Err(Found::Unknown),
        })
    }

    fn udp(&mut self) -> Option<Result<Step, Found>> {
        let (from, to) = (self.u16(0)?, self.u16(2)?);
        if from == 2152 || to == 2152 {
            return self.gtpu();
        }
        match to {
            4789 | 8472 if self.u8(8)? & 8 != 0 => {
                self.at += 16;
                Some(Ok(Step::Ether))
            }
            6081 if self.u8(8)? & 0xc0 == 0 => {
                let kind = self.u16(10)?;
                self.at += 16 + 4 * self.u8(8)? as usize;
                Some(Ok(if kind == 0x6558 { Step::Ether } else { Step::Kind(kind) }))
            }
            _ => Some(Err(Found::Ports)),
        }
    }

    fn gtpu(&mut self) -> Option<Result<Step, Found>> {
        let flags = self.u8(8)?;
        if flags & 0xf0 != 0x30 || self.u8(9)? != 255 {
            return Some(Err(Found::Ports));
        }
        if flags & 7 == 0 {
            self.at += 16;
            return Some(Ok(Step::Version));
        }
        let mut next = self.u8(19)?;
        self.at += 20;
        for _ in 0..if flags & 4 != 0 { GTPU_EXTENSIONS } else { 0 } {
            if next == 0 {
                break;
            }
            self.at = (self.at + 4 * self.u8(0)? as usize).checked_sub(1)?;
            next = self.u8(0)?;
            self.at += 1;
        }
        let is_known = flags & 4 == 0 || next == 0;
        Some(if is_known { Ok(Step::Version) } else { Err(Found::Unknown) })
    }

    fn end(&self, end: &Found) -> Option<u32> {
        let Some((source, target)) = self.ends else { return Some(0) };
        Some(match end {
            Found::Unknown => finish((source, 0), (target, 0), 0),
            Found::Ports => finish((source, self.u16(0)? >> 1), (target, self.u16(2)? >> 1), 0),
            Found::Fragment(salt) => finish((source, 0), (target, 0), *salt),
        })
    }
}

fn digest(words: [u32; 4]) -> u32 {
    let [first, rest @ ..] = words;
    rest.iter().zip(MIX).fold(first, |digest, (word, mix)| digest.wrapping_mul(mix) ^ word)
}

fn finish(source: End, target: End, salt: u32) -> u32 {
    let end = |(digest, port): End| {
        let h = fold(port.wrapping_mul(MIX[2]).wrapping_add(digest), 16);
        fold(h.wrapping_mul(MIX[1]), 13)
    };
    let h = end(source).wrapping_add(end(target)).wrapping_add(salt.wrapping_mul(MIX[2]));
    fold(fold(h, 16).wrapping_mul(MIX[0]), 15)
}

fn fold(h: u32, by: u32) -> u32 {
    h ^ (h >> by)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bpf;
    use crate::exercise::lane as agree;
    use crate::live::fanout::{Begin, lane_of, program};

    const MACS: [u8; 12] = [2; 12];

    fn ip4(protocol: u8, from: [u8; 4], to: [u8; 4], fragment: u16, payload: &[u8]) -> Vec<u8> {
        let length = (20 + payload.len()) as u16;
        let mut ip = vec![0x45, 0];
        ip.extend(length.to_be_bytes());
        ip.extend([0x12, 0x34]);
        ip.extend(fragment.to_be_bytes());
        ip.extend([64, protocol, 0, 0]);
        ip.extend(from.into_iter().chain(to));
        ip.extend(payload);
        ip
    }

    fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
        let mut udp = [from.to_be_bytes(), to.to_be_bytes(), (8 + payload.len() as u16).to_be_bytes(), [0, 0]].concat();
        udp.extend(payload);
        udp
    }

    fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
        [&MACS[..], &kind.to_be_bytes(), payload].concat()
    }

    const A: [u8; 4] = [10, 0, 0, 1];
    const B: [u8; 4] = [10, 0, 0, 2];

    #[test]
    fn both_directions_and_rtcp_meet_and_ports_spread() {
        let lane = |from: u16, to: u16, there: bool| {
            let (a, b, from, to) = if there { (A, B, from, to) } else { (B, A, to, from) };
            let frame = frame(0x0800, &ip4(17, a, b, 0, &udp(from, to, b"payload")));
            agree(&frame);
            lane_of(&frame, ETHERNET, 4)
        };
        let mut seen = [0; 4];
        for port in (10_000..20_000).step_by(2) {
            let of = lane(port, port, true);
            assert_eq!(of, lane(port, port, false));
            assert_eq!(of, lane(port + 1, port + 1, true));
            seen[usize::from(of)] += 1;
        }
        assert!(seen.iter().all(|n| (1100..1400).contains(n)), "{seen:?}");
    }

    #[test]
    fn fragments_of_a_datagram_meet_and_a_whole_one_has_the_lane_of_its_flow() {
        let first = frame(0x0800, &ip4(17, A, B, 0x2000, &udp(5060, 5060, &[0; 1400])));
        let last = frame(0x0800, &ip4(17, A, B, 185, &[0; 300]));
        agree(&first);
        agree(&last);
        for lanes in 1..9 {
            assert_eq!(lane_of(&first, ETHERNET, lanes), lane_of(&last, ETHERNET, lanes));
            let whole = frame(0x0800, &ip4(17, A, B, 0x4000, &udp(5060, 5062, b"x")));
            let end = |a: [u8; 4], port| Endpoint::new(trunkline_wire::Address::v4(a), port);
            assert_eq!(lane_of(&whole, ETHERNET, lanes), lane_of_flow(end(B, 5062), end(A, 5060), lanes));
        }
    }

    #[test]
    fn the_inner_flow_counts() {
        let inner = ip4(6, [1, 2, 3, 4], [5, 6, 7, 8], 0x4000, &udp(443, 1024, b""));
        let expected = hash(&frame(0x0800, &inner), ETHERNET);
        let tunnelled = |payload: &[u8]| frame(0x0800, payload);
        let over_udp = |port, head: &[u8], what: &[u8]| ip4(17, A, B, 0, &udp(33333, port, &[head, what].concat()));
        let inner_frame = frame(0x0800, &inner);
        let frames = [
            tunnelled(&ip4(4, A, B, 0, &inner)),
            tunnelled(&ip4(47, A, B, 0, &[&[0, 0, 8, 0], &inner[..]].concat())),
            tunnelled(&ip4(47, A, B, 0, &[&[0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &inner[..]].concat())),
            tunnelled(&ip4(47, A, B, 0, &[&[0, 0, 0x65, 0x58], &inner_frame[..]].concat())),
            tunnelled(&ip4(47, A, B, 0, &[&[0x10, 0, 0x88, 0xbe][..], &[0; 12], &inner_frame[..]].concat())),
            tunnelled(&over_udp(4789, &[8, 0, 0, 0, 0, 0, 1, 0], &inner_frame)),
            tunnelled(&over_udp(6081, &[1, 0, 0x65, 0x58, 0, 0, 1, 0, 9, 9, 9, 9], &inner_frame)),
            tunnelled(&over_udp(2152, &[0x30, 255, 0, 0, 0, 0, 0, 1], &inner)),
            tunnelled(&over_udp(2152, &[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0], &inner)),
            frame(0x8847, &[&[0, 0, 0x10, 64, 0, 0, 0x21, 64], &inner[..]].concat()),
            frame(0x8864, &[&[0x11, 0, 0, 1, 0, 0, 0, 0x21], &inner[..]].concat()),
            frame(0x8100, &[&[0, 5, 0x88, 0xa8, 0, 6, 8, 0], &inner[..]].concat()),
        ];
        for frame in frames {
            agree(&frame);
            assert_eq!(hash(&frame, ETHERNET), expected, "{frame:02x?}");
        }
    }

    #[test]
    fn ipv6_with_extensions() {
        let head = |next: u8| [&[0x60, 0, 0, 0, 0, 16, next, 64][..], &[0x20; 16], &[0x21; 16]].concat();
        let ports = udp(1000, 2000, b"");
        let plain = frame(0x86dd, &[&head(17)[..], &ports].concat());
        let options = frame(0x86dd, &[&head(0)[..], &[17, 0, 1, 4, 0, 0, 0, 0], &ports].concat());
        let atomic = frame(0x86dd, &[&head(44)[..], &[17, 0, 0, 0, 0, 0, 0, 1], &ports].concat());
        let first = frame(0x86dd, &[&head(44)[..], &[17, 0, 0, 1, 0, 0, 0, 7], &ports].concat());
        let last = frame(0x86dd, &[&head(44)[..], &[17, 0, 5, 0, 0, 0, 0, 7], &[0; 30]].concat());
        for frame in [&plain, &options, &atomic, &first, &last] {
            agree(frame);
        }
        assert_eq!(hash(&plain, ETHERNET), hash(&options, ETHERNET));
        assert_eq!(hash(&plain, ETHERNET), hash(&atomic, ETHERNET));
        assert_eq!(hash(&first, ETHERNET), hash(&last, ETHERNET));
        assert_ne!(hash(&first, ETHERNET), hash(&plain, ETHERNET));
    }

    #[test]
    fn fits_the_kernel() {
        let code = program(Begin::Ethernet);
        assert!(code.len() < bpf::INSTRUCTIONS_MAX / 2, "{}", code.len());
    }

    /// Octets that lead into the depths now and then.
    fn word() -> impl Strategy<Value = Vec<u8>> {
        let kinds: [&[u8]; 16] = [
            &[8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0],
            &[8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 47, 0, 0],
            &[8, 0, 0x46, 0, 0, 0, 0, 0, 0x20, 1, 0, 4, 0, 0],
            &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 0, 64],
            &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 44, 64],
            &[0x88, 0x47, 0, 0, 1, 0],
            &[0x88, 0x64, 0, 0, 0, 0, 0, 0, 0, 0x21],
            &[0x81, 0, 0, 1],
            &[0x88, 0xa8, 0, 1],
            &[0, 0, 8, 0x68, 0, 0, 0, 0, 0x34, 255],
            &[0, 0, 0x12, 0xb5, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0x17, 0xc1, 0, 0, 0, 0, 1, 0, 0x65, 0x58],
            &[0x10, 0, 0x88, 0xbe],
            &[0, 0, 0x22, 0xeb],
            &[17, 0, 0, 1, 0, 0, 0, 9],
            &[0, 0, 0, 0],
        ];
        let known = (0..kinds.len()).prop_map(move |i| kinds[i].to_vec());
        prop_oneof![4 => known, 1 => prop::collection::vec(any::<u8>(), 1..12)]
    }

    proptest! {
        #[test]
        fn program_and_hash_agree_on_anything(words in prop::collection::vec(word(), 0..14)) {
            agree(&[&MACS[..], &words.concat()].concat());
        }
    }
}
