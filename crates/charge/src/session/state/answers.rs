//! The newest answers of a session, in octets one after the other.
//!
//! ```text
//! 0        4            8             16         24       28
//! | number | end to end | fingerprint | sequence | octets | answer ...   (least octet first)
//! ```

use crate::account::Kept;

/// Answers of a session that are kept. A client waits for one before it asks again; the others are for what is late.
pub const KEPT_MAX: usize = 4;

/// Answers, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers(Box<[u8]>);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    pub number: u32,
    pub end_to_end: u32,
    pub fingerprint: u64,
    /// The entry that has to be durable before the answer leaves.
    pub sequence: u64,
    pub answer: &'a [u8],
}

impl Answers {
    /// Those that octets hold; none if they are no answers.
    pub fn read(octets: Box<[u8]>) -> Option<Answers> {
        let (mut rest, mut count) = (&*octets, 0);
        while !rest.is_empty() {
            (_, rest) = cut(rest)?;
            count += 1;
        }
        (count <= KEPT_MAX).then_some(Answers(octets))
    }

    /// Their octets.
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Given<'_>> {
        let mut rest = &*self.0;
        core::iter::from_fn(move || {
            let given;
            (given, rest) = cut(rest)?;
            Some(given)
        })
    }

    /// Keeps another one; beyond [`KEPT_MAX`] the oldest is forgotten.
    pub fn keep(&mut self, kept: &Kept) {
        let Ok(length) = u32::try_from(kept.answer.len()) else { return };
        let mut before = &*self.0;
        if self.iter().count() == KEPT_MAX {
            before = cut(before).map_or(&[], |(_, rest)| rest);
        }
        let mut octets = Vec::with_capacity(before.len() + 28 + kept.answer.len());
        octets.extend_from_slice(before);
        octets.extend_from_slice(&kept.number.to_le_bytes());
        octets.extend_from_slice(&kept.end_to_end.to_le_bytes());
        octets.extend_from_slice(&kept.fingerprint.to_le_bytes());
        octets.extend_from_slice(&kept.sequence.to_le_bytes());
        octets.extend_from_slice(&length.to_le_bytes());
        octets.extend_from_slice(&kept.answer);
        self.0 = octets.into();
    }
}

/// The first one, and the octets behind it.
fn cut(octets: &[u8]) -> Option<(Given<'_>, &[u8])> {
    let (number, rest) = octets.split_first_chunk()?;
    let (end_to_end, rest) = rest.split_first_chunk()?;
    let (fingerprint, rest) = rest.split_first_chunk()?;
    let (sequence, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (answer, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let given = Given {
        number: u32::from_le_bytes(*number),
        end_to_end: u32::from_le_bytes(*end_to_end),
        fingerprint: u64::from_le_bytes(*fingerprint),
        sequence: u64::from_le_bytes(*sequence),
        answer,
    };
    Some((given, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let mut answers = Answers::default();
        for number in 0..6 {
            let kept =
                Kept { number, end_to_end: 7, fingerprint: 1 << 40, sequence: 9, answer: [number as u8; 3].into() };
            answers.keep(&kept);
            assert_eq!(Answers::read(answers.octets().into()), Some(answers.clone()));
        }
        let found: Vec<_> = answers.iter().map(|given| (given.number, given.fingerprint, given.answer)).collect();
        let newest = [[2; 3], [3; 3], [4; 3], [5; 3]];
        let newest: Vec<_> = newest.iter().map(|answer| (u32::from(answer[0]), 1 << 40, &answer[..])).collect();
        assert_eq!(found, newest);
        assert_eq!(Answers::read(answers.octets()[1..].into()), None);
    }
}
