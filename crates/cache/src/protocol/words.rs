//! A command line cut at its blanks.

/// Words that are told apart; what follows is known to be there (`MAX_TOKENS` less the one that ends the list).
pub const WORDS_MAX: usize = 23;

/// The words of a line.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    words: [&'a [u8]; WORDS_MAX],
    count: usize,
}

impl<'a> Words<'a> {
    /// Cuts `line` at its blanks; only the blank (0x20) parts words.
    #[inline]
    pub fn of(line: &'a [u8]) -> Self {
        let mut words = Words { words: [&[]; WORDS_MAX], count: 0 };
        let mut rest = line;
        while words.count < WORDS_MAX {
            let Some((word, after)) = next(rest) else { break };
            words.words[words.count] = word;
            words.count += 1;
            rest = after;
        }
        words
    }

    /// How many there are, at most [`WORDS_MAX`].
    pub fn count(&self) -> usize {
        self.count
    }

    /// The word at `at`, empty beyond the last.
    #[inline]
    pub fn at(&self, at: usize) -> &'a [u8] {
        self.words.get(at).copied().unwrap_or_default()
    }

    /// The words from `at` on.
    #[inline]
    pub fn from(&self, at: usize) -> &[&'a [u8]] {
        &self.words[at.min(self.count)..self.count]
    }

    /// Whether the last word asks for no answer.
    #[inline]
    pub fn quiet(&self) -> bool {
        self.count > 0 && self.words[self.count - 1] == b"noreply"
    }
}

/// The first word of `text` and what follows the blank behind it; none if there are only blanks.
#[inline]
pub fn next(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = text.iter().position(|&o| o != b' ')?;
    let text = &text[start..];
    match memchr::memchr(b' ', text) {
        Some(end) => Some((&text[..end], &text[end + 1..])),
        None => Some((text, &[])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_part_words() {
        let words = Words::of(b"  set  k\t1 noreply ");
        assert_eq!(words.count(), 3);
        assert_eq!(words.from(0), [&b"set"[..], b"k\t1", b"noreply"]);
        assert!(words.quiet());
        assert_eq!(words.at(7), b"");
        assert_eq!(Words::of(b"   ").count(), 0);
        assert_eq!(Words::of(&b"a ".repeat(50)).count(), WORDS_MAX);
        assert!(words.from(9).is_empty());
    }
}
