//! Operators of several values at once: how many it is lies on top.

use super::{STACK_MAX, Stuck};
use crate::number::UNKNOWN;
use core::cmp::Ordering;

/// The values that operators take from and put on.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    pub values: Vec<f64>,
}

impl Stack {
    pub fn push(&mut self, value: f64) -> Result<(), Stuck> {
        if self.values.len() >= STACK_MAX {
            return Err(Stuck::Overflow);
        }
        self.values.push(value);
        Ok(())
    }

    pub fn pop(&mut self, who: &'static str) -> Result<f64, Stuck> {
        self.values.pop().ok_or(Stuck::Underflow(who))
    }

    /// Takes a whole number, as C makes one of a double.
    pub fn whole(&mut self, who: &'static str) -> Result<i64, Stuck> {
        let value = self.pop(who)?;
        if value.is_finite() && value.abs() < 2_147_483_648.0 { Ok(value as i64) } else { Err(Stuck::Argument(who)) }
    }

    /// Takes how many values, which then are the upper end of the stack.
    fn top(&mut self, who: &'static str) -> Result<&mut [f64], Stuck> {
        let count = usize::try_from(self.whole(who)?).map_err(|_| Stuck::Argument(who))?;
        let from = self.values.len().checked_sub(count).ok_or(Stuck::Underflow(who))?;
        Ok(&mut self.values[from..])
    }

    /// Puts one value in the place of as many as are said on top.
    fn fold(&mut self, who: &'static str, of: impl FnOnce(&mut [f64]) -> f64) -> Result<(), Stuck> {
        let top = self.top(who)?;
        let (value, count) = (of(top), top.len());
        self.values.truncate(self.values.len() - count);
        self.push(value)
    }
}

pub(super) fn duplicate(stack: &mut Stack) -> Result<(), Stuck> {
    let value = *stack.values.last().ok_or(Stuck::Underflow("DUP"))?;
    stack.push(value)
}

pub(super) fn exchange(stack: &mut Stack) -> Result<(), Stuck> {
    let [.., below, top] = stack.values.as_mut_slice() else { return Err(Stuck::Underflow("EXC")) };
    core::mem::swap(below, top);
    Ok(())
}

pub(super) fn drop_one(stack: &mut Stack) -> Result<(), Stuck> {
    stack.pop("POP").map(drop)
}

pub(super) fn depth(stack: &mut Stack) -> Result<(), Stuck> {
    let depth = stack.values.len();
    stack.push(depth as f64)
}

pub(super) fn copy(stack: &mut Stack) -> Result<(), Stuck> {
    let top = stack.top("COPY")?.to_vec();
    top.into_iter().try_for_each(|value| stack.push(value))
}

/// The value so many places below the top.
pub(super) fn index(stack: &mut Stack) -> Result<(), Stuck> {
    let places = usize::try_from(stack.whole("INDEX")?).map_err(|_| Stuck::Argument("INDEX"))?;
    let from = stack.values.len().checked_sub(places.max(1)).ok_or(Stuck::Underflow("INDEX"))?;
    let value = stack.values[from];
    stack.push(value)
}

/// `n,m,ROLL`: the upper n values turn by m towards the top.
// Field: as rrdgraph_rpn(1) has it; rrdtool 1.7 itself takes what was on the stack before in the place of values.
pub(super) fn roll(stack: &mut Stack) -> Result<(), Stuck> {
    let turn = stack.whole("ROLL")?;
    let top = stack.top("ROLL")?;
    if !top.is_empty() {
        top.rotate_right(turn.rem_euclid(top.len() as i64) as usize);
    }
    Ok(())
}

pub(super) fn sort(stack: &mut Stack) -> Result<(), Stuck> {
    stack.top("SORT")?.sort_by(order);
    Ok(())
}

pub(super) fn reverse(stack: &mut Stack) -> Result<(), Stuck> {
    stack.top("REV")?.reverse();
    Ok(())
}

/// Added from the top down, as rrdtool does: sums of doubles know their order.
pub(super) fn average(stack: &mut Stack) -> Result<(), Stuck> {
    stack.fold("AVG", |values| {
        let known = || values.iter().rev().filter(|value| !value.is_nan());
        let count = known().count();
        if count == 0 { UNKNOWN } else { known().fold(0.0, |sum, value| sum + value) / count as f64 }
    })
}

pub(super) fn median(stack: &mut Stack) -> Result<(), Stuck> {
    stack.fold("MEDIAN", |values| {
        let mut known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        known.sort_by(order);
        let middle = known.len() / 2;
        match known.len() {
            0 => UNKNOWN,
            odd if odd % 2 == 1 => known[middle],
            _ => 0.5 * (known[middle] + known[middle - 1]),
        }
    })
}

pub(super) fn smallest(stack: &mut Stack) -> Result<(), Stuck> {
    stack.fold("SMIN", |values| farthest(values, Ordering::Less))
}

pub(super) fn largest(stack: &mut Stack) -> Result<(), Stuck> {
    stack.fold("SMAX", |values| farthest(values, Ordering::Greater))
}

fn farthest(values: &[f64], side: Ordering) -> f64 {
    let beyond = |best: f64, value: f64| best.is_nan() || value.partial_cmp(&best) == Some(side);
    values.iter().rev().fold(UNKNOWN, |best, value| if beyond(best, *value) { *value } else { best })
}

/// Of the sample, by Welford's way, from the top down.
pub(super) fn deviation(stack: &mut Stack) -> Result<(), Stuck> {
    stack.fold("STDEV", |values| {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for value in values.iter().rev().filter(|value| !value.is_nan()) {
            count += 1.0;
            let delta = value - mean;
            mean += delta / count;
            squares += delta * (value - mean);
        }
        if count < 2.0 { UNKNOWN } else { (squares / (count - 1.0)).sqrt() }
    })
}

/// `values,percent,n,PERCENT`.
// Field: rrdtool rounds to a place of 1 to n, and with small percents to 0, where it reads what lies below the values;
// here that is the smallest of them.
pub(super) fn percentile(stack: &mut Stack) -> Result<(), Stuck> {
    let count = stack.pop("PERCENT")?;
    let percent = stack.pop("PERCENT")?;
    if !(0.0..=100.0).contains(&percent) || count.is_nan() || count < 1.0 {
        return Err(Stuck::Argument("PERCENT"));
    }
    stack.push(count)?;
    stack.fold("PERCENT", |values| {
        values.sort_by(order);
        let place = (percent * values.len() as f64 / 100.0).round() as usize;
        values.get(place.max(1) - 1).copied().unwrap_or(UNKNOWN)
    })
}

/// Unknown ones are the smallest.
// Field: rrdtool 1.7 compares what is finite with infinite ones both ways alike; here they are at the ends.
pub(crate) fn order(a: &f64, b: &f64) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}
