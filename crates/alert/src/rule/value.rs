//! The value of a data source: an expression over its series, as `CDEF:` of graphs has them.

use core::cell::RefCell;
use trunkline_rrd::rpn::{self, Calendar, Machine, Row, Variable};

/// Series that an expression may name.
const VARIABLES_MAX: usize = 64;

/// An expression in reverse Polish notation: `traffic_in,8,*`. One name alone is a series as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    expression: rpn::Expression,
    names: Vec<String>,
}

impl Expression {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Expression, String> {
        let names = RefCell::new(Vec::<String>::new());
        let number = |name: &str| {
            let mut names = names.borrow_mut();
            let known = names.iter().position(|known| known == name);
            // A word in capitals is a misspelt operator sooner than a series.
            if known.is_none() && names.len() < VARIABLES_MAX && name.bytes().any(|b| b.is_ascii_lowercase()) {
                names.push(name.to_owned());
            }
            known.or_else(|| names.last().filter(|last| *last == name).map(|_| names.len() - 1))
        };
        let expression = rpn::parse(text, number).map_err(|misread| misread.to_string())?;
        let expression = Expression { expression, names: names.into_inner() };
        if expression.names.is_empty() {
            return Err("it names no series".to_owned());
        }
        expression.run(0, |_| 1.0).map_err(|stuck| stuck.to_string())?;
        Ok(expression)
    }

    /// The series that it names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Its value; none where it is unknown.
    pub fn value(&self, at_s: i64, series: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        self.run(at_s, |name| series(name).unwrap_or(f64::NAN)).ok().filter(|value| value.is_finite())
    }

    fn run(&self, at_s: i64, series: impl Fn(&str) -> f64) -> Result<f64, rpn::Stuck> {
        let values: Vec<[f64; 1]> = self.names.iter().map(|name| [series(name)]).collect();
        let calendar = Calendar::utc(at_s);
        let row = Row { time_s: at_s, index: 0, step_s: 1, previous: f64::NAN, calendar };
        Machine::new(&self.expression, |_| 1).row(&row, |at| Variable { values: &values[at], step_s: 1 })
    }
}

impl core::fmt::Display for Expression {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.expression.text(|at| self.names[at].clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_series() {
        let series = |name: &str| match name {
            "in" => Some(3.0),
            "out" => Some(5.0),
            _ => None,
        };
        let value = |text: &str| Expression::parse(text).unwrap().value(60, series);
        assert_eq!(value("in"), Some(3.0));
        assert_eq!(value("in,8,*"), Some(24.0));
        assert_eq!(value("in,out,MAX,in,+"), Some(8.0));
        assert_eq!(value("in,none,+"), None);
        assert_eq!(value("in,none,ADDNAN"), Some(3.0));
        assert_eq!(value("in,0,/"), None);
        assert_eq!(Expression::parse("in,out,+,8,*").unwrap().to_string(), "in,out,+,8,*");
        for wrong in ["", "8,9,+", "in,+", "in,out", "in,MUL", "in,8,* ,"] {
            assert!(Expression::parse(wrong).is_err(), "{wrong}");
        }
    }
}
