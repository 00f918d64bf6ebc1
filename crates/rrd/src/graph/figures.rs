//! What a sheet became, and tables of it.

use std::collections::HashMap;

use super::measure::Measured;
use super::{Figure, LINE_ROWS_MAX, Span, greatest_divisor};
use crate::fault::Fault;
use crate::number::UNKNOWN;
use crate::shape::Consolidation;

/// Rows of one thing over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Before the first row.
    pub start_s: i64,
    /// After the last one.
    pub end_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// Its rows; NaN is unknown.
    pub values: Vec<f64>,
    /// How far it was moved in time.
    pub(super) shift_s: i64,
}

impl Line {
    /// The value of the row that begins at a time, or in which it is.
    #[must_use]
    pub fn at(&self, time_s: i64) -> f64 {
        let row = usize::try_from((time_s - self.start_s).div_euclid(self.step_s));
        row.ok().and_then(|row| self.values.get(row)).copied().unwrap_or(UNKNOWN)
    }
}

/// Lines beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Before the first row.
    pub start_s: i64,
    /// After the last one.
    pub end_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// How many lines.
    pub columns: usize,
    /// Row by row a value of each line.
    pub values: Vec<f64>,
}

/// What a sheet became.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    span: Span,
    figures: Vec<Figure>,
    names: HashMap<String, usize>,
}

impl Figures {
    pub(super) fn new(span: Span, figures: Vec<Figure>, names: HashMap<String, usize>) -> Figures {
        Figures { span, figures, names }
    }

    /// A `DEF` or `CDEF`, as far as it was moved by the last `SHIFT`.
    #[must_use]
    pub fn line(&self, name: &str) -> Option<&Line> {
        match self.figures.get(*self.names.get(name)?) {
            Some(Figure::Line(line)) => Some(line),
            _ => None,
        }
    }

    /// A `VDEF`.
    #[must_use]
    pub fn measured(&self, name: &str) -> Option<Measured> {
        match self.figures.get(*self.names.get(name)?) {
            Some(Figure::Measured(measured)) => Some(*measured),
            _ => None,
        }
    }

    /// One value of a line, as `PRINT:line:AVERAGE` has it: of finite rows.
    #[must_use]
    pub fn summary(&self, name: &str, by: Consolidation) -> Option<f64> {
        let finite = || self.line(name).into_iter().flat_map(|line| &line.values).copied().filter(|v| v.is_finite());
        self.line(name)?;
        let value = match by {
            Consolidation::Min => finite().reduce(f64::min),
            Consolidation::Max | Consolidation::Failures => finite().reduce(f64::max),
            Consolidation::Last => finite().next_back(),
            _ => finite().reduce(|sum, value| sum + value).map(|sum| sum / finite().count() as f64),
        };
        Some(value.unwrap_or(UNKNOWN))
    }

    /// Lines beside each other over the span, as `rrdtool xport` has them, in a step that divides all of theirs.
    ///
    /// # Errors
    /// [`Fault::Asked`]: no names, one that is no line, or too many rows.
    pub fn table(&self, names: &[&str]) -> Result<Table, Fault> {
        let line = |name: &&str| self.line(name).ok_or_else(|| Fault::asked(format!("'{name}' is no line")));
        let lines = names.iter().map(line).collect::<Result<Vec<_>, _>>()?;
        let step_s = lines.iter().map(|line| line.step_s).reduce(greatest_divisor);
        let step_s = step_s.ok_or_else(|| Fault::asked("a table of no lines"))?;
        let start_s = self.span.start_s - self.span.start_s % step_s;
        let end_s = self.span.end_s - self.span.end_s % step_s;
        let end_s = if self.span.end_s > end_s { end_s + step_s } else { end_s };
        let rows = (end_s - start_s) / step_s;
        if rows.saturating_mul(lines.len() as i64) > LINE_ROWS_MAX {
            return Err(Fault::asked(format!("a table of {rows} rows of {step_s} s")));
        }
        let times = (0..rows).map(|row| start_s + row * step_s);
        let values = times.flat_map(|time_s| lines.iter().map(move |line| line.at(time_s))).collect();
        Ok(Table { start_s, end_s, step_s, columns: lines.len(), values })
    }
}
