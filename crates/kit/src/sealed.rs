//! Small files of text that end with a line that holds their checksum (FNV-1a, 64 bits), so that one that was cut or
//! changed is not believed.

use crate::hash::fnv1a;

/// The text with its last line: the word, and the checksum of all before it.
pub fn seal(text: &str, word: &str) -> String {
    format!("{text}{word}{:016x}\n", fnv1a(text.as_bytes()))
}

/// What stands before the last line; none if that is missing or does not fit.
pub fn open<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (body, sum) = text.rsplit_once(word)?;
    let sum = u64::from_str_radix(sum.strip_suffix('\n')?, 16).ok()?;
    (body.ends_with('\n') && sum == fnv1a(body.as_bytes())).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_other_octet_and_any_end_but_the_last_is_found() {
        let whole = seal("a head\nat 17\n", "sum ");
        assert_eq!(open(&whole, "sum "), Some("a head\nat 17\n"));
        for at in 0..whole.len() {
            assert_eq!(open(&whole[..at], "sum "), None, "cut at {at}");
            let mut octets = whole.clone().into_bytes();
            octets[at] ^= 1;
            let changed = String::from_utf8(octets).unwrap();
            assert_eq!(open(&changed, "sum "), None, "{changed}");
        }
        assert_eq!(open("", "sum "), None);
    }
}
