//! Numbers as the index file has them: LEB128, seven bits an octet, the lowest first; signed ones in zigzag.

/// Writes a number to the beginning of `out`, which has room for it; how many octets that were.
#[inline]
pub(super) fn put_varint(out: &mut [u8], mut number: u64) -> usize {
    let mut n = 0;
    for octet in out.iter_mut() {
        n += 1;
        *octet = number as u8 & 0x7f;
        number >>= 7;
        if number == 0 {
            break;
        }
        *octet |= 0x80;
    }
    n
}

/// Appends a number.
pub(super) fn push_varint(out: &mut Vec<u8>, number: u64) {
    let mut octets = [0; 10];
    let n = put_varint(&mut octets, number);
    out.extend_from_slice(&octets[..n]);
}

/// Appends a signed number.
pub(super) fn push_signed(out: &mut Vec<u8>, number: i64) {
    push_varint(out, (number.wrapping_shl(1) ^ (number >> 63)) as u64);
}

/// Reads numbers from octets; what is not there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Numbers<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub(super) fn octet(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            let bits = u64::from(octet & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if octet < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        self.varint().map(|n| (n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(u16::from_le_bytes(*head))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*head))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX >> 1, u64::MAX];
        let mut out = Vec::new();
        numbers.iter().for_each(|n| push_varint(&mut out, *n));
        [0, -1, 1, i64::MIN, i64::MAX].iter().for_each(|n| push_signed(&mut out, *n));
        let mut back = Numbers(&out);
        assert!(numbers.iter().all(|n| back.varint() == Some(*n)));
        assert_eq!([0; 5].map(|_| back.signed()), [0, -1, 1, i64::MIN, i64::MAX].map(Some));
        assert_eq!(back.varint(), None);
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_none() {
        assert_eq!(Numbers(&[0xff; 10]).varint(), None);
        assert_eq!(Numbers(&[0x80]).varint(), None);
    }
}
