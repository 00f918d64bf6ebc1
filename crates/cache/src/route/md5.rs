//! MD5 (RFC 1321), for consistent hashing as other clients of memcached do it. It protects nothing.

/// Shifts of a round, for every fourth step each (RFC 1321, 3.4).
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// The digest of `octets`.
pub fn md5(octets: &[u8]) -> [u8; 16] {
    let table = table();
    let mut state = START;
    let mut blocks = octets.chunks_exact(64);
    for block in &mut blocks {
        step(&mut state, block, table);
    }
    // The rest, a 1, as many 0 as it takes, and the length in bits (RFC 1321, 3.1 and 3.2).
    let rest = blocks.remainder();
    let mut last = [0; 128];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() < 56 { 64 } else { 128 };
    last[end - 8..end].copy_from_slice(&(octets.len() as u64).wrapping_mul(8).to_le_bytes());
    last[..end].chunks_exact(64).for_each(|block| step(&mut state, block, table));
    let mut digest = [0; 16];
    digest.chunks_exact_mut(4).zip(state).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    digest
}

fn step(state: &mut [u32; 4], block: &[u8], table: &[u32; 64]) {
    let mut words = [0u32; 16];
    for (word, octets) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = octets.iter().rev().fold(0, |word, octet| word << 8 | u32::from(*octet));
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for at in 0..64 {
        let (mixed, word) = match at / 16 {
            0 => (b & c | !b & d, at),
            1 => (d & b | !d & c, 5 * at + 1),
            2 => (b ^ c ^ d, 3 * at + 5),
            _ => (c ^ (b | !d), 7 * at),
        };
        let sum = a.wrapping_add(mixed).wrapping_add(table[at]).wrapping_add(words[word % 16]);
        let turned = b.wrapping_add(sum.rotate_left(SHIFTS[at / 16][at % 4]));
        (a, b, c, d) = (d, turned, b, c);
    }
    for (whole, part) in state.iter_mut().zip([a, b, c, d]) {
        *whole = whole.wrapping_add(part);
    }
}

/// The whole part of 2^32 times |sin(n)|, n from 1 (RFC 1321, 3.4).
fn table() -> &'static [u32; 64] {
    static TABLE: std::sync::OnceLock<[u32; 64]> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| core::array::from_fn(|at| (((at + 1) as f64).sin().abs() * 4_294_967_296.0) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_standard() {
        let digest = |text: &str| md5(text.as_bytes()).iter().map(|o| format!("{o:02x}")).collect::<String>();
        // RFC 1321, A.5.
        assert_eq!(digest(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(digest("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        assert_eq!(digest(letters), "d174ab98d277d9f5a5611c2c9f419d9f");
        assert_eq!(digest(&"1234567890".repeat(8)), "57edf4a22be3c955ac49da2e2107b67a");
    }
}
