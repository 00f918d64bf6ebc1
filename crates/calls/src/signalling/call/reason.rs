//! Where the reason phrase of a response is kept.

use crate::signalling::REMARK_SEPARATOR;

/// A reason phrase in the ladder's texts: where it lies with what else is said of its message, and how many octets it
/// has alone. One word, because what was just written in parts cannot be read as a whole before all that was written
/// before has reached the memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reason(u64);

impl Reason {
    /// Of a text that begins there and has so many octets, the phrase so many of them.
    pub fn new((start, octets): (u32, u16), phrase: u16) -> Self {
        Reason(u64::from(start) | u64::from(octets) << 32 | u64::from(phrase) << 48)
    }

    fn text(self) -> (u32, u16) {
        (self.0 as u32, (self.0 >> 32) as u16)
    }

    fn phrase(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// The phrase, in the ladder's texts. One that has the separator in it ends there.
    pub fn of(self, texts: &str) -> &str {
        let (start, octets) = self.text();
        let (begin, octets) = (start as usize, usize::from(octets));
        let all = texts.get(begin..begin + octets).unwrap_or_default();
        match all.get(..usize::from(self.phrase())) {
            Some(phrase) if phrase.is_ascii() => phrase,
            _ => all.split(REMARK_SEPARATOR).next().unwrap_or_default(),
        }
    }
}
