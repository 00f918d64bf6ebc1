//! Rows put together until they are no more than are needed.

use crate::fault::Fault;
use crate::fetch::Series;
use crate::number::UNKNOWN;
use crate::shape::Consolidation;

/// Puts rows together so that their step is at least `step_s`, a multiple of what it was, and they begin and end at
/// multiples of it. The first and the last row are unknown where not all of their rows were asked for.
///
/// # Errors
/// [`Fault::Asked`]: the series does not begin at a multiple of its step.
pub fn reduce(series: &mut Series, by: Consolidation, step_s: u64) -> Result<(), Fault> {
    let width = series.names.len();
    let times = i64::try_from(step_s.div_ceil((series.step_s as u64).max(1))).unwrap_or(i64::MAX);
    let was_s = series.step_s;
    let step_s = was_s.checked_mul(times).filter(|step_s| *step_s < 1 << 40);
    let step_s = step_s.ok_or_else(|| Fault::asked("a step that is too long"))?;
    if series.start_s % was_s != 0 || series.end_s % was_s != 0 || width == 0 {
        return Err(Fault::asked(format!("rows of {was_s} s do not begin at a multiple of it")));
    }
    let (before_s, behind_s) = (series.start_s % step_s, series.end_s % step_s);
    let mut rows = Vec::with_capacity(series.values.len() / times as usize + 2 * width);
    let mut from = 0;
    if before_s > 0 {
        rows.resize(width, UNKNOWN);
        from = (times - before_s / was_s) as usize;
    }
    let whole = series.values.chunks_exact(width).skip(from).collect::<Vec<_>>();
    for some in whole.chunks_exact(times as usize) {
        rows.extend((0..width).map(|column| together(some.iter().map(|row| row[column]), by)));
    }
    series.start_s -= before_s;
    if behind_s > 0 {
        series.end_s += step_s - behind_s;
    }
    series.step_s = step_s;
    rows.resize((series.end_s - series.start_s) as usize / step_s as usize * width, UNKNOWN);
    series.values = rows;
    Ok(())
}

/// Of those that are known.
fn together(values: impl Iterator<Item = f64>, by: Consolidation) -> f64 {
    let mut count = 0u32;
    let known = values.filter(|value| !value.is_nan()).inspect(|_| count += 1);
    let value = match by {
        Consolidation::Min => known.reduce(f64::min),
        Consolidation::Max | Consolidation::Failures => known.reduce(f64::max),
        Consolidation::Last => known.last(),
        _ => known.reduce(|sum, value| sum + value).map(|sum| sum / f64::from(count)),
    };
    value.unwrap_or(UNKNOWN)
}
