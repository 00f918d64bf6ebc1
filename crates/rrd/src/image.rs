//! A whole file in memory, for what is to be seen and never kept.

use crate::archive::{Archive, Rows, Time, Value};
use crate::create::Made;
use crate::fault::{Fault, Refused};
use crate::fetch::{Question, Series, Window};
use crate::shape::Shape;

/// A round-robin file that is nowhere but here: octet by octet what a file would be after the same samples.
#[derive(Debug)]
pub struct Image {
    archive: Archive,
    /// The header as it was made, then the rows.
    octets: Vec<u8>,
    rows: Rows,
}

impl Image {
    /// Of what a file would be made.
    ///
    /// # Errors
    /// None that a file that was made could have: [`Fault::Format`].
    pub fn new(made: &Made) -> Result<Image, Fault> {
        let octets = made.octets();
        Ok(Image { archive: Archive::open(&octets)?, octets, rows: Rows::default() })
    }

    /// What it holds.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.archive.shape()
    }

    /// The time of the last sample.
    #[must_use]
    pub fn last(&self) -> Time {
        self.archive.last()
    }

    /// Takes a sample, as [`Archive::update`].
    ///
    /// # Errors
    /// As there.
    pub fn update(&mut self, time: Time, values: &[Value<'_>]) -> Result<(), Refused> {
        self.archive.update(time, values, &mut self.rows)?;
        for write in self.rows.writes(self.archive.shape()) {
            // Nothing is written outside of its ring, and all of that is here.
            let words = write.words.iter().flat_map(|word| word.to_le_bytes());
            let (at, octets) = (write.at as usize, write.octets() as usize);
            let place = self.octets[at..at + octets].chunks_exact_mut(write.words.len() * 8);
            place.for_each(|row| row.iter_mut().zip(words.clone()).for_each(|(octet, new)| *octet = new));
        }
        self.rows.clear();
        Ok(())
    }

    /// Rows of it, as [`crate::RrdFile::fetch`].
    ///
    /// # Errors
    /// What is asked for has no sense.
    pub fn fetch(&self, question: &Question) -> Result<Series, Fault> {
        Window::choose(&self.archive, question)?.series(&self.archive, |at, into| {
            let at = at as usize;
            into.copy_from_slice(&self.octets[at..at + into.len()]);
            Ok(())
        })
    }

    /// The octets of the file that it would be.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        let mut live = Vec::new();
        self.archive.write_live(&mut live);
        let (mut octets, at) = (self.octets.clone(), self.shape().still_octets);
        octets[at..at + live.len()].copy_from_slice(&live);
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Consolidation, Plan, RrdFile};
    use proptest::prelude::*;

    const BEGIN_S: i64 = 1_700_000_000;

    proptest! {
        /// What it is after any samples is what a file is.
        #[test]
        fn it_is_the_file(
            samples in prop::collection::vec((1..4000u32, 0..1_000_000u32, any::<u32>()), 1..60),
            step_s in 1..6u64,
        ) {
            let lines = ["DS:c:COUNTER:30:0:U", "DS:g:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:50", "RRA:MAX:0.5:5:7"];
            let made = Plan::read(step_s, lines).unwrap().create(BEGIN_S, |rows| rows / 2).unwrap();
            let mut image = Image::new(&made).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.rrd");
            RrdFile::create(&path, &made).unwrap();
            let mut time = Time::at(BEGIN_S);
            for (after_ms, microseconds, value) in samples {
                time = Time { seconds: time.seconds + i64::from(after_ms / 100), microseconds };
                let values = [Value::Unsigned(value.into()), Value::Float(f64::from(value) / 3.0)];
                let mut refused = None;
                let mut file = RrdFile::open_to_update(&path).unwrap();
                file.update([(time, &values[..])], |_, why| refused = Some(why)).unwrap();
                prop_assert_eq!(image.update(time, &values).err(), refused);
            }
            prop_assert!(std::fs::read(&path).unwrap() == image.octets());
            let question =
                Question { consolidation: Consolidation::Average, start_s: BEGIN_S, end_s: time.seconds, step_s: 1 };
            let (ours, theirs) = (image.fetch(&question).unwrap(), RrdFile::open(&path).unwrap().fetch(&question));
            let bits = |series: &Series| series.values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&ours), bits(&theirs.unwrap()));
        }
    }
}
