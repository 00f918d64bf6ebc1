//! Runs an expression, row by row.

use super::calendar::{Calendar, Date};
use super::operators::Act;
use super::stack::Stack;
use super::window::{Window, predict, trend};
use super::{Expression, Operation, Stuck};
use crate::number::UNKNOWN;

/// What an expression can know of the row that it makes.
pub struct Row<'a> {
    /// Its time, seconds of Unix: the end of its interval.
    pub time_s: i64,
    /// Its number, from 0 on.
    pub index: usize,
    /// The length of its interval.
    pub step_s: i64,
    /// What the row before it became.
    pub previous: f64,
    /// What there is to know of the world.
    pub calendar: Calendar<'a>,
}

impl Row<'_> {
    pub(super) fn changed<T: PartialEq>(&self, of: fn(Date) -> T) -> f64 {
        let before = self.calendar.date(self.time_s.wrapping_sub(self.step_s));
        f64::from(u8::from(of(self.calendar.date(self.time_s)) != of(before)))
    }

    pub(super) fn new_week(&self) -> f64 {
        let weekday = self.calendar.date(self.time_s).weekday;
        if weekday == self.calendar.first_weekday { self.changed(|date| date.weekday) } else { 0.0 }
    }
}

/// The rows of a variable: one value for each of its steps.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    /// Its values, the first one the first that the expression sees.
    pub values: &'a [f64],
    /// Seconds from one to the next.
    pub step_s: i64,
}

/// Where an operation stands in its variable's rows: behind the one that it took last when its step was over.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    at: usize,
    pub step_s: i64,
}

impl Cursor {
    /// The value so many steps before where it stands; unknown where there is none.
    pub fn back(&self, values: &[f64], steps: i64) -> f64 {
        let at = i64::try_from(self.at).ok().and_then(|at| usize::try_from(at - steps).ok());
        at.and_then(|at| values.get(at)).copied().unwrap_or(UNKNOWN)
    }
}

/// An expression that runs over rows, one after the other.
pub struct Machine<'a> {
    expression: &'a Expression,
    cursors: Vec<Cursor>,
    stack: Stack,
}

impl<'a> Machine<'a> {
    /// Before the first row. `step_s` says the step of a variable.
    pub fn new(expression: &'a Expression, step_s: impl Fn(usize) -> i64) -> Machine<'a> {
        let cursor = |operation: &Operation| match operation {
            Operation::Variable(number) | Operation::PreviousOf(number) => {
                Cursor { at: 0, step_s: step_s(*number).max(1) }
            }
            _ => Cursor { at: 0, step_s: 1 },
        };
        Machine { expression, cursors: expression.operations.iter().map(cursor).collect(), stack: Stack::default() }
    }

    /// The value of the next row.
    ///
    /// # Errors
    /// [`Stuck`]: values that are missing or left over, an argument without sense.
    pub fn row<'v>(&mut self, row: &Row<'_>, variable: impl Fn(usize) -> Variable<'v>) -> Result<f64, Stuck> {
        self.stack.values.clear();
        for at in 0..self.expression.operations.len() {
            self.operate(at, row, &variable)?;
        }
        match *self.stack.values {
            [value] => Ok(value),
            ref values => Err(Stuck::Left(values.len())),
        }
    }

    fn operate<'v>(
        &mut self,
        at: usize,
        row: &Row<'_>,
        variable: &impl Fn(usize) -> Variable<'v>,
    ) -> Result<(), Stuck> {
        match self.expression.operations[at] {
            Operation::Number(number) => self.stack.push(number),
            Operation::Variable(number) => self.take(at, row, variable(number), 0),
            Operation::PreviousOf(number) => self.take(at, row, variable(number), 1),
            Operation::Word(operator) => match &operator.act {
                Act::Window(window) => self.look_back(at, *window, row, variable),
                act => apply(&mut self.stack, act, operator.name, row),
            },
        }
    }

    /// The value of this row, or of the one before; after the last row of its step the next one comes.
    fn take(&mut self, at: usize, row: &Row<'_>, variable: Variable<'_>, back: i64) -> Result<(), Stuck> {
        let cursor = &mut self.cursors[at];
        let missing = back > 0 && row.index == 0;
        let value = if missing { UNKNOWN } else { cursor.back(variable.values, back) };
        if row.time_s % cursor.step_s == 0 {
            cursor.at += 1;
        }
        self.stack.push(value)
    }

    fn look_back<'v>(
        &mut self,
        at: usize,
        window: Window,
        row: &Row<'_>,
        variable: &impl Fn(usize) -> Variable<'v>,
    ) -> Result<(), Stuck> {
        let before = if matches!(window, Window::Trend { .. }) { 2 } else { 1 };
        let Some(place) = at.checked_sub(before) else { return Err(Stuck::Window(window.name())) };
        let Operation::Variable(number) = self.expression.operations[place] else {
            return Err(Stuck::Window(window.name()));
        };
        let (values, cursor) = (variable(number).values, &self.cursors[place]);
        match window {
            Window::Trend { of_known } => trend(&mut self.stack, cursor, values, of_known, row.index),
            _ => predict(&mut self.stack, cursor, values, window, row.index),
        }
    }
}

fn apply(stack: &mut Stack, act: &Act, name: &'static str, row: &Row<'_>) -> Result<(), Stuck> {
    match act {
        Act::One(of) => {
            let a = stack.pop(name)?;
            stack.push(of(a))
        }
        Act::Two(of) => {
            let (b, a) = (stack.pop(name)?, stack.pop(name)?);
            stack.push(of(a, b))
        }
        Act::Three(of) => {
            let (c, b, a) = (stack.pop(name)?, stack.pop(name)?, stack.pop(name)?);
            stack.push(of(a, b, c))
        }
        Act::Push(of) => stack.push(of(row)),
        Act::Stack(of) => of(stack),
        Act::Window(window) => Err(Stuck::Window(window.name())),
    }
}
