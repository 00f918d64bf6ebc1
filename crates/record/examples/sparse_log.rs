//! Fills the gaps of a packet log up to a size, for benchmarks of finding:
//! `cargo run --release -p trunkline-record --example sparse_log -- FOLDER FIRST_MINUTE MINUTES GIB`.
//!
//! Every minute from FIRST_MINUTE (minutes since 1970) that has no segments yet gets one of each class, with index,
//! as the recorder would have made them: packets of 214 octets of many pairs of hosts. Between them lie custom
//! blocks, which readers pass over, whose content is a hole in the file: so the log is as large as it says, and the
//! disk holds little of it. The last line is JSON.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trunkline_record::Class;
use trunkline_record::index::{Builder, FileMark};
use trunkline_record::names::segment_name;
use trunkline_wire::decode;
use trunkline_wire::pcapng::emit;

const MINUTE_NS: i64 = 60_000_000_000;
/// Octets of a packet, and of the headers in it: Ethernet, IPv4, UDP.
const LENGTH: usize = 214;
const HEADERS: usize = 42;
/// Packets of a segment, and the pairs of hosts that they are of.
const PACKETS: u64 = 2000;
const FLOWS: u64 = 500;
/// Holes of a segment; none may be larger than the blocks that libpcap takes.
const HOLES: u64 = 5;
const HOLE_MAX: u64 = 15 << 20;
/// A custom block, and the enterprise whose it is: the one for examples (RFC 5612).
const CUSTOM: u32 = 0x0000_0bad;
const EXAMPLE: u32 = 32_473;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, minutes, gib] = &arguments[..] else {
        return Err("sparse_log FOLDER FIRST_MINUTE MINUTES GIB".into());
    };
    let (first, minutes, gib) = (first.parse::<i64>()?, minutes.parse::<u64>()?, gib.parse::<u64>()?);
    let folder = Path::new(folder);
    let hole = (gib << 30) / minutes.max(1) / 2 / HOLES;
    let (mut octets, mut indexes, mut packets, mut segments) = (0, 0, 0, 0);
    for minute in 0..minutes {
        let at_ns = (first + minute as i64) * MINUTE_NS;
        if Class::ALL.iter().any(|class| folder.join(segment_name(*class, at_ns, 0, 0)).exists()) {
            continue;
        }
        for (class, hole) in [(Class::Sip, 0), (Class::Rtp, hole), (Class::Other, hole)] {
            let path = folder.join(segment_name(class, at_ns, 0, 0));
            let (file, index) = segment(&path, at_ns, minute, class, (hole.min(HOLE_MAX) / 4 * 4) as u32)?;
            (octets, indexes) = (octets + file, indexes + index);
            (packets, segments) = (packets + PACKETS, segments + 1);
        }
    }
    println!("{{\"segments\":{segments},\"packets\":{packets},\"octets\":{octets},\"index_octets\":{indexes}}}");
    Ok(())
}

/// Writes a segment and its index; their lengths.
fn segment(path: &Path, start_ns: i64, minute: u64, class: Class, hole: u32) -> std::io::Result<(u64, u64)> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    let file = File::create(path)?;
    let mut frame = vec![0xd5; LENGTH];
    let record = emit::packet_octets(LENGTH as u32);
    let (mut index, mut waiting) = (Builder::new(), Vec::new());
    emit::section(&mut waiting, "trunkline sparse_log");
    emit::interface(&mut waiting, 1, 262_144, Some("made"));
    // What waits begins here.
    let mut begin = 0;
    for number in 0..PACKETS {
        let at_ns = start_ns + number as i64 * (MINUTE_NS - 1) / PACKETS as i64;
        head(&mut frame, class, minute, number % FLOWS);
        index.packet(at_ns, begin + waiting.len() as u64, record, 1, &frame, &decode(1, &frame));
        emit::packet(&mut waiting, 0, at_ns, LENGTH as u32, &frame, None);
        if hole > 0 && (number + 1) % (PACKETS / HOLES) == 0 {
            let whole = hole + 16;
            waiting.extend([CUSTOM, whole, EXAMPLE].map(u32::to_le_bytes).concat());
            file.write_all_at(&waiting, begin)?;
            begin += waiting.len() as u64 + u64::from(hole);
            waiting = whole.to_le_bytes().to_vec();
        }
    }
    let last_ns = start_ns + MINUTE_NS - 1;
    let statistics = emit::Statistics { start_ns, at_ns: last_ns, received: PACKETS, ..emit::Statistics::default() };
    emit::statistics(&mut waiting, &statistics);
    file.write_all_at(&waiting, begin)?;
    let octets = begin + waiting.len() as u64;
    let index = index.seal(&FileMark { octets, modified_ns: 0, head_check: 0 });
    std::fs::write(path.with_extension("idx"), &index)?;
    Ok((octets, index.len() as u64))
}

/// The headers of a packet of a pair of hosts that talks in this minute, to be found by address and port.
fn head(frame: &mut [u8], class: Class, minute: u64, flow: u64) {
    let half = |n: usize| (n as u16).to_be_bytes();
    let number = minute * FLOWS + flow;
    let [_, a, b, c] = (number as u32).to_be_bytes();
    let (from, to, ports) = match class {
        Class::Sip => ([10, a, b, c], [172, 16, 0, 1], [5060, 5060]),
        Class::Rtp => ([10, a, b, c], [172, 17, b, c], [20_000 + 2 * flow as usize, 30_000 + 2 * flow as usize]),
        Class::Other => ([10, 128 | a, b, c], [172, 18, b, c], [40_000 + flow as usize, 443]),
    };
    let mut head = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0];
    head.extend(half(frame.len() - 14));
    head.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    head.extend([from, to].concat());
    head.extend([half(ports[0]), half(ports[1]), half(frame.len() - 34), [0, 0]].concat());
    frame[..HEADERS].copy_from_slice(&head);
}
