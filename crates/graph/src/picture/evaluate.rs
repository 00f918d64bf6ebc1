//! A plan and a span of time become numbers.

use super::plan::{Plan, Planned, Taken};
use super::{Ask, Files, NoPicture};
use crate::template::{Color, Function, ItemKind, LegendWord, Severity, Side};
use trunkline_rrd::graph::{Definition, Sheet, Span};
use trunkline_rrd::rpn::Calendar;
use trunkline_rrd::{Consolidation, Fault, Question, Series, graph};

/// The greatest number of unknown rows that stand for a file that is not there.
const UNKNOWN_ROWS_MAX: i64 = 100_000;

/// A graph in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// When the first row begins, seconds of Unix.
    pub start_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// How many rows.
    pub rows: usize,
    /// What is drawn, in order.
    pub drawn: Vec<Drawn>,
    /// Lines at a value or at a time.
    pub rules: Vec<Rule>,
    /// Thresholds.
    pub thresholds: Vec<(f64, Side, Severity, String)>,
    /// What stands in the legend beside.
    pub prints: Vec<Print>,
    /// Data sources without a file: nothing has been read yet.
    pub without_file: Vec<u32>,
}

/// How something is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// A line.
    Line,
    /// A filled area.
    Area,
    /// A mark where it is not zero.
    Tick,
}

/// What is drawn over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The name of the definition.
    pub name: String,
    /// Its text in the legend.
    pub label: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// The colour; none is nothing that is seen, and that others may stand on.
    pub color: Option<Color>,
    /// The width of a line, or the height of a mark as a part of the graph's.
    pub width: f64,
    /// Whether it stands on the one before it.
    pub stack: bool,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// Its rows; NaN is unknown.
    pub values: Vec<f64>,
    /// All numbers that a legend may have.
    pub figures: Figures,
    /// Those that the template wants.
    pub legend: Vec<LegendWord>,
}

/// Numbers of a series over the span; NaN is unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The last value that is known.
    pub last: f64,
    /// The mean.
    pub average: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The 95th percentile of what is known.
    pub p95: f64,
    /// The sum over time.
    pub total: f64,
}

/// A line at a value, or at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Whether it is at a time (seconds of Unix) and not at a value.
    pub at_time: bool,
    /// Where; NaN where that is unknown.
    pub value: f64,
    /// The colour.
    pub color: Option<Color>,
    /// Lengths of dashes and gaps.
    pub dashes: Vec<u32>,
    /// Its text in the legend.
    pub label: String,
}

/// A text of the legend, with a number or without.
#[derive(Clone, Debug, PartialEq)]
pub struct Print {
    /// The text.
    pub label: String,
    /// The number; none is a comment, NaN is unknown.
    pub value: Option<f64>,
    /// How it is written, as rrdtool does.
    pub format: String,
}

/// Computes a plan. A data source without a file is unknown.
///
/// # Errors
/// [`NoPicture::Fault`]: a file cannot be read or has no such series or archive, or an expression cannot be computed.
pub fn picture(plan: &Plan, ask: &Ask, now_s: i64, files: &dyn Files) -> Result<Picture, NoPicture> {
    let span = Span::of_width(ask.start_s - ask.shift_s, ask.end_s - ask.shift_s, ask.width, 1);
    let (there, without_file): (Vec<u32>, Vec<u32>) =
        plan.sources().into_iter().partition(|source| files.path(*source).is_some());
    let sheet = sheet(plan, ask, &there)?;
    let figures = sheet.calculate(&span, Calendar::utc(now_s), |file, question| match file.parse() {
        Ok(source) => files.rows(source, question),
        Err(_) => Ok(unknown(&plan.taken, question)),
    })?;
    let seen = Seen { plan, figures: &figures };
    let mut picture = seen.picture(&span)?;
    picture.start_s += ask.shift_s;
    picture.thresholds = thresholds(plan)?;
    picture.without_file = without_file;
    Ok(picture)
}

/// What has no file is computed to be unknown of something that has one, so that it has no step of its own.
fn sheet(plan: &Plan, ask: &Ask, there: &[u32]) -> Result<Sheet, Fault> {
    let mut sheet = Sheet::default();
    let has_file = |taken: &&Taken| taken.source.is_some_and(|source| there.contains(&source));
    let first = plan.taken.iter().find(has_file);
    for taken in plan.taken.iter().filter(|taken| has_file(taken) || first.is_none()) {
        let definition = Definition {
            file: taken.source.filter(|_| first.is_some()).map(|source| source.to_string()).unwrap_or_default(),
            source: taken.series.clone(),
            consolidation: consolidation(ask.function.unwrap_or(taken.function)),
            reduce: None,
            start_s: None,
            end_s: None,
            step_s: None,
        };
        sheet.rows(&taken.name, definition)?;
    }
    if let Some(first) = first {
        for taken in plan.taken.iter().filter(|taken| !has_file(taken)) {
            sheet.expression(&taken.name, &format!("{},POP,UNKN", first.name))?;
        }
    }
    plan.computed.iter().try_for_each(|(name, text)| sheet.expression(name, text))?;
    plan.values.iter().try_for_each(|(name, text)| sheet.measure(name, text))?;
    Ok(sheet)
}

/// How values become one, in the words of files.
pub(super) fn consolidation(function: Function) -> Consolidation {
    match function {
        Function::Average => Consolidation::Average,
        Function::Min => Consolidation::Min,
        Function::Max => Consolidation::Max,
        Function::Last => Consolidation::Last,
    }
}

/// What stands for files where there is none at all.
fn unknown(taken: &[Taken], question: &Question) -> Series {
    let length_s = (question.end_s - question.start_s).max(1);
    let step_s = (question.step_s.min(1 << 40) as i64).max(length_s / UNKNOWN_ROWS_MAX).max(1);
    let start_s = question.start_s - question.start_s % step_s;
    let rows = (question.end_s - start_s) / step_s + 1;
    let mut names: Vec<String> = taken.iter().map(|one| one.series.clone()).collect();
    names.sort();
    names.dedup();
    let values = vec![f64::NAN; rows as usize * names.len()];
    Series { start_s, end_s: start_s + rows * step_s, step_s, names, values }
}

/// Expressions of numbers alone.
fn thresholds(plan: &Plan) -> Result<Vec<(f64, Side, Severity, String)>, Fault> {
    let mut thresholds = Vec::new();
    for threshold in &plan.thresholds {
        let value = constant(&threshold.value)?;
        if !value.is_nan() {
            thresholds.push((value, threshold.side, threshold.severity, threshold.label.clone()));
        }
    }
    Ok(thresholds)
}

/// The value of an expression of numbers. The engine computes over rows: here over one of which nothing is known.
pub(super) fn constant(text: &str) -> Result<f64, Fault> {
    let mut sheet = Sheet::default();
    let definition = Definition {
        file: String::new(),
        source: "nothing".to_owned(),
        consolidation: Consolidation::Average,
        reduce: None,
        start_s: None,
        end_s: None,
        step_s: None,
    };
    sheet.rows("nothing", definition)?;
    sheet.expression("value", &format!("nothing,POP,{text},0,+"))?;
    let span = Span { start_s: 0, end_s: 1, step_s: 1 };
    let figures = sheet.calculate(&span, Calendar::utc(0), |_, _| {
        let names = vec!["nothing".to_owned()];
        Ok(Series { start_s: 0, end_s: 1, step_s: 1, names, values: vec![f64::NAN] })
    })?;
    Ok(figures.line("value").and_then(|line| line.values.first().copied()).unwrap_or(f64::NAN))
}

struct Seen<'p> {
    plan: &'p Plan,
    figures: &'p graph::Figures,
}

impl Seen<'_> {
    fn picture(&self, span: &Span) -> Result<Picture, Fault> {
        let drawn: Vec<&Planned> = self.plan.items.iter().filter(|item| stroke(item.kind).is_some()).collect();
        let lines: Vec<&str> =
            drawn.iter().map(|item| item.value.as_str()).filter(|name| self.figures.line(name).is_some()).collect();
        let (start_s, step_s, rows, columns) = match lines.is_empty() {
            true => {
                let step_s = span.step_s as i64;
                let start_s = span.start_s - span.start_s % step_s;
                (start_s, step_s, ((span.end_s - start_s) / step_s).max(0) as usize, Vec::new())
            }
            false => {
                let table = self.figures.table(&lines)?;
                let columns = (0..table.columns)
                    .map(|column| table.values.iter().skip(column).step_by(table.columns).copied().collect());
                let columns: Vec<Vec<f64>> = columns.collect();
                (table.start_s, table.step_s, columns[0].len(), columns)
            }
        };
        let mut columns = columns.into_iter();
        let drawn = drawn.into_iter().filter_map(|item| {
            let is_line = self.figures.line(&item.value).is_some();
            let values = if is_line { columns.next()? } else { vec![self.value(&item.value); rows] };
            self.drawn(item, values)
        });
        let drawn = drawn.collect();
        Ok(Picture {
            start_s,
            step_s,
            rows,
            drawn,
            rules: self.plan.items.iter().filter_map(|item| self.rule(item)).collect(),
            thresholds: Vec::new(),
            prints: self.plan.items.iter().filter_map(|item| self.print(item)).collect(),
            without_file: Vec::new(),
        })
    }

    fn drawn(&self, item: &Planned, values: Vec<f64>) -> Option<Drawn> {
        Some(Drawn {
            name: item.value.clone(),
            label: item.label.trim().to_owned(),
            stroke: stroke(item.kind)?,
            color: item.color,
            width: item.width,
            stack: item.stack,
            dashes: item.dashes.clone(),
            values,
            figures: self.figures(&item.value),
            legend: item.numbers.clone(),
        })
    }

    fn figures(&self, name: &str) -> Figures {
        let Some(line) = self.figures.line(name) else {
            let value = self.value(name);
            return Figures { last: value, average: value, min: value, max: value, p95: value, total: f64::NAN };
        };
        let summary = |by| self.figures.summary(name, by).unwrap_or(f64::NAN);
        Figures {
            last: summary(Consolidation::Last),
            average: summary(Consolidation::Average),
            min: summary(Consolidation::Min),
            max: summary(Consolidation::Max),
            p95: graph::Measure::PercentileOfKnown(95.0).of(line).value,
            total: graph::Measure::Total.of(line).value,
        }
    }

    /// Of a value of all times, or a number as it stands.
    fn value(&self, text: &str) -> f64 {
        let measured = self.figures.measured(text).map(|measured| measured.value);
        measured.or_else(|| text.parse().ok()).unwrap_or(f64::NAN)
    }

    fn rule(&self, item: &Planned) -> Option<Rule> {
        let at_time = match item.kind {
            ItemKind::Hrule => false,
            ItemKind::Vrule => true,
            _ => return None,
        };
        // A mark at the time of a value is at that time (rrdgraph_graph(1): VRULE).
        let at = self.figures.measured(&item.value).and_then(|measured| measured.at_s).map(|at_s| at_s as f64);
        let value = at.filter(|_| at_time).unwrap_or_else(|| self.value(&item.value));
        let label = item.label.trim().to_owned();
        Some(Rule { at_time, value, color: item.color, dashes: item.dashes.clone(), label })
    }

    fn print(&self, item: &Planned) -> Option<Print> {
        let value = match item.kind {
            ItemKind::Comment => None,
            ItemKind::Print => {
                let summary = self.figures.summary(&item.value, consolidation(item.function));
                Some(summary.unwrap_or_else(|| self.value(&item.value)))
            }
            _ => return None,
        };
        Some(Print { label: item.label.trim().to_owned(), value, format: item.format.clone() })
    }
}

fn stroke(kind: ItemKind) -> Option<Stroke> {
    match kind {
        ItemKind::Line => Some(Stroke::Line),
        ItemKind::Area => Some(Stroke::Area),
        ItemKind::Tick => Some(Stroke::Tick),
        _ => None,
    }
}
