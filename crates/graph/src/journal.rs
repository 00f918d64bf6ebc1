//! Samples on their way to their files, as the journal has them.
//!
//! ```text
//! record   version u8, samples one behind the other
//! sample   data source, milliseconds since 1970, number of values, values
//! value    0 unknown | 1 whole | 2 whole with a sign | 3 with a fraction      (numbers as trunkline_kit::octets)
//! ```

use crate::template::SERIES_MAX;
use trunkline_kit::octets::Octets;
use trunkline_rrd::Value;

/// The first octet of a record.
const VERSION: u8 = 1;
/// Octets of a record at which the next one is begun: one sample more fits in any case.
pub const RECORD_OCTETS: usize = 256 << 10;

/// What goes into a file at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The data source.
    pub source: u32,
    /// When, milliseconds since 1970.
    pub unix_ms: i64,
    /// A value for each of its series, at most [`SERIES_MAX`].
    pub values: Vec<Value<'static>>,
}

/// Octets that are no record of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a record of samples of this version")]
pub struct Broken;

/// Records that are being filled.
#[derive(Clone, Debug, Default)]
pub struct Records {
    octets: Vec<u8>,
    ends: Vec<usize>,
    samples: u64,
}

impl Records {
    /// Appends a sample. Of more values than a file can have the rest is left out.
    pub fn put(&mut self, source: u32, unix_ms: i64, values: &[Value<'static>]) {
        let begun = self.ends.last().copied().unwrap_or(0);
        if self.octets.len() == begun {
            self.octets.push(VERSION);
        }
        let values = &values[..values.len().min(SERIES_MAX)];
        source.put(&mut self.octets);
        unix_ms.put(&mut self.octets);
        self.octets.push(values.len() as u8);
        values.iter().for_each(|value| put_value(value, &mut self.octets));
        self.samples += 1;
        if self.octets.len() - begun >= RECORD_OCTETS {
            self.ends.push(self.octets.len());
        }
    }

    /// How many samples.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The records, each whole by itself.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let last = (self.ends.last().copied().unwrap_or(0) < self.octets.len()).then_some(self.octets.len());
        let ends = self.ends.iter().copied().chain(last);
        let begins = core::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(ends).map(|(begin, end)| &self.octets[begin..end])
    }

    /// None again; the memory is kept.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.ends.clear();
        self.samples = 0;
    }
}

fn put_value(value: &Value<'static>, out: &mut Vec<u8>) {
    match value {
        // Text is for who updates by hand.
        Value::Unknown | Value::Text(_) => out.push(0),
        Value::Unsigned(number) => {
            out.push(1);
            number.put(out);
        }
        Value::Signed(number) => {
            out.push(2);
            number.put(out);
        }
        Value::Float(number) => {
            out.push(3);
            number.put(out);
        }
    }
}

fn take_value(from: &mut &[u8]) -> Option<Value<'static>> {
    let (kind, rest) = from.split_first()?;
    *from = rest;
    Some(match kind {
        0 => Value::Unknown,
        1 => Value::Unsigned(u64::take(from)?),
        2 => Value::Signed(i64::take(from)?),
        3 => Value::Float(f64::take(from)?),
        _ => return None,
    })
}

/// Shows the samples of a record, as far as they are whole.
///
/// # Errors
/// It is not one, or not all of it.
pub fn each(record: &[u8], mut see: impl FnMut(u32, i64, &[Value<'static>])) -> Result<(), Broken> {
    let (version, mut rest) = record.split_first().ok_or(Broken)?;
    if *version != VERSION {
        return Err(Broken);
    }
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (source, unix_ms) = head(&mut rest).ok_or(Broken)?;
        let (count, behind) = rest.split_first().ok_or(Broken)?;
        rest = behind;
        values.clear();
        for _ in 0..*count {
            values.push(take_value(&mut rest).ok_or(Broken)?);
        }
        see(source, unix_ms, &values);
    }
    Ok(())
}

fn head(rest: &mut &[u8]) -> Option<(u32, i64)> {
    Some((u32::take(rest)?, i64::take(rest)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value<'static>> {
        prop_oneof![
            Just(Value::Unknown),
            any::<u64>().prop_map(Value::Unsigned),
            any::<i64>().prop_map(Value::Signed),
            (-1e300..1e300f64).prop_map(Value::Float),
        ]
    }

    proptest! {
        #[test]
        fn samples_come_back(all in proptest::collection::vec(
            (any::<u32>(), any::<i64>(), proptest::collection::vec(value(), 0..5)), 0..50)) {
            let mut records = Records::default();
            all.iter().for_each(|(source, at, values)| records.put(*source, *at, values));
            let mut back = Vec::new();
            for record in records.records() {
                each(record, |source, at, values| back.push((source, at, values.to_vec()))).unwrap();
            }
            prop_assert_eq!(back, all);
        }

        #[test]
        fn nothing_else_is_taken_for_a_record(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = each(&octets, |_, _, values| assert!(values.len() <= 255));
        }
    }

    #[test]
    fn a_record_that_is_long_enough_is_followed_by_another() {
        let mut records = Records::default();
        for source in 0..100_000 {
            records.put(source, 1_700_000_000_000, &[Value::Unsigned(u64::MAX), Value::Unknown]);
        }
        let mut seen = 0;
        for record in records.records() {
            assert!(record.len() <= RECORD_OCTETS + 32);
            each(record, |source, _, _| {
                assert_eq!(source, seen);
                seen += 1;
            })
            .unwrap();
        }
        assert!(seen == 100_000 && records.records().count() > 5 && records.samples() == 100_000);
    }
}
