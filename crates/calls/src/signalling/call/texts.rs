//! Texts of a call, one behind the other.

/// Texts. Those of a usual call, so many octets, lie in the call itself: they need no look at another page of the
/// memory.
#[derive(Debug)]
#[repr(C)]
pub struct Texts<const USUAL: usize> {
    /// First, so that it may lie beside what else is needed of the call.
    octets: usize,
    usual: [u8; USUAL],
    /// All of them, when they are more.
    more: String,
}

impl<const USUAL: usize> Default for Texts<USUAL> {
    fn default() -> Self {
        Texts { octets: 0, usual: [0; USUAL], more: String::new() }
    }
}

impl<const USUAL: usize> Texts<USUAL> {
    /// Forgets all but the memory.
    pub fn clear(&mut self) {
        self.octets = 0;
    }

    /// Octets so far.
    pub fn octets(&self) -> usize {
        self.octets
    }

    /// Adds one.
    pub fn push(&mut self, text: &str) {
        let end = self.octets + text.len();
        match self.usual.get_mut(self.octets..end) {
            Some(place) => place.copy_from_slice(text.as_bytes()),
            None => self.push_more(text),
        }
        self.octets = end;
    }

    #[cold]
    fn push_more(&mut self, text: &str) {
        if self.octets <= USUAL {
            self.more.clear();
            self.more.push_str(core::str::from_utf8(&self.usual[..self.octets]).unwrap_or_default());
        }
        self.more.push_str(text);
    }

    /// Their octets.
    pub fn as_bytes(&self) -> &[u8] {
        self.usual.get(..self.octets).unwrap_or(self.more.as_bytes())
    }

    /// All of them: who wants several parts asks once, since that it is text is found out anew.
    pub fn as_str(&self) -> &str {
        match self.usual.get(..self.octets) {
            Some(usual) => core::str::from_utf8(usual).unwrap_or_default(),
            None => &self.more,
        }
    }

    /// Takes all out. As much as is usual is copied, more is given away with its memory.
    pub fn take(&mut self) -> String {
        let all = if self.octets > USUAL { core::mem::take(&mut self.more) } else { self.as_str().to_owned() };
        self.octets = 0;
        all
    }

    /// Gives memory back that is more than a usual call needs.
    pub fn shrink(&mut self) {
        if self.octets > USUAL {
            (self.octets, self.more) = (0, String::new());
        }
    }

    /// Reads a little of where the next one will lie.
    pub fn warm(&self) -> u64 {
        u64::from(self.usual.get(self.octets).copied().unwrap_or(0))
    }

    /// Reads a little of each line of the cache that they take.
    pub fn warm_all(&self) -> u64 {
        u64::from(self.as_bytes().chunks(64).fold(0, |sum, line| sum ^ line[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_before_does_not_show() {
        let mut texts = Texts::<64>::default();
        for octets in [7, 64, 65, 3, 200, 63] {
            texts.clear();
            let mut all = String::new();
            while all.len() < octets {
                let text = ["\u{e9}", "abc", "SDP"][all.len() % 3].get(..octets - all.len()).unwrap_or("x");
                texts.push(text);
                all.push_str(text);
                assert_eq!((texts.as_str(), texts.octets()), (all.as_str(), all.len()));
            }
            assert_eq!(texts.as_bytes(), all.as_bytes());
            assert_eq!((texts.take(), texts.octets(), texts.as_str()), (all, 0, ""));
        }
        texts.push(&"x".repeat(65));
        texts.shrink();
        assert_eq!((texts.octets(), texts.more.capacity()), (0, 0));
    }
}
