//! Definitions of data sources and archives, as `rrdtool create` takes them, and the files that they make.

use std::sync::Arc;

use crate::archive::{Archive, Time, computed};
use crate::fault::Fault;
use crate::number::{self, UNKNOWN};
use crate::rpn;
use crate::shape::{
    COOKIE, Consolidation, DS_DEF, DS_PARAMETERS, FLOAT_COOKIE, NAME, RRA_DEF, RRA_PARAMETERS, STAT_HEAD, Shape,
    SourceKind, is_source_name,
};

/// Octets of a file that is made or written: all rows of all archives of all data sources. It is a year of seconds of
/// two data sources with two archives; larger files of others are read.
// Limit: size of a round-robin file that is made or written
// Beyond: the order is refused; larger files are read, not written
// Seen in: the error message
pub const FILE_OCTETS_MAX: u64 = 1 << 30;
/// The first time that a file may begin with: ten years of 365 days after 1970.
pub const START_S_MIN: i64 = 3600 * 24 * 365 * 10;
/// The last one.
pub const START_S_MAX: i64 = (1 << 40) - 1;

/// A file that is to be made: definitions that are read one after the other.
#[derive(Clone, Debug)]
pub struct Plan {
    step_s: u64,
    sources: Vec<(String, SourceKind)>,
    definitions: Vec<[u8; DS_DEF]>,
    rings: Vec<[u8; RRA_DEF]>,
}

impl Plan {
    /// A plan without anything, of a step in seconds.
    ///
    /// # Errors
    /// [`Fault::Asked`]: no step, or one beyond [`crate::STEP_S_MAX`].
    pub fn new(step_s: u64) -> Result<Plan, Fault> {
        if !(1..=crate::STEP_S_MAX).contains(&step_s) {
            return Err(Fault::asked(format!("a step of {step_s} s, 1 to {} can be", crate::STEP_S_MAX)));
        }
        Ok(Plan { step_s, sources: Vec::new(), definitions: Vec::new(), rings: Vec::new() })
    }

    /// A plan of a step and definitions, as they stand on rrdtool's command line.
    ///
    /// # Errors
    /// [`Fault::Asked`] names the definition that was not understood.
    pub fn read<'a>(step_s: u64, definitions: impl IntoIterator<Item = &'a str>) -> Result<Plan, Fault> {
        let mut plan = Plan::new(step_s)?;
        definitions.into_iter().try_for_each(|definition| plan.define(definition))?;
        Ok(plan)
    }

    /// Adds `DS:name:type:heartbeat:min:max`, `DS:name:COMPUTE:expression` or `RRA:function:xff:steps:rows`. Heartbeat,
    /// steps and rows may be said as times: `5m`, `2d`.
    ///
    /// # Errors
    /// [`Fault::Asked`]: it is not understood, comes twice, or is one more than can be. The text says which and why.
    pub fn define(&mut self, definition: &str) -> Result<(), Fault> {
        let result = match definition.split_once(':') {
            Some(("DS", rest)) => self.define_source(rest),
            Some(("RRA", rest)) => self.define_ring(rest),
            _ => Err("it begins with DS: or RRA:".to_owned()),
        };
        result.map_err(|why| Fault::asked(format!("'{definition}': {why}")))
    }

    fn define_source(&mut self, text: &str) -> Result<(), String> {
        let mut parts = text.splitn(3, ':');
        let (Some(name), Some(kind), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("it is name, type and arguments, with colons between".to_owned());
        };
        if !is_source_name(name) {
            return Err(format!("'{name}' is no name of 1 to 19 letters, digits, _ and -"));
        }
        if self.sources.iter().any(|(known, _)| known == name) {
            return Err(format!("there is a data source '{name}' already"));
        }
        if self.sources.len() >= crate::SOURCES_MAX {
            return Err(format!("more than {} data sources", crate::SOURCES_MAX));
        }
        let kind = SourceKind::named(kind).ok_or_else(|| format!("there is no type '{kind}'"))?;
        let parameters = if kind == SourceKind::Compute { self.computed(rest)? } else { bounds(rest)? };
        let mut definition = [0; DS_DEF];
        definition[..name.len()].copy_from_slice(name.as_bytes());
        definition[NAME..NAME + kind.name().len()].copy_from_slice(kind.name().as_bytes());
        definition[DS_PARAMETERS..].copy_from_slice(&parameters);
        self.definitions.push(definition);
        self.sources.push((name.to_owned(), kind));
        Ok(())
    }

    /// Of data sources that stand before it.
    fn computed(&self, text: &str) -> Result<[u8; rpn::COMPACT_OCTETS], String> {
        let lookup = |name: &str| self.sources.iter().position(|(known, _)| known == name);
        let expression = rpn::parse(text, lookup).map_err(|misread| misread.to_string())?;
        let ones = vec![1.0; self.sources.len()];
        computed(&expression, self.step_s, Time::default(), &ones).map_err(|stuck| stuck.to_string())?;
        rpn::pack(&expression)
    }

    fn define_ring(&mut self, text: &str) -> Result<(), String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [function, share, steps, rows] = parts[..] else {
            return Err("it is function, xff, steps and rows, with colons between".to_owned());
        };
        let plain = Consolidation::named(function).filter(|function| function.is_plain());
        let plain = plain.ok_or_else(|| format!("'{function}' is none of AVERAGE, MIN, MAX and LAST"))?;
        let share = number::parse(share).filter(|share| (0.0..1.0).contains(share));
        let share = share.ok_or("the share that may be unknown (xff) is from 0 to less than 1")?;
        let steps = duration(steps, self.step_s).map_err(|why| format!("steps: {why}"))?;
        let row_s = steps.checked_mul(self.step_s).filter(|row_s| *row_s <= crate::STEP_S_MAX);
        let row_s = row_s.ok_or_else(|| format!("a row is longer than {} s", crate::STEP_S_MAX))?;
        let rows = duration(rows, row_s).map_err(|why| format!("rows: {why}"))?;
        if rows > crate::ROWS_MAX || self.rings.len() >= crate::ARCHIVES_MAX {
            return Err(format!("more than {} rows, or than {} archives", crate::ROWS_MAX, crate::ARCHIVES_MAX));
        }
        let mut definition = [0; RRA_DEF];
        definition[..plain.name().len()].copy_from_slice(plain.name().as_bytes());
        definition[24..32].copy_from_slice(&rows.to_le_bytes());
        definition[32..40].copy_from_slice(&steps.to_le_bytes());
        definition[RRA_PARAMETERS..RRA_PARAMETERS + 8].copy_from_slice(&share.to_le_bytes());
        self.rings.push(definition);
        Ok(())
    }

    /// The header of a file whose first sample is to come after `start_s`. `first_row` says the row, of so many, that
    /// an archive is at in the beginning: rrdtool draws lots, so that not all files wrap at the same time.
    ///
    /// # Errors
    /// [`Fault::Asked`]: no data source, no archive, a start before 1980, or a file beyond [`FILE_OCTETS_MAX`].
    pub fn create(&self, start_s: i64, mut first_row: impl FnMut(u64) -> u64) -> Result<Made, Fault> {
        if self.sources.is_empty() || self.rings.is_empty() {
            return Err(Fault::asked("a file has at least one data source and one archive"));
        }
        if !(START_S_MIN..=START_S_MAX).contains(&start_s) {
            return Err(Fault::asked(format!("a file begins after 1980, not at {start_s}")));
        }
        let mut still = self.head();
        self.definitions.iter().for_each(|definition| still.extend_from_slice(definition));
        self.rings.iter().for_each(|definition| still.extend_from_slice(definition));
        let mut octets = still.clone();
        octets.resize(Shape::header_octets(&still)?, 0);
        let shape = Arc::new(Shape::read(&octets)?);
        if shape.file_octets > FILE_OCTETS_MAX {
            return Err(Fault::asked(format!("a file of {} octets, {FILE_OCTETS_MAX} can be", shape.file_octets)));
        }
        let live = begin(&shape, start_s, &mut first_row);
        Ok(Made { archive: Archive::made(shape, live), still })
    }

    fn head(&self) -> Vec<u8> {
        let fractions =
            |(_, kind): &(String, SourceKind)| matches!(kind, SourceKind::DoubleCounter | SourceKind::DoubleDerive);
        let version = if self.sources.iter().any(fractions) { b"0005" } else { b"0003" };
        let mut head = vec![0; STAT_HEAD];
        head[..4].copy_from_slice(COOKIE);
        head[4..8].copy_from_slice(version);
        head[16..24].copy_from_slice(&FLOAT_COOKIE.to_le_bytes());
        head[24..32].copy_from_slice(&(self.sources.len() as u64).to_le_bytes());
        head[32..40].copy_from_slice(&(self.rings.len() as u64).to_le_bytes());
        head[40..48].copy_from_slice(&self.step_s.to_le_bytes());
        head
    }
}

/// A file that was made, and is nowhere yet.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its state.
    pub archive: Archive,
    /// The part of its header that updates do not change.
    pub still: Vec<u8>,
}

impl Made {
    /// The whole file: its header, and rows of which nothing is known.
    #[must_use]
    pub fn octets(&self) -> Vec<u8> {
        let mut octets = self.still.clone();
        self.archive.write_live(&mut octets);
        let unknown = UNKNOWN.to_le_bytes();
        let values = (self.archive.shape().file_octets as usize - octets.len()) / 8;
        octets.reserve(values * 8);
        (0..values).for_each(|_| octets.extend_from_slice(&unknown));
        octets
    }
}

/// Nothing is known since the present step began.
fn begin(shape: &Shape, start_s: i64, first_row: &mut impl FnMut(u64) -> u64) -> Vec<u64> {
    let start_s = start_s as u64;
    let mut live = vec![0; shape.live.words()];
    live[0] = start_s;
    let of_step_s = start_s % shape.step_s;
    for source in 0..shape.sources.len() {
        let at = shape.live.pdp(source);
        live[at] = u64::from(b'U');
        live[at + 4] = of_step_s;
        live[at + 5] = UNKNOWN.to_bits();
    }
    for (number, ring) in shape.rings.iter().enumerate() {
        for source in 0..shape.sources.len() {
            let at = shape.live.cdp(number, source);
            live[at] = UNKNOWN.to_bits();
            live[at + 1] = (start_s - of_step_s) % (shape.step_s * ring.steps_per_row) / shape.step_s;
        }
        live[shape.live.row(number)] = first_row(ring.rows) % ring.rows;
    }
    live
}

/// `heartbeat:min:max`.
fn bounds(text: &str) -> Result<[u8; rpn::COMPACT_OCTETS], String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [heartbeat, min, max] = parts[..] else {
        return Err("its arguments are heartbeat, min and max, with colons between".to_owned());
    };
    let heartbeat_s = duration(heartbeat, 1).map_err(|why| format!("heartbeat: {why}"))?;
    let (min, max) = (bound(min)?, bound(max)?);
    if min >= max {
        return Err(format!("min {min} is not less than max {max}"));
    }
    let mut parameters = [0; rpn::COMPACT_OCTETS];
    parameters[..8].copy_from_slice(&heartbeat_s.to_le_bytes());
    parameters[8..16].copy_from_slice(&min.to_le_bytes());
    parameters[16..24].copy_from_slice(&max.to_le_bytes());
    Ok(parameters)
}

/// A bound, or `U` for none.
pub(crate) fn bound(text: &str) -> Result<f64, String> {
    if text == "U" {
        return Ok(UNKNOWN);
    }
    number::parse(text).filter(|_| text.len() <= 18).ok_or_else(|| format!("'{text}' is neither a number nor U"))
}

/// A count, or a time with its unit (s, m, h, d, w, M of 31 days, y of 366 days) that is a multiple of `unit_s`.
///
/// # Errors
/// The text says what is wrong.
pub fn duration(text: &str, unit_s: u64) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at(digits);
    let count: u64 = count.parse().map_err(|_| format!("'{text}' is no whole number with a unit"))?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        "M" => 31 * 86_400,
        "y" => 366 * 86_400,
        _ => return Err(format!("'{text}' ends in none of s, m, h, d, w, M, y")),
    };
    let value = count.checked_mul(seconds).filter(|value| *value > 0);
    let value = value.ok_or_else(|| format!("'{text}' is nothing, or too much"))?;
    if unit.is_empty() {
        return Ok(value);
    }
    if value % unit_s != 0 {
        return Err(format!("'{text}' is no multiple of {unit_s} s"));
    }
    Ok(value / unit_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_that_cannot_be_are_refused_with_a_reason() {
        let told = |definition: &str| Plan::new(300).unwrap().define(definition).unwrap_err().to_string();
        assert!(told("DS:a b:GAUGE:600:U:U").contains("'a b' is no name"));
        assert!(told("DS:a:GAUGE:600:5:5").contains("not less than max"));
        assert!(told("DS:a:GUAGE:600:U:U").contains("no type 'GUAGE'"));
        assert!(told("DS:a:COMPUTE:b,2,*").contains("'b' is neither"));
        assert!(told("DS:a:COMPUTE:TIME").contains("TIME is not for computed"));
        assert!(told("RRA:AVERAGE:1:1:10").contains("xff"));
        assert!(told("RRA:HWPREDICT:10:0.1:0.1:5").contains("function, xff"));
        assert!(told("RRA:AVERAGE:0.5:7m:10").contains("no multiple of 300 s"));
        assert!(told("XX:1").contains("begins with DS: or RRA:"));
    }

    #[test]
    fn times_are_counts() {
        assert_eq!(duration("5m", 60), Ok(5));
        assert_eq!(duration("2d", 300), Ok(576));
        assert_eq!(duration("600", 300), Ok(600));
        assert!(duration("-1", 1).is_err() && duration("0", 1).is_err() && duration("1x", 1).is_err());
    }
}
