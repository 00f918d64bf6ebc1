//! A hash that is the same over runs, versions and machines, which that of a table need not be.

/// The hash of no octets.
const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits.
pub fn fnv1a(octets: &[u8]) -> u64 {
    fnv1a_on(EMPTY, octets)
}

/// The hash of what a hash is of, and of these octets behind it.
pub fn fnv1a_on(hash: u64, octets: &[u8]) -> u64 {
    octets.iter().fold(hash, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the reference code (C. Noll, FNV).
    #[test]
    fn it_is_fnv_1a() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv1a(text.as_bytes()), hash);
        }
        assert_eq!(fnv1a_on(fnv1a(b"foo"), b"bar"), fnv1a(b"foobar"));
    }
}
