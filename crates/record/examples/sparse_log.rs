//! Fills the gaps of a packet log up to a size, for benchmarks of finding:
//! `cargo run --release -p trunkline-record --example sparse_log -- FOLDER FIRST_MINUTE MINUTES GIB`.
//!
//! Every minute from FIRST_MINUTE (minutes since 1970) that has no segments yet gets one of each class, with index, as
//! the recorder would have made them: signalling of 600 octets, and packets of 65,000 octets, of a hundred pairs of
//! hosts a segment, whose payload is a hole in the file. So the log is as large as it says and takes a tenth of the
//! disk. The last line is JSON.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trunkline_record::Class;
use trunkline_record::index::{Builder, FileMark};
use trunkline_record::names::segment_name;
use trunkline_wire::decode;
use trunkline_wire::pcapng::emit;

const MINUTE_NS: i64 = 60_000_000_000;
/// Octets of a packet with a hole, and of one without.
const LARGE: usize = 65_000;
const SMALL: usize = 600;
/// Packets of signalling a minute.
const SIGNALLING: u64 = 200;
/// Pairs of hosts in a segment.
const FLOWS: u64 = 100;
/// Octets of the headers: Ethernet, IPv4, UDP.
const HEADERS: usize = 42;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, first, minutes, gib] = &arguments[..] else {
        return Err("sparse_log FOLDER FIRST_MINUTE MINUTES GIB".into());
    };
    let (first, minutes, gib) = (first.parse::<i64>()?, minutes.parse::<u64>()?, gib.parse::<u64>()?);
    let folder = Path::new(folder);
    let each = (gib << 30) / minutes.max(1) / 2 / LARGE as u64;
    let (mut octets, mut indexes, mut packets, mut segments) = (0, 0, 0, 0);
    for minute in 0..minutes {
        let at_ns = (first + minute as i64) * MINUTE_NS;
        if Class::ALL.iter().any(|class| folder.join(segment_name(*class, at_ns, 0, 0)).exists()) {
            continue;
        }
        for (class, count, length) in
            [(Class::Sip, SIGNALLING, SMALL), (Class::Rtp, each, LARGE), (Class::Other, each, LARGE)]
        {
            let (file, index) =
                segment(&folder.join(segment_name(class, at_ns, 0, 0)), at_ns, minute, class, (count, length))?;
            (octets, indexes) = (octets + file, indexes + index);
            (packets, segments) = (packets + count, segments + 1);
        }
    }
    println!("{{\"segments\":{segments},\"packets\":{packets},\"octets\":{octets},\"index_octets\":{indexes}}}");
    Ok(())
}

/// Writes a segment and its index; their lengths.
fn segment(
    path: &Path,
    start_ns: i64,
    minute: u64,
    class: Class,
    (count, length): (u64, usize),
) -> std::io::Result<(u64, u64)> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    let file = File::create(path)?;
    let mut frame = vec![0; length];
    let record = emit::packet_octets(length as u32);
    let (mut index, mut waiting) = (Builder::new(), Vec::new());
    emit::section(&mut waiting, "trunkline sparse_log");
    emit::interface(&mut waiting, 1, 262_144, Some("made"));
    // What waits is written in front of the next hole.
    let (mut begin, mut offset) = (0, waiting.len() as u64);
    for number in 0..count {
        let at_ns = start_ns + (number as i64) * (MINUTE_NS - 1) / count.max(1) as i64;
        head(&mut frame, class, minute, number % FLOWS);
        index.packet(at_ns, offset, record, 1, &frame, &decode(1, &frame));
        waiting.extend(emit::packet_begin(0, at_ns, length as u32, length as u32));
        let real = if length == LARGE { HEADERS } else { length };
        waiting.extend(&frame[..real]);
        file.write_all_at(&waiting, begin)?;
        waiting.clear();
        begin = offset + u64::from(record) - 4;
        waiting.extend(emit::packet_end(length as u32));
        offset += u64::from(record);
    }
    let last_ns = start_ns + MINUTE_NS - 1;
    let statistics = emit::Statistics { start_ns, at_ns: last_ns, received: count, ..emit::Statistics::default() };
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
