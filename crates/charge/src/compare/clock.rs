//! How far the bill's clock is ahead of ours, and from when on it counts: measured by calls that stand alone.
//!
//! Two numbers with one answered call between them and one line are a pair without any doubt, whatever the clocks say.
//! The median of their differences is the clock's; from the answer or from the first message, whichever differs less
//! from pair to pair.

use super::{BillLine, Party, Seen, WireCall};

/// Pairs that it takes.
const PAIRS_MIN: usize = 10;
/// Differences within it are not of the clock, milliseconds: a day.
const AHEAD_MAX: i64 = 86_400_000;

/// From when on the lines count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// From the answer.
    Answer,
    /// From the first message.
    Start,
    /// Not known: any moment between both.
    Either,
}

/// The clock of the bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// How much it is ahead, milliseconds.
    pub ahead: i64,
    /// From when on it counts.
    pub basis: Basis,
    /// Pairs that say so; 0 where it was not measured.
    pub pairs: usize,
    /// Half of the pairs differ by at most that from the median, milliseconds.
    pub spread: i64,
    /// Whether `ahead` was given, and not measured.
    pub given: bool,
}

impl Clock {
    /// How far a line's begin is from what the call's should be, milliseconds.
    pub(crate) fn apart(&self, call: &WireCall, line: &BillLine) -> i64 {
        let begin = line.begin.saturating_sub(self.ahead);
        let (from, to) = self.span(call);
        (from - begin).max(begin - to).max(0)
    }

    /// When a call counts as begun: as the bill counts, and from the answer where that is not known.
    pub(crate) fn begin(&self, call: &WireCall) -> i64 {
        self.span(call).1
    }

    /// When a line of a call may begin, by our clock.
    pub(crate) fn span(&self, call: &WireCall) -> (i64, i64) {
        match self.basis {
            Basis::Answer => (call.answer, call.answer),
            Basis::Start => (call.start, call.start),
            Basis::Either => (call.start, call.answer),
        }
    }
}

/// Measures it; with `ahead` it is that, and only the basis is measured.
pub(super) fn measure(calls: &[WireCall], lines: &[BillLine], ahead: Option<i64>) -> Clock {
    let alone = alone(calls, lines);
    let unknown =
        Clock { ahead: ahead.unwrap_or(0), basis: Basis::Either, pairs: 0, spread: 0, given: ahead.is_some() };
    let differences = |of: fn(&WireCall) -> i64| {
        let all = alone.iter().map(|(call, line)| lines[*line].begin - of(&calls[*call]));
        all.filter(|apart| apart.abs() <= AHEAD_MAX).collect::<Vec<i64>>()
    };
    let (answers, starts) = (median(differences(|call| call.answer)), median(differences(|call| call.start)));
    let (Some(by_answer), Some(by_start)) = (answers, starts) else { return unknown };
    let (basis, (middle, spread, pairs)) =
        if by_answer.1 <= by_start.1 { (Basis::Answer, by_answer) } else { (Basis::Start, by_start) };
    Clock { ahead: ahead.unwrap_or(middle), basis, pairs, spread, given: ahead.is_some() }
}

/// Calls and lines that are the only ones between their numbers.
fn alone(calls: &[WireCall], lines: &[BillLine]) -> Vec<(usize, usize)> {
    let answered = |call: &&(usize, &WireCall)| matches!(call.1.seen, Seen::Whole | Seen::Open);
    let calls = calls.iter().enumerate().collect::<Vec<_>>();
    let calls = calls.iter().filter(answered).map(|(at, call)| ((call.caller, call.called), *at)).collect();
    let lines = lines.iter().enumerate().map(|(at, line)| ((line.caller, line.called), at)).collect();
    let (calls, lines) = (singles(calls), singles(lines));
    let mut pairs = Vec::new();
    let mut of_lines = lines.iter().peekable();
    for (key, call) in &calls {
        while of_lines.peek().is_some_and(|(other, _)| other < key) {
            of_lines.next();
        }
        if let Some((_, line)) = of_lines.peek().filter(|(other, _)| other == key) {
            pairs.push((*call, *line));
        }
    }
    pairs
}

/// What has a key for itself, by key.
fn singles(mut all: Vec<((Party, Party), usize)>) -> Vec<((Party, Party), usize)> {
    all.sort_unstable();
    let told = |key: &(Party, Party)| key.0 != Party::NONE && key.1 != Party::NONE;
    let groups = all.chunk_by(|a, b| a.0 == b.0);
    groups.filter(|group| group.len() == 1 && told(&group[0].0)).map(|group| group[0]).collect()
}

/// The median, the median of what is apart from it, and how many there are.
fn median(mut all: Vec<i64>) -> Option<(i64, i64, usize)> {
    if all.len() < PAIRS_MIN {
        return None;
    }
    all.sort_unstable();
    let (middle, count) = (all[all.len() / 2], all.len());
    let mut apart: Vec<i64> = all.iter().map(|one| (one - middle).abs()).collect();
    apart.sort_unstable();
    Some((middle, apart[count / 2], count))
}
