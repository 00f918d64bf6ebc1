//! Readings: what they are, what they mean since the last one, and the text that a file keeps of it.

use core::fmt::Write as _;

use crate::fault::{Fault, Refused};
use crate::number::{self, UNKNOWN};
use crate::shape::{Shape, Source, SourceKind};

/// Octets of the text of a reading that a file keeps; what is longer is cut.
pub const READING_OCTETS_MAX: usize = 29;
/// Digits of a counter; a difference of longer ones is unknown.
const DIGITS_MAX: usize = 30;

/// A sample's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Of Unix.
    pub seconds: i64,
    /// Below a million.
    pub microseconds: u32,
}

impl Time {
    /// Whole seconds.
    #[must_use]
    pub fn at(seconds: i64) -> Time {
        Time { seconds, microseconds: 0 }
    }

    /// Seconds with a fraction as text, as `rrdtool update` reads them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Time> {
        let time = number::parse(text).filter(|time| time.is_finite())?;
        let seconds = time.floor();
        Some(Time { seconds: seconds as i64, microseconds: ((time - seconds) * 1e6) as u32 })
    }
}

/// A reading of a data source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Nothing is known since the last one.
    Unknown,
    /// A counter.
    Unsigned(u64),
    /// A counter that may go down, below nothing.
    Signed(i64),
    /// A number; NaN is unknown.
    Float(f64),
    /// As `rrdtool update` takes it: `U` and what begins so is unknown.
    Text(&'a str),
}

/// A reading that stands alone, which can wait.
pub type Reading = Value<'static>;

impl Value<'_> {
    /// Its text, as a file keeps it.
    fn write(&self, into: &mut Text) {
        // Nothing can fail there: what is too long is cut.
        let _ = match self {
            Value::Unknown => into.write_str("U"),
            Value::Unsigned(number) => write!(into, "{number}"),
            Value::Signed(number) => write!(into, "{number}"),
            Value::Float(number) if number.is_nan() => into.write_str("U"),
            Value::Float(number) => write_float(*number, into),
            Value::Text(text) => into.write_str(text),
        };
    }

    pub(super) fn keep(&self, words: &mut [u64]) {
        let mut text = Text::default();
        if let Value::Unsigned(number) = self {
            text.digits(*number);
        } else {
            self.write(&mut text);
        }
        // The last two octets are no part of the text, and nobody writes them.
        let rest = words.get(3).copied().unwrap_or(0) & 0xffff_0000_0000_0000;
        for (word, octets) in words.iter_mut().zip(text.octets.chunks_exact(8)) {
            *word = u64::from_le_bytes(octets.try_into().unwrap_or_default());
        }
        if let Some(word) = words.get_mut(3) {
            *word |= rest;
        }
    }

    fn is_unknown(&self) -> bool {
        match self {
            Value::Unknown => true,
            Value::Float(number) => number.is_nan(),
            Value::Text(text) => text.starts_with('U'),
            Value::Unsigned(_) | Value::Signed(_) => false,
        }
    }
}

/// As short as it can be said, with a power of ten where it would not have room without.
fn write_float(number: f64, into: &mut Text) -> core::fmt::Result {
    let plain = (1e-5..1e16).contains(&number.abs()) || number == 0.0;
    if plain { write!(into, "{number}") } else { write!(into, "{number:e}") }
}

/// The text in its room of 30 octets, with two that only align.
#[derive(Default)]
struct Text {
    octets: [u8; 32],
    length: usize,
}

impl Text {
    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.octets[..self.length]).unwrap_or("")
    }

    fn digits(&mut self, mut number: u64) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.length = digits.len() - at;
        self.octets[..self.length].copy_from_slice(&digits[at..]);
    }
}

impl core::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let room = (READING_OCTETS_MAX - self.length).min(text.len());
        self.octets[self.length..self.length + room].copy_from_slice(&text.as_bytes()[..room]);
        self.length += room;
        Ok(())
    }
}

/// The text that words hold, to its end.
pub(super) fn text(words: &[u64]) -> String {
    let octets = octets(words);
    String::from_utf8_lossy(until_end(&octets)).into_owned()
}

fn octets(words: &[u64]) -> [u8; 32] {
    let mut octets = [0; 32];
    for (into, word) in octets.chunks_exact_mut(8).zip(words) {
        into.copy_from_slice(&word.to_le_bytes());
    }
    octets
}

fn until_end(octets: &[u8; 32]) -> &[u8] {
    let octets = &octets[..=READING_OCTETS_MAX];
    &octets[..octets.iter().position(|octet| *octet == 0).unwrap_or(READING_OCTETS_MAX)]
}

/// What came since the last reading: rate times seconds. Unknown if it came too late, or its rate is out of bounds.
pub(super) fn amount(source: &Source, value: &Value<'_>, last: &[u64], interval: f64) -> Result<f64, Refused> {
    let heartbeat_s = source.heartbeat_s as f64;
    if value.is_unknown() || heartbeat_s < interval {
        return Ok(UNKNOWN);
    }
    let last = octets(last);
    let last = until_end(&last);
    let (amount, rate) = match source.kind {
        SourceKind::Counter | SourceKind::Derive => {
            let amount = counted(source, value, last)?;
            (amount, amount / interval)
        }
        SourceKind::Absolute => {
            let amount = float(source, value)?;
            (amount, amount / interval)
        }
        SourceKind::Gauge => {
            let rate = float(source, value)?;
            (rate * interval, rate)
        }
        SourceKind::DoubleCounter | SourceKind::DoubleDerive => {
            let amount = counted_fractions(source, value, last)?;
            (amount, amount / interval)
        }
        SourceKind::Compute => (UNKNOWN, UNKNOWN),
    };
    let within = rate.is_nan() || !(rate > source.max || rate < source.min);
    Ok(if within { amount } else { UNKNOWN })
}

/// The difference of whole numbers; a counter that went back has wrapped at 32 bits, or else at 64.
fn counted(source: &Source, value: &Value<'_>, last: &[u8]) -> Result<f64, Refused> {
    let counter = source.kind == SourceKind::Counter;
    let mut room = Text::default();
    let text = match value {
        Value::Text(text) => text,
        value => {
            value.write(&mut room);
            room.as_str()
        }
    };
    let digits = if counter { text } else { text.strip_prefix('-').unwrap_or(text) };
    if !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        let expected = if counter { "a whole number from 0 on" } else { "a whole number" };
        return Err(refused(source, expected, text));
    }
    if last.first() == Some(&b'U') {
        return Ok(UNKNOWN);
    }
    let mut amount = difference(text.as_bytes(), last);
    if counter && amount < 0.0 {
        // Field: 2^32-1, one less than a wrap has; rrdtool 1.7.
        amount += 4_294_967_295.0;
    }
    if counter && amount < 0.0 {
        amount += 18_446_744_069_414_584_320.0;
    }
    Ok(amount)
}

/// Of two numbers in text, exact in digits before it is a double. Unknown if their signs differ or there are none.
fn difference(now: &[u8], last: &[u8]) -> f64 {
    let (Some(now), Some(last)) = (Whole::read(now), Whole::read(last)) else { return UNKNOWN };
    if now.negative != last.negative {
        return UNKNOWN;
    }
    let apart = number::of_digits(now.digits.abs_diff(last.digits));
    let apart = if now.digits < last.digits { -apart } else { apart };
    if now.negative { -apart } else { apart }
}

struct Whole {
    negative: bool,
    digits: u128,
}

impl Whole {
    /// The first digits in it; a minus anywhere before them counts.
    fn read(text: &[u8]) -> Option<Whole> {
        let begin = text.iter().position(u8::is_ascii_digit)?;
        let negative = text[..begin].contains(&b'-');
        let digits = &text[begin..];
        let length = digits.iter().position(|octet| !octet.is_ascii_digit()).unwrap_or(digits.len());
        if length > DIGITS_MAX {
            return None;
        }
        if length <= 19 {
            let digits = digits[..length].iter().fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            return Some(Whole { negative, digits: u128::from(digits) });
        }
        let digits = digits[..length].iter().fold(0, |number, digit| number * 10 + u128::from(digit - b'0'));
        Some(Whole { negative, digits })
    }
}

fn float(source: &Source, value: &Value<'_>) -> Result<f64, Refused> {
    Ok(match value {
        Value::Float(number) => *number,
        Value::Unsigned(number) => number::of_digits(u128::from(*number)),
        Value::Signed(number) => {
            let size = number::of_digits(u128::from(number.unsigned_abs()));
            if *number < 0 { -size } else { size }
        }
        Value::Text(text) => number::parse(text).ok_or_else(|| refused(source, "a number", text))?,
        Value::Unknown => UNKNOWN,
    })
}

/// Both are read from their text, so that what did not change differs by nothing.
fn counted_fractions(source: &Source, value: &Value<'_>, last: &[u8]) -> Result<f64, Refused> {
    let mut room = Text::default();
    let now = match value {
        Value::Text(text) => float(source, &Value::Text(text))?,
        value => {
            value.write(&mut room);
            float(source, &Value::Text(room.as_str()))?
        }
    };
    if last.first() == Some(&b'U') {
        return Ok(UNKNOWN);
    }
    let text = core::str::from_utf8(last).unwrap_or("");
    let last = number::parse(text).ok_or_else(|| refused(source, "after a number", text))?;
    let reset = (now > 0.0 && last > now) || (now < 0.0 && now > last);
    Ok(if source.kind == SourceKind::DoubleCounter && reset { UNKNOWN } else { now - last })
}

fn refused(source: &Source, expected: &'static str, text: &str) -> Refused {
    Refused::Value { source_name: source.name.clone(), expected, text: text.chars().take(40).collect() }
}

/// Which data sources the values of a sample are for, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// For each place in the order of the file, where its value is in a sample.
    places: Vec<Option<usize>>,
    values: usize,
}

impl Template {
    /// By names, as `rrdtool update --template` has them between colons.
    ///
    /// # Errors
    /// [`Fault::Asked`]: a name that is not there, is computed or comes twice.
    pub fn new(shape: &Shape, names: &[&str]) -> Result<Template, Fault> {
        let read: Vec<usize> = shape.read_sources().collect();
        let mut places = vec![None; read.len()];
        for (number, name) in names.iter().enumerate() {
            let source = shape.source(name).and_then(|source| read.iter().position(|r| *r == source));
            let place = source.and_then(|source| places.get_mut(source)).filter(|place| place.is_none());
            let place = place.ok_or_else(|| Fault::asked(format!("no data source '{name}' to be read once")))?;
            *place = Some(number);
        }
        Ok(Template { places, values: names.len() })
    }

    pub(super) fn ordered<'a>(&self, shape: &Shape, values: &[Value<'a>]) -> Result<Vec<Value<'a>>, Refused> {
        if values.len() != self.values || self.places.len() != shape.read_sources().count() {
            return Err(Refused::Values { got: values.len(), expected: self.values });
        }
        let value =
            |place: &Option<usize>| place.and_then(|place| values.get(place)).copied().unwrap_or(Value::Unknown);
        Ok(self.places.iter().map(value).collect())
    }
}
