//! Searches in short texts, eight or sixteen octets at a time. [`memchr`] is the better tool for long ones, but a line
//! of SIP or SDP has thirty octets, and there the way into a vector routine costs more than the search.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = ONES << 7;

/// The eight octets at `at`, the first one lowest; none if there are fewer.
#[inline]
pub(crate) fn word(octets: &[u8], at: usize) -> Option<u64> {
    octets.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// Marks octets of a word that have this value: bit 7 of the lowest of them is the lowest bit that is set. Higher
/// octets may be marked falsely.
#[inline]
pub(crate) const fn mark(word: u64, octet: u8) -> u64 {
    let word = word ^ (ONES * octet as u64);
    word.wrapping_sub(ONES) & !word & HIGH
}

/// The same for the octets below `limit`, which is at most 128.
#[inline]
pub(crate) const fn mark_below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(ONES * limit as u64) & !word & HIGH
}

/// How many octets stand before the first one that is marked.
#[inline]
pub(crate) const fn before(marks: u64) -> usize {
    (marks.trailing_zeros() / 8) as usize
}

/// The first place that has this octet.
#[inline(always)]
pub fn find(octets: &[u8], octet: u8) -> Option<usize> {
    let mut rest = octets;
    while let Some((chunk, behind)) = rest.split_first_chunk::<16>() {
        // Without a way out in the middle the compiler makes one comparison of sixteen octets of it.
        if chunk.iter().fold(false, |any, o| any | (*o == octet)) {
            let low = mark(word(chunk, 0)?, octet);
            let n = if low != 0 { before(low) } else { 8 + before(mark(word(chunk, 8)?, octet)) };
            return Some(octets.len() - rest.len() + n);
        }
        rest = behind;
    }
    find_soon(rest, octet).map(|n| octets.len() - rest.len() + n)
}

/// The same for texts that are expected to have it within their first eight octets, or not to have sixteen.
#[inline]
pub fn find_soon(octets: &[u8], octet: u8) -> Option<usize> {
    let mut rest = octets;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        let marks = mark(u64::from_le_bytes(*chunk), octet);
        if marks != 0 {
            return Some(octets.len() - rest.len() + before(marks));
        }
        rest = behind;
    }
    rest.iter().position(|o| *o == octet).map(|n| octets.len() - rest.len() + n)
}

/// The first place that has one of two octets.
#[inline(always)]
pub fn find_either(octets: &[u8], one: u8, other: u8) -> Option<usize> {
    // What is marked falsely lies above what is marked rightly, in either.
    let marks = |word| mark(word, one) | mark(word, other);
    let mut rest = octets;
    while let Some((chunk, behind)) = rest.split_first_chunk::<16>() {
        if chunk.iter().fold(false, |any, o| any | (*o == one) | (*o == other)) {
            let low = marks(word(chunk, 0)?);
            let n = if low != 0 { before(low) } else { 8 + before(marks(word(chunk, 8)?)) };
            return Some(octets.len() - rest.len() + n);
        }
        rest = behind;
    }
    if let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        let marks = marks(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return Some(octets.len() - rest.len() + before(marks));
        }
        rest = behind;
    }
    if rest.is_empty() {
        return None;
    }
    // A look at the last eight octets is a look at the rest, and at some where there is none.
    if let Some(chunk) = octets.last_chunk::<8>() {
        let marks = marks(u64::from_le_bytes(*chunk));
        return (marks != 0).then(|| octets.len() - chunk.len() + before(marks));
    }
    rest.iter().position(|o| *o == one || *o == other)
}

/// The first place that has a space or a control character; octets from 128 on are none.
#[inline]
pub(crate) fn find_blank(octets: &[u8]) -> Option<usize> {
    let mut rest = octets;
    while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
        let marks = mark_below(u64::from_le_bytes(*chunk), b' ' + 1);
        if marks != 0 {
            return Some(octets.len() - rest.len() + before(marks));
        }
        rest = behind;
    }
    rest.iter().position(|o| *o <= b' ').map(|n| octets.len() - rest.len() + n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_stands_anywhere() {
        for n in 0..40 {
            for (fill, wanted) in [(b'x', b'\n'), (0xff, b':'), (b'\t' + 2, b'\n'), (0x8a, b'\n'), (b'\n' ^ 1, b'\n')] {
                let mut text = [fill; 40];
                (text[n], text[39]) = (wanted, wanted);
                for from in 0..=n {
                    assert_eq!((find(&text[from..], wanted), find(&text[from..n], wanted)), (Some(n - from), None));
                    let soon = (find_soon(&text[from..], wanted), find_soon(&text[from..n], wanted));
                    assert_eq!(soon, (Some(n - from), None));
                    let either = |text| (find_either(text, wanted, b'?'), find_either(text, b'?', wanted));
                    assert_eq!(either(&text[from..]), (Some(n - from), Some(n - from)));
                    assert_eq!(either(&text[from..n]), (None, None));
                }
            }
            for (fill, blank) in [(b'!', b' '), (0xff, 0), (0x80, b'\n'), (0xa0, b'\t')] {
                let mut text = [fill; 40];
                (text[n], text[39]) = (blank, blank);
                assert_eq!((find_blank(&text), find_blank(&text[..n])), (Some(n), None));
            }
        }
    }
}
