//! How much may come out of a compressed capture: a stranger's file of a megabyte may hold a terabyte.

/// A limit on what is inside of a compressed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Octets that may be inside, at most.
    pub octets_max: u64,
    /// Octets that may come out of each octet of the file, once more than [`Expansion::judged_from`] came out.
    pub ratio_max: u64,
    /// Octets that may come out before the ratio is looked at: small files are cheap, and may be all alike.
    pub judged_from: u64,
}

impl Expansion {
    /// Whether `inside` octets are too many to come out of `read` octets of the file.
    pub fn is_too_much(&self, read: u64, inside: u64) -> bool {
        inside > self.octets_max || (inside > self.judged_from && inside > read.saturating_mul(self.ratio_max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_and_ratio_are_bounded() {
        let limit = Expansion { octets_max: 1000, ratio_max: 10, judged_from: 100 };
        for (read, inside, is_too_much) in
            [(1, 100, false), (1, 101, true), (50, 500, false), (50, 501, true), (900, 1000, false), (900, 1001, true)]
        {
            assert_eq!(limit.is_too_much(read, inside), is_too_much, "{inside} of {read}");
        }
    }
}
