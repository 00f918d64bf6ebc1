//! A file's state in memory: samples go in, rows and a header come out. No file is touched here.
//!
//! The order of every operation on doubles is rrdtool's (1.7, `rrd_update.c`), so that a file becomes the same one
//! octet by octet.

mod reading;
mod rows;

use std::sync::Arc;

pub use reading::{Reading, Template, Time, Value};
pub(crate) use rows::spread;
pub use rows::{Rows, Write};

use crate::fault::{Fault, Refused};
use crate::number::UNKNOWN;
use crate::rpn::{Calendar, Machine, Row, Variable};
use crate::shape::{Consolidation, Shape, SourceKind};

/// Places in a data source's preparation, in words: its last reading as text, then numbers.
const LAST_READING_WORDS: usize = 4;
const PDP_UNKNOWN_S: usize = LAST_READING_WORDS;
const PDP_VALUE: usize = LAST_READING_WORDS + 1;
/// Places in the preparation of a row's value.
const CDP_VALUE: usize = 0;
const CDP_UNKNOWN: usize = 1;
const CDP_PRIMARY: usize = 8;
const CDP_SECONDARY: usize = 9;

/// A file's header: what it holds, and how far it is.
#[derive(Clone, Debug)]
pub struct Archive {
    shape: Arc<Shape>,
    live: Vec<u64>,
}

/// What is between the last sample and a new one.
struct Passed {
    /// Seconds between both, before the last step that is over, and after it.
    interval: f64,
    before: f64,
    after: f64,
    /// Steps that are over since, and those that were over at the last sample, counted from 1970.
    steps: u64,
    steps_before: u64,
}

impl Archive {
    /// Of a file's beginning, as long as [`Shape::header_octets`] says or longer.
    ///
    /// # Errors
    /// [`Fault::Format`] with its place.
    pub fn open(octets: &[u8]) -> Result<Archive, Fault> {
        let shape = Shape::read(octets)?;
        let (from, to) = (shape.still_octets, shape.header_octets);
        Archive::of(Arc::new(shape), &octets[from..to])
    }

    /// Of a shape that is known, and the part of the header that changes.
    ///
    /// # Errors
    /// [`Fault::Format`]: a row is said that the ring has not, or a time that cannot be.
    pub fn of(shape: Arc<Shape>, live: &[u8]) -> Result<Archive, Fault> {
        if live.len() != shape.live.words() * 8 {
            let what = format!("{} octets of the header that changes, not {}", live.len(), shape.live.words() * 8);
            return Err(Fault::format(shape.still_octets as u64, what));
        }
        let words = live.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        let archive = Archive { live: words.collect(), shape };
        archive.check()?;
        Ok(archive)
    }

    pub(crate) fn made(shape: Arc<Shape>, live: Vec<u64>) -> Archive {
        Archive { shape, live }
    }

    fn check(&self) -> Result<(), Fault> {
        let place = |word: usize| (self.shape.still_octets + word * 8) as u64;
        let last = self.last();
        if !(0..1 << 40).contains(&last.seconds) || last.microseconds >= 1_000_000 {
            return Err(Fault::format(
                place(0),
                format!("the last update is at {}.{}", last.seconds, last.microseconds),
            ));
        }
        for (number, ring) in self.shape.rings.iter().enumerate() {
            let row = self.row(number);
            if row >= ring.rows {
                let what = format!("archive {number} is at row {row} of {}", ring.rows);
                return Err(Fault::format(place(self.shape.live.row(number)), what));
            }
        }
        Ok(())
    }

    /// What the file holds.
    #[must_use]
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// When the last sample was.
    #[must_use]
    pub fn last(&self) -> Time {
        let microseconds = if self.shape.live.has_microseconds { self.live[1] } else { 0 };
        let microseconds = u32::try_from(microseconds).unwrap_or(u32::MAX);
        Time { seconds: self.live[0] as i64, microseconds }
    }

    /// The row that an archive wrote last.
    #[must_use]
    pub fn row(&self, ring: usize) -> u64 {
        self.live[self.shape.live.row(ring)]
    }

    /// The text of a data source's last reading.
    #[must_use]
    pub fn last_reading(&self, source: usize) -> String {
        reading::text(self.last_words(source))
    }

    /// What is gathered of a data source's present step, and how many seconds of it are unknown.
    #[must_use]
    pub fn gathered(&self, source: usize) -> (f64, u64) {
        let at = self.shape.live.pdp(source);
        (f64::from_bits(self.live[at + PDP_VALUE]), self.live[at + PDP_UNKNOWN_S])
    }

    /// The ten numbers that an archive keeps of a data source between rows.
    #[must_use]
    pub fn prepared(&self, ring: usize, source: usize) -> &[u64] {
        let at = self.shape.live.cdp(ring, source);
        &self.live[at..at + crate::shape::CDP_WORDS]
    }

    /// Nothing is known any more of what an archive keeps of a data source for the row that is to come.
    pub(crate) fn forget_prepared(&mut self, ring: usize, source: usize) {
        let at = self.shape.live.cdp(ring, source);
        let steps = self.live[0] / self.shape.step_s % self.shape.rings[ring].steps_per_row;
        self.live[at] = UNKNOWN.to_bits();
        self.live[at + 1] = steps;
    }

    pub(crate) fn live_words(&self) -> usize {
        self.live.len()
    }

    /// The part of the header that changes, as it is to be in the file at [`Shape::still_octets`].
    pub fn write_live(&self, into: &mut Vec<u8>) {
        into.reserve(self.live.len() * 8);
        self.live.iter().for_each(|word| into.extend_from_slice(&word.to_le_bytes()));
    }

    /// Takes a sample: a value for each data source that is not computed, in their order. What it finishes goes to
    /// `rows`.
    ///
    /// # Errors
    /// [`Refused`]: it is not later than the last one, or a value is none of its kind; then nothing has changed.
    pub fn update(&mut self, time: Time, values: &[Value<'_>], rows: &mut Rows) -> Result<(), Refused> {
        if let Some(archive) = self.shape.foretells {
            return Err(Refused::Kind { archive, kind: self.shape.rings[archive].consolidation.name() });
        }
        if values.len() != self.shape.read {
            return Err(Refused::Values { got: values.len(), expected: self.shape.read });
        }
        self.update_checked(time, values, rows)
    }

    /// As [`Archive::update`], with values for the data sources that a template names; the others are unknown.
    ///
    /// # Errors
    /// As there.
    pub fn update_by(
        &mut self,
        template: &Template,
        time: Time,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<(), Refused> {
        let ordered = template.ordered(&self.shape, values)?;
        self.update(time, &ordered, rows)
    }

    fn update_checked(&mut self, time: Time, values: &[Value<'_>], rows: &mut Rows) -> Result<(), Refused> {
        let time = if self.shape.live.has_microseconds { time } else { Time { microseconds: 0, ..time } };
        let last = self.last();
        if time <= last || time.microseconds >= 1_000_000 || time.seconds >= 1 << 40 {
            return Err(Refused::Past(last.seconds));
        }
        let passed = self.passed(last, time);
        let shape = Arc::clone(&self.shape);
        let mut amounts = core::mem::take(&mut rows.amounts);
        let result = self.amounts(&shape, passed.interval, values, &mut amounts);
        if result.is_ok() {
            self.advance(&shape, passed, time, &mut amounts, rows);
        }
        rows.amounts = amounts;
        result?;
        self.keep_readings(&shape, values);
        self.live[0] = time.seconds as u64;
        if shape.live.has_microseconds {
            self.live[1] = u64::from(time.microseconds);
        }
        Ok(())
    }

    fn passed(&self, last: Time, time: Time) -> Passed {
        let step_s = self.shape.step_s as i64;
        let micros = |time: Time| f64::from(time.microseconds) / 1e6;
        let apart = f64::from(time.microseconds) - f64::from(last.microseconds);
        let interval = (time.seconds - last.seconds) as f64 + apart / 1e6;
        let begun = last.seconds - last.seconds % step_s;
        let over = time.seconds - time.seconds % step_s;
        let (before, after) = if over > begun {
            ((over - last.seconds) as f64 - micros(last), (time.seconds % step_s) as f64 + micros(time))
        } else {
            (interval, 0.0)
        };
        let steps = ((over - begun) / step_s) as u64;
        Passed { interval, before, after, steps, steps_before: (begun / step_s) as u64 }
    }

    /// What came since the last sample, rate times seconds, of each data source.
    fn amounts(
        &self,
        shape: &Shape,
        interval: f64,
        values: &[Value<'_>],
        amounts: &mut Vec<f64>,
    ) -> Result<(), Refused> {
        amounts.clear();
        let mut values = values.iter();
        for (number, source) in shape.sources.iter().enumerate() {
            if source.kind == SourceKind::Compute {
                amounts.push(UNKNOWN);
                continue;
            }
            let value = values.next().unwrap_or(&Value::Unknown);
            let last = self.last_words(number);
            amounts.push(reading::amount(source, value, last, interval)?);
        }
        Ok(())
    }

    fn keep_readings(&mut self, shape: &Shape, values: &[Value<'_>]) {
        let mut values = values.iter();
        for (number, source) in shape.sources.iter().enumerate() {
            let computed = source.kind == SourceKind::Compute;
            let value = if computed { &Value::Unknown } else { values.next().unwrap_or(&Value::Unknown) };
            let at = shape.live.pdp(number);
            if let Some(words) = self.live.get_mut(at..at + LAST_READING_WORDS) {
                value.keep(words);
            }
        }
    }

    fn last_words(&self, source: usize) -> &[u64] {
        let at = self.shape.live.pdp(source);
        &self.live[at..at + LAST_READING_WORDS]
    }

    fn number(&self, at: usize) -> f64 {
        f64::from_bits(self.live[at])
    }

    /// Within a step only what is gathered grows; otherwise primary values are made, and rows of them.
    fn advance(&mut self, shape: &Shape, mut passed: Passed, time: Time, amounts: &mut [f64], rows: &mut Rows) {
        if passed.steps == 0 {
            for (source, amount) in amounts.iter().enumerate() {
                self.gather(shape.live.pdp(source), passed.interval, *amount);
            }
            return;
        }
        let open_s = passed.before as u64 % shape.step_s;
        if passed.steps > 1 && open_s > 0 {
            self.close_open_step(shape, &mut passed, open_s as f64, time, amounts, rows);
        }
        self.finish_steps(shape, &passed, time, amounts, rows);
    }

    /// Of several steps the first, which had begun before, gets its share of what came, and is made by itself.
    fn close_open_step(
        &mut self,
        shape: &Shape,
        passed: &mut Passed,
        open_s: f64,
        time: Time,
        amounts: &mut [f64],
        rows: &mut Rows,
    ) {
        let share = |amount: &mut f64| {
            if amount.is_nan() || passed.interval <= 0.0 {
                return UNKNOWN;
            }
            let share = *amount * open_s / passed.interval;
            *amount -= share;
            share
        };
        let shares: Vec<f64> = amounts.iter_mut().map(share).collect();
        let one = Passed { interval: open_s, before: open_s, after: 0.0, steps: 1, steps_before: passed.steps_before };
        self.finish_steps(shape, &one, time, &shares, rows);
        passed.interval -= open_s;
        passed.before -= open_s;
        passed.steps -= 1;
        passed.steps_before += 1;
    }

    fn finish_steps(&mut self, shape: &Shape, passed: &Passed, time: Time, amounts: &[f64], rows: &mut Rows) {
        let mut primary = core::mem::take(&mut rows.primary);
        self.primary(shape, passed, time, amounts, &mut primary);
        for (source, amount) in amounts.iter().enumerate() {
            self.begin_step(shape.live.pdp(source), passed, *amount);
        }
        (0..shape.rings.len()).for_each(|ring| self.consolidate(shape, ring, passed, &primary, rows));
        rows.primary = primary;
    }

    fn gather(&mut self, at: usize, interval: f64, amount: f64) {
        if amount.is_nan() {
            let unknown_s = &mut self.live[at + PDP_UNKNOWN_S];
            *unknown_s = (*unknown_s as f64 + interval.floor()) as u64;
            return;
        }
        let so_far = self.number(at + PDP_VALUE);
        let value = if so_far.is_nan() { amount } else { so_far + amount };
        self.live[at + PDP_VALUE] = value.to_bits();
    }

    /// The rate of the steps that are over, of each data source; computed ones are made of those before them, and are
    /// unknown if that fails.
    fn primary(&self, shape: &Shape, passed: &Passed, time: Time, amounts: &[f64], primary: &mut Vec<f64>) {
        primary.clear();
        for (number, source) in shape.sources.iter().enumerate() {
            let value = match &source.computed {
                Some(expression) => computed(expression, shape.step_s, time, primary).unwrap_or(UNKNOWN),
                None => self.rate(shape, number, passed, amounts[number]),
            };
            primary.push(value);
        }
    }

    /// Unknown if too much of the step is, or the sample came later than the heartbeat allows.
    fn rate(&self, shape: &Shape, source: usize, passed: &Passed, amount: f64) -> f64 {
        let at = shape.live.pdp(source);
        let unknown_s = self.live[at + PDP_UNKNOWN_S];
        // C compares its lower half as a number with a sign.
        let too_much = (shape.step_s as f64 / 2.0) < f64::from(unknown_s as u32 as i32);
        if passed.interval > shape.sources[source].heartbeat_s as f64 || too_much {
            return UNKNOWN;
        }
        let mut value = f64::from_bits(self.live[at + PDP_VALUE]);
        let mut unknown_at_the_end = 0.0;
        if amount.is_nan() {
            unknown_at_the_end = passed.before;
        } else {
            value = (if value.is_nan() { 0.0 } else { value }) + amount / passed.interval * passed.before;
        }
        let known_s = passed.steps.wrapping_mul(shape.step_s).wrapping_sub(unknown_s);
        value / (known_s as f64 - unknown_at_the_end)
    }

    /// What came after the last step that is over begins the present one.
    fn begin_step(&mut self, at: usize, passed: &Passed, amount: f64) {
        let (unknown_s, value) = if amount.is_nan() {
            (passed.after.floor() as u64, UNKNOWN)
        } else {
            (0, amount / passed.interval * passed.after)
        };
        self.live[at + PDP_UNKNOWN_S] = unknown_s;
        self.live[at + PDP_VALUE] = value.to_bits();
    }

    /// Rows of an archive that the steps finish: the first of what was prepared, the others of the new value alone.
    fn consolidate(&mut self, shape: &Shape, number: usize, passed: &Passed, primary: &[f64], rows: &mut Rows) {
        let ring = &shape.rings[number];
        let to_the_first = ring.steps_per_row - passed.steps_before % ring.steps_per_row;
        // Field: of more rows than there are as many are written as there are, so that the next one is not where a
        // clock would have it.
        let finished = passed.steps.checked_sub(to_the_first).map_or(0, |more| more / ring.steps_per_row + 1);
        let finished = finished.min(ring.rows);
        let at = shape.live.cdp(number, 0);
        let cells = self.live[at..].chunks_exact_mut(crate::shape::CDP_WORDS);
        for (cell, value) in cells.zip(primary) {
            let cell = Cell { words: cell, of: ring.consolidation, per_row: ring.steps_per_row };
            if ring.steps_per_row == 1 {
                cell.each_step(*value, passed.steps);
            } else if finished > 0 {
                cell.finish(*value, passed.steps, to_the_first, ring.unknown_share_max);
            } else {
                cell.gather(*value, passed.steps);
            }
        }
        if finished == 0 {
            return;
        }
        let row = shape.live.row(number);
        let (prepared, pointers) = self.live[at..].split_at_mut(row - at);
        let value = |source: usize, place: usize| prepared[source * crate::shape::CDP_WORDS + place];
        let target = rows.ring(number, ring.rows, primary.len());
        let first = (0..primary.len()).map(|source| value(source, CDP_PRIMARY));
        pointers[0] = target.put(pointers[0], first);
        let others = (0..primary.len()).map(|source| value(source, CDP_SECONDARY));
        pointers[0] = target.put_many(pointers[0], finished - 1, others);
    }
}

/// What an archive prepares of a data source.
struct Cell<'a> {
    words: &'a mut [u64],
    of: Consolidation,
    per_row: u64,
}

impl Cell<'_> {
    fn number(&self, place: usize) -> f64 {
        f64::from_bits(self.words[place])
    }

    fn put(&mut self, place: usize, value: f64) {
        self.words[place] = value.to_bits();
    }

    /// A row for each step: nothing to consolidate.
    fn each_step(mut self, value: f64, steps: u64) {
        self.put(CDP_PRIMARY, value);
        if steps > 1 {
            self.put(CDP_SECONDARY, value);
        }
    }

    /// No row is over.
    fn gather(mut self, value: f64, steps: u64) {
        if value.is_nan() {
            self.words[CDP_UNKNOWN] = self.words[CDP_UNKNOWN].wrapping_add(steps);
            return;
        }
        let so_far = self.number(CDP_VALUE);
        let weighed = value * if self.of == Consolidation::Average { steps as f64 } else { 1.0 };
        let now = match self.of {
            _ if so_far.is_nan() => weighed,
            Consolidation::Average => so_far + weighed,
            Consolidation::Min if value >= so_far => so_far,
            Consolidation::Max if value <= so_far => so_far,
            _ => value,
        };
        self.put(CDP_VALUE, now);
    }

    /// At least one row is over.
    fn finish(mut self, value: f64, steps: u64, to_the_first: u64, unknown_share_max: f64) {
        if value.is_nan() {
            self.words[CDP_UNKNOWN] = self.words[CDP_UNKNOWN].wrapping_add(to_the_first);
        }
        self.put(CDP_SECONDARY, if value.is_nan() { UNKNOWN } else { value });
        if self.words[CDP_UNKNOWN] as f64 > self.per_row as f64 * unknown_share_max {
            self.put(CDP_PRIMARY, UNKNOWN);
        } else {
            let primary = self.primary(value, to_the_first);
            self.put(CDP_PRIMARY, primary);
        }
        let over = (steps - to_the_first) % self.per_row;
        let carried = self.carried(value, over);
        self.put(CDP_VALUE, carried);
        self.words[CDP_UNKNOWN] = if value.is_nan() { over } else { 0 };
    }

    fn primary(&self, value: f64, to_the_first: u64) -> f64 {
        let known = |value: f64, otherwise: f64| if value.is_nan() { otherwise } else { value };
        let so_far = self.number(CDP_VALUE);
        match self.of {
            Consolidation::Average => {
                let sum = known(so_far, 0.0) + known(value, 0.0) * to_the_first as f64;
                sum / self.per_row.wrapping_sub(self.words[CDP_UNKNOWN]) as f64
            }
            Consolidation::Max => {
                let (so_far, value) = (known(so_far, f64::NEG_INFINITY), known(value, f64::NEG_INFINITY));
                if value > so_far { value } else { so_far }
            }
            Consolidation::Min => {
                let (so_far, value) = (known(so_far, f64::INFINITY), known(value, f64::INFINITY));
                if value < so_far { value } else { so_far }
            }
            _ => value,
        }
    }

    /// What the present row begins with.
    fn carried(&self, value: f64, over: u64) -> f64 {
        let nothing = over == 0 || value.is_nan();
        match self.of {
            Consolidation::Max if nothing => f64::NEG_INFINITY,
            Consolidation::Min if nothing => f64::INFINITY,
            Consolidation::Average if nothing => 0.0,
            Consolidation::Average => value * over as f64,
            _ if nothing => UNKNOWN,
            _ => value,
        }
    }
}

/// `NOW` is the sample's time, so that the same samples make the same file at any time.
pub(crate) fn computed(
    expression: &crate::rpn::Expression,
    step_s: u64,
    time: Time,
    primary: &[f64],
) -> Result<f64, crate::rpn::Stuck> {
    let row = Row {
        time_s: 0,
        index: primary.len(),
        step_s: step_s as i64,
        previous: UNKNOWN,
        calendar: Calendar::utc(time.seconds),
    };
    let variable = |number: usize| Variable { values: primary.get(number..).unwrap_or(&[]), step_s: 1 };
    Machine::new(expression, |_| 1).row(&row, variable)
}
