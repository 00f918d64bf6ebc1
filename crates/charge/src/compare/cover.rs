//! What of a time we can speak about: when anything was captured, and when packets were lost.

/// Stretches in which nothing can be said; beyond, the last one reaches to the end.
pub const GAPS_MAX: usize = 100_000;

/// When the capture saw what there was. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    silence: i64,
    /// The first and last that was seen.
    seen: Option<(i64, i64)>,
    /// From and to, ascending by their begin once sorted.
    silent: Vec<(i64, i64)>,
    lost: Vec<(i64, i64)>,
    cut: bool,
}

/// Why nothing can be said of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blind {
    /// Nothing at all was seen around it.
    Silent,
    /// Packets were lost.
    Lost,
}

impl Cover {
    /// Where nothing at all is seen for longer than `silence` milliseconds, nothing was captured.
    pub fn new(silence: i64) -> Cover {
        Cover { silence, seen: None, silent: Vec::new(), lost: Vec::new(), cut: false }
    }

    /// Something was seen; in order of time.
    pub fn saw(&mut self, at: i64) {
        match &mut self.seen {
            None => self.seen = Some((at, at)),
            Some((_, last)) => {
                if at.saturating_sub(*last) > self.silence {
                    let gap = (*last, at);
                    self.cut |= push(&mut self.silent, gap);
                }
                *last = at.max(*last);
            }
        }
    }

    /// Packets were lost between these times.
    pub fn lost(&mut self, from: i64, to: i64) {
        self.cut |= push(&mut self.lost, (from, to));
    }

    /// The time from which to which anything was seen; none: nothing was.
    pub fn seen(&self) -> Option<(i64, i64)> {
        self.seen
    }

    /// Sorts and joins what was told.
    pub(super) fn settled(&self) -> Settled {
        Settled { seen: self.seen, silent: joined(&self.silent), lost: joined(&self.lost), cut: self.cut }
    }

    /// Stretches of a time of which nothing can be said, and their milliseconds: silent and lost.
    pub fn blind(&self, (from, to): (i64, i64)) -> (usize, i64) {
        let all = self.silent.iter().chain(&self.lost).map(|(begin, end)| (*begin.max(&from), *end.min(&to)));
        let all: Vec<_> = all.filter(|(begin, end)| begin < end).collect();
        let all = joined(&all);
        (all.len(), all.iter().map(|(from, to)| to - from).sum())
    }
}

/// What was told, to be asked.
#[derive(Debug)]
pub(super) struct Settled {
    seen: Option<(i64, i64)>,
    silent: Vec<(i64, i64)>,
    lost: Vec<(i64, i64)>,
    cut: bool,
}

impl Settled {
    /// Why nothing can be said of what began between two times; none: it would have been seen.
    pub fn blind(&self, from: i64, to: i64) -> Option<Blind> {
        let Some((first, last)) = self.seen.filter(|_| !self.cut) else { return Some(Blind::Silent) };
        if to < first || from > last || meets(&self.silent, from, to) {
            return Some(Blind::Silent);
        }
        meets(&self.lost, from, to).then_some(Blind::Lost)
    }
}

/// Whether there was no room.
fn push(all: &mut Vec<(i64, i64)>, gap: (i64, i64)) -> bool {
    // What begins within the last one makes it longer: a loss that is told every second is one stretch.
    if let Some((from, to)) = all.last_mut().filter(|(from, to)| (*from..=*to).contains(&gap.0)) {
        (*from, *to) = (*from, gap.1.max(*to));
        return false;
    }
    let room = all.len() < GAPS_MAX;
    if room {
        all.push(gap);
    }
    !room
}

fn meets(gaps: &[(i64, i64)], from: i64, to: i64) -> bool {
    let next = gaps.partition_point(|(_, end)| *end < from);
    gaps.get(next).is_some_and(|(begin, _)| *begin <= to)
}

fn joined(gaps: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut sorted = gaps.to_vec();
    sorted.sort_unstable();
    let mut all: Vec<(i64, i64)> = Vec::with_capacity(sorted.len());
    for (from, to) in sorted {
        match all.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => all.push((from, to)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_be_said_of_what_was_not_captured() {
        let mut cover = Cover::new(100);
        assert_eq!(cover.settled().blind(0, 1), Some(Blind::Silent));
        [10, 50, 400, 450].into_iter().for_each(|at| cover.saw(at));
        cover.lost(420, 430);
        cover.lost(425, 440);
        let settled = cover.settled();
        let told = |from, to| settled.blind(from, to);
        assert_eq!(
            (told(0, 5), told(451, 460), told(60, 70)),
            (Some(Blind::Silent), Some(Blind::Silent), Some(Blind::Silent))
        );
        assert_eq!((told(10, 49), told(405, 419), told(435, 436)), (None, None, Some(Blind::Lost)));
        assert_eq!((cover.blind((0, 1000)), cover.blind((100, 425))), ((2, 370), (2, 305)));
    }
}
