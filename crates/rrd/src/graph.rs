//! The numbers of a graph: rows of files, expressions over them, and figures of those, as `rrdtool graph` and `xport`
//! make them.
//!
//! A [`Sheet`] is what stands in a graph's definition before anything is drawn: `DEF`, `CDEF`, `VDEF` and `SHIFT`, each
//! of which may use those before it. [`Sheet::calculate`] makes [`Figures`] of it for a span of time.

mod figures;
mod measure;
mod reduce;
mod script;

use std::collections::HashMap;

pub use figures::{Figures, Line, Table};
pub use measure::{Measure, Measured};
pub use reduce::reduce;

use crate::fault::Fault;
use crate::fetch::{FETCH_VALUES_MAX, Question, Series};
use crate::number::UNKNOWN;
use crate::rpn::{self, Calendar, Expression, Machine, Row, Variable};
use crate::shape::Consolidation;

/// Definitions of a sheet.
pub const ITEMS_MAX: usize = 1024;
/// Rows that an expression makes: its step is the greatest that divides all of its variables'.
// Limit: rows that one expression computes
// Beyond: the graph is not drawn
// Seen in: the error message
pub const LINE_ROWS_MAX: i64 = 1 << 22;

/// Rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The file, as who fetches knows it.
    pub file: String,
    /// The name of the data source in it.
    pub source: String,
    /// How its rows are made.
    pub consolidation: Consolidation,
    /// How rows are put together where the file has more than are needed; as they were made, if not said.
    pub reduce: Option<Consolidation>,
    /// From another time on than the span.
    pub start_s: Option<i64>,
    /// Until another one.
    pub end_s: Option<i64>,
    /// In another step than that of the span.
    pub step_s: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Item {
    Rows(Definition),
    Expression(Expression),
    Measure { of: usize, measure: Measure },
    Shift { of: usize, by: Shift },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Shift {
    Seconds(i64),
    Measured(usize),
}

/// Definitions, each of which may use those before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    items: Vec<Item>,
    names: HashMap<String, usize>,
}

/// The time that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// From this time on, seconds of Unix.
    pub start_s: i64,
    /// Until this one.
    pub end_s: i64,
    /// The step that is wished for.
    pub step_s: u64,
}

impl Span {
    /// With no more rows than a picture is wide, in no smaller step than one wished for.
    #[must_use]
    pub fn of_width(start_s: i64, end_s: i64, width: u32, step_s: u64) -> Span {
        let each_s = end_s.saturating_sub(start_s).max(0) as u64 / u64::from(width.max(1));
        Span { start_s, end_s, step_s: step_s.max(each_s).max(1) }
    }
}

impl Sheet {
    /// Adds rows of a file under a name.
    ///
    /// # Errors
    /// [`Fault::Asked`]: the name cannot be, or is there already; too many definitions.
    pub fn rows(&mut self, name: &str, definition: Definition) -> Result<(), Fault> {
        self.add(name, Item::Rows(definition))
    }

    /// Adds an expression over rows, other expressions and measures.
    ///
    /// # Errors
    /// As above, or the expression is not understood; the text says where.
    pub fn expression(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        let expression = rpn::parse(text, |name| self.names.get(name).copied());
        let expression = expression.map_err(|misread| Fault::asked(format!("{name}: {misread}")))?;
        self.add(name, Item::Expression(expression))
    }

    /// Adds a measure of rows or of an expression: `line,MAXIMUM` or `line,95,PERCENT`.
    ///
    /// # Errors
    /// As above.
    pub fn measure(&mut self, name: &str, text: &str) -> Result<(), Fault> {
        let (of, text) = text.split_once(',').unwrap_or((text, ""));
        let of = self.line(of)?;
        let measure = Measure::parse(text).map_err(|why| Fault::asked(format!("{name}: {why}")))?;
        self.add(name, Item::Measure { of, measure })
    }

    /// Moves rows or an expression in time, for what comes after it: by seconds, or by a measure.
    ///
    /// # Errors
    /// As above.
    pub fn shift(&mut self, of: &str, by: &str) -> Result<(), Fault> {
        let of = self.line(of)?;
        let by = match (by.parse(), self.names.get(by)) {
            (Ok(seconds), _) => Shift::Seconds(seconds),
            (_, Some(item)) if matches!(self.items[*item], Item::Measure { .. }) => Shift::Measured(*item),
            _ => return Err(Fault::asked(format!("'{by}' is neither a number of seconds nor a VDEF before it"))),
        };
        self.push(Item::Shift { of, by }).map(drop)
    }

    fn line(&self, name: &str) -> Result<usize, Fault> {
        let item = self.names.get(name).copied();
        let is_line = |item: &usize| matches!(self.items[*item], Item::Rows(_) | Item::Expression(_));
        item.filter(is_line).ok_or_else(|| Fault::asked(format!("'{name}' is no DEF or CDEF before it")))
    }

    fn add(&mut self, name: &str, item: Item) -> Result<(), Fault> {
        if !rpn::is_name(name) {
            return Err(Fault::asked(format!("'{}' is no name", name.escape_debug())));
        }
        if self.names.contains_key(name) {
            return Err(Fault::asked(format!("there is a definition '{name}' already")));
        }
        let number = self.push(item)?;
        self.names.insert(name.to_owned(), number);
        Ok(())
    }

    fn push(&mut self, item: Item) -> Result<usize, Fault> {
        if self.items.len() >= ITEMS_MAX {
            return Err(Fault::asked(format!("more than {ITEMS_MAX} definitions")));
        }
        self.items.push(item);
        Ok(self.items.len() - 1)
    }

    /// Calculates all of it, one after the other. `fetch` answers a question to a file.
    ///
    /// # Errors
    /// [`Fault::Asked`]: an expression cannot go on, or is of nothing but numbers; a data source is not there; too many
    /// rows. Or what `fetch` fails with.
    pub fn calculate(
        &self,
        span: &Span,
        calendar: Calendar<'_>,
        mut fetch: impl FnMut(&str, &Question) -> Result<Series, Fault>,
    ) -> Result<Figures, Fault> {
        let mut done: Vec<Figure> = Vec::with_capacity(self.items.len());
        let mut answers = Answers::default();
        for item in &self.items {
            let figure = match item {
                Item::Rows(definition) => Figure::Line(answers.line(definition, span, &mut fetch)?),
                Item::Expression(expression) => Figure::Line(evaluate(expression, &done, calendar)?),
                Item::Measure { of, measure } => Figure::Measured(match &done[*of] {
                    Figure::Line(line) => measure.of(line),
                    Figure::Measured(measured) => *measured,
                    Figure::Nothing => Measured { value: UNKNOWN, at_s: None },
                }),
                Item::Shift { of, by } => {
                    shift(&mut done, *of, *by);
                    Figure::Nothing
                }
            };
            done.push(figure);
        }
        Ok(Figures::new(*span, done, self.names.clone()))
    }
}

/// What a definition became.
#[derive(Clone, Debug, PartialEq)]
enum Figure {
    Line(Line),
    Measured(Measured),
    /// A shift has none.
    Nothing,
}

/// By whole steps; a shift takes the place of the one before it.
fn shift(done: &mut [Figure], of: usize, by: Shift) {
    let seconds = match by {
        Shift::Seconds(seconds) => seconds,
        Shift::Measured(number) => match done.get(number) {
            Some(Figure::Measured(measured)) => measured.value as i64,
            _ => 0,
        },
    };
    if let Some(Figure::Line(line)) = done.get_mut(of) {
        // Times are below 2^40: a shift beyond that leaves nothing to see, whatever it is.
        let seconds = seconds.clamp(-1 << 41, 1 << 41) / line.step_s * line.step_s;
        let more = seconds - line.shift_s;
        line.start_s += more;
        line.end_s += more;
        line.shift_s = seconds;
    }
}

/// Answers of files; that to the same question serves again for other data sources.
#[derive(Default)]
struct Answers {
    known: Vec<(String, Question, u64, Consolidation, Series)>,
}

impl Answers {
    fn line(
        &mut self,
        definition: &Definition,
        span: &Span,
        fetch: &mut impl FnMut(&str, &Question) -> Result<Series, Fault>,
    ) -> Result<Line, Fault> {
        let question = Question {
            consolidation: definition.consolidation,
            start_s: definition.start_s.unwrap_or(span.start_s),
            end_s: definition.end_s.unwrap_or(span.end_s),
            step_s: definition.step_s.unwrap_or(span.step_s),
        };
        let step_s = question.step_s.max(span.step_s);
        let by = definition.reduce.unwrap_or(definition.consolidation);
        let is_it = |known: &(String, Question, u64, Consolidation, Series)| {
            known.0 == definition.file && known.1 == question && known.2 == step_s && known.3 == by
        };
        let place = match self.known.iter().position(is_it) {
            Some(place) => place,
            None => {
                let mut series = fetch(&definition.file, &question)?;
                if (series.step_s as u64) < step_s {
                    reduce(&mut series, by, step_s)?;
                }
                self.known.push((definition.file.clone(), question, step_s, by, series));
                self.known.len() - 1
            }
        };
        let series = &self.known[place].4;
        let source = series.names.iter().position(|name| *name == definition.source).ok_or_else(|| {
            Fault::asked(format!("there is no data source '{}' in '{}'", definition.source, definition.file))
        })?;
        let values = series.values.iter().skip(source).step_by(series.names.len()).copied().collect();
        Ok(Line { start_s: series.start_s, end_s: series.end_s, step_s: series.step_s, values, shift_s: 0 })
    }
}

/// From the latest start of its variables to their earliest end.
fn evaluate(expression: &Expression, done: &[Figure], calendar: Calendar<'_>) -> Result<Line, Fault> {
    let mut expression = expression.clone();
    expression.substitute(|number| match &done[number] {
        Figure::Measured(measured) => Some(measured.value),
        _ => None,
    });
    let nothing = Line { start_s: 0, end_s: 0, step_s: 1, values: Vec::new(), shift_s: 0 };
    let line = |number: usize| match &done[number] {
        Figure::Line(line) => line,
        _ => &nothing,
    };
    let lines = || expression.variables().map(line);
    let step_s = lines().map(|line| line.step_s).reduce(greatest_divisor);
    let step_s = step_s.ok_or_else(|| Fault::asked("an expression needs a DEF or CDEF"))?;
    let start_s = lines().map(|line| line.start_s).max().unwrap_or(0);
    let end_s = lines().map(|line| line.end_s).min().unwrap_or(0);
    let rows = (end_s - start_s).max(0) / step_s;
    if rows > LINE_ROWS_MAX || rows as u64 > FETCH_VALUES_MAX {
        return Err(Fault::asked(format!("an expression of {rows} rows of {step_s} s, {LINE_ROWS_MAX} can be")));
    }
    let mut values = Vec::with_capacity(rows as usize);
    let variable = |number: usize| {
        let line = line(number);
        let from = ((start_s - line.start_s) / line.step_s) as usize;
        Variable { values: line.values.get(from..).unwrap_or(&[]), step_s: line.step_s }
    };
    let mut machine = Machine::new(&expression, |number| line(number).step_s);
    for index in 0..rows as usize {
        let time_s = start_s + (index as i64 + 1) * step_s;
        let previous = values.last().copied().unwrap_or(UNKNOWN);
        let row = Row { time_s, index, step_s, previous, calendar };
        values.push(machine.row(&row, variable).map_err(|stuck| Fault::asked(stuck.to_string()))?);
    }
    Ok(Line { start_s, end_s, step_s, values, shift_s: 0 })
}

fn greatest_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
