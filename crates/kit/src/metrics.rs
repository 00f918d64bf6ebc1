//! Metrics as Prometheus reads them: text format 0.0.4.

use crate::counters::Counted;
use core::fmt::{self, Write as _};
use std::collections::BTreeMap;

/// The content type of [`exposition`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Samples of one exposition; more are left out, and `trunkline_metrics_samples_overflow_total` says how many.
// Limit: samples of one answer of `/metrics`
// Beyond: further samples are left out
// Seen in: `trunkline_metrics_samples_overflow_total`
pub const SAMPLES_MAX: usize = 10_000;
/// Characters of a label's value; the rest is cut off.
// Limit: length of a label's value in `/metrics`
// Beyond: the rest is cut off
// Seen in: the value ends there
pub const LABEL_CHARS_MAX: usize = 128;

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A value: counts exactly, everything else as a number with a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A count.
    Whole(u64),
    /// Anything else.
    Real(f64),
}

/// One value of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Metric name: `trunkline_<job>_<what>_<unit>`, a counter's ends in `_total`.
    pub name: &'static str,
    /// What it says, for people.
    pub help: &'static str,
    /// What it is.
    pub kind: Kind,
    /// What tells it from other values of the metric, such as `lane` and `class`: no number and no address of anyone.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: Number,
}

impl Sample {
    /// A value that goes up and down.
    pub fn gauge(name: &'static str, help: &'static str, value: f64) -> Self {
        Sample { name, help, kind: Kind::Gauge, labels: Vec::new(), value: Number::Real(value) }
    }

    /// A count.
    pub fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Sample { name, help, kind: Kind::Counter, labels: Vec::new(), value: Number::Whole(value) }
    }

    /// The same with a label.
    pub fn label(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.labels.push((name, value.to_string().chars().take(LABEL_CHARS_MAX).collect()));
        self
    }
}

impl From<Counted> for Sample {
    fn from(counted: Counted) -> Self {
        Sample::counter(counted.name, counted.help, counted.value)
    }
}

/// Counters of a thread as samples, all with one label: `labelled(counters.list(), "lane", 3)`.
pub fn labelled(counted: Vec<Counted>, name: &'static str, value: impl fmt::Display) -> Vec<Sample> {
    counted.into_iter().map(|counted| Sample::from(counted).label(name, &value)).collect()
}

/// The samples as text. What has the same name and labels is one line: counts are added up, of gauges the last holds.
pub fn exposition(samples: &[Sample]) -> String {
    let mut out = String::new();
    let left_out = samples.len().saturating_sub(SAMPLES_MAX);
    let mut metrics: BTreeMap<&str, Metric<'_>> = BTreeMap::new();
    for sample in samples.iter().take(SAMPLES_MAX) {
        metrics.entry(sample.name).or_insert_with(|| Metric::of(sample)).take(sample);
    }
    for (name, metric) in &metrics {
        metric.write(name, &mut out);
    }
    if left_out > 0 {
        let help = "samples that were left out because there are too many";
        let overflow = Sample::counter(
            "trunkline_metrics_samples_overflow_total",
            help,
            u64::try_from(left_out).unwrap_or(u64::MAX),
        );
        let mut metric = Metric::of(&overflow);
        metric.take(&overflow);
        metric.write(overflow.name, &mut out);
    }
    out
}

/// All values of one metric.
struct Metric<'a> {
    help: &'a str,
    kind: Kind,
    values: BTreeMap<String, Number>,
}

impl<'a> Metric<'a> {
    fn of(sample: &Sample) -> Self
    where
        'static: 'a,
    {
        Metric { help: sample.help, kind: sample.kind, values: BTreeMap::new() }
    }

    fn take(&mut self, sample: &Sample) {
        let labels = labels(&sample.labels);
        let value = match (self.kind, self.values.get(&labels), sample.value) {
            (Kind::Counter, Some(Number::Whole(before)), Number::Whole(more)) => {
                Number::Whole(before.saturating_add(more))
            }
            (_, _, value) => value,
        };
        self.values.insert(labels, value);
    }

    fn write(&self, name: &str, out: &mut String) {
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# HELP {name} {}", escaped(self.help, false));
        let _ = writeln!(out, "# TYPE {name} {kind}");
        for (labels, value) in &self.values {
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    }
}

/// Numbers as the format wants them: those of Go's ParseFloat.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(value) => value.fmt(f),
            Number::Real(value) if value.is_nan() => f.write_str("NaN"),
            Number::Real(value) if value.is_infinite() => f.write_str(if *value > 0.0 { "+Inf" } else { "-Inf" }),
            Number::Real(value) => value.fmt(f),
        }
    }
}

/// `{lane="0",class="sip"}`, or nothing.
fn labels(labels: &[(&'static str, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let all: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true))).collect();
    format!("{{{}}}", all.join(","))
}

/// The format's escapes: backslash and line feed, in labels the quote, too.
fn escaped(text: &str, quote: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if quote { text.replace('"', "\\\"") } else { text }
}

/// Makes a struct of `f64` gauges with their metric names, as [`counters!`](crate::counters) makes one of counters.
///
/// ```
/// trunkline_kit::gauges! {
///     /// How full things are.
///     pub struct Fill {
///         /// share of the ring that is in use
///         ring: "trunkline_capture_ring_fill_ratio",
///     }
/// }
/// assert_eq!(Fill { ring: 0.5 }.list()[0].help, "share of the ring that is in use");
/// ```
#[macro_export]
macro_rules! gauges {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident { $(#[doc = $help:literal] $field:ident: $metric:literal,)+ }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        $vis struct $name { $(#[doc = $help] pub $field: f64,)+ }

        impl $name {
            /// All gauges with names and help.
            pub fn list(&self) -> Vec<$crate::metrics::Sample> {
                vec![$($crate::metrics::Sample::gauge($metric, $help.trim_ascii(), self.$field),)+]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_text_format() {
        let samples = [
            Sample::counter("trunkline_capture_packets_total", "packets", 7).label("lane", 1),
            Sample::gauge("trunkline_capture_ring_fill_ratio", "fill\\of \n it", 0.25),
            Sample::counter("trunkline_capture_packets_total", "packets", 5)
                .label("lane", 0)
                .label("class", "a\"b\\\n"),
            Sample::counter("trunkline_capture_packets_total", "packets", 3).label("lane", 1),
            Sample::gauge("trunkline_capture_ring_fill_ratio", "", f64::NEG_INFINITY).label("lane", 2),
        ];
        let text = "# HELP trunkline_capture_packets_total packets\n\
            # TYPE trunkline_capture_packets_total counter\n\
            trunkline_capture_packets_total{lane=\"0\",class=\"a\\\"b\\\\\\n\"} 5\n\
            trunkline_capture_packets_total{lane=\"1\"} 10\n\
            # HELP trunkline_capture_ring_fill_ratio fill\\\\of \\n it\n\
            # TYPE trunkline_capture_ring_fill_ratio gauge\n\
            trunkline_capture_ring_fill_ratio 0.25\n\
            trunkline_capture_ring_fill_ratio{lane=\"2\"} -Inf\n";
        assert_eq!(exposition(&samples), text);
    }

    #[test]
    fn too_many_samples_are_counted() {
        let samples: Vec<Sample> =
            (0..SAMPLES_MAX + 3).map(|i| Sample::counter("trunkline_x_y_total", "x", 1).label("i", i)).collect();
        let text = exposition(&samples);
        assert!(text.ends_with("trunkline_metrics_samples_overflow_total 3\n"));
        let long = Sample::gauge("trunkline_x_y_ratio", "x", 1.0).label("l", "x".repeat(10_000));
        assert!(exposition(&[long]).len() < 300);
    }
}
