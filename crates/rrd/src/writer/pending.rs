//! The samples of one file that wait, each in words: how many values, the time, of what kinds they are, the values.

use core::ops::ControlFlow;

use crate::archive::{Reading, Time, Value};

/// Values whose kinds one word tells, two bits each.
const KINDS_PER_WORD: usize = 32;

/// Samples in the order in which they came.
#[derive(Debug)]
pub(super) struct Pending {
    /// When the first one came.
    pub since_s: i64,
    samples: u64,
    words: Vec<u64>,
}

impl Pending {
    /// Octets of one without samples, with its place in a table.
    pub const OCTETS: usize = 96;

    pub fn since(now_s: i64) -> Pending {
        Pending { since_s: now_s, samples: 0, words: Vec::new() }
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    pub fn octets(&self) -> usize {
        Pending::OCTETS + self.words.len() * 8
    }

    pub fn octets_of(values: &[Reading]) -> usize {
        words_of(values.len()) * 8
    }

    pub fn push(&mut self, time: Time, values: &[Reading]) {
        self.samples += 1;
        self.words.reserve(words_of(values.len()));
        self.words.push(values.len() as u64);
        self.words.push((time.seconds as u64) << 20 | u64::from(time.microseconds.min(0xf_ffff)));
        for values in values.chunks(KINDS_PER_WORD) {
            let kinds = values.iter().enumerate().map(|(place, value)| kind(value) << (2 * place));
            self.words.push(kinds.fold(0, |kinds, kind| kinds | kind));
        }
        self.words.extend(values.iter().map(word));
    }

    /// Puts samples behind these, which came later.
    pub fn append(&mut self, mut later: Pending) {
        self.since_s = self.since_s.min(later.since_s);
        self.samples += later.samples;
        self.words.append(&mut later.words);
    }

    /// Takes the samples from this place in the order on out, if there are such.
    pub fn split_off(&mut self, place: u64) -> Option<Pending> {
        if place >= self.samples {
            return None;
        }
        let mut at = 0;
        for _ in 0..place {
            at += self.words.get(at).map_or(0, |width| words_of(*width as usize));
        }
        let later = Pending { since_s: self.since_s, samples: self.samples - place, words: self.words.split_off(at) };
        self.samples = place;
        Some(later)
    }

    /// One after the other, until `take` has enough; how many were taken. `room` is lent.
    pub fn each(&self, room: &mut Vec<Reading>, mut take: impl FnMut(Time, &[Reading]) -> ControlFlow<()>) -> u64 {
        let mut rest = self.words.as_slice();
        let mut taken = 0;
        while let [width, time, more @ ..] = rest {
            let width = *width as usize;
            let (kinds, more) = more.split_at(width.div_ceil(KINDS_PER_WORD));
            let (words, more) = more.split_at(width);
            rest = more;
            room.clear();
            let kind = |place: usize| kinds[place / KINDS_PER_WORD] >> (2 * (place % KINDS_PER_WORD)) & 3;
            room.extend(words.iter().enumerate().map(|(place, word)| value(kind(place), *word)));
            taken += 1;
            let time = Time { seconds: (*time >> 20) as i64, microseconds: (*time & 0xf_ffff) as u32 };
            if take(time, room).is_break() {
                break;
            }
        }
        taken
    }
}

fn words_of(values: usize) -> usize {
    2 + values.div_ceil(KINDS_PER_WORD) + values
}

fn kind(value: &Reading) -> u64 {
    match value {
        Value::Unsigned(_) => 1,
        Value::Signed(_) => 2,
        Value::Float(_) => 3,
        Value::Unknown | Value::Text(_) => 0,
    }
}

/// Text is for who updates by hand: what waits is unknown, `U`, or a number.
fn word(value: &Reading) -> u64 {
    match value {
        Value::Unsigned(number) => *number,
        Value::Signed(number) => *number as u64,
        Value::Float(number) => number.to_bits(),
        Value::Unknown | Value::Text(_) => 0,
    }
}

fn value(kind: u64, word: u64) -> Reading {
    match kind {
        1 => Value::Unsigned(word),
        2 => Value::Signed(word as i64),
        3 => Value::Float(f64::from_bits(word)),
        _ => Value::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_as_they_went_in() {
        let mut pending = Pending::since(5);
        let many: Vec<Reading> = (0..70).map(Value::Signed).collect();
        let samples = [
            (Time { seconds: 1_700_000_000, microseconds: 999_999 }, vec![Value::Unsigned(u64::MAX), Value::Unknown]),
            (Time::at(1_700_000_060), vec![Value::Signed(-1), Value::Float(-0.5)]),
            (Time::at(1_700_000_120), many),
            (Time::at(1_700_000_180), vec![]),
        ];
        samples.iter().for_each(|(time, values)| pending.push(*time, values));
        let mut out = Vec::new();
        let mut each = |pending: &Pending, most: usize| {
            out.clear();
            let taken = pending.each(&mut Vec::new(), |time, values| {
                out.push((time, values.to_vec()));
                if out.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            assert_eq!(taken, out.len() as u64);
            out.clone()
        };
        assert_eq!(each(&pending, 9), samples);
        assert_eq!(each(&pending, 3), samples[..3]);
        assert_eq!(pending.samples(), 4);
        let octets: usize = samples.iter().map(|(_, values)| Pending::octets_of(values)).sum();
        assert_eq!(pending.octets(), Pending::OCTETS + octets);
        for place in 0..4 {
            let later = pending.split_off(place).unwrap();
            assert_eq!(
                (each(&pending, 9), each(&later, 9)),
                (samples[..place as usize].to_vec(), samples[place as usize..].to_vec())
            );
            pending.append(later);
        }
        assert!(pending.split_off(4).is_none());
        assert_eq!(each(&pending, 9), samples);
    }
}
