//! Which line is of which call, step by step.

use super::assign::{CANDIDATES_MAX, Candidate, assign};
use super::clock::Clock;
use super::{BillLine, GoesOn, Party, Rules, Seen, Undone, WireCall, go_on};

/// How far the begin and the end of another leg may be from the call's, milliseconds.
pub const LEG_MS: i64 = 3000;

/// What a line is, as far as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing was found.
    Nothing,
    /// The line of that call, by its numbers or by its reference.
    Call(u32),
    /// That call's, with another number.
    Renumbered(u32),
    /// That call's, which nobody answered.
    Unanswered(u32),
    /// Another line was for the same call.
    Twice(u32),
}

/// What is known of calls and lines.
#[derive(Debug)]
pub struct Pairs {
    /// Of each line.
    pub lines: Vec<Found>,
    /// Of each call its line; of another leg none.
    pub calls: Vec<Option<u32>>,
    /// Calls that are another leg or a copy of one that counts.
    pub legs: Vec<bool>,
    /// They, and which one counts, in the order in which that was found.
    pub of_legs: Vec<(u32, u32)>,
    /// Candidates that were too many at once to find the best of all ways.
    pub inexact: u64,
}

struct Work<'a> {
    calls: &'a [WireCall],
    lines: &'a [BillLine],
    rules: &'a Rules<'a>,
    clock: &'a Clock,
    goes_on: GoesOn<'a>,
    pairs: Pairs,
}

/// A call or a line in a step: what it is found by, when it begins, which it is.
type Item<K> = (K, i64, u32);

/// Pairs them; both are in order of time.
///
/// # Errors
/// It was given up.
pub(super) fn pair(
    calls: &[WireCall],
    lines: &[BillLine],
    rules: &Rules<'_>,
    clock: &Clock,
    goes_on: GoesOn<'_>,
) -> Result<Pairs, Undone> {
    let pairs = Pairs {
        lines: vec![Found::Nothing; lines.len()],
        calls: vec![None; calls.len()],
        legs: vec![false; calls.len()],
        of_legs: Vec::new(),
        inexact: 0,
    };
    let mut work = Work { calls, lines, rules, clock, goes_on, pairs };
    let answered = |seen: Seen| matches!(seen, Seen::Whole | Seen::Open);
    let both = |a: Party, b: Party| (a != Party::NONE && b != Party::NONE).then_some((a, b));
    let reference = |word: u64| (word != 0).then_some(word);
    work.step(
        |c| reference(c.reference).filter(|_| answered(c.seen)),
        |l| reference(l.reference),
        i64::MAX,
        Found::Call,
        Work::near,
    )?;
    let begin = rules.begin;
    work.step(
        |c| both(c.caller, c.called).filter(|_| answered(c.seen)),
        |l| both(l.caller, l.called),
        begin,
        Found::Call,
        Work::near,
    )?;
    work.twice()?;
    work.legs()?;
    let one = |party: Party| (party != Party::NONE).then_some(party);
    work.step(
        |c| one(c.caller).filter(|_| answered(c.seen)),
        |l| one(l.caller),
        begin,
        Found::Renumbered,
        Work::alike,
    )?;
    work.step(
        |c| one(c.called).filter(|_| answered(c.seen)),
        |l| one(l.called),
        begin,
        Found::Renumbered,
        Work::alike,
    )?;
    work.step(|c| reference(c.reference), |l| reference(l.reference), i64::MAX, Found::Unanswered, Work::near)?;
    work.step(
        |c| both(c.caller, c.called).filter(|_| !answered(c.seen)),
        |l| both(l.caller, l.called),
        begin,
        Found::Unanswered,
        Work::near,
    )?;
    Ok(work.pairs)
}

impl Work<'_> {
    /// Pairs what is left over and has the same key, begins within `within` of each other, and has a cost.
    fn step<K: Ord + Copy>(
        &mut self,
        of_call: impl Fn(&WireCall) -> Option<K>,
        of_line: impl Fn(&BillLine) -> Option<K>,
        within: i64,
        found: fn(u32) -> Found,
        cost: fn(&Self, &WireCall, &BillLine) -> Option<i64>,
    ) -> Result<(), Undone> {
        go_on(self.goes_on)?;
        let free = |at: &usize| self.pairs.calls[*at].is_none() && !self.pairs.legs[*at];
        let calls = self.calls.iter().enumerate().filter(|(at, _)| free(at));
        let calls = calls.filter_map(|(at, call)| Some((of_call(call)?, self.clock.span(call).0, at as u32)));
        let mut calls: Vec<Item<K>> = calls.collect();
        let lines = self.lines.iter().enumerate().filter(|(at, _)| self.pairs.lines[*at] == Found::Nothing);
        let lines = lines
            .filter_map(|(at, line)| Some((of_line(line)?, line.begin.saturating_sub(self.clock.ahead), at as u32)));
        let mut lines: Vec<Item<K>> = lines.collect();
        calls.sort_unstable();
        lines.sort_unstable();
        let mut from = 0;
        for group in calls.chunk_by(|a, b| a.0 == b.0) {
            from += lines[from..].partition_point(|line| line.0 < group[0].0);
            let until = from + lines[from..].partition_point(|line| line.0 == group[0].0);
            let candidates = self.candidates(group, &lines[from..until], within, cost)?;
            let (pairs, inexact) = assign(candidates, self.goes_on)?;
            self.pairs.inexact += inexact;
            for (call, line) in pairs {
                self.pairs.calls[call as usize] = Some(line);
                self.pairs.lines[line as usize] = found(call);
            }
            from = until;
        }
        Ok(())
    }

    /// Candidates between calls and lines of one key, both in order of time.
    fn candidates<K>(
        &self,
        calls: &[Item<K>],
        lines: &[Item<K>],
        within: i64,
        cost: fn(&Self, &WireCall, &BillLine) -> Option<i64>,
    ) -> Result<Vec<Candidate>, Undone> {
        let mut all = Vec::new();
        for (_, _, at) in calls {
            go_on(self.goes_on)?;
            let call = &self.calls[*at as usize];
            let (first, last) = self.clock.span(call);
            let from = lines.partition_point(|line| line.1 < first.saturating_sub(within));
            let near = lines[from..].iter().take_while(|line| line.1 <= last.saturating_add(within));
            let near = near.filter_map(|(_, _, line)| {
                let cost = cost(self, call, &self.lines[*line as usize])?;
                Some(Candidate { cost, call: *at, line: *line })
            });
            let mut near: Vec<Candidate> = near.collect();
            near.sort_unstable();
            near.truncate(CANDIDATES_MAX);
            all.extend(near);
        }
        Ok(all)
    }

    /// How far a line is from a call in time and length, milliseconds.
    fn near(&self, call: &WireCall, line: &BillLine) -> Option<i64> {
        Some(self.clock.apart(call, line).saturating_add(self.rules.length_apart(call, line)))
    }

    /// The same, where the lengths agree: one number alone says too little.
    fn alike(&self, call: &WireCall, line: &BillLine) -> Option<i64> {
        let agrees = call.seen == Seen::Whole && self.rules.length_apart(call, line) == 0;
        // Nothing was used, and everything would agree.
        let is_long = line.duration > self.rules.duration;
        if agrees && is_long { self.near(call, line) } else { None }
    }

    /// Lines like one that has its call, while that one was still up.
    fn twice(&mut self) -> Result<(), Undone> {
        let key = |line: &BillLine| (line.caller, line.called);
        let mut all: Vec<_> = (0..self.lines.len() as u32).map(|at| (key(&self.lines[at as usize]), at)).collect();
        all.sort_unstable();
        for group in all.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for (place, (_, at)) in group.iter().enumerate() {
                go_on(self.goes_on)?;
                if self.pairs.lines[*at as usize] != Found::Nothing {
                    continue;
                }
                let around = &group[place.saturating_sub(CANDIDATES_MAX)..(place + CANDIDATES_MAX).min(group.len())];
                let same = around.iter().map(|(_, other)| *other).filter(|other| self.is_copy(*at, *other));
                let begin = self.lines[*at as usize].begin;
                let nearest = same.min_by_key(|other| ((self.lines[*other as usize].begin - begin).abs(), *other));
                if let Some(other) = nearest {
                    self.pairs.lines[*at as usize] = Found::Twice(other);
                }
            }
        }
        Ok(())
    }

    fn is_copy(&self, line: u32, other: u32) -> bool {
        let (a, b) = (&self.lines[line as usize], &self.lines[other as usize]);
        let apart = (a.begin - b.begin).abs();
        let up = a.duration.min(b.duration).max(1000);
        matches!(self.pairs.lines[other as usize], Found::Call(_))
            && (a.caller, a.called) != (Party::NONE, Party::NONE)
            && (a.reference == b.reference || a.reference == 0 || b.reference == 0)
            && apart <= self.rules.begin
            && apart < up
            && (a.duration - b.duration).abs() <= self.rules.duration
    }

    /// Calls like another one and up at the same time: other legs and copies of it. The one with a line counts, else
    /// the first.
    fn legs(&mut self) -> Result<(), Undone> {
        let answered = |at: &usize| matches!(self.calls[*at].seen, Seen::Whole | Seen::Open);
        let all: Vec<usize> = (0..self.calls.len()).filter(answered).collect();
        let told = |call: &WireCall| call.caller != Party::NONE && call.called != Party::NONE;
        let by_numbers = all.iter().map(|at| (&self.calls[*at], *at)).filter(|(call, _)| told(call));
        let mut by_numbers: Vec<_> = by_numbers.map(|(call, at)| ((call.caller, call.called), at)).collect();
        let by_reference = all.iter().map(|at| (self.calls[*at].reference, *at));
        let mut by_reference: Vec<_> = by_reference.filter(|(reference, _)| *reference != 0).collect();
        self.legs_among(&mut by_numbers)?;
        self.legs_among(&mut by_reference)
    }

    fn legs_among<K: Ord>(&mut self, all: &mut [(K, usize)]) -> Result<(), Undone> {
        all.sort_unstable();
        for group in all.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            for (place, (_, at)) in group.iter().enumerate() {
                go_on(self.goes_on)?;
                if self.pairs.calls[*at].is_some() || self.pairs.legs[*at] {
                    continue;
                }
                let from = place.saturating_sub(CANDIDATES_MAX);
                let around = &group[from..(place + CANDIDATES_MAX).min(group.len())];
                if let Some((_, other)) = around.iter().find(|(_, other)| self.is_leg(*at, *other)) {
                    self.pairs.legs[*at] = true;
                    self.pairs.of_legs.push((*at as u32, *other as u32));
                }
            }
        }
        Ok(())
    }

    fn is_leg(&self, at: usize, other: usize) -> bool {
        let (call, of) = (&self.calls[at], &self.calls[other]);
        let near = |a: i64, b: i64| (a - b).abs() <= LEG_MS;
        let counts = self.pairs.calls[other].is_some() || (other < at && !self.pairs.legs[other]);
        other != at
            && counts
            && near(call.start, of.start)
            && near(call.answer, of.answer)
            && near(call.answer + call.duration, of.answer + of.duration)
    }
}
