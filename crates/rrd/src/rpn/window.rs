//! Operators of earlier rows of the variable before them: trends and predictions.

use super::evaluate::Cursor;
use super::stack::{Stack, order};
use super::{STACK_MAX, Stuck};
use crate::number::UNKNOWN;

/// Steps that a window looks at for one value: those of a year by five minutes. A longer one is an error.
pub const WINDOW_STEPS_MAX: i64 = 105_408;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Window {
    /// The mean of the last so many seconds; of those that are known, or unknown if one is.
    Trend {
        of_known: bool,
    },
    /// The mean of values at shifts into the past, each with a window behind it.
    Predict,
    PredictSigma,
    PredictPercentile,
}

impl Window {
    pub fn name(self) -> &'static str {
        match self {
            Window::Trend { of_known: false } => "TREND",
            Window::Trend { of_known: true } => "TRENDNAN",
            Window::Predict => "PREDICT",
            Window::PredictSigma => "PREDICTSIGMA",
            Window::PredictPercentile => "PREDICTPERC",
        }
    }
}

/// `variable,seconds,TREND`: its value and the seconds are on the stack; the cursor stands behind the row.
pub(super) fn trend(
    stack: &mut Stack,
    cursor: &Cursor,
    data: &[f64],
    of_known: bool,
    index: usize,
) -> Result<(), Stuck> {
    let name = Window::Trend { of_known }.name();
    let duration_s = stack.pop(name)?;
    stack.pop(name)?;
    if !duration_s.is_finite() {
        return Err(Stuck::Argument(name));
    }
    let (duration_s, step_s) = (duration_s as i64, cursor.step_s);
    // Field: in single precision, as rrdtool counts whether there are rows enough.
    let rows = (duration_s as f32 / step_s as f32).ceil() as i64;
    if (index as i64) + 1 < rows {
        return stack.push(UNKNOWN);
    }
    let steps = (duration_s.saturating_add(step_s - 1) / step_s).max(1);
    if steps > WINDOW_STEPS_MAX {
        return Err(Stuck::Argument(name));
    }
    let (mut sum, mut count) = (0.0, 0u32);
    for value in (1..=steps).map(|back| cursor.back(data, back)).filter(|value| !of_known || !value.is_nan()) {
        sum += value;
        count += 1;
    }
    stack.push(if count == 0 { UNKNOWN } else { sum / f64::from(count) })
}

/// `shift,...,count,window,variable,PREDICT`, or `step,-count,window,variable,PREDICT`; before the variable
/// `PREDICTPERC` has the percent.
pub(super) fn predict(
    stack: &mut Stack,
    cursor: &Cursor,
    data: &[f64],
    window: Window,
    index: usize,
) -> Result<(), Stuck> {
    let name = window.name();
    stack.pop(name)?;
    let percent = match window {
        Window::PredictPercentile => stack.pop(name)? / 100.0,
        _ => UNKNOWN,
    };
    if percent.abs() > 1.0 {
        return Err(Stuck::Argument(name));
    }
    let local_s = stack.whole(name)?;
    let shifts_s = shifts(stack, name)?;
    let local = steps(local_s, cursor.step_s);
    if local.saturating_mul(shifts_s.len() as i64) > WINDOW_STEPS_MAX {
        return Err(Stuck::Argument(name));
    }
    let mut found = Vec::new();
    for shift in shifts_s.into_iter().map(|shift_s| steps(shift_s, cursor.step_s)) {
        let backs = (0..=local).map(|back| back + shift).take_while(|back| *back < index as i64);
        found.extend(backs.map(|back| cursor.back(data, back)).filter(|value| !value.is_nan()));
    }
    stack.push(match window {
        Window::PredictSigma => sigma(&found),
        Window::PredictPercentile => percentile(&mut found, percent),
        _ if found.is_empty() => UNKNOWN,
        _ => found.iter().fold(0.0, |sum, value| sum + value) / found.len() as f64,
    })
}

/// In seconds: each said by itself, or multiples of one from none on.
fn shifts(stack: &mut Stack, name: &'static str) -> Result<Vec<i64>, Stuck> {
    let count = stack.whole(name)?;
    if count.unsigned_abs() > STACK_MAX as u64 {
        return Err(Stuck::Argument(name));
    }
    let shifts: Vec<f64> = if count < 0 {
        let each = stack.pop(name)?;
        (0..-count).map(|times| times as f64 * each).collect()
    } else {
        let from = stack.values.len().checked_sub(count as usize).ok_or(Stuck::Underflow(name))?;
        stack.values.split_off(from)
    };
    let whole = |value: f64| (0.0..2_147_483_648.0).contains(&value).then_some(value as i64);
    shifts.into_iter().map(whole).collect::<Option<_>>().ok_or(Stuck::Argument(name))
}

/// Rounded up, in single precision as rrdtool does.
fn steps(seconds: i64, step_s: i64) -> i64 {
    (seconds as f32 / step_s as f32).ceil() as i64
}

fn sigma(found: &[f64]) -> f64 {
    let (sum, squares) = found.iter().fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
    let count = found.len() as f64;
    let spread = count * squares - sum * sum;
    if found.len() < 2 || spread < 0.0 {
        return UNKNOWN;
    }
    (spread / (count * (count - 1.0))).sqrt()
}

/// Between two values in proportion; a negative percent takes the nearest value.
fn percentile(found: &mut [f64], percent: f64) -> f64 {
    found.sort_by(order);
    let Some(last) = found.len().checked_sub(1) else { return UNKNOWN };
    let place = percent * last as f64;
    if percent < 0.0 {
        return found[(place.abs().round() as usize).min(last)];
    }
    let (low, part) = (place.floor() as usize, place - place.floor());
    let low = low.min(last);
    if part == 0.0 { found[low] } else { found[low] + (found[(low + 1).min(last)] - found[low]) * part }
}
