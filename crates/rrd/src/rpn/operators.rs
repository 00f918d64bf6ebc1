//! The operators: what each is called, its number in files, what it does. A new one is one line.

use super::evaluate::Row;
use super::stack;
use super::{Stuck, stack::Stack, window::Window};
use crate::number::UNKNOWN;
use core::cmp::Ordering;

/// A word of the language.
pub(crate) struct Operator {
    pub name: &'static str,
    /// Its number in the packed expression of a computed data source (rrdtool's `enum op_en`).
    pub code: u8,
    pub act: Act,
}

pub(crate) enum Act {
    One(fn(f64) -> f64),
    /// Of the value below and the one on top.
    Two(fn(f64, f64) -> f64),
    Three(fn(f64, f64, f64) -> f64),
    Push(fn(&Row<'_>) -> f64),
    Stack(fn(&mut Stack) -> Result<(), Stuck>),
    /// Of earlier rows of the variable before it.
    Window(Window),
}

impl PartialEq for Operator {
    fn eq(&self, other: &Operator) -> bool {
        self.code == other.code
    }
}

impl core::fmt::Debug for Operator {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// rrdtool's own constants, which are shorter than the true ones.
const DEGREES: f64 = 57.29577951;
const RADIANS: f64 = 0.0174532952;

pub(super) const OPERATORS: &[Operator] = &[
    Operator { name: "INF", code: 2, act: Act::Push(|_| f64::INFINITY) },
    Operator { name: "PREV", code: 3, act: Act::Push(|row| row.previous) },
    Operator { name: "NEGINF", code: 4, act: Act::Push(|_| f64::NEG_INFINITY) },
    Operator { name: "UNKN", code: 5, act: Act::Push(|_| UNKNOWN) },
    Operator { name: "NOW", code: 6, act: Act::Push(|row| row.calendar.now_s as f64) },
    Operator { name: "TIME", code: 7, act: Act::Push(|row| row.time_s as f64) },
    Operator { name: "+", code: 8, act: Act::Two(|a, b| a + b) },
    Operator { name: "%", code: 9, act: Act::Two(|a, b| a % b) },
    Operator { name: "-", code: 10, act: Act::Two(|a, b| a - b) },
    Operator { name: "*", code: 11, act: Act::Two(|a, b| a * b) },
    Operator { name: "/", code: 12, act: Act::Two(|a, b| a / b) },
    Operator { name: "SIN", code: 13, act: Act::One(f64::sin) },
    Operator { name: "DUP", code: 14, act: Act::Stack(stack::duplicate) },
    Operator { name: "EXC", code: 15, act: Act::Stack(stack::exchange) },
    Operator { name: "POP", code: 16, act: Act::Stack(stack::drop_one) },
    Operator { name: "COS", code: 17, act: Act::One(f64::cos) },
    Operator { name: "LOG", code: 18, act: Act::One(f64::ln) },
    Operator { name: "EXP", code: 19, act: Act::One(f64::exp) },
    Operator { name: "LT", code: 20, act: Act::Two(|a, b| compare(a, b, a < b)) },
    Operator { name: "LE", code: 21, act: Act::Two(|a, b| compare(a, b, a <= b)) },
    Operator { name: "GT", code: 22, act: Act::Two(|a, b| compare(a, b, a > b)) },
    Operator { name: "GE", code: 23, act: Act::Two(|a, b| compare(a, b, a >= b)) },
    Operator { name: "EQ", code: 24, act: Act::Two(|a, b| compare(a, b, a == b)) },
    Operator { name: "IF", code: 25, act: Act::Three(|a, b, c| if a.is_nan() || a == 0.0 { c } else { b }) },
    Operator { name: "MIN", code: 26, act: Act::Two(|a, b| extreme(a, b, Ordering::Less)) },
    Operator { name: "MAX", code: 27, act: Act::Two(|a, b| extreme(a, b, Ordering::Greater)) },
    Operator { name: "LIMIT", code: 28, act: Act::Three(limit) },
    Operator { name: "FLOOR", code: 29, act: Act::One(f64::floor) },
    Operator { name: "CEIL", code: 30, act: Act::One(f64::ceil) },
    Operator { name: "UN", code: 31, act: Act::One(|a| f64::from(u8::from(a.is_nan()))) },
    Operator { name: "LTIME", code: 33, act: Act::Push(|row| row.calendar.local_s(row.time_s) as f64) },
    Operator { name: "NE", code: 34, act: Act::Two(|a, b| compare(a, b, a != b)) },
    Operator { name: "ISINF", code: 35, act: Act::One(|a| f64::from(u8::from(a.is_infinite()))) },
    Operator { name: "COUNT", code: 37, act: Act::Push(|row| (row.index + 1) as f64) },
    Operator { name: "ATAN", code: 38, act: Act::One(f64::atan) },
    Operator { name: "SQRT", code: 39, act: Act::One(f64::sqrt) },
    Operator { name: "SORT", code: 40, act: Act::Stack(stack::sort) },
    Operator { name: "REV", code: 41, act: Act::Stack(stack::reverse) },
    Operator { name: "TREND", code: 42, act: Act::Window(Window::Trend { of_known: false }) },
    Operator { name: "TRENDNAN", code: 43, act: Act::Window(Window::Trend { of_known: true }) },
    Operator { name: "ATAN2", code: 44, act: Act::Two(f64::atan2) },
    Operator { name: "RAD2DEG", code: 45, act: Act::One(|a| DEGREES * a) },
    Operator { name: "DEG2RAD", code: 46, act: Act::One(|a| RADIANS * a) },
    Operator { name: "PREDICT", code: 47, act: Act::Window(Window::Predict) },
    Operator { name: "PREDICTSIGMA", code: 48, act: Act::Window(Window::PredictSigma) },
    Operator { name: "AVG", code: 49, act: Act::Stack(stack::average) },
    Operator { name: "ABS", code: 50, act: Act::One(f64::abs) },
    Operator { name: "ADDNAN", code: 51, act: Act::Two(|a, b| known(a, b, |a, b| a + b)) },
    Operator { name: "MINNAN", code: 52, act: Act::Two(|a, b| known(a, b, |a, b| if a > b { b } else { a })) },
    Operator { name: "MAXNAN", code: 53, act: Act::Two(|a, b| known(a, b, |a, b| if a < b { b } else { a })) },
    Operator { name: "MEDIAN", code: 54, act: Act::Stack(stack::median) },
    Operator { name: "PREDICTPERC", code: 55, act: Act::Window(Window::PredictPercentile) },
    Operator { name: "DEPTH", code: 56, act: Act::Stack(stack::depth) },
    Operator { name: "COPY", code: 57, act: Act::Stack(stack::copy) },
    Operator { name: "ROLL", code: 58, act: Act::Stack(stack::roll) },
    Operator { name: "INDEX", code: 59, act: Act::Stack(stack::index) },
    Operator { name: "STEPWIDTH", code: 60, act: Act::Push(|row| row.step_s as f64) },
    Operator { name: "NEWDAY", code: 61, act: Act::Push(|row| row.changed(|date| date.day)) },
    Operator { name: "NEWWEEK", code: 62, act: Act::Push(|row| row.new_week()) },
    Operator { name: "NEWMONTH", code: 63, act: Act::Push(|row| row.changed(|date| date.month)) },
    Operator { name: "NEWYEAR", code: 64, act: Act::Push(|row| row.changed(|date| date.year)) },
    Operator { name: "SMIN", code: 65, act: Act::Stack(stack::smallest) },
    Operator { name: "SMAX", code: 66, act: Act::Stack(stack::largest) },
    Operator { name: "STDEV", code: 67, act: Act::Stack(stack::deviation) },
    Operator { name: "PERCENT", code: 68, act: Act::Stack(stack::percentile) },
    Operator { name: "POW", code: 69, act: Act::Two(f64::powf) },
];

/// Those of rows, which a computed data source has not.
pub(super) fn needs_rows(operator: &Operator) -> bool {
    let of_time = ["TIME", "LTIME", "STEPWIDTH", "PREV", "NEWDAY", "NEWWEEK", "NEWMONTH", "NEWYEAR", "COUNT"];
    matches!(operator.act, Act::Window(_)) || of_time.contains(&operator.name)
}

/// What is unknown stays so, the lower one first.
fn compare(a: f64, b: f64, holds: bool) -> f64 {
    if a.is_nan() {
        return a;
    }
    if b.is_nan() { b } else { f64::from(u8::from(holds)) }
}

/// The second if it is on that side of the first; unknown if one of them is.
fn extreme(a: f64, b: f64, side: Ordering) -> f64 {
    let second = b.is_nan() || b.partial_cmp(&a) == Some(side);
    if !a.is_nan() && second { b } else { a }
}

/// Of those that are known.
fn known(a: f64, b: f64, of: fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() {
        return b;
    }
    if b.is_nan() { a } else { of(a, b) }
}

/// Unknown where it is not within bounds, or a bound is unknown.
fn limit(value: f64, low: f64, high: f64) -> f64 {
    if value.is_nan() {
        return value;
    }
    if low.is_nan() {
        return low;
    }
    if high.is_nan() {
        return high;
    }
    if value < low || value > high { UNKNOWN } else { value }
}
