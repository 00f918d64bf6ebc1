//! How an image begins: what it is, and at which moment of the world and of the store it was made.

use super::{Wrong, number, u32_at, u64_at};

/// The format that is written, and the latest one that is read.
pub const VERSION: u32 = 1;
/// Octets of the preamble.
pub const PREAMBLE_OCTETS: usize = 64;
/// How the file begins. The first octet is no ASCII, so that nobody takes it for text.
/// What an image begins with.
pub const MAGIC: [u8; 8] = *b"\x89TLCACHE";
/// No flush is to come.
const NO_FLUSH: u32 = u32::MAX;

/// A moment, by the clocks of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970 by the wall clock, which people and programs set.
    pub unix_s: u64,
    /// The same by a clock that nobody sets.
    pub boot: Boot,
}

/// Seconds since the system was booted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Boot {
    /// Which boot: a number of chance, 0 where it is not known.
    pub name: u128,
    /// Seconds since then.
    pub seconds: u64,
}

/// What passed between two moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// So many seconds, or less.
    Seconds(u64),
    /// The wall clock went backwards, and no other one ran through.
    Unknown,
}

/// What passed since `then`, rounded up, so that nothing lives longer than it would have: by the wall clock, or by the
/// clock of the boot where that is more, because the wall clock was put back.
pub fn passed(then: &Moment, now: &Moment) -> Passed {
    let wall = now.unix_s.checked_sub(then.unix_s);
    let is_same = then.boot.name != 0 && then.boot.name == now.boot.name;
    let boot = now.boot.seconds.checked_sub(then.boot.seconds).filter(|_| is_same);
    wall.max(boot).map_or(Passed::Unknown, |seconds| Passed::Seconds(seconds.saturating_add(1)))
}

/// How an image begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preamble {
    /// When it was made.
    pub moment: Moment,
    /// The second of the store's clock then.
    pub second: u32,
    /// The highest cas number that was given.
    pub cas_top: u64,
    /// The second of a flush that was still to come.
    pub flush: Option<u32>,
}

impl Preamble {
    /// As octets.
    pub fn octets(&self) -> [u8; PREAMBLE_OCTETS] {
        let mut octets = [0; PREAMBLE_OCTETS];
        octets[..8].copy_from_slice(&MAGIC);
        octets[8..12].copy_from_slice(&VERSION.to_le_bytes());
        octets[16..24].copy_from_slice(&self.moment.unix_s.to_le_bytes());
        octets[24..32].copy_from_slice(&self.moment.boot.seconds.to_le_bytes());
        octets[32..48].copy_from_slice(&self.moment.boot.name.to_le_bytes());
        octets[48..56].copy_from_slice(&self.cas_top.to_le_bytes());
        octets[56..60].copy_from_slice(&self.second.to_le_bytes());
        octets[60..64].copy_from_slice(&self.flush.unwrap_or(NO_FLUSH).to_le_bytes());
        let sum = crc32fast::hash(&octets[16..]);
        octets[12..16].copy_from_slice(&sum.to_le_bytes());
        octets
    }

    /// Reads it from a file's first octets.
    ///
    /// # Errors
    /// It is another file, of a later version, or damaged.
    pub fn read(octets: &[u8]) -> Result<Self, Wrong> {
        if !octets.starts_with(&MAGIC) {
            return Err(Wrong::Foreign);
        }
        let version = u32_at(octets, 8);
        if octets.len() >= 12 && version > VERSION {
            return Err(Wrong::Future(version));
        }
        let octets = octets.get(..PREAMBLE_OCTETS).ok_or(Wrong::Cut)?;
        if crc32fast::hash(&octets[16..]) != u32_at(octets, 12) || version == 0 {
            return Err(Wrong::Damaged);
        }
        let boot = Boot { name: u128::from_le_bytes(number(octets, 32)), seconds: u64_at(octets, 24) };
        Ok(Preamble {
            moment: Moment { unix_s: u64_at(octets, 16), boot },
            second: u32_at(octets, 56),
            cas_top: u64_at(octets, 48),
            flush: Some(u32_at(octets, 60)).filter(|&at| at != NO_FLUSH),
        })
    }

    /// The second at which the store's clock goes on, and whether what has an end may be taken: nobody knows what is
    /// left of it where nobody knows how much passed.
    pub fn goes_on(&self, now: &Moment) -> (u32, bool) {
        match passed(&self.moment, now) {
            Passed::Seconds(seconds) => {
                let second = u64::from(self.second).saturating_add(seconds);
                // One before the last, so that something is after it.
                (u32::try_from(second).unwrap_or(u32::MAX).min(u32::MAX - 1), true)
            }
            Passed::Unknown => (self.second, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(unix_s: u64, name: u128, seconds: u64) -> Moment {
        Moment { unix_s, boot: Boot { name, seconds } }
    }

    #[test]
    fn it_reads_as_it_was_written_or_says_why_not() {
        let preamble =
            Preamble { moment: moment(1_700_000_000, 7 << 100, 99), second: 5, cas_top: 1 << 50, flush: Some(77) };
        let octets = preamble.octets();
        assert_eq!(Preamble::read(&octets), Ok(preamble));
        assert_eq!(Preamble::read(&Preamble::default().octets()), Ok(Preamble::default()));
        for at in 0..PREAMBLE_OCTETS {
            let mut wrong = octets;
            wrong[at] ^= 0x10;
            let expected = match at {
                0..8 => Wrong::Foreign,
                8 => Wrong::Future(VERSION ^ 0x10),
                9..12 => Wrong::Future(VERSION | 0x10 << (8 * (at - 8))),
                _ => Wrong::Damaged,
            };
            assert_eq!(Preamble::read(&wrong), Err(expected), "octet {at}");
            assert_eq!(Preamble::read(&octets[..at]), Err(if at < 8 { Wrong::Foreign } else { Wrong::Cut }));
        }
    }

    #[test]
    fn what_passed_is_never_told_too_short() {
        let then = moment(1000, 7, 50);
        assert_eq!(passed(&then, &moment(1010, 7, 60)), Passed::Seconds(11));
        assert_eq!(passed(&then, &moment(400, 7, 60)), Passed::Seconds(11), "the wall clock was put back");
        assert_eq!(passed(&then, &moment(9000, 7, 60)), Passed::Seconds(8001), "it was put forward");
        assert_eq!(passed(&then, &moment(1010, 8, 3)), Passed::Seconds(11), "another boot");
        assert_eq!(passed(&then, &moment(999, 8, 90)), Passed::Unknown);
        assert_eq!(passed(&moment(1000, 0, 50), &moment(999, 0, 60)), Passed::Unknown, "no boot is known");
        let preamble = Preamble { moment: then, second: 30, ..Preamble::default() };
        assert_eq!(preamble.goes_on(&moment(1010, 0, 0)), (41, true));
        assert_eq!(preamble.goes_on(&moment(u64::MAX, 0, 0)), (u32::MAX - 1, true));
        assert_eq!(preamble.goes_on(&moment(10, 0, 0)), (30, false));
    }
}
