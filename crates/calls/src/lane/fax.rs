//! T.38 fax over UDPTL (ITU-T T.38 section 9.1): which packets never came, and which of these the receiver can restore
//! from what later ones repeat, or from their parity.

use crate::lane::MediaPacket;
use crate::ledger::{Evidence, FAX};
use crate::stream::{Gap, Sound};
use crate::unread::fax::{Repair, Udptl};
use std::collections::VecDeque;
use trunkline_store::row::{Direction, Stream};

/// Packets before the last one that are known one by one: more than any sender repeats.
const WINDOW: u64 = 128;
/// A step of numbers that is larger is a new beginning, not loss: so many packets take ten seconds.
const STEP_MAX: u16 = 500;
/// Parities that are kept until the packets come that they need.
const PARITIES_MAX: usize = 64;
/// Places of missing packets that are kept.
const GAPS_MAX: usize = 48;

/// What one side sends to the other.
#[derive(Clone, Debug)]
pub struct Fax {
    /// What is counted goes here; all but what [`Fax::finished`] adds.
    row: Stream,
    file_first: u32,
    file_last: u32,
    /// Numbers since the last beginning, extended.
    first: u64,
    highest: u64,
    /// By their distance from the highest: those that came, and those that were restored.
    came: u128,
    restored: u128,
    /// Numbers before the last beginning.
    expected_before: u64,
    distinct: u64,
    recovered: u64,
    /// The last packets with parities: their numbers, how many and of how many packets each.
    parities: VecDeque<(u64, u64, u64)>,
    gaps: Vec<Gap>,
}

impl Fax {
    /// A fax that begins with this packet, which is still to be taken.
    pub fn new(direction: Direction, packet: &MediaPacket<'_>, udptl: &Udptl) -> Fax {
        // Numbers count from far above 0, so that those before the first one have theirs.
        let number = 1 << 32 | u64::from(udptl.sequence);
        let row = Stream {
            src: packet.datagram.from(),
            dst: packet.datagram.to(),
            direction,
            codec: FAX.to_owned(),
            first_ns: packet.at_ns,
            last_ns: packet.at_ns,
            packet_first: packet.number,
            offset_first: packet.offset,
            ..Stream::default()
        };
        Fax {
            row,
            file_first: packet.file,
            file_last: packet.file,
            first: number,
            highest: number,
            came: 0,
            restored: 0,
            expected_before: 0,
            distinct: 0,
            recovered: 0,
            parities: VecDeque::new(),
            gaps: Vec::new(),
        }
    }

    /// When its last packet came, nanoseconds since 1970.
    pub fn last_ns(&self) -> i64 {
        self.row.last_ns
    }

    /// Takes a packet.
    pub fn take(&mut self, packet: &MediaPacket<'_>, udptl: &Udptl) {
        let last_ns = self.row.last_ns;
        self.row.packets += 1;
        self.row.octets += u64::from(packet.datagram.payload_wire);
        self.row.dscp = self.row.dscp.max(packet.datagram.dscp);
        self.row.last_ns = self.row.last_ns.max(packet.at_ns);
        (self.row.packet_last, self.row.offset_last, self.file_last) = (packet.number, packet.offset, packet.file);
        let ahead = udptl.sequence.wrapping_sub(self.highest as u16);
        match (ahead, ahead.wrapping_neg()) {
            (0, _) => self.came_by(self.highest),
            (1..=STEP_MAX, _) => self.advance(ahead, last_ns, packet.at_ns),
            (_, back) if u64::from(back) < WINDOW => self.came_by(self.highest - u64::from(back)),
            _ => self.begin_anew(udptl.sequence),
        }
        let number = self.highest - u64::from((self.highest as u16).wrapping_sub(udptl.sequence));
        match udptl.repair {
            Repair::Redundancy(earlier) => (1..=u64::from(earlier)).for_each(|back| self.restore(number - back)),
            Repair::Parity { entries, span } => {
                self.parities.truncate(PARITIES_MAX - 1);
                self.parities.push_front((number, entries.into(), span.into()));
                self.restore_by_parities();
            }
        }
    }

    /// The next packet, or one behind some that are missing.
    fn advance(&mut self, by: u16, last_ns: i64, at_ns: i64) {
        let shift = |bits: u128| bits.checked_shl(by.into()).unwrap_or(0);
        (self.came, self.restored) = (shift(self.came), shift(self.restored));
        self.highest += u64::from(by);
        self.came_by(self.highest);
        if by > 1 && self.gaps.len() < GAPS_MAX {
            self.gaps.push(Gap::new(last_ns, at_ns, u32::from(by) - 1));
        }
    }

    /// The sender begins anew: what came before stays counted.
    fn begin_anew(&mut self, sequence: u16) {
        self.row.sequence_jumps += 1;
        self.expected_before += self.highest - self.first + 1;
        self.highest = 1 << 32 | u64::from(sequence);
        self.first = self.highest;
        (self.came, self.restored) = (0, 0);
        self.parities.clear();
        self.came_by(self.highest);
    }

    fn bit(&self, number: u64) -> Option<u128> {
        let back = self.highest.checked_sub(number).filter(|back| *back < WINDOW)?;
        Some(1 << back)
    }

    fn came_by(&mut self, number: u64) {
        let Some(bit) = self.bit(number) else { return };
        if self.came & bit != 0 {
            self.row.duplicates += 1;
            return;
        }
        self.came |= bit;
        self.distinct += 1;
        self.row.reordered += u64::from(number < self.highest);
        self.first = self.first.min(number);
        if self.restored & bit != 0 {
            // It was only late.
            self.restored &= !bit;
            self.recovered -= 1;
        }
    }

    fn is_missing(&self, number: u64) -> bool {
        number >= self.first && self.bit(number).is_some_and(|bit| (self.came | self.restored) & bit == 0)
    }

    fn restore(&mut self, number: u64) {
        if self.is_missing(number)
            && let Some(bit) = self.bit(number)
        {
            self.restored |= bit;
            self.recovered += 1;
        }
    }

    /// A parity restores one packet of its set, if all others are there; what is restored may be what another one
    /// needs.
    fn restore_by_parities(&mut self) {
        while self.restored.count_ones() + self.came.count_ones() < WINDOW as u32 {
            let Some(number) = self.parities.iter().find_map(|parity| self.only_missing(*parity)) else { return };
            self.restore(number);
        }
    }

    /// The only packet that is missing of one of these sets.
    fn only_missing(&self, (number, entries, span): (u64, u64, u64)) -> Option<u64> {
        (1..=entries).find_map(|entry| {
            let set = (0..span).map(|n| number - entry - n * entries);
            let mut missing = set.filter(|number| self.is_missing(*number));
            missing.next().filter(|_| missing.next().is_none())
        })
    }

    /// The row of what was counted, without its call, and what is known of it besides.
    pub fn finished(self) -> (Stream, u32, Evidence) {
        let expected = self.expected_before + self.highest - self.first + 1;
        let missing = expected.saturating_sub(self.distinct);
        let sound = Sound { first_ns: self.row.first_ns, last_ns: self.row.last_ns, ..Sound::default() };
        let row = Stream {
            expected,
            missing,
            lost: i64::try_from(expected).unwrap_or(i64::MAX).saturating_sub_unsigned(self.row.packets),
            recovered: self.recovered.min(missing),
            ..self.row
        };
        let evidence =
            Evidence { gaps: self.gaps, sound, files: (self.file_first, self.file_last), ..Evidence::default() };
        (row, self.file_first, evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_wire::{Address, Datagram};

    /// Expected, missing, recovered and doubled packets of these numbers, each with this repair.
    fn counted(numbers: impl IntoIterator<Item = u16>, repair: Repair) -> [u64; 4] {
        let here = Address::v4([192, 0, 2, 1]);
        let datagram = Datagram {
            src: here,
            dst: here,
            src_port: 4000,
            dst_port: 5000,
            payload_start: 0,
            payload_captured: 9,
            payload_wire: 9,
            vlan: 0,
            tunnels: 0,
            dscp: 0,
        };
        let mut fax: Option<Fax> = None;
        for (at, number) in numbers.into_iter().enumerate() {
            let begin = number.to_be_bytes();
            let octets: Vec<u8> = match repair {
                Repair::Redundancy(0) => [&begin[..], &[1, 0, 0, 0]].concat(),
                Repair::Redundancy(n) => [&begin[..], &[1, 0, 0, n], &[1, 2].repeat(n.into())].concat(),
                Repair::Parity { entries, span } => {
                    [&begin[..], &[1, 0, 0x80, 1, span, entries], &[1, 7].repeat(entries.into())].concat()
                }
            };
            let udptl = Udptl::new(&octets).unwrap();
            assert_eq!((udptl.sequence, udptl.repair), (number, repair));
            let (at_ns, number) = (at as i64 * 20_000_000, at as u64);
            let packet = MediaPacket { at_ns, number, offset: 0, file: 0, datagram: &datagram, payload: &octets };
            fax.get_or_insert_with(|| Fax::new(Direction::Caller, &packet, &udptl)).take(&packet, &udptl);
        }
        let (row, _, evidence) = fax.unwrap().finished();
        assert!(evidence.gaps.iter().map(|gap| u64::from(gap.missing)).sum::<u64>() >= row.missing.min(40));
        [row.expected, row.missing, row.recovered, row.duplicates]
    }

    fn without(lost: &'static [u16]) -> impl Iterator<Item = u16> {
        (0..100).filter(|n| !lost.contains(n))
    }

    #[test]
    fn what_is_repeated_is_restored_and_the_rest_is_gone() {
        for (earlier, recovered) in [(0, 0), (1, 2), (2, 4), (3, 5), (5, 5)] {
            // One alone, and runs of one, of three.
            let lost = without(&[10, 50, 51, 52, 90]);
            let right = [100, 5, [0, 3, 4, 5, 5, 5][usize::from(earlier)], 0];
            assert_eq!(counted(lost, Repair::Redundancy(earlier)), right, "{earlier} {recovered}");
        }
        // Late and doubled packets, whatever repeats them.
        let late = (0..50).map(|n| match n % 10 {
            3 => n + 1,
            4 => n - 1,
            _ => n,
        });
        assert_eq!(counted(late.clone(), Repair::Redundancy(0)), [50, 0, 0, 0]);
        assert_eq!(counted(late, Repair::Redundancy(3)), [50, 0, 0, 0]);
        assert_eq!(counted((0..50).flat_map(|n| [n, n]), Repair::Redundancy(1)), [50, 0, 0, 50]);
    }

    #[test]
    fn a_parity_restores_one_of_its_set() {
        let parity = |entries, span| Repair::Parity { entries, span };
        assert_eq!(counted(without(&[10, 50]), parity(1, 3)), [100, 2, 2, 0]);
        // Two neighbours: the one behind is restored first, and then the one before it.
        assert_eq!(counted(without(&[50, 51]), parity(1, 2)), [100, 2, 2, 0]);
        assert_eq!(counted(without(&[50, 51]), parity(2, 3)), [100, 2, 2, 0]);
        assert_eq!(counted(without(&[50, 51, 52, 53]), parity(3, 3)), [100, 4, 4, 0]);
        // The packets with the parities of the first one are lost as well.
        assert_eq!(counted(without(&[50, 51, 52, 53]), parity(1, 3)), [100, 4, 3, 0]);
        assert_eq!(counted(without(&[50, 51]), parity(1, 1)), [100, 2, 1, 0]);
    }

    #[test]
    fn numbers_wrap_and_begin_anew() {
        let wrapping = (0..200u16).map(|n| n.wrapping_add(65_450)).filter(|n| *n != 3);
        assert_eq!(counted(wrapping, Repair::Redundancy(1)), [200, 1, 1, 0]);
        assert_eq!(counted((700..800).chain(0..100), Repair::Redundancy(1)), [200, 0, 0, 0]);
        assert_eq!(counted((0..100).chain(5000..5100), Repair::Redundancy(0)), [200, 0, 0, 0]);
        // Packets that come before the first one that was seen.
        assert_eq!(counted([2, 1, 0, 3], Repair::Redundancy(0)), [4, 0, 0, 0]);
    }
}
