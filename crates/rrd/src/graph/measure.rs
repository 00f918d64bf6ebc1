//! One figure of a line: what `VDEF` makes.

use super::figures::Line;
use crate::number::{self, UNKNOWN};
use crate::rpn::order;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// The largest value, and when its row ended.
    Maximum,
    /// The smallest value, and when its row ended.
    Minimum,
    /// The mean of finite values.
    Average,
    /// Their standard deviation.
    Deviation,
    /// The first known value, and when its row began.
    First,
    /// The last known value, and when its row ended.
    Last,
    /// Values times seconds: of octets a second, octets.
    Total,
    /// The value that so many of a hundred do not exceed; unknown ones are the smallest.
    Percentile(f64),
    /// The same, of those that are known.
    PercentileOfKnown(f64),
    /// The slope of the straight line nearest to them, per row.
    Slope,
    /// Where that line is at the first row.
    Intercept,
    /// How near they are to it, -1 to 1.
    Correlation,
}

/// A figure, and the time that it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// What was measured; NaN is unknown.
    pub value: f64,
    /// When, seconds of Unix, where it is of a time.
    pub at_s: Option<i64>,
}

impl Measure {
    /// `MAXIMUM`, or `95,PERCENT`.
    ///
    /// # Errors
    /// The text says what is wrong.
    pub fn parse(text: &str) -> Result<Measure, String> {
        let (parameter, function) = match text.rsplit_once(',') {
            Some((parameter, function)) => (Some(parameter), function),
            None => (None, text),
        };
        let plain = match function {
            "MAXIMUM" => Some(Measure::Maximum),
            "MINIMUM" => Some(Measure::Minimum),
            "AVERAGE" => Some(Measure::Average),
            "STDEV" => Some(Measure::Deviation),
            "FIRST" => Some(Measure::First),
            "LAST" => Some(Measure::Last),
            "TOTAL" => Some(Measure::Total),
            "LSLSLOPE" => Some(Measure::Slope),
            "LSLINT" => Some(Measure::Intercept),
            "LSLCORREL" => Some(Measure::Correlation),
            "PERCENT" | "PERCENTNAN" => None,
            _ => return Err(format!("'{function}' is no function of a VDEF")),
        };
        let percent = parameter.map(|parameter| {
            let percent = number::parse(parameter).filter(|percent| (0.0..=100.0).contains(percent));
            percent.ok_or_else(|| format!("'{parameter}' is not from 0 to 100"))
        });
        match (plain, percent.transpose()?) {
            (Some(plain), None) => Ok(plain),
            (Some(_), Some(_)) => Err(format!("{function} takes no parameter")),
            (None, Some(percent)) if function == "PERCENT" => Ok(Measure::Percentile(percent)),
            (None, Some(percent)) => Ok(Measure::PercentileOfKnown(percent)),
            (None, None) => Err(format!("{function} needs a parameter")),
        }
    }

    /// Measures a line.
    #[must_use]
    pub fn of(&self, line: &Line) -> Measured {
        match self {
            Measure::Maximum => extreme(line, |value, best| value > best),
            Measure::Minimum => extreme(line, |value, best| value < best),
            Measure::First => known(line).next().map_or(NOTHING, |(row, value)| found(line, value, row)),
            Measure::Last => known(line).next_back().map_or(NOTHING, |(row, value)| found(line, value, row + 1)),
            Measure::Average => timeless(average(line)),
            Measure::Deviation => timeless(deviation(line)),
            Measure::Total => timeless(sum(line).map(|(sum, _)| sum * line.step_s as f64)),
            Measure::Percentile(percent) => timeless(percentile(line.values.clone(), *percent)),
            Measure::PercentileOfKnown(percent) => {
                timeless(percentile(known(line).map(|(_, value)| value).collect(), *percent))
            }
            Measure::Slope => timeless(Fit::of(line).map(|fit| fit.slope())),
            Measure::Intercept => timeless(Fit::of(line).map(|fit| fit.intercept())),
            Measure::Correlation => timeless(Fit::of(line).map(|fit| fit.correlation())),
        }
    }
}

const NOTHING: Measured = Measured { value: UNKNOWN, at_s: None };

fn timeless(value: Option<f64>) -> Measured {
    Measured { value: value.unwrap_or(UNKNOWN), at_s: None }
}

fn found(line: &Line, value: f64, row: usize) -> Measured {
    Measured { value, at_s: Some(line.start_s + row as i64 * line.step_s) }
}

fn known(line: &Line) -> impl DoubleEndedIterator<Item = (usize, f64)> {
    line.values.iter().copied().enumerate().filter(|(_, value)| !value.is_nan())
}

fn finite(line: &Line) -> impl Iterator<Item = (usize, f64)> {
    line.values.iter().copied().enumerate().filter(|(_, value)| value.is_finite())
}

/// The first known value, even an infinite one, or a finite one that is beyond it.
fn extreme(line: &Line, beyond: fn(f64, f64) -> bool) -> Measured {
    let best = known(line).reduce(|best, one| if one.1.is_finite() && beyond(one.1, best.1) { one } else { best });
    best.map_or(NOTHING, |(row, value)| found(line, value, row + 1))
}

fn sum(line: &Line) -> Option<(f64, f64)> {
    let add = |(sum, count), (_, value): (usize, f64)| (sum + value, count + 1.0);
    Some(finite(line).fold((0.0, 0.0), add)).filter(|(_, count)| *count > 0.0)
}

fn average(line: &Line) -> Option<f64> {
    sum(line).map(|(sum, count)| sum / count)
}

/// Of all of them, not of a sample.
fn deviation(line: &Line) -> Option<f64> {
    let (sum, count) = sum(line)?;
    let mean = sum / count;
    let squares = finite(line).fold(0.0, |squares, (_, value)| squares + (value - mean).powi(2));
    Some((squares / count).powf(0.5))
}

fn percentile(mut values: Vec<f64>, percent: f64) -> Option<f64> {
    values.sort_by(order);
    let last = values.len().checked_sub(1)?;
    values.get((percent * last as f64 / 100.0).round() as usize).copied()
}

/// Least squares over the numbers of rows.
#[derive(Default)]
struct Fit {
    count: f64,
    x: f64,
    y: f64,
    xy: f64,
    xx: f64,
    yy: f64,
}

impl Fit {
    fn of(line: &Line) -> Option<Fit> {
        let fit = finite(line).fold(Fit::default(), |fit, (row, y)| {
            let x = row as f64;
            Fit {
                count: fit.count + 1.0,
                x: fit.x + x,
                y: fit.y + y,
                xy: fit.xy + x * y,
                xx: fit.xx + x * x,
                yy: fit.yy + y * y,
            }
        });
        Some(fit).filter(|fit| fit.count > 0.0)
    }

    fn slope(&self) -> f64 {
        (self.x * self.y - self.count * self.xy) / (self.x * self.x - self.count * self.xx)
    }

    fn intercept(&self) -> f64 {
        (self.y - self.slope() * self.x) / self.count
    }

    fn correlation(&self) -> f64 {
        let spread_x = self.xx - self.x * self.x / self.count;
        let spread_y = self.yy - self.y * self.y / self.count;
        (self.xy - self.x * self.y / self.count) / (spread_x * spread_y).sqrt()
    }
}
