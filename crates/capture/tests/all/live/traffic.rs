//! Frames to send: many flows, both directions, tags, tunnels, fragments.

use std::path::{Path, PathBuf};

use trunkline_capture::{Batch, FileSource};

const LEFT: [u8; 6] = [2, 0, 0, 0, 0, 1];
const RIGHT: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Ethernet with these tags.
pub fn ethernet(tags: &[(u16, u16)], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = [RIGHT, LEFT].concat();
    for (tag_kind, tag) in tags {
        frame.extend(tag_kind.to_be_bytes());
        frame.extend(tag.to_be_bytes());
    }
    frame.extend(kind.to_be_bytes());
    frame.extend(payload);
    frame
}

pub fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let mut udp = [from, to, length, 0].map(u16::to_be_bytes).concat();
    udp.extend(payload);
    udp
}

/// IPv4; `part` are the flags and offset of a fragment.
pub fn ip4(protocol: u8, from: [u8; 4], to: [u8; 4], id: u16, part: u16, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    for half in [20 + payload.len() as u16, id, part] {
        ip.extend(half.to_be_bytes());
    }
    ip.extend([64, protocol, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    ip.extend(payload);
    ip
}

pub fn ip6(next: u8, swap: bool, payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0];
    ip.extend((payload.len() as u16).to_be_bytes());
    ip.extend([next, 64]);
    let (mut from, mut to) = ([0x20; 16], [0x21; 16]);
    if swap {
        (from, to) = (to, from);
    }
    ip.extend(from);
    ip.extend(to);
    ip.extend(payload);
    ip
}

const A: [u8; 4] = [192, 0, 2, 1];
const B: [u8; 4] = [192, 0, 2, 2];

/// One trunk: flow `n`, one way or the other; numbered, so that no two frames are alike.
pub fn trunk(n: u16, back: bool, count: u32) -> Vec<u8> {
    let payload = [&count.to_be_bytes()[..], &[n as u8; 156]].concat();
    let port = 10_000 + 2 * n;
    let (a, b) = if back { (B, A) } else { (A, B) };
    ethernet(&[], 0x0800, &ip4(17, a, b, count as u16, 0x4000, &udp(port, port, &payload)))
}

/// A datagram in three fragments, the last one first.
pub fn fragments(id: u16) -> [Vec<u8>; 3] {
    let whole = udp(5060, 5060, &vec![id as u8; 3000]);
    let part = |from: usize, to: usize, more: u16| {
        let flags = more << 13 | (from / 8) as u16;
        ethernet(&[], 0x0800, &ip4(17, A, B, id, flags, &whole[from..to]))
    };
    [part(2400, whole.len(), 0), part(0, 1200, 1), part(1200, 2400, 1)]
}

/// Of everything some, no two alike.
pub fn mixed() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for n in 0..200u16 {
        let count = u32::from(n);
        let inner = ip4(17, [10, 9, 8, 7], [10, 9, 8, 6], n, 0, &udp(4000 + n, 5000 + n, &[n as u8; 40]));
        let payload = vec![n as u8; 20 + usize::from(n) * 7];
        frames.push(trunk(n, false, count));
        frames.push(trunk(n, true, count));
        frames.push(ethernet(&[(0x8100, 0x2000 | n)], 0x0800, &inner));
        frames.push(ethernet(&[(0x88a8, n), (0x8100, 7)], 0x0800, &inner));
        frames.push(ethernet(&[(0x8100, 1), (0x8100, 2), (0x8100, n)], 0x0800, &inner));
        frames.push(ethernet(&[], 0x86dd, &ip6(17, n % 2 == 0, &udp(n, n + 1, &payload))));
        let hop = [&[17, 0, 1, 4, 0, 0, 0, 0][..], &udp(n, n + 1, &payload)].concat();
        frames.push(ethernet(&[(0x8100, 9)], 0x86dd, &ip6(0, n % 2 == 0, &hop)));
        let part = [&[17, 0, 0, 1, 0, 0, 0, n as u8][..], &payload].concat();
        frames.push(ethernet(&[], 0x86dd, &ip6(44, false, &part)));
        frames.push(ethernet(&[], 0x8847, &[&[0, 0, 0x11, 64][..], &inner].concat()));
        frames.push(ethernet(&[], 0x0800, &ip4(4, A, B, n, 0, &inner)));
        let gre = [&[0x20, 0, 0x08, 0, 0, 0, 0, n as u8][..], &inner].concat();
        frames.push(ethernet(&[], 0x0800, &ip4(47, A, B, n, 0, &gre)));
        let gtp = [&[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0][..], &inner].concat();
        frames.push(ethernet(&[], 0x0800, &ip4(17, A, B, n, 0, &udp(2152, 2152, &gtp))));
        let vxlan = [&[8, 0, 0, 0, 0, 0, 1, 0][..], &ethernet(&[(0x8100, 3)], 0x0800, &inner)].concat();
        frames.push(ethernet(&[], 0x0800, &ip4(17, A, B, n, 0, &udp(40_000 + n, 4789, &vxlan))));
        frames.push(ethernet(&[], 0x0806, &[n as u8; 46]));
        frames.push(ethernet(&[(0x8100, 4)], 0x0806, &[n as u8; 46]));
        frames.push([&[1, 0x80, 0xc2, 0, 0, 0][..], &LEFT, &[0, 50], &[n as u8; 50]].concat());
        frames.extend(fragments(n));
    }
    frames
}

/// All files of a folder and those inside it.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries.flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] }).collect()
}

/// Ethernet frames of the shared captures, where those are: a part of each, 20,000 at most.
pub fn captured() -> Vec<Vec<u8>> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TRUNKLINE_SHARED").map_or_else(beside, PathBuf::from);
    if !shared.is_dir() {
        println!("SKIPPED IN PART: no shared captures");
        return Vec::new();
    }
    let mut paths = files(&shared.join("captures"));
    paths.sort();
    let (mut frames, mut batch) = (Vec::new(), Batch::default());
    for path in paths {
        let mut source = FileSource::open(&[path]);
        if source.fill(&mut batch) {
            let whole = batch
                .packets
                .iter()
                .filter(|p| p.link == 1 && p.captured == p.wire && (15..65_000).contains(&p.captured));
            frames.extend(whole.take(60).map(|p| batch.octets_of(p).to_vec()));
        }
    }
    frames.truncate(20_000);
    frames
}
