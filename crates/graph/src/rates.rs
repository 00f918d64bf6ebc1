//! What samples come to: levels as they are, counters as what came in a second. As a round-robin file has it where
//! samples come with its steps; between them a file is smoother.

use crate::files::{Limits, limits};
use crate::inventory::Inventory;
use crate::targets;
use crate::template::{Library, SeriesKind};
use trunkline_rrd::Value;

/// The series of a data source, and its sample before.
#[derive(Clone, Debug)]
pub struct Rates {
    series: Vec<Series>,
    before: Option<(i64, Vec<Value<'static>>)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    kind: SeriesKind,
    min: f64,
    max: f64,
    heartbeat_s: f64,
}

impl Rates {
    /// Of a data source; none if its template is not there.
    pub fn of(inventory: &Inventory, library: &Library, source: u32) -> Option<Rates> {
        let template = targets::template(inventory, library, source)?;
        let series = template.series.iter().map(|series| {
            let Limits { heartbeat, min, max } = limits(inventory, library, source, series)?;
            let bound = |text: &str, none: f64| text.parse::<f64>().ok().filter(|n| n.is_finite()).unwrap_or(none);
            Some(Series {
                name: series.name.clone(),
                kind: series.kind,
                min: bound(&min, f64::NEG_INFINITY),
                max: bound(&max, f64::INFINITY),
                heartbeat_s: heartbeat.into(),
            })
        });
        Some(Rates { series: series.collect::<Option<Vec<_>>>()?, before: None })
    }

    /// Goes on where another one was, if it is of the same series.
    pub fn following(self, other: Rates) -> Rates {
        let same = self.series.iter().map(|series| &series.name).eq(other.series.iter().map(|series| &series.name));
        Rates { before: other.before.filter(|_| same), ..self }
    }

    /// What a sample comes to, by the names of its series; none where that is not known.
    pub fn take(&mut self, unix_ms: i64, values: &[Value<'static>]) -> Vec<(&str, Option<f64>)> {
        let before = self.before.replace((unix_ms, values.to_vec()));
        let passed_s = before.as_ref().map_or(0.0, |(before_ms, _)| (unix_ms - before_ms) as f64 / 1000.0);
        let one = |(at, series): (usize, &Series)| {
            let value = values.get(at).unwrap_or(&Value::Unknown);
            let last = before.as_ref().and_then(|(_, values)| values.get(at)).unwrap_or(&Value::Unknown);
            series.value(value, last, passed_s)
        };
        let all: Vec<Option<f64>> = self.series.iter().enumerate().map(one).collect();
        self.series.iter().map(|series| series.name.as_str()).zip(all).collect()
    }
}

impl Series {
    fn value(&self, value: &Value<'static>, last: &Value<'static>, passed_s: f64) -> Option<f64> {
        let is_timely = passed_s > 0.0 && passed_s <= self.heartbeat_s;
        let per_second = |amount: Option<f64>| amount.filter(|_| is_timely).map(|amount| amount / passed_s);
        let rate = match self.kind {
            SeriesKind::Gauge => number(value),
            SeriesKind::Absolute => per_second(number(value)),
            SeriesKind::Counter => per_second(counted(value, last)),
            SeriesKind::Derive => per_second(moved(value, last)),
            SeriesKind::Dcounter => per_second(number(value).zip(number(last)).map(|(now, before)| now - before))
                .filter(|rate| *rate >= 0.0),
            SeriesKind::Dderive => per_second(number(value).zip(number(last)).map(|(now, before)| now - before)),
        };
        rate.filter(|rate| rate.is_finite() && (self.min..=self.max).contains(rate))
    }
}

/// A counter that went back has wrapped at 32 bits, or at 64.
// Field: rrdtool adds one less than what was passed by (`rrd_update.c`), and so do files.
fn counted(value: &Value<'static>, last: &Value<'static>) -> Option<f64> {
    let (now, before) = (whole(value)?, whole(last)?);
    let mut difference = now - before;
    if difference < 0 {
        difference += (1 << 32) - 1;
    }
    if difference < 0 {
        difference += (1 << 64) - (1 << 32);
    }
    Some(difference as f64)
}

fn moved(value: &Value<'static>, last: &Value<'static>) -> Option<f64> {
    Some((whole(value)? - whole(last)?) as f64)
}

fn whole(value: &Value<'static>) -> Option<i128> {
    match value {
        Value::Unsigned(number) => Some((*number).into()),
        Value::Signed(number) => Some((*number).into()),
        _ => None,
    }
}

fn number(value: &Value<'static>) -> Option<f64> {
    match value {
        Value::Unsigned(number) => Some(*number as f64),
        Value::Signed(number) => Some(*number as f64),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const STEP_S: i64 = 60;

    fn of(kind: SeriesKind) -> Rates {
        let (min, max) = (f64::NEG_INFINITY, 1e9);
        Rates { series: vec![Series { name: "v".to_owned(), kind, min, max, heartbeat_s: 120.0 }], before: None }
    }

    /// What rrdtool has in its file after each of these samples.
    fn rrdtool(kind: SeriesKind, samples: &[(i64, &str)]) -> Option<Vec<Option<f64>>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("v.rrd");
        let file = file.to_str().unwrap();
        let run = |arguments: &[&str]| {
            let out = Command::new("rrdtool").args(arguments).output().ok()?;
            assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
            Some(String::from_utf8(out.stdout).unwrap())
        };
        let begin = samples[0].0 - STEP_S;
        let source = format!("DS:v:{}:120:U:1000000000", kind.name().to_uppercase());
        let begins = begin.to_string();
        run(&["create", file, "--step", "60", "--start", &begins, &source, "RRA:LAST:0.5:1:100"])?;
        for (at_s, value) in samples {
            run(&["update", file, &format!("{at_s}:{value}")])?;
        }
        let end = samples.last().unwrap().0.to_string();
        let told = run(&["fetch", file, "LAST", "--start", &begins, "--end", &end])?;
        let rows = told.lines().filter_map(|line| line.split_once(": "));
        let value = |(_, value): (&str, &str)| value.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        Some(rows.map(value).take(samples.len()).collect())
    }

    #[test]
    fn a_sample_comes_to_what_rrdtool_makes_of_it() {
        let wide = u64::MAX - 100;
        let all: [(SeriesKind, Vec<Value<'static>>); 6] = [
            (SeriesKind::Gauge, vec![Value::Unsigned(7), Value::Signed(-3), Value::Unknown, Value::Float(2.5)]),
            (SeriesKind::Counter, [10, 70, 4_294_967_290, 50, 50].into_iter().map(Value::Unsigned).collect()),
            (SeriesKind::Counter, [wide, wide + 60, 200].into_iter().map(Value::Unsigned).collect()),
            (SeriesKind::Derive, [1000, 400, 400, 1000].into_iter().map(Value::Unsigned).collect()),
            (SeriesKind::Absolute, [600, 0, 60].into_iter().map(Value::Unsigned).collect()),
            (SeriesKind::Counter, vec![Value::Unsigned(1), Value::Unknown, Value::Unsigned(61), Value::Unsigned(121)]),
        ];
        for (kind, values) in all {
            let text = |value: &Value<'static>| match value {
                Value::Unsigned(number) => number.to_string(),
                Value::Signed(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                _ => "U".to_owned(),
            };
            let texts: Vec<String> = values.iter().map(text).collect();
            let times = (0..).map(|n| 1_700_000_040 + n * STEP_S);
            let samples: Vec<(i64, &str)> = times.clone().zip(texts.iter().map(String::as_str)).collect();
            let Some(expected) = rrdtool(kind, &samples) else {
                eprintln!("SKIPPED: there is no rrdtool");
                return;
            };
            let mut rates = of(kind);
            let ours: Vec<Option<f64>> =
                times.zip(&values).map(|(at_s, value)| rates.take(at_s * 1000, &[*value])[0].1).collect();
            // The first sample of what came since the last has nothing before it here, and the file's begin there.
            let from = usize::from(kind == SeriesKind::Absolute);
            // rrdtool counts in double precision, also what is far beyond it.
            let is_long = values.iter().any(|value| matches!(value, Value::Unsigned(number) if *number > 1 << 53));
            let rounded = if is_long { 2048.0 / STEP_S as f64 } else { 0.0 };
            let same = ours[from..].iter().zip(&expected[from..]).all(|(one, other)| match (one, other) {
                (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * other.abs() + rounded,
                (one, other) => one == other,
            });
            assert!(same, "{kind:?} {texts:?}: {ours:?}, rrdtool {expected:?}");
        }
    }

    #[test]
    fn what_came_too_late_is_no_rate() {
        let mut rates = of(SeriesKind::Counter);
        assert_eq!(rates.take(0, &[Value::Unsigned(0)]), [("v", None)]);
        assert_eq!(rates.take(120_000, &[Value::Unsigned(120)]), [("v", Some(1.0))]);
        assert_eq!(rates.take(240_001, &[Value::Unsigned(240)]), [("v", None)]);
        assert_eq!(rates.take(240_001, &[Value::Unsigned(240)]), [("v", None)]);
        assert_eq!(rates.take(241_001, &[Value::Unsigned(u64::MAX)]), [("v", None)], "more than its greatest");
    }
}
