//! Base64 of keys (meta flag `b`) as memcached reads it: characters that are not the alphabet's are passed over, `=`
//! counts as a character of the alphabet, and what follows the first padded group of four is not looked at
//! (`base64.c`).

/// Octets of a key that came as base64: a word of 250 gives no more.
pub const DECODED_OCTETS_MAX: usize = 188;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the base64 of `octets`, padded.
pub fn encode(octets: &[u8], out: &mut Vec<u8>) {
    for group in octets.chunks(3) {
        let of = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        let sign = |shift: u32| ALPHABET[(bits >> shift & 63) as usize];
        out.extend([sign(18), sign(12)]);
        out.push(if group.len() > 1 { sign(6) } else { b'=' });
        out.push(if group.len() > 2 { sign(0) } else { b'=' });
    }
}

/// The octets that `text` stands for and how many they are; none where memcached says that they cannot be decoded, or
/// where they are more than [`DECODED_OCTETS_MAX`].
pub fn decode(text: &[u8]) -> Option<([u8; DECODED_OCTETS_MAX], usize)> {
    let count = text.iter().filter(|&&o| value(o).is_some()).count();
    if count == 0 || count % 4 != 0 || count / 4 * 3 > DECODED_OCTETS_MAX {
        return None;
    }
    let mut out = [0; DECODED_OCTETS_MAX];
    let (mut length, mut bits, mut have, mut padding) = (0, 0u32, 0, 0);
    for (&octet, six) in text.iter().filter_map(|o| Some((o, value(*o)?))) {
        padding += usize::from(octet == b'=');
        bits = bits << 6 | six;
        have += 1;
        if have == 4 {
            out[length..length + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
            length += 3;
            (bits, have) = (0, 0);
            if padding > 0 {
                break;
            }
        }
    }
    // Only the last group that was read has padding.
    (padding <= 2).then(|| (out, length - padding))
}

/// Six bits of a character; `=` counts as zero.
fn value(octet: u8) -> Option<u32> {
    Some(
        match octet {
            b'A'..=b'Z' => octet - b'A',
            b'a'..=b'z' => octet - b'a' + 26,
            b'0'..=b'9' => octet - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => 0,
            _ => return None,
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        decode(text).map(|(octets, length)| octets[..length].to_vec())
    }

    #[test]
    fn vectors_of_rfc_4648_section_10() {
        let vectors: [(&[u8], &[u8]); 6] = [
            (b"f", b"Zg=="),
            (b"fo", b"Zm8="),
            (b"foo", b"Zm9v"),
            (b"foob", b"Zm9vYg=="),
            (b"fooba", b"Zm9vYmE="),
            (b"foobar", b"Zm9vYmFy"),
        ];
        for (octets, text) in vectors {
            let mut out = Vec::new();
            encode(octets, &mut out);
            assert_eq!(out, text);
            assert_eq!(decoded(text).as_deref(), Some(octets));
        }
    }

    #[test]
    fn habits() {
        assert_eq!(decoded(b"Z-m9v"), Some(b"foo".to_vec()));
        assert_eq!(decoded(b"Zg==Zm9v"), Some(b"f".to_vec()));
        assert_eq!(decoded(b"Zm9"), None);
        assert_eq!(decoded(b"===="), None);
        assert_eq!(decoded(b"Z==="), None);
        assert_eq!(decoded(b"---"), None);
        assert_eq!(decoded(&[b'A'; 248]).map(|o| o.len()), Some(186));
        assert_eq!(decoded(&[b'A'; 252]), None);
    }
}
