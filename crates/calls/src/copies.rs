//! Packets that several files hold: captures of one moment that are read together, parts of a ring that overlap. Each
//! is analysed once, or losses would hide behind copies and sums be twice what they are.
//!
//! The files come merged by time, so that equal packets of one time come together. A packet is known by its time in
//! microseconds, which many programs keep no finer, its length on the wire and its octets. A file that holds a packet
//! twice has two: the n-th of a file is the n-th of another one.

use core::ops::Range;
use hashbrown::HashMap;
use smallvec::SmallVec;
use trunkline_capture::{Batch, Packet};
use trunkline_kit::hash::fnv1a;

/// Packets of one microsecond that are laid against each other. Further ones are counted, and all analysed.
// Limit: packets of one microsecond compared with those of other files
// Beyond: further packets are not compared, and each is analysed
// Seen in: `trunkline_calls_file_copies_overflow_total`
const TOGETHER_MAX: usize = 4096;

trunkline_kit::counters! {
    /// What is counted of packets that several files hold.
    pub struct CopyCounters {
        /// packets that another file has as well, analysed once
        copies: "trunkline_calls_file_copies_total",
        /// packets not compared with those of other files because too many have one time
        overflow: "trunkline_calls_file_copies_overflow_total",
    }
}

/// The first packet that another file has as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstCopy {
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: i64,
    /// Its number.
    pub number: u64,
    /// Its file.
    pub file: u32,
    /// The file that has it as well.
    pub other: u32,
}

/// How many each file had.
type OfFiles = SmallVec<[(u32, u32); 2]>;

/// Finds them.
#[derive(Debug, Default)]
pub struct Copies {
    /// More than one file is read.
    is_many: bool,
    /// The microsecond of the packets that are held.
    at_us: Option<i64>,
    /// By length and hash.
    held: HashMap<(u32, u64), OfFiles>,
    /// The first one.
    pub first: Option<FirstCopy>,
    /// What was counted so far.
    pub counters: CopyCounters,
}

impl Copies {
    /// Of so many files.
    pub fn of(files: usize) -> Copies {
        Copies { is_many: files > 1, ..Copies::default() }
    }

    /// Takes those of a batch out of it.
    pub fn take_out(&mut self, batch: &mut Batch) {
        if !self.is_many {
            return;
        }
        let (mut found, count) = (Vec::new(), batch.packets.len());
        let mut from = 0;
        while let Some(first) = batch.packets.get(from) {
            let at_us = microsecond(first);
            let others = batch.packets[from + 1..].iter();
            let to = from + 1 + others.take_while(|packet| microsecond(packet) == at_us).count();
            let is_held = self.at_us == Some(at_us);
            let is_of_many = || batch.packets[from..to].iter().any(|packet| packet.file != first.file);
            // What is last may go on in the next batch.
            if is_held || to == count || is_of_many() {
                self.look(batch, from..to, at_us, &mut found);
            }
            from = to;
        }
        if !found.is_empty() {
            self.counters.copies += found.len() as u64;
            let mut at = 0;
            batch.packets.retain(|_| {
                at += 1;
                found.binary_search(&(at - 1)).is_err()
            });
        }
    }

    /// Looks at packets of one time.
    fn look(&mut self, batch: &Batch, range: Range<usize>, at_us: i64, found: &mut Vec<usize>) {
        if self.at_us != Some(at_us) {
            self.held.clear();
            self.at_us = Some(at_us);
        }
        for at in range {
            let packet = &batch.packets[at];
            let print = (packet.wire, fnv1a(batch.octets_of(packet)));
            if self.held.len() >= TOGETHER_MAX && !self.held.contains_key(&print) {
                self.counters.overflow += 1;
                continue;
            }
            if let Some(other) = take(self.held.entry(print).or_default(), packet.file) {
                let Packet { at_ns, number, file, .. } = *packet;
                self.first.get_or_insert(FirstCopy { at_ns, number, file, other });
                found.push(at);
            }
        }
    }
}

fn microsecond(packet: &Packet) -> i64 {
    packet.at_ns.div_euclid(1000)
}

/// Takes one more of a file; the other file that has it as well.
fn take(came: &mut SmallVec<[(u32, u32); 2]>, file: u32) -> Option<u32> {
    let at = came.iter().position(|(of, _)| *of == file).unwrap_or_else(|| {
        came.push((file, 0));
        came.len() - 1
    });
    came[at].1 += 1;
    let number = came[at].1;
    came.iter().find(|(of, count)| *of != file && *count >= number).map(|(of, _)| *of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at_ns: i64, number: u64, file: u32) -> Packet {
        Packet { at_ns, number, offset: 0, start: 0, captured: 0, wire: 60, link: 1, file }
    }

    /// Packets by time, file and octets; those that stay, by their numbers.
    fn stay(packets: &[(i64, u32, u8)], cut: usize, files: usize) -> (Vec<u64>, Copies) {
        let mut copies = Copies::of(files);
        let (mut stay, mut number) = (Vec::new(), 0);
        for part in packets.chunks(cut) {
            let mut batch = Batch::default();
            for (at_ns, file, octet) in part {
                number += 1;
                batch.push(packet(*at_ns, number, *file), &[*octet; 60]);
            }
            copies.take_out(&mut batch);
            stay.extend(batch.packets.iter().map(|p| p.number));
        }
        (stay, copies)
    }

    #[test]
    fn what_two_files_hold_is_taken_once_however_batches_are_cut() {
        let all = [(1_000, 0, 1), (1_000, 1, 1), (1_400, 1, 2), (1_999, 0, 2), (2_000, 0, 2), (9_000, 1, 3)];
        for cut in 1..=all.len() {
            let (numbers, copies) = stay(&all, cut, 2);
            assert_eq!((numbers, copies.counters.copies), (vec![1, 3, 5, 6], 2), "{cut}");
            assert_eq!(copies.first, Some(FirstCopy { at_ns: 1_000, number: 2, file: 1, other: 0 }));
        }
        assert_eq!(stay(&all, 6, 1).0.len(), 6, "one file is left as it is");
    }

    #[test]
    fn what_a_file_holds_twice_is_there_twice() {
        let all = [(0, 0, 1), (0, 0, 1), (0, 1, 1), (0, 1, 1), (0, 1, 1), (0, 2, 1)];
        for cut in 1..=all.len() {
            assert_eq!(stay(&all, cut, 3).0, [1, 2, 5], "{cut}");
        }
    }

    #[test]
    fn packets_of_one_time_are_bounded() {
        let mut copies = Copies::of(2);
        let mut batch = Batch::default();
        for n in 0..2 * TOGETHER_MAX as u64 {
            batch.push(packet(0, n, (n % 2) as u32), &n.to_be_bytes());
        }
        copies.take_out(&mut batch);
        assert_eq!((batch.packets.len(), copies.counters.overflow), (2 * TOGETHER_MAX, TOGETHER_MAX as u64));
    }
}
