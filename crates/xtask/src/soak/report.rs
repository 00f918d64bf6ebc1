//! What a soak found, and the verdict.

use super::sample::{Sample, Watched};
use super::{MEMORY_MIB, Sum};

/// Octets by which the highest memory of the last half may exceed that of the first: pages that an allocator keeps.
const GROWTH_OCTETS: u64 = 2 << 20;

/// The report as Markdown, and whether all is well.
pub fn report(minutes: u64, sum: &Sum, watched: &[Watched], before: &[Sample], after: &[Sample]) -> (String, bool) {
    let mut text = format!(
        "{minutes} minutes, {} rounds: {} requests, {} sets, {} hits, {} misses; sent {} MiB to {MEMORY_MIB} MiB of \
         memory.\n\nerrors {}, connections closed {}, wrong or stale values {}, UDP requests lost {}{}\n\n",
        sum.rounds,
        sum.requests,
        sum.sets,
        sum.hits,
        sum.misses,
        sum.sent_octets >> 20,
        sum.errors,
        sum.closed,
        sum.wrong,
        sum.lost,
        sum.trouble.as_ref().map(|why| format!(" ({why})")).unwrap_or_default(),
    );
    text.push_str("| server | RSS MiB: first half, last half, slope an hour | descriptors idle: before, after |");
    text.push_str(" threads: before, after | store's octets, of | evictions |\n|---|---|---|---|---|---|\n");
    let mut good = sum.is_good();
    for (name, ((watched, before), after)) in
        ["TCP and UDP", "unix socket"].iter().zip(watched.iter().zip(before).zip(after))
    {
        let (first, last, slope) = memory(&watched.samples);
        let mib = |octets: u64| octets as f64 / f64::from(1 << 20);
        let row = format!(
            "| {name} | {:.1}, {:.1}, {:+.2} | {}, {} | {}, {} | {}, {} | {} |\n",
            mib(first),
            mib(last),
            slope * 3600.0 / f64::from(1 << 20),
            before.descriptors,
            after.descriptors,
            before.threads,
            after.threads,
            watched.samples.iter().map(|sample| sample.octets).max().unwrap_or(0),
            after.limit,
            after.evictions,
        );
        text.push_str(&row);
        good &= last <= first + GROWTH_OCTETS && after.evictions > 0;
        good &= after.descriptors == before.descriptors && after.threads == before.threads;
        good &= watched.samples.iter().all(|sample| sample.octets <= sample.limit);
    }
    text.push_str(if good { "\nverdict: all is well" } else { "\nverdict: NOT well" });
    (text, good)
}

/// The highest memory of each half, and the slope of a line through all samples, in octets a second.
fn memory(samples: &[Sample]) -> (u64, u64, f64) {
    let (first, last) = samples.split_at(samples.len() / 2);
    let top = |half: &[Sample]| half.iter().map(|sample| sample.resident).max().unwrap_or(0);
    let count = samples.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (second, resident) = (mean(&|sample| sample.second), mean(&|sample| sample.resident as f64));
    let both = |sample: &Sample| (sample.second - second) * (sample.resident as f64 - resident);
    let spread: f64 = samples.iter().map(|sample| (sample.second - second).powi(2)).sum();
    (top(first), top(last), samples.iter().map(both).sum::<f64>() / spread.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_told_in_octets_a_second() {
        let sample =
            |second: u32| Sample { second: second.into(), resident: 1000 + 5 * u64::from(second), ..Sample::default() };
        let samples: Vec<Sample> = (0..10).map(sample).collect();
        let (first, last, slope) = memory(&samples);
        assert_eq!((first, last), (1020, 1045));
        assert!((slope - 5.0).abs() < 1e-9);
        assert_eq!(memory(&[]).0, 0);
    }
}
