//! A glance at requests that wait: what they will ask the store for, so that it is on its way when they are read.

use super::text::KEY_OCTETS_MAX;

/// Octets of a line that are looked through at a glance: a key and some flags.
const GLANCE_OCTETS: usize = 320;

/// What a request will ask the store for, as far as a glance tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Whether the value is read; else it is written anew.
    pub reads: bool,
    /// Octets of the request, with the value that it brings: perhaps more than are here.
    pub octets: usize,
}

/// Looks at the request that begins `input`, if it is one of one key (`get`, `gets`, `mg`, `set`, `ms`): for what can
/// be done ahead of requests. What cannot be read at a glance is none.
#[inline]
pub fn glance(input: &[u8]) -> Option<Glance<'_>> {
    let (word, value) = match input {
        [b'g', b'e', b't', b' ', ..] => (4, None),
        [b'g', b'e', b't', b's', b' ', ..] => (5, None),
        [b'm', b'g', b' ', ..] => (3, None),
        [b's', b'e', b't', b' ', ..] => (4, Some(2)),
        [b'm', b's', b' ', ..] => (3, Some(0)),
        _ => return None,
    };
    let end = memchr::memchr(b'\n', &input[..input.len().min(GLANCE_OCTETS)])?;
    let line = &input[word..end];
    let key = &line[..memchr::memchr2(b' ', b'\r', line).unwrap_or(line.len())];
    let is_sole = word == 3 || value.is_some() || line.get(key.len()) != Some(&b' ');
    let octets = match value {
        None => end + 1,
        Some(skipped) => end + 1 + value_octets(&line[key.len()..], skipped)? + 2,
    };
    let is_good = is_sole && !key.is_empty() && key.len() <= KEY_OCTETS_MAX;
    is_good.then_some(Glance { key, reads: value.is_none(), octets })
}

/// The octets of a value, as the words behind the key say.
fn value_octets(words: &[u8], skipped: usize) -> Option<usize> {
    let mut words = words.split(|octet| matches!(octet, b' ' | b'\r')).filter(|word| !word.is_empty()).skip(skipped);
    let digits = words.next().filter(|word| (1..=9).contains(&word.len()) && word.iter().all(u8::is_ascii_digit))?;
    Some(digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_request_is_seen_at_a_glance() {
        let seen = |input| glance(input).map(|seen| (seen.key, seen.reads, seen.octets));
        assert_eq!(seen(b"get a\r\nget b\r\n"), Some((&b"a"[..], true, 7)));
        assert_eq!(seen(b"gets ab\n"), Some((&b"ab"[..], true, 8)));
        assert_eq!(seen(b"mg abc v t\r\n"), Some((&b"abc"[..], true, 12)));
        assert_eq!(seen(b"mg abc\r\n"), Some((&b"abc"[..], true, 8)));
        assert_eq!(seen(b"set a 7 0 12 noreply\r\nhello"), Some((&b"a"[..], false, 22 + 14)));
        assert_eq!(seen(b"set ab 0 0 3\r\nxyz\r\nget b\r\n"), Some((&b"ab"[..], false, 19)));
        assert_eq!(seen(b"set a 0  0 1\r\n"), Some((&b"a"[..], false, 14 + 3)));
        assert_eq!(seen(b"ms ab 0\r\n\r\n"), Some((&b"ab"[..], false, 11)));
        assert_eq!(seen(b"ms ab 999999999 T0\r\n"), Some((&b"ab"[..], false, 20 + 999_999_999 + 2)));
        let long = [b"get ", &[b'k'; 251][..], b"\r\n"].concat();
        let none: [&[u8]; 13] = [
            b"get a",
            b"get a b\r\n",
            b"get  a\r\n",
            b"get \r\n",
            b"set a 0 0\r\n",
            b"set a 0 0 -1\r\n",
            b"set a 0 0 9999999999\r\n",
            b"ms a\r\n",
            b"ms a S1\r\n",
            b"add a 0 0 1\r\n",
            b"mga\n",
            b"",
            &long,
        ];
        none.into_iter().for_each(|input| assert_eq!(seen(input), None, "{input:?}"));
    }
}
