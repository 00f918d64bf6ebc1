//! What `rrdtool info` tells of a file, line by line.

use core::fmt;

use crate::archive::Archive;
use crate::shape::{Consolidation, SourceKind};

/// A fact of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it is about: `ds[in].type`, `rra[0].rows`.
    pub key: String,
    /// What it is.
    pub value: FactValue,
}

/// What a fact is.
#[derive(Clone, Debug, PartialEq)]
pub enum FactValue {
    /// Text.
    Text(String),
    /// A count.
    Count(u64),
    /// A number; NaN is unknown.
    Number(f64),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = ", self.key)?;
        match &self.value {
            FactValue::Text(text) => write!(f, "\"{text}\""),
            FactValue::Count(count) => write!(f, "{count}"),
            FactValue::Number(number) => f.write_str(&number_text(*number)),
        }
    }
}

/// As C prints `%0.10e`, and unknown ones `NaN`.
#[must_use]
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let text = format!("{number:.10e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{mantissa}e{sign}{power:0>2}")
}

/// All facts of a file, in rrdtool's order.
#[must_use]
pub fn facts(archive: &Archive, file_name: &str) -> Vec<Fact> {
    let shape = archive.shape();
    let mut facts = Facts(Vec::new());
    facts.text("filename", file_name);
    facts.text("rrd_version", &shape.version);
    facts.count("step", shape.step_s);
    facts.count("last_update", archive.last().seconds as u64);
    facts.count("header_size", shape.header_octets as u64);
    (0..shape.sources.len()).for_each(|source| source_facts(archive, source, &mut facts));
    (0..shape.rings.len()).for_each(|ring| ring_facts(archive, ring, &mut facts));
    facts.0
}

struct Facts(Vec<Fact>);

impl Facts {
    fn text(&mut self, key: impl Into<String>, text: &str) {
        self.0.push(Fact { key: key.into(), value: FactValue::Text(text.to_owned()) });
    }

    fn count(&mut self, key: impl Into<String>, count: u64) {
        self.0.push(Fact { key: key.into(), value: FactValue::Count(count) });
    }

    fn number(&mut self, key: impl Into<String>, number: f64) {
        self.0.push(Fact { key: key.into(), value: FactValue::Number(number) });
    }
}

fn source_facts(archive: &Archive, number: usize, facts: &mut Facts) {
    let shape = archive.shape();
    let source = &shape.sources[number];
    let key = |what: &str| format!("ds[{}].{what}", source.name);
    facts.count(key("index"), number as u64);
    facts.text(key("type"), source.kind.name());
    match &source.computed {
        Some(expression) if source.kind == SourceKind::Compute => {
            let name = |source: usize| shape.sources.get(source).map(|s| s.name.clone()).unwrap_or_default();
            facts.text(key("cdef"), &expression.text(name));
        }
        _ => {
            facts.count(key("minimal_heartbeat"), source.heartbeat_s);
            facts.number(key("min"), source.min);
            facts.number(key("max"), source.max);
        }
    }
    facts.text(key("last_ds"), &archive.last_reading(number));
    let (value, unknown_s) = archive.gathered(number);
    facts.number(key("value"), value);
    facts.count(key("unknown_sec"), unknown_s);
}

fn ring_facts(archive: &Archive, number: usize, facts: &mut Facts) {
    let ring = &archive.shape().rings[number];
    let key = |what: &str| format!("rra[{number}].{what}");
    let parameter = |place: usize| f64::from_bits(ring.parameters[place]);
    facts.text(key("cf"), ring.consolidation.name());
    facts.count(key("rows"), ring.rows);
    facts.count(key("cur_row"), archive.row(number));
    facts.count(key("pdp_per_row"), ring.steps_per_row);
    match ring.consolidation {
        Consolidation::HwPredict | Consolidation::MhwPredict => {
            facts.number(key("alpha"), parameter(1));
            facts.number(key("beta"), parameter(2));
        }
        Consolidation::Seasonal | Consolidation::DevSeasonal => {
            facts.number(key("gamma"), parameter(1));
            if archive.shape().version.as_str() >= "0004" {
                facts.number(key("smoothing_window"), parameter(2));
            }
        }
        Consolidation::Failures => {
            facts.number(key("delta_pos"), parameter(1));
            facts.number(key("delta_neg"), parameter(2));
            facts.count(key("failure_threshold"), ring.parameters[5]);
            facts.count(key("window_length"), ring.parameters[4]);
        }
        Consolidation::DevPredict => {}
        _ => facts.number(key("xff"), ring.unknown_share_max),
    }
    (0..archive.shape().sources.len()).for_each(|source| prepared_facts(archive, number, source, facts));
}

fn prepared_facts(archive: &Archive, ring: usize, source: usize, facts: &mut Facts) {
    let words = archive.prepared(ring, source);
    let key = |what: &str| format!("rra[{ring}].cdp_prep[{source}].{what}");
    let number = |place: usize| f64::from_bits(words[place]);
    let shape = &archive.shape().rings[ring];
    match shape.consolidation {
        Consolidation::HwPredict | Consolidation::MhwPredict => {
            facts.number(key("intercept"), number(2));
            facts.number(key("slope"), number(4));
            facts.count(key("NaN_count"), words[6]);
        }
        Consolidation::Seasonal => facts.number(key("seasonal"), number(2)),
        Consolidation::DevSeasonal => facts.number(key("deviation"), number(2)),
        Consolidation::DevPredict => {}
        Consolidation::Failures => {
            // One octet of the words for each of the last values, at most 28.
            let octets: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let length = usize::try_from(shape.parameters[4]).unwrap_or(usize::MAX).min(28);
            let history = octets[..length].iter().map(|octet| if *octet == 1 { '1' } else { '0' });
            facts.text(key("history"), &history.collect::<String>());
        }
        _ => {
            facts.number(key("value"), number(0));
            facts.count(key("unknown_datapoints"), words[1]);
        }
    }
}
