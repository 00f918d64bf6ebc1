//! A filter as it is asked of gists: for each call yes, no, or that its row has to say.

use super::{Column, Columns, HOSTS_OF_CALL_MAX, Range, Ranges, flags, number};
use crate::entry;
use crate::filter::field::{AddressField, NameField, Presence, RealField, TextField, WholeField, presences};
use crate::filter::{Compare, Network, Node, Pattern, Test};
use core::ops::RangeInclusive;
use trunkline_wire::Endpoint;

/// What gists say about one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    No,
    Maybe,
    Yes,
}

impl From<bool> for Answer {
    fn from(holds: bool) -> Self {
        if holds { Answer::Yes } else { Answer::No }
    }
}

/// What gists say about many calls, by bit.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    rows: usize,
    /// Those that may pass.
    may: Vec<u64>,
    /// Those that do.
    must: Vec<u64>,
}

impl Answers {
    /// All pass.
    pub fn everything(rows: usize) -> Self {
        Answers::all(rows, Answer::Yes)
    }

    fn all(rows: usize, answer: Answer) -> Self {
        let fill = |on: bool| {
            let mut bits = vec![if on { u64::MAX } else { 0 }; rows.div_ceil(64)];
            if let Some(last) = bits.last_mut().filter(|_| !rows.is_multiple_of(64)) {
                *last &= (1 << (rows % 64)) - 1;
            }
            bits
        };
        Answers { rows, may: fill(answer != Answer::No), must: fill(answer == Answer::Yes) }
    }

    fn of(rows: usize, answers: impl Iterator<Item = Answer>) -> Self {
        let mut all = Answers { rows, may: Vec::with_capacity(rows / 64 + 1), must: Vec::with_capacity(rows / 64 + 1) };
        let (mut may, mut must, mut at) = (0, 0, 0);
        for answer in answers {
            may |= u64::from(answer != Answer::No) << at;
            must |= u64::from(answer == Answer::Yes) << at;
            at += 1;
            if at == 64 {
                all.may.push(may);
                all.must.push(must);
                (may, must, at) = (0, 0, 0);
            }
        }
        if at > 0 {
            all.may.push(may);
            all.must.push(must);
        }
        all
    }

    /// Whether none may pass.
    pub fn is_empty(&self) -> bool {
        self.may.iter().all(|bits| *bits == 0)
    }

    /// Those that pass.
    pub fn passing(&self) -> impl Iterator<Item = usize> {
        ones(self.must.iter().copied())
    }

    /// Those whose row has to say.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        ones(self.may.iter().zip(&self.must).map(|(may, must)| may & !must))
    }

    /// Those that pass or may.
    pub fn possible(&self) -> impl Iterator<Item = usize> {
        ones(self.may.iter().copied())
    }

    fn and(&mut self, other: &Answers) {
        self.may.iter_mut().zip(&other.may).for_each(|(a, b)| *a &= b);
        self.must.iter_mut().zip(&other.must).for_each(|(a, b)| *a &= b);
    }

    fn or(&mut self, other: &Answers) {
        self.may.iter_mut().zip(&other.may).for_each(|(a, b)| *a |= b);
        self.must.iter_mut().zip(&other.must).for_each(|(a, b)| *a |= b);
    }

    fn not(self) -> Self {
        let mut answers = Answers::all(self.rows, Answer::Yes);
        answers.may.iter_mut().zip(&self.must).for_each(|(a, b)| *a &= !b);
        answers.must.iter_mut().zip(&self.may).for_each(|(a, b)| *a &= !b);
        answers
    }
}

fn ones(words: impl Iterator<Item = u64>) -> impl Iterator<Item = usize> {
    words.enumerate().flat_map(|(n, mut bits)| {
        core::iter::from_fn(move || {
            let bit = bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
            (bit < 64).then_some(64 * n + bit as usize)
        })
    })
}

/// A filter for the gists of one day.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// All of them hold.
    And(Vec<Plan>),
    /// At least one holds.
    Or(Vec<Plan>),
    /// It does not hold.
    Not(Box<Plan>),
    /// The word of a column is one of these, in order.
    Words(Column, Vec<u64>),
    /// One of the numbers matches.
    Number(Vec<Column>, Numbers),
    /// It has numbers beside those of From and To: the row has to say whether one of them matches.
    OtherNumber,
    /// The state or who hung up is among the names: shift, mask and bits.
    Named(u32, u64, u32),
    /// The value of a column lies between some.
    Between(Column, Between),
    /// The start, within the day.
    Start(Vec<(Compare, i64)>),
    /// An address among those of the columns, and of the others where it says so.
    Host(Vec<Column>, bool, Network),
    /// There is one of these.
    Has(u32),
    /// Only rows can say.
    Row,
}

/// Which values of a column pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Those that do.
    must: RangeInclusive<u64>,
    /// Those that may, these among them.
    may: RangeInclusive<u64>,
    /// Those of which the row has to say, whatever is asked.
    open: RangeInclusive<u64>,
}

impl Between {
    /// Of values between two, of which a greater one stands for more, those that hold; `holds` says of a value whether
    /// all that it may stand for compare so with something, and whether any of it does.
    fn of<T: Copy>(
        values: (u64, u64),
        open: RangeInclusive<u64>,
        all: &[(Compare, T)],
        holds: impl Fn(u64, Compare, T) -> (bool, bool),
    ) -> Self {
        let range = |pick: fn((bool, bool)) -> bool| {
            let (mut first, mut last) = values;
            for (compare, with) in all {
                let does = |value: u64| pick(holds(value, *compare, *with));
                match compare {
                    Compare::More | Compare::AtLeast => first = first.max(border(values, |value| !does(value))),
                    _ => last = last.min(border(values, does).wrapping_sub(1)),
                }
            }
            first..=last
        };
        Between { must: range(|(all, _)| all), may: range(|(_, any)| any), open }
    }

    fn codes(all: &[(Compare, i64)]) -> Self {
        let holds = |value: u64, compare: Compare, with: i64| {
            let does = compare.holds(value as i64, with);
            (does, does)
        };
        Between::of((1, u64::from(u16::MAX)), NONE, all, holds)
    }

    /// Microseconds, cut, against nanoseconds.
    fn spans(all: &[(Compare, i64)]) -> Self {
        let holds = |value: u64, compare: Compare, with: i64| {
            let ns = (value as i64 - 2) * 1000;
            let (first, last) = (compare.holds(ns, with), compare.holds(ns + 999, with));
            (first && last, first || last)
        };
        Between::of((2, (1 << 40) + 2), 1..=1, all, holds)
    }

    /// Numbers, of which a column may have only the nearest to that of the row.
    fn reals(exact: bool, all: &[(Compare, f64)]) -> Self {
        // Half a unit of the last place is what rounding may have moved it.
        let share = if exact { 0.0 } else { f64::from(f32::EPSILON) };
        let least = if exact { 0.0 } else { f64::from(f32::MIN_POSITIVE) };
        let holds = |value: u64, compare: Compare, with: f64| {
            let value = f64::from(number(value));
            let slack = value * share + least;
            let (first, last) = (compare.holds(value - slack, with), compare.holds(value + slack, with));
            (first && last, first || last)
        };
        let infinite = u64::from(f32::INFINITY.to_bits()) + 1;
        Between::of((1, infinite - 1), infinite..=u64::MAX, all, holds)
    }

    /// Whether some of these values may be among those of a range.
    fn meets(&self, range: Range, values: &RangeInclusive<u64>) -> bool {
        // Only of numbers is 0 a value that may be wanted: that of the empty one.
        let wants_0 = self.may.contains(&0);
        let least = if wants_0 { range.least } else { range.least_some };
        (range.greatest > 0 || wants_0) && least <= *values.end() && *values.start() <= range.greatest
    }

    fn ask<C: Columns>(&self, gists: &mut C, column: Column) -> Result<Answers, C::Error> {
        let (rows, range) = (gists.rows(), gists.range(column as usize));
        if !self.meets(range, &self.may) && !self.meets(range, &self.open) {
            return Ok(Answers::all(rows, Answer::No));
        }
        if self.must.contains(&range.least) && self.must.contains(&range.greatest) {
            return Ok(Answers::all(rows, Answer::Yes));
        }
        let bits = |of: &dyn Fn(&[u64]) -> Vec<u64>, gists: &mut C| Ok(of(gists.values(column as usize)?));
        let within = |wanted: &RangeInclusive<u64>, gists: &mut C| -> Result<Vec<u64>, C::Error> {
            let (first, last) = (*wanted.start(), wanted.end().wrapping_sub(*wanted.start()));
            let one = |values: &[u64]| {
                let bit = |(n, value): (usize, &u64)| u64::from(value.wrapping_sub(first) <= last) << n;
                values.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit)
            };
            if wanted.is_empty() {
                return Ok(vec![0; rows.div_ceil(64)]);
            }
            bits(&|values: &[u64]| values.chunks(64).map(one).collect(), gists)
        };
        let must = within(&self.must, gists)?;
        let mut may = if self.may == self.must { must.clone() } else { within(&self.may, gists)? };
        if self.meets(range, &self.open) {
            may.iter_mut().zip(within(&self.open, gists)?).for_each(|(may, open)| *may |= open);
        }
        Ok(Answers { rows, may, must })
    }
}

/// No values.
#[expect(clippy::reversed_empty_ranges, reason = "that is what is meant")]
const NONE: RangeInclusive<u64> = 1..=0;

/// The first value between two of which something does not hold any more; behind the last if it holds of all.
fn border((first, last): (u64, u64), holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (first, last + 1);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// What a number must match.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    words: RangeInclusive<u64>,
    pattern: Pattern,
}

impl Plan {
    /// Makes it; `words` finds the numbers of the words of a field that match.
    ///
    /// # Errors
    /// Those of `words`.
    pub fn of<E>(
        node: &Node,
        day_ns: i64,
        words: &impl Fn(TextField, &Pattern) -> Result<Vec<u64>, E>,
    ) -> Result<Self, E> {
        let each = |nodes: &[Node]| -> Result<Vec<_>, E> { nodes.iter().map(|n| Plan::of(n, day_ns, words)).collect() };
        Ok(match node {
            Node::And(nodes) => {
                let mut plans = each(nodes)?;
                plans.sort_by_key(Plan::cost);
                Plan::And(plans)
            }
            Node::Or(nodes) => Plan::Or(each(nodes)?),
            Node::Not(node) => Plan::Not(Box::new(Plan::of(node, day_ns, words)?)),
            Node::Test(test) => Plan::test(test, day_ns, words)?,
        })
    }

    fn test<E>(
        test: &Test,
        day_ns: i64,
        words: &impl Fn(TextField, &Pattern) -> Result<Vec<u64>, E>,
    ) -> Result<Self, E> {
        Ok(match test {
            Test::Text { field, pattern } => match field {
                TextField::Caller => Plan::number(&[Column::Caller], pattern),
                TextField::Callee => Plan::number(&[Column::Callee], pattern),
                TextField::Number => {
                    Plan::Or(vec![Plan::number(&[Column::Caller, Column::Callee], pattern), Plan::OtherNumber])
                }
                TextField::CallId => Plan::Row,
                TextField::UserAgent => Plan::Words(Column::UserAgent, words(*field, pattern)?),
                TextField::Verdict => Plan::Words(Column::Verdict, words(*field, pattern)?),
                TextField::Codec => Plan::Words(Column::Codecs, words(*field, pattern)?),
            },
            Test::Named { field, names } => match field {
                NameField::State => Plan::Named(0, 15, *names),
                NameField::Hangup => Plan::Named(flags::HANGUP_SHIFT, 3, *names),
            },
            Test::Whole { field, all } => match field {
                WholeField::Code => Plan::Between(Column::Code, Between::codes(all)),
                WholeField::Duration => Plan::Between(Column::Duration, Between::spans(all)),
                WholeField::Pdd => Plan::Between(Column::Pdd, Between::spans(all)),
                WholeField::Setup => Plan::Between(Column::Setup, Between::spans(all)),
                WholeField::Start => Plan::Start(all.iter().map(|(c, at)| (*c, at.saturating_sub(day_ns))).collect()),
            },
            Test::Real { field, all } => match field {
                RealField::Mos => Plan::Between(Column::Mos, Between::reals(true, all)),
                RealField::Lost => Plan::Between(Column::Lost, Between::reals(false, all)),
                RealField::Jitter => Plan::Between(Column::JitterMax, Between::reals(false, all)),
                RealField::JitterMean => Plan::Between(Column::JitterMean, Between::reals(false, all)),
            },
            Test::Host { field, network } => match field {
                AddressField::Src => Plan::Host(vec![Column::Src], false, *network),
                AddressField::Dst => Plan::Host(vec![Column::Dst], false, *network),
                AddressField::Ip => Plan::Host(vec![Column::Src, Column::Dst], true, *network),
            },
            Test::Ssrc(_) => Plan::Row,
            Test::Has(names) => Plan::Has(*names),
        })
    }

    /// What is asked last of several costs most.
    fn cost(&self) -> u32 {
        match self {
            Plan::And(plans) | Plan::Or(plans) => plans.iter().map(Plan::cost).max().unwrap_or(0),
            Plan::Not(plan) => plan.cost(),
            Plan::Between(Column::Caller | Column::Callee, _) => 2,
            Plan::Words(..) | Plan::Named(..) | Plan::Between(..) | Plan::Has(_) | Plan::OtherNumber => 1,
            Plan::Start(_) => 3,
            Plan::Host(..) => 4,
            Plan::Number(..) => 5,
            Plan::Row => 6,
        }
    }

    fn number(columns: &[Column], pattern: &Pattern) -> Self {
        let words = entry::words_of_pattern(pattern);
        if entry::words_are_exact(pattern) {
            let between = Between { must: words.clone(), may: words, open: NONE };
            return Plan::Or(columns.iter().map(|column| Plan::Between(*column, between.clone())).collect());
        }
        Plan::Number(columns.to_vec(), Numbers { words, pattern: pattern.clone() })
    }

    /// Whether a call may pass of those whose values lie between these.
    pub fn may_pass(&self, ranges: &Ranges) -> bool {
        match self {
            Plan::And(plans) => plans.iter().all(|plan| plan.may_pass(ranges)),
            Plan::Or(plans) => plans.iter().any(|plan| plan.may_pass(ranges)),
            Plan::Words(column, words) => {
                let range = ranges.of_column(*column);
                words.iter().any(|word| range.contains(*word))
            }
            Plan::Number(columns, numbers) => columns.iter().any(|column| {
                let range = ranges.of_column(*column);
                range.least <= *numbers.words.end() && *numbers.words.start() <= range.greatest
            }),
            Plan::Between(column, between) => {
                let range = ranges.of_column(*column);
                between.meets(range, &between.may) || between.meets(range, &between.open)
            }
            Plan::OtherNumber => ranges.of_column(Column::State).greatest >= flags::HAS_NUMBERS,
            Plan::Not(_) | Plan::Named(..) | Plan::Start(_) | Plan::Host(..) | Plan::Has(_) | Plan::Row => true,
        }
    }

    /// Asks it of gists.
    ///
    /// # Errors
    /// Those of reading them.
    pub fn ask<C: Columns>(&self, gists: &mut C) -> Result<Answers, C::Error> {
        let rows = gists.rows();
        match self {
            Plan::And(plans) => {
                let mut answers = Answers::all(rows, Answer::Yes);
                for plan in plans {
                    answers.and(&plan.ask(gists)?);
                    if answers.is_empty() {
                        break;
                    }
                }
                Ok(answers)
            }
            Plan::Or(plans) => {
                let mut answers = Answers::all(rows, Answer::No);
                for plan in plans {
                    answers.or(&plan.ask(gists)?);
                }
                Ok(answers)
            }
            Plan::Not(plan) => Ok(plan.ask(gists)?.not()),
            Plan::Words(column, words) => {
                let range = gists.range(*column as usize);
                let wanted = words.iter().copied().filter(|w| range.contains(*w));
                match wanted.collect::<Vec<_>>()[..] {
                    [] => Ok(Answers::all(rows, Answer::No)),
                    [word] => each(gists, *column, |value| (value == word).into()),
                    _ => each(gists, *column, |value| words.binary_search(&value).is_ok().into()),
                }
            }
            Plan::Number(columns, numbers) => {
                let mut answers = Answers::all(rows, Answer::No);
                for column in columns {
                    let range = gists.range(*column as usize);
                    if range.least <= *numbers.words.end() && *numbers.words.start() <= range.greatest {
                        answers.or(&each(gists, *column, |word| numbers.answer(word))?);
                    }
                }
                Ok(answers)
            }
            Plan::OtherNumber => each(gists, Column::State, |value| match value & flags::HAS_NUMBERS {
                0 => Answer::No,
                _ => Answer::Maybe,
            }),
            Plan::Named(shift, mask, names) => {
                each(gists, Column::State, |value| (u64::from(*names) >> (value >> shift & mask) & 1 == 1).into())
            }
            Plan::Between(column, between) => between.ask(gists, *column),
            Plan::Start(all) => start(gists, all),
            Plan::Host(columns, others, network) => host(gists, columns, *others, network),
            Plan::Has(names) => has(gists, *names),
            Plan::Row => Ok(Answers::all(rows, Answer::Maybe)),
        }
    }
}

/// Asks each value of a column; one value, if all are the same, once.
fn each<C: Columns>(gists: &mut C, column: Column, ask: impl Fn(u64) -> Answer) -> Result<Answers, C::Error> {
    let (rows, range) = (gists.rows(), gists.range(column as usize));
    if range.least == range.greatest {
        return Ok(Answers::all(rows, ask(range.least)));
    }
    Ok(Answers::of(rows, gists.values(column as usize)?.iter().map(|value| ask(*value))))
}

impl Numbers {
    fn answer(&self, word: u64) -> Answer {
        if !self.words.contains(&word) {
            return Answer::No;
        }
        match entry::word_matches(word, &self.pattern) {
            Some(matches) => matches.into(),
            None => Answer::Maybe,
        }
    }
}

/// Something between two values, both of which it may be.
fn between<T: PartialOrd + Copy>(least: T, greatest: T, all: &[(Compare, T)]) -> Answer {
    let mut answer = Answer::Yes;
    for (compare, with) in all {
        match (compare.holds(least, *with), compare.holds(greatest, *with)) {
            (true, true) => {}
            (false, false) => return Answer::No,
            _ => answer = Answer::Maybe,
        }
    }
    answer
}

/// The start is in the key, up to a nanosecond that looking for a free key may have added.
fn start<C: Columns>(gists: &mut C, all: &[(Compare, i64)]) -> Result<Answers, C::Error> {
    let odd = each(gists, Column::State, |value| (value & flags::ODD_START != 0).into())?;
    let rows = gists.rows();
    let keys = gists.values(Column::Key as usize)?;
    let said = keys.iter().map(|key| {
        let ns = (*key as i64) >> 16;
        between(ns - 1, ns, all)
    });
    let mut answers = Answers::of(rows, said);
    answers.may.iter_mut().zip(&odd.may).for_each(|(a, odd)| *a |= odd);
    answers.must.iter_mut().zip(&odd.may).for_each(|(a, odd)| *a &= !odd);
    Ok(answers)
}

fn host<C: Columns>(gists: &mut C, columns: &[Column], others: bool, network: &Network) -> Result<Answers, C::Error> {
    let rows = gists.rows();
    // Of ports gists know nothing.
    let (found, any) = (Network { port: None, ..*network }, network.port);
    let yes = if any.is_none() { Answer::Yes } else { Answer::Maybe };
    let hosts = gists.hosts()?;
    let hit: Vec<bool> = hosts.addresses.iter().map(|a| found.contains(Endpoint::new(*a, 0))).collect();
    let is_hit = |at: u64| hit.get(at as usize).copied().unwrap_or(false);
    let some = hit.contains(&true);
    let more: Vec<bool> = if some { hosts.more.iter().map(|at| is_hit(u64::from(*at))).collect() } else { vec![] };
    let mut answers = Answers::all(rows, Answer::No);
    if some {
        for column in columns {
            answers.or(&each(gists, *column, |at| if is_hit(at) { yes } else { Answer::No })?);
        }
    }
    let crowded = gists.range(Column::More as usize).greatest as usize >= HOSTS_OF_CALL_MAX;
    if others && (some && more.contains(&true) || crowded) {
        let mut at = 0;
        let counts = gists.values(Column::More as usize)?;
        answers.or(&Answers::of(
            rows,
            counts.iter().map(|count| {
                let own = more.get(at..at + *count as usize).unwrap_or_default();
                at += *count as usize;
                match own.contains(&true) {
                    true => yes,
                    false if *count as usize >= HOSTS_OF_CALL_MAX => Answer::Maybe,
                    false => Answer::No,
                }
            }),
        ));
    }
    Ok(answers)
}

fn has<C: Columns>(gists: &mut C, names: u32) -> Result<Answers, C::Error> {
    let mut answers = Answers::all(gists.rows(), Answer::No);
    for presence in presences(names) {
        let column = match presence {
            Presence::Mos => Column::Mos,
            Presence::Verdict => Column::Verdict,
            Presence::Answer => Column::Setup,
            Presence::Ringing => Column::Pdd,
            Presence::Code => Column::Code,
            Presence::Streams => Column::JitterMax,
            Presence::UserAgent => Column::UserAgent,
            Presence::Codec => Column::Codecs,
            Presence::End => {
                answers.or(&each(gists, Column::State, |value| (value & flags::HAS_END != 0).into())?);
                continue;
            }
        };
        answers.or(&each(gists, column, |value| (value != 0).into())?);
    }
    Ok(answers)
}
