//! Pairs out of candidates: as many as there can be, and of those the cheapest.
//!
//! Candidates fall apart into groups that share nothing. A group of at most [`EXACT_MAX`] on each side is solved
//! exactly (the Hungarian method with potentials: Kuhn 1955, Munkres 1957, n squared times m); a larger one takes its
//! cheapest candidate again and again, and is told.

use super::{GoesOn, Undone, go_on};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Members of one side of a group that is solved exactly.
// Limit: calls of a group that are matched with lines exactly
// Beyond: the nearest are matched
// Seen in: the report counts them
pub const EXACT_MAX: usize = 200;
/// Candidates of one call, the nearest in order of time.
pub const CANDIDATES_MAX: usize = 64;
/// What it costs to have no pair: more than all pairs of a group together.
const ALONE: i64 = 1 << 46;
/// What a pair costs at most.
const COST_MAX: i64 = 1 << 36;

/// A candidate: two members, and how far they are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub cost: i64,
    pub call: u32,
    pub line: u32,
}

/// The pairs (call, line), and how many candidates were in groups too large to be solved exactly.
///
/// # Errors
/// It was given up.
pub(super) fn assign(candidates: Vec<Candidate>, goes_on: GoesOn<'_>) -> Result<(Vec<(u32, u32)>, u64), Undone> {
    let (mut pairs, mut inexact) = (Vec::new(), 0);
    for group in groups(candidates, goes_on)? {
        go_on(goes_on)?;
        let group = Group::of(group, goes_on)?;
        if group.calls.len().max(group.lines.len()) <= EXACT_MAX {
            group.solve(&mut pairs);
        } else {
            inexact += group.candidates.len() as u64;
            group.greedy(&mut pairs, goes_on)?;
        }
    }
    pairs.sort_unstable();
    Ok((pairs, inexact))
}

/// What is sorted at once.
const PIECE: usize = 1 << 18;

/// Sorts, as `sort_unstable` does, in pieces between which it is asked whether it goes on.
fn sorted<T: Ord + Copy>(mut all: Vec<T>, goes_on: GoesOn<'_>) -> Result<Vec<T>, Undone> {
    for piece in all.chunks_mut(PIECE) {
        go_on(goes_on)?;
        piece.sort_unstable();
    }
    if all.len() <= PIECE {
        return Ok(all);
    }
    let mut pieces: Vec<_> = all.chunks(PIECE).map(|piece| piece.iter().copied()).collect();
    let heads = pieces.iter_mut().enumerate().filter_map(|(at, piece)| Some(Reverse((piece.next()?, at))));
    let (mut heads, mut merged): (BinaryHeap<_>, _) = (heads.collect(), Vec::with_capacity(all.len()));
    while let Some(Reverse((least, at))) = heads.pop() {
        go_on(goes_on)?;
        merged.push(least);
        heads.extend(pieces[at].next().map(|next| Reverse((next, at))));
    }
    Ok(merged)
}

/// Candidates by what they share.
fn groups(candidates: Vec<Candidate>, goes_on: GoesOn<'_>) -> Result<Vec<Vec<Candidate>>, Undone> {
    if candidates.len() < 2 {
        return Ok(if candidates.is_empty() { Vec::new() } else { vec![candidates] });
    }
    // Nodes: calls with even keys, lines with odd ones.
    let mut at: BTreeMap<u64, usize> = BTreeMap::new();
    let mut above: Vec<usize> = Vec::new();
    let mut node = |key: u64, above: &mut Vec<usize>| {
        *at.entry(key).or_insert_with(|| {
            above.push(above.len());
            above.len() - 1
        })
    };
    let mut ends = Vec::with_capacity(candidates.len());
    for one in &candidates {
        go_on(goes_on)?;
        let (call, line) = (node(u64::from(one.call) * 2, &mut above), node(u64::from(one.line) * 2 + 1, &mut above));
        let (a, b) = (root(&mut above, call), root(&mut above, line));
        above[a.max(b)] = a.min(b);
        ends.push(call);
    }
    let mut all: BTreeMap<usize, Vec<Candidate>> = BTreeMap::new();
    for (one, end) in candidates.iter().zip(ends) {
        go_on(goes_on)?;
        all.entry(root(&mut above, end)).or_default().push(*one);
    }
    Ok(all.into_values().collect())
}

fn root(above: &mut [usize], mut node: usize) -> usize {
    while above[node] != node {
        above[node] = above[above[node]];
        node = above[node];
    }
    node
}

/// What shares something.
struct Group {
    calls: Vec<u32>,
    lines: Vec<u32>,
    candidates: Vec<Candidate>,
}

impl Group {
    fn of(candidates: Vec<Candidate>, goes_on: GoesOn<'_>) -> Result<Group, Undone> {
        let members = |of: fn(&Candidate) -> u32| {
            let mut all = sorted(candidates.iter().map(of).collect(), goes_on)?;
            all.dedup();
            Ok(all)
        };
        Ok(Group { calls: members(|one| one.call)?, lines: members(|one| one.line)?, candidates })
    }

    fn greedy(mut self, pairs: &mut Vec<(u32, u32)>, goes_on: GoesOn<'_>) -> Result<(), Undone> {
        self.candidates = sorted(self.candidates, goes_on)?;
        let (mut calls, mut lines) = (vec![false; self.calls.len()], vec![false; self.lines.len()]);
        let place = |of: &[u32], what: u32| of.binary_search(&what).unwrap_or_default();
        for one in &self.candidates {
            go_on(goes_on)?;
            let (call, line) = (place(&self.calls, one.call), place(&self.lines, one.line));
            if !calls[call] && !lines[line] {
                (calls[call], lines[line]) = (true, true);
                pairs.push((one.call, one.line));
            }
        }
        Ok(())
    }

    fn solve(self, pairs: &mut Vec<(u32, u32)>) {
        if let [only] = self.candidates[..] {
            pairs.push((only.call, only.line));
            return;
        }
        // The smaller side is the rows.
        let turned = self.calls.len() > self.lines.len();
        let (rows, columns) = if turned { (&self.lines, &self.calls) } else { (&self.calls, &self.lines) };
        let mut costs = vec![ALONE; rows.len() * columns.len()];
        for one in &self.candidates {
            let (row, column) = if turned { (one.line, one.call) } else { (one.call, one.line) };
            let (Ok(row), Ok(column)) = (rows.binary_search(&row), columns.binary_search(&column)) else { continue };
            let cell = &mut costs[row * columns.len() + column];
            *cell = (*cell).min(one.cost.clamp(0, COST_MAX));
        }
        for (row, column) in hungarian(&costs, rows.len(), columns.len()) {
            if costs[row * columns.len() + column] < ALONE {
                let (row, column) = (rows[row], columns[column]);
                pairs.push(if turned { (column, row) } else { (row, column) });
            }
        }
    }
}

/// A column for each row, of the least sum; there are at least as many columns as rows.
fn hungarian(costs: &[i64], rows: usize, columns: usize) -> Vec<(usize, usize)> {
    // Index 0 is nobody, so that potentials and matches begin with 1.
    let (mut of_row, mut of_column) = (vec![0i64; rows + 1], vec![0i64; columns + 1]);
    let mut holds = vec![0usize; columns + 1];
    for row in 1..=rows {
        holds[0] = row;
        let way = path(costs, columns, &mut of_row, &mut of_column, &mut holds);
        let mut column = way.1;
        while column != 0 {
            let before = way.0[column];
            holds[column] = holds[before];
            column = before;
        }
    }
    (1..=columns).filter(|column| holds[*column] != 0).map(|column| (holds[column] - 1, column - 1)).collect()
}

/// The cheapest way from the row at column 0 to a free column: the column before each, and that column.
fn path(
    costs: &[i64],
    columns: usize,
    of_row: &mut [i64],
    of_column: &mut [i64],
    holds: &mut [usize],
) -> (Vec<usize>, usize) {
    let mut least = vec![i64::MAX; columns + 1];
    let (mut way, mut done) = (vec![0usize; columns + 1], vec![false; columns + 1]);
    let mut column = 0;
    loop {
        done[column] = true;
        let row = holds[column];
        let (mut step, mut next) = (i64::MAX, 0);
        for other in 1..=columns {
            if done[other] {
                continue;
            }
            let cost = costs[(row - 1) * columns + other - 1] - of_row[row] - of_column[other];
            if cost < least[other] {
                (least[other], way[other]) = (cost, column);
            }
            if least[other] < step {
                (step, next) = (least[other], other);
            }
        }
        for other in 0..=columns {
            if done[other] {
                of_row[holds[other]] += step;
                of_column[other] -= step;
            } else {
                least[other] = least[other].saturating_sub(step);
            }
        }
        column = next;
        if holds[column] == 0 {
            return (way, column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All ways to pair, tried one by one: most pairs, then the least cost.
    fn best(candidates: &[Candidate], used: &mut Vec<(u32, u32)>) -> (usize, i64) {
        let Some((first, rest)) = candidates.split_first() else { return (0, 0) };
        let without = best(rest, used);
        if used.iter().any(|(call, line)| *call == first.call || *line == first.line) {
            return without;
        }
        used.push((first.call, first.line));
        let (count, cost) = best(rest, used);
        used.pop();
        let with = (count + 1, cost + first.cost);
        if with.0 > without.0 || (with.0 == without.0 && with.1 < without.1) { with } else { without }
    }

    proptest! {
        #[test]
        fn as_many_pairs_as_trying_all_finds_and_as_cheap(
            edges in proptest::collection::btree_map((0u32..5, 0u32..6), 0i64..40, 0..14),
        ) {
            let candidates: Vec<Candidate> =
                edges.iter().map(|((call, line), cost)| Candidate { cost: *cost, call: *call, line: *line }).collect();
            let (pairs, inexact) = assign(candidates.clone(), &|| true).expect("it goes on");
            let cost: i64 = pairs.iter().map(|pair| edges[pair]).sum();
            prop_assert_eq!((pairs.len(), cost), best(&candidates, &mut Vec::new()));
            prop_assert_eq!(inexact, 0);
            let mut calls: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
            calls.dedup();
            prop_assert_eq!(calls.len(), pairs.len());
        }
    }

    #[test]
    fn a_group_too_large_takes_the_nearest_and_says_so() {
        let many = EXACT_MAX as u32 + 10;
        let near = |call: u32| (0..3).map(move |by| Candidate { cost: i64::from(by), call, line: call + by });
        let candidates: Vec<Candidate> = (0..many).flat_map(near).collect();
        let (pairs, inexact) = assign(candidates.clone(), &|| true).expect("it goes on");
        assert_eq!(inexact, candidates.len() as u64);
        assert!(pairs.len() == many as usize && pairs.iter().all(|(call, line)| call == line));
    }

    #[test]
    fn what_is_sorted_in_pieces_is_sorted() {
        // A linear congruential generator of full period: many more than a piece, in no order.
        let next = |x: &u32| Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        let all: Vec<u32> = std::iter::successors(Some(1), next).take(3 * PIECE + 7).collect();
        let mut expected = all.clone();
        expected.sort_unstable();
        assert_eq!(sorted(all.clone(), &|| true), Ok(expected));
        assert_eq!(sorted(all, &|| false), Err(Undone::GivenUp));
    }
}
